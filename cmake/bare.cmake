# cmake -P bare.cmake OUT NM OBJECT: a script for the linker, by which every function that the object lacks is
# cli_full_program (tools/bare/bare.h). SPDX-License-Identifier: MIT
execute_process(COMMAND ${CMAKE_ARGV4} -u ${CMAKE_ARGV5} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " U [A-Za-z0-9_]+" names "${names}") # not those that are weak: a program does without them
list(TRANSFORM names REPLACE " U " "")
list(REMOVE_ITEM names _GLOBAL_OFFSET_TABLE_)
set(text "/* made by bare.cmake */\n")
foreach(name ${names})
  string(APPEND text "${name} = cli_full_program;\n")
endforeach()
file(WRITE ${CMAKE_ARGV3} "${text}")
