heddle_unit_test(test_uniform test_uniform.c DEPS hd_lower)
heddle_unit_test(test_reconverge test_reconverge.c warp_model.c DEPS hd_lower)
heddle_unit_test(test_opt test_opt.c DEPS hd_lower)
# Programs whose lanes meet: PTX interpreter and machine agree in every mode.
file(GLOB meet_programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/meet/*.ptx)
foreach(program ${meet_programs})
  get_filename_component(name ${program} NAME_WE)
  add_test(NAME meet_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/meet/run.sh $<TARGET_FILE:heddle> ${program}
    ${CMAKE_CURRENT_BINARY_DIR}/meet)
  set_tests_properties(meet_${name} PROPERTIES LABELS diff TIMEOUT 120)
endforeach()
heddle_unit_test(test_predicate test_predicate.c DEPS hd_lower)
