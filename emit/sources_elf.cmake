# ELF, attribute records, map, assembly text. Included by emit/CMakeLists.txt.
set(EMIT_ELF_SOURCES elf_image.c elf_read.c elf_write.c object.c nvinfo.c map.c disasm.c disasm_json.c asm_text.c asm_file.c asm_short.c)
set(EMIT_ELF_DEPS PkgConfig::LIBELF PkgConfig::CJSON)
