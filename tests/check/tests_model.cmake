# The model checker and mutants. SPDX-License-Identifier: MIT
heddle_unit_test(test_model test_model.c DEPS hd_fuzz hd_check m)
heddle_unit_test(test_mutate test_mutate.c DEPS hd_fuzz hd_check m)
if(TARGET test_mutate)
  target_compile_definitions(test_mutate PRIVATE DOCS_DIR="${PROJECT_SOURCE_DIR}/docs")
endif()
add_test(NAME model_replay COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/model.sh $<TARGET_FILE:heddle>
  ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/model)
set_tests_properties(model_replay PROPERTIES LABELS check)
