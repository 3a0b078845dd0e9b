heddle_unit_test(test_prove_terms prove/test_terms.c DEPS hd_check m)
add_test(NAME prove COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/prove/run.sh $<TARGET_FILE:heddle> ${PROJECT_SOURCE_DIR}/ptx-samples)
