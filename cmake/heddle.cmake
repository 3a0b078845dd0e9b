# Compiler settings and the two helpers that every folder uses.
#   heddle_library(NAME SOURCES... [DEPS lib...])   one folder's static library
#   heddle_embed(OUT.c ARRAY FILES...)               texts that the program has in itself (base/embedded.h)
#   heddle_unit_test(NAME SOURCES... [DEPS lib...]) a cmocka test, label "unit"
#   heddle_user_test(NAME SOURCE)   a cmocka test of the public library, linked as a user links it, label "unit"
#   heddle_test_once(NAMES...) tests whose outcome no build changes (the text of the tree, what ptxas says, counted work), or
#                              that walk the code of another test: label "once", ./run-tests asks one build
#   heddle_test_level(LEVEL NAMES...) of tests that differ in their level alone: once at -O1 and -O2, for -O0 and -O3 walk all
#                              that these do
#   heddle_test_part(N NAMES...) tests whose many cases walk the same code: where a sanitizer slows them down, they take every
#                              N-th case (HEDDLE_PART in their environment)
#   heddle_test_cost(SECONDS NAMES...) long tests, with about what they take: parallel runs start them first, measured or not
# SPDX-License-Identifier: MIT
include_guard(GLOBAL)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBELF REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
# Debian's FLINT 2 has no file for pkg-config
find_library(FLINT flint REQUIRED)
find_library(GMP gmp REQUIRED)
find_path(FLINT_INCLUDE flint/fmpz_mat.h REQUIRED)

# libelf, as an archive where it is one and the program that is linked asks for that (each library loaded takes a
# twentieth of a small compilation): hd_libelf, property LIBELF_ARCHIVE of the program.
find_library(LIBELF_A libelf.a)
find_library(LIBZ_A libz.a)
set(LIBELF_LIBRARIES_A PkgConfig::LIBELF)
if(LIBELF_A AND LIBZ_A)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES ${LIBELF_A} ${LIBZ_A})
  check_c_source_compiles("#include <gelf.h>
    int main(void) { return elf_version(EV_CURRENT) == EV_NONE || elf_memory(0, 0); }" LIBELF_A_LINKS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(LIBELF_A_LINKS)
    set(LIBELF_LIBRARIES_A ${LIBELF_A} ${LIBZ_A})
  endif()
endif()
add_library(hd_libelf INTERFACE)
target_link_libraries(hd_libelf INTERFACE
  "$<IF:$<BOOL:$<TARGET_PROPERTY:LIBELF_ARCHIVE>>,${LIBELF_LIBRARIES_A},PkgConfig::LIBELF>")

# libcjson and libxxhash, of which distributions have no archive: a program that is linked with archives alone (property
# ARCHIVES_ALONE) has neither; tools/cli/late.c says where the first is then.
add_library(hd_shared_libraries INTERFACE)
target_include_directories(hd_shared_libraries SYSTEM INTERFACE ${CJSON_INCLUDE_DIRS} ${XXHASH_INCLUDE_DIRS})
target_link_libraries(hd_shared_libraries INTERFACE
  "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:ARCHIVES_ALONE>>>:PkgConfig::CJSON;PkgConfig::XXHASH>")

add_library(heddle_flags INTERFACE)
target_include_directories(heddle_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_BINARY_DIR}/gen)
target_compile_options(heddle_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wstrict-prototypes -Werror=switch # a row of a table that a switch forgets ends every build
  -ffp-contract=off -fno-math-errno
  -fvisibility=hidden -ffunction-sections -fdata-sections) # for libheddle.a: tools/CMakeLists.txt
target_compile_definitions(heddle_flags INTERFACE _GNU_SOURCE HEDDLE_VERSION="${PROJECT_VERSION}"
  XXH_INLINE_ALL) # no library to load for a hash of a name
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 12)
  target_compile_options(heddle_flags INTERFACE -Wno-stringop-overread) # takes a string for the array behind it, where a struct is returned
endif()
if(HEDDLE_WERROR)
  target_compile_options(heddle_flags INTERFACE -Werror)
endif()
if(HEDDLE_SANITIZE OR HEDDLE_FUZZ)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  # at fixed addresses: the records of UndefinedBehaviorSanitizer need no relocation then, half of what a short command costs
  add_link_options(-fsanitize=address,undefined $<$<LINK_LANGUAGE:C>:$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>>)
  add_compile_definitions(HEDDLE_SANITIZED)
  set(HEDDLE_SANITIZED ON)
  # a link of 30 MB of instrumented code takes ld 1.2 s and lld 0.3 s, and there are 160 of them
  include(CheckLinkerFlag)
  check_linker_flag(C -fuse-ld=lld HEDDLE_LLD)
  if(HEDDLE_LLD)
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-fuse-ld=lld> $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-Wl,--build-id,-O0,--threads=1>)
  endif()
  # Z3, which is loaded at run time, throws; AddressSanitizer looks for what throws when a program starts.
  find_library(STDCXX NAMES libstdc++.so.6)
  if(STDCXX)
    link_libraries(-Wl,--push-state,--no-as-needed ${STDCXX} -Wl,--pop-state)
  endif()
endif()
if(HEDDLE_THREADS)
  add_compile_options(-fsanitize=thread -O1 $<$<C_COMPILER_ID:GNU>:-Wno-tsan>) # fences are unknown to it
  add_link_options(-fsanitize=thread)
  add_compile_definitions(HEDDLE_SANITIZED)
  set(HEDDLE_SANITIZED ON)
endif()
if(HEDDLE_FUZZ)
  # without the record of comparisons, a third of the time: tests/fuzz/run.sh does not use it; without the addresses of counters, which
  # only reports name, a twentieth of the compiler's time, and a fifth of what is searched for leaks whenever a program ends
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp,pc-table -gline-tables-only)
  # what is undefined is a trap, which AddressSanitizer reports with its line (handle_sigill, in run-tests): a message for each would
  # take a twentieth of the compiler's time, and twice the data
  add_compile_options(-fsanitize-trap=undefined)
endif()
if(HEDDLE_SANITIZE OR HEDDLE_FUZZ)
  add_compile_options(-O1) # gcc needs half the time of -O2, clang nine tenths, and the tests take no longer
endif()

function(heddle_library name)
  cmake_parse_arguments(A "" "" "DEPS" ${ARGN})
  add_library(${name} STATIC ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC heddle_flags ${A_DEPS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

function(heddle_embed out array)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set(texts "")
  set(rows "")
  set(count 0)
  foreach(file ${ARGN})
    file(READ ${file} hex HEX)
    string(LENGTH "${hex}" length)
    math(EXPR size "${length} / 2")
    string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    get_filename_component(base ${file} NAME)
    string(APPEND texts "static const unsigned char text_${count}[] = {\n${hex} 0};\n")
    string(APPEND rows "    {\"${base}\", (const char *)text_${count}, ${size}},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${out} CONTENT
"/* Made by CMake from files of the source tree. */
#include \"base/embedded.h\"
extern const EmbeddedFile ${array}[];
${texts}
const EmbeddedFile ${array}[] = {
${rows}    {0, 0, 0}};
" @ONLY)
endfunction()

function(heddle_unit_test name)
  if(NOT CMOCKA_FOUND)
    return()
  endif()
  cmake_parse_arguments(A "" "" "DEPS" ${ARGN})
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE heddle_flags ${A_DEPS} PkgConfig::CMOCKA)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit)
endfunction()

function(heddle_user_test name source)
  if(NOT CMOCKA_FOUND)
    return()
  endif()
  add_executable(${name} ${source})
  add_dependencies(${name} libheddle)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes)
  target_link_libraries(${name} PRIVATE $<TARGET_PROPERTY:libheddle,ARCHIVE> PkgConfig::LIBELF PkgConfig::CJSON
    PkgConfig::XXHASH PkgConfig::CMOCKA m)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit)
endfunction()

function(heddle_test_cost seconds)
  foreach(test ${ARGN})
    if(TEST ${test})
      set_property(TEST ${test} PROPERTY COST ${seconds})
    endif()
  endforeach()
endfunction()

function(heddle_test_part part)
  foreach(test ${ARGN})
    if(TEST ${test} AND HEDDLE_SANITIZED)
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT HEDDLE_PART=${part})
    endif()
  endforeach()
endfunction()

function(heddle_test_once)
  foreach(test ${ARGN})
    if(TEST ${test})
      set_property(TEST ${test} APPEND PROPERTY LABELS once)
    endif()
  endforeach()
endfunction()

function(heddle_test_level level)
  if(level EQUAL 1 OR level EQUAL 2)
    heddle_test_once(${ARGN})
  endif()
endfunction()
