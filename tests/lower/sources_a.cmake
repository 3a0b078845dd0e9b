# Analyses, optimisation, reconvergence, predication. SPDX-License-Identifier: MIT
heddle_unit_test(test_uniform test_uniform.c DEPS hd_lower)
heddle_unit_test(test_reconverge test_reconverge.c warp_model.c DEPS hd_lower)
heddle_unit_test(test_reconverge_places test_reconverge_places.c warp_model.c DEPS hd_lower)
heddle_unit_test(test_asked test_asked.c DEPS hd_lower)
heddle_test_cost(60 test_reconverge)
heddle_unit_test(test_opt test_opt.c DEPS hd_lower)
heddle_unit_test(test_combine test_combine.c DEPS hd_lower)
heddle_unit_test(test_address test_address.c DEPS hd_lower)
heddle_unit_test(test_join test_join.c DEPS hd_lower)
heddle_unit_test(test_reload test_reload.c DEPS hd_lower)
heddle_unit_test(test_opt_random test_opt_random.c DEPS hd_lower)
heddle_test_part(5 test_opt_random)
# Programs whose lanes meet: PTX interpreter and machine agree in every mode.
file(GLOB meet_programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/meet/*.ptx)
foreach(program ${meet_programs})
  get_filename_component(name ${program} NAME_WE)
  add_test(NAME meet_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/meet/run.sh $<TARGET_FILE:heddle> ${program}
    ${CMAKE_CURRENT_BINARY_DIR}/meet)
  set_tests_properties(meet_${name} PROPERTIES LABELS diff)
endforeach()
heddle_unit_test(test_predicate test_predicate.c DEPS hd_lower)
heddle_unit_test(test_meld test_meld.c DEPS hd_lower)
# Passes that count their steps take as many as the program is large: bounds work, not time.
find_program(PYTHON3 python3)
if(PYTHON3)
  add_test(NAME linear_steps COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/bench/shapes --heddle $<TARGET_FILE:heddle> --steps)
  set_tests_properties(linear_steps PROPERTIES LABELS samples)
  heddle_test_once(linear_steps)
  # Similar sides, and lanes of several rounds: right in every mode, and issued less often.
  add_test(NAME melded_kernels COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/melded_kernels.py $<TARGET_FILE:heddle>
    ${PROJECT_SOURCE_DIR}/bench)
  set_tests_properties(melded_kernels PROPERTIES LABELS diff)
  heddle_test_once(melded_kernels)
  add_test(NAME divergent_kernels COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/divergent_kernels.py $<TARGET_FILE:heddle>
    ${PROJECT_SOURCE_DIR}/bench ${CMAKE_CURRENT_SOURCE_DIR}/rounds.ptx)
  set_tests_properties(divergent_kernels PROPERTIES LABELS diff)
  heddle_test_once(divergent_kernels)
endif()
