# cmake -P others.cmake OUT NM OBJECT...: words for the linker, by which every command of these objects but compile, and
# what is said of commands, is cli_full_program (tools/cli/cli.h): with them goes all that only they want.
# SPDX-License-Identifier: MIT
set(objects "")
foreach(k RANGE 5 ${CMAKE_ARGC})
  list(APPEND objects ${CMAKE_ARGV${k}})
endforeach()
execute_process(COMMAND ${CMAKE_ARGV4} ${objects} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " T (cmd_[a-z]+|cli_nvcc|cli_help|cli_manual|cli_completion)\n" others "${symbols}")
list(TRANSFORM others REPLACE " T ([a-z_]+)\n" "\\1")
list(REMOVE_ITEM others cmd_compile)
set(text "")
foreach(name ${others})
  string(APPEND text "-Wl,--wrap=${name}\n-Wl,--defsym=__wrap_${name}=cli_full_program\n")
endforeach()
file(WRITE ${CMAKE_ARGV3} "${text}")
