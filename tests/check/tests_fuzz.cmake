# The generator and the fuzzer. SPDX-License-Identifier: MIT
heddle_unit_test(test_fuzz test_fuzz.c DEPS hd_fuzz m)
heddle_test_part(8 test_fuzz)
if(TARGET test_fuzz)
  target_compile_definitions(test_fuzz PRIVATE REGRESS_DIR="${CMAKE_CURRENT_SOURCE_DIR}/regress")
endif()
