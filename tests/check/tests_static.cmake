# The static checker. SPDX-License-Identifier: MIT
heddle_unit_test(test_binflow test_binflow.c DEPS hd_check m)
heddle_unit_test(test_layout test_layout.c DEPS hd_check m)
heddle_unit_test(test_regions test_regions.c DEPS hd_check m)
heddle_unit_test(test_check test_check.c DEPS hd_check m)
if(TARGET test_check)
  target_compile_definitions(test_check PRIVATE RULES_DIR="${CMAKE_CURRENT_SOURCE_DIR}/rules"
    DOCS_DIR="${PROJECT_SOURCE_DIR}/docs")
endif()
add_test(NAME check_samples COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_samples.sh $<TARGET_FILE:heddle>
  ${PROJECT_SOURCE_DIR}/ptx-samples ${CMAKE_CURRENT_BINARY_DIR}/samples)
set_tests_properties(check_samples PROPERTIES LABELS check)
heddle_test_part(3 check_samples)
add_test(NAME check_two_severities COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/two_severities.sh $<TARGET_FILE:heddle>
  ${CMAKE_CURRENT_BINARY_DIR}/two_severities)
set_tests_properties(check_two_severities PROPERTIES LABELS check)
add_test(NAME check_driver_calls COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/driver_calls.sh $<TARGET_FILE:heddle>
  ${CMAKE_CURRENT_BINARY_DIR}/driver_calls)
set_tests_properties(check_driver_calls PROPERTIES LABELS check)
# What R-24 proposes, done.
add_test(NAME check_mend COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mend.sh $<TARGET_FILE:heddle> ${CMAKE_CURRENT_BINARY_DIR}/mend
  ${PROJECT_SOURCE_DIR}/bench/kernels/divergent.ptx)
set_tests_properties(check_mend PROPERTIES LABELS check)
heddle_test_part(3 check_mend)
# Distances that ptxas keeps, against latency.def: another number there is an error of the build. A new ptxas: heddle_distances observe < LIST-OF-CUBINS, the head kept.
add_executable(heddle_distances distances.c)
target_link_libraries(heddle_distances PRIVATE hd_check)
add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/distances.ok
  COMMAND heddle_distances ${CMAKE_CURRENT_SOURCE_DIR}/distances.txt
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_CURRENT_BINARY_DIR}/distances.ok
  DEPENDS heddle_distances distances.txt COMMENT "Comparing distances with those that ptxas keeps" VERBATIM)
add_custom_target(distances ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/distances.ok)
