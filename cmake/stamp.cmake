# cmake -P stamp.cmake OUT FILE...: a header that names the build by what it is made of, so that programs which start
# each other know whether they belong together. It is written anew only where the name changes.
# SPDX-License-Identifier: MIT
set(all "")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(k RANGE 4 ${last})
  file(SHA256 ${CMAKE_ARGV${k}} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 all "${all}")
string(SUBSTRING ${all} 0 16 name)
file(CONFIGURE OUTPUT ${CMAKE_ARGV3} CONTENT "#define HEDDLE_BUILD \"${name}\" /* of all libraries; made by stamp.cmake */\n" @ONLY)
