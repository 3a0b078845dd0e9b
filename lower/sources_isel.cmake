# Instruction selection, and the built-in library as a C array.
list(APPEND LOWER_SOURCES lower.c builtins.c abi.c ssa_build.c isel.c isel_emit.c isel_int.c isel_logic.c isel_float.c
  isel_half.c isel_cvt.c isel_mem.c isel_atom.c isel_flow.c isel_warp.c isel_special.c)

file(GLOB BUILTIN_PTX CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/builtins/*.ptx)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${BUILTIN_PTX})
set(builtin_arrays "")
set(builtin_rows "")
set(builtin_count 0)
foreach(file ${BUILTIN_PTX})
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" length)
  math(EXPR size "${length} / 2")
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  get_filename_component(base ${file} NAME)
  string(APPEND builtin_arrays "static const unsigned char text_${builtin_count}[] = {\n${hex} 0};\n")
  string(APPEND builtin_rows "    {\"${base}\", text_${builtin_count}, ${size}},\n")
  math(EXPR builtin_count "${builtin_count} + 1")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/builtin_text.c CONTENT
"/* Made by CMake from lower/builtins/. */
typedef struct { const char *name; const unsigned char *text; unsigned long size_bytes; } BuiltinFile;
extern const BuiltinFile lower_builtin_files[];
extern const unsigned lower_num_builtin_files;
${builtin_arrays}
const BuiltinFile lower_builtin_files[] = {
${builtin_rows}    {0, 0, 0}};
const unsigned lower_num_builtin_files = ${builtin_count};
" @ONLY)
list(APPEND LOWER_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/builtin_text.c)
