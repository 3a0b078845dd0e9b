# The model checker and mutants. SPDX-License-Identifier: MIT
heddle_unit_test(test_model test_model.c DEPS hd_fuzz hd_check m)
heddle_test_part(3 test_model)
heddle_unit_test(test_mutate test_mutate.c DEPS hd_fuzz hd_check m)
if(TARGET test_mutate)
  target_compile_definitions(test_mutate PRIVATE DOCS_DIR="${PROJECT_SOURCE_DIR}/docs")
endif()
add_test(NAME model_replay COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/model.sh $<TARGET_FILE:heddle>
  ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/model)
set_tests_properties(model_replay PROPERTIES LABELS check)
heddle_test_part(4 model_replay)
# Errors planted in the code of ptxas.
add_test(NAME check_planted_ptxas COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/planted_ptxas.sh $<TARGET_FILE:heddle>
  ${PROJECT_SOURCE_DIR}/bench/kernels/divergent.ptx ${CMAKE_CURRENT_BINARY_DIR}/planted_ptxas 2 8 1 "75 90")
set_tests_properties(check_planted_ptxas PROPERTIES LABELS check SKIP_RETURN_CODE 77)
heddle_test_cost(50 check_planted_ptxas)
heddle_test_once(check_planted_ptxas)
