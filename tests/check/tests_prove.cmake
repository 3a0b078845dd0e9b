# The prover. SPDX-License-Identifier: MIT
heddle_unit_test(test_prove_terms prove/test_terms.c DEPS hd_check m)
heddle_unit_test(test_prove_ops prove/test_ops.c DEPS hd_check m)
heddle_unit_test(test_prove_rewrite prove/test_rewrite.c DEPS hd_check m)
heddle_unit_test(test_prove_rules prove/test_rules.c DEPS hd_check m)
heddle_test_cost(60 test_prove_rules)
heddle_test_once(test_prove_rules test_prove_rewrite) # Z3 is asked
heddle_test_part(6 test_prove_ops)
add_test(NAME prove COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/prove/run.sh $<TARGET_FILE:heddle> ${PROJECT_SOURCE_DIR}/ptx-samples)
add_test(NAME prove_contents COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/prove/contents.sh $<TARGET_FILE:heddle>
  ${CMAKE_CURRENT_SOURCE_DIR}/prove/contents ${CMAKE_CURRENT_BINARY_DIR}/contents)
add_test(NAME prove_foreign COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/prove/foreign.sh $<TARGET_FILE:heddle> ${PROJECT_SOURCE_DIR}/ptx-samples)
heddle_test_part(9 prove prove_foreign)
set(flips 300)
if(HEDDLE_SANITIZED)
  set(flips 100)
endif()
add_executable(flip_campaign prove/flip_campaign.c)
target_link_libraries(flip_campaign PRIVATE hd_driver hd_check m)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/campaign)
add_test(NAME prove_flip_campaign COMMAND flip_campaign ${PROJECT_SOURCE_DIR}/ptx-samples ${PROJECT_BINARY_DIR}/tests/samples
  ${CMAKE_CURRENT_BINARY_DIR}/campaign --more ${CMAKE_CURRENT_SOURCE_DIR}/prove/campaign,${CMAKE_CURRENT_SOURCE_DIR}/prove/planted --count ${flips} --targets bru1,sm_80,sm_90)
set_tests_properties(prove_flip_campaign PROPERTIES LABELS "check")
heddle_test_cost(30 prove_flip_campaign)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/foreign_campaign)
add_test(NAME prove_foreign_flips COMMAND ${HEDDLE_FIND_NVIDIA} ptxas $<TARGET_FILE:flip_campaign> ${PROJECT_SOURCE_DIR}/ptx-samples
  ${PROJECT_BINARY_DIR}/tests/samples ${CMAKE_CURRENT_BINARY_DIR}/foreign_campaign --count 60 --targets sm_80 --ptxas)
set_tests_properties(prove_foreign_flips PROPERTIES LABELS "check" SKIP_RETURN_CODE 77)
if(PYTHON3)
  add_executable(prove_whether prove/whether.c)
  target_link_libraries(prove_whether PRIVATE hd_check m)
  file(GLOB planted RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/prove/planted CONFIGURE_DEPENDS prove/planted/*.ptx)
  foreach(program ${planted})
    string(REPLACE .ptx "" program ${program})
    add_test(NAME prove_planted_${program} COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prove/planted.py $<TARGET_FILE:heddle>
      $<TARGET_FILE:prove_whether> ${CMAKE_CURRENT_SOURCE_DIR}/prove/planted ${CMAKE_CURRENT_BINARY_DIR}/planted ${program})
    set_tests_properties(prove_planted_${program} PROPERTIES LABELS "check")
  endforeach()
  add_test(NAME prove_others COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prove/others.py $<TARGET_FILE:heddle>
    $<TARGET_FILE:prove_whether> ${CMAKE_CURRENT_SOURCE_DIR}/prove/others.txt ${CMAKE_CURRENT_BINARY_DIR}/others)
  add_test(NAME prove_others_ptxas COMMAND ${HEDDLE_FIND_NVIDIA} ptxas ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prove/others.py $<TARGET_FILE:heddle>
    $<TARGET_FILE:prove_whether> ${CMAKE_CURRENT_SOURCE_DIR}/prove/others.txt ${CMAKE_CURRENT_BINARY_DIR}/others_ptxas ptxas)
  set_tests_properties(prove_others PROPERTIES LABELS check)
  set_tests_properties(prove_others_ptxas PROPERTIES LABELS check SKIP_RETURN_CODE 77)
  add_test(NAME prove_form COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prove/form.py $<TARGET_FILE:heddle>
    ${CMAKE_CURRENT_SOURCE_DIR}/prove/contents ${CMAKE_CURRENT_BINARY_DIR}/form)
  add_test(NAME prove_form_ptxas COMMAND ${HEDDLE_FIND_NVIDIA} ptxas ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prove/form.py $<TARGET_FILE:heddle>
    ${CMAKE_CURRENT_SOURCE_DIR}/prove/contents ${CMAKE_CURRENT_BINARY_DIR}/form_ptxas)
  heddle_test_part(4 prove_form prove_form_ptxas prove_others prove_others_ptxas)
  set_tests_properties(prove_form PROPERTIES LABELS check)
  set_tests_properties(prove_form_ptxas PROPERTIES LABELS check SKIP_RETURN_CODE 77)
  add_test(NAME prove_map_rows COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prove/map_rows.py $<TARGET_FILE:heddle>
    ${PROJECT_SOURCE_DIR}/ptx-samples ${CMAKE_CURRENT_BINARY_DIR}/map_rows)
  set_tests_properties(prove_map_rows PROPERTIES LABELS "check")
  add_test(NAME prove_rare COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prove/rare.py $<TARGET_FILE:heddle>
    ${CMAKE_CURRENT_SOURCE_DIR}/prove/rare.ptx ${CMAKE_CURRENT_BINARY_DIR}/rare)
  add_test(NAME prove_flips COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/prove/flips.py $<TARGET_FILE:heddle>
    ${PROJECT_SOURCE_DIR}/ptx-samples ${PROJECT_BINARY_DIR}/tests/samples ${CMAKE_CURRENT_BINARY_DIR}/flips --count 50)
  set_tests_properties(prove_flips PROPERTIES LABELS "check;slow")
  heddle_test_cost(90 prove_flips)
  heddle_test_cost(40 prove_rare)
  heddle_test_part(6 prove_rare)
endif()
# Every form that is compiled is proved: a twelfth of the spellings for each target, other ones each.
add_executable(test_prove_forms prove/test_forms.c)
target_link_libraries(test_prove_forms PRIVATE heddle_flags hd_forms hd_driver hd_check m)
set(part 0)
foreach(target bru1 sm_75 sm_80 sm_90)
  add_test(NAME prove_forms_${target} COMMAND test_prove_forms ${target} ${part} 12)
  set_tests_properties(prove_forms_${target} PROPERTIES LABELS check)
  heddle_test_cost(20 prove_forms_${target})
  heddle_test_part(8 prove_forms_${target})
  math(EXPR part "${part} + 1")
endforeach()
