# cmake -P bare.cmake OUT NM OBJECT: words for the linker, by which every function that the object lacks is
# cli_full_program (tools/bare/bare.h), and so is every command but compile, and what is said of commands: with them
# goes all that only they want. SPDX-License-Identifier: MIT
execute_process(COMMAND ${CMAKE_ARGV4} ${CMAKE_ARGV5} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " U [A-Za-z0-9_]+" lacking "${symbols}") # not those that are weak: a program does without them
list(TRANSFORM lacking REPLACE " U " "")
list(REMOVE_ITEM lacking _GLOBAL_OFFSET_TABLE_)
string(REGEX MATCHALL " T (cmd_[a-z]+|cli_nvcc|cli_help|cli_manual|cli_completion)\n" others "${symbols}")
list(TRANSFORM others REPLACE " T ([a-z_]+)\n" "\\1")
list(REMOVE_ITEM others cmd_compile)
set(text "")
foreach(name ${others})
  string(APPEND text "-Wl,--wrap=${name}\n")
  list(APPEND lacking __wrap_${name})
endforeach()
foreach(name ${lacking})
  string(APPEND text "-Wl,--defsym=${name}=cli_full_program\n")
endforeach()
file(WRITE ${CMAKE_ARGV3} "${text}")
