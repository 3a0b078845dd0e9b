# Instruction selection. SPDX-License-Identifier: MIT
heddle_unit_test(test_isel test_isel.c DEPS hd_lower hd_ir hd_frontend hd_isa hd_base)
add_executable(test_form_sweep test_form_sweep.c)
target_link_libraries(test_form_sweep PRIVATE heddle_flags hd_forms hd_lower hd_ir hd_frontend hd_isa hd_base)
add_test(NAME test_form_sweep COMMAND test_form_sweep)
set_tests_properties(test_form_sweep PROPERTIES LABELS unit)
heddle_test_once(test_form_sweep) # same_code.sh runs it in the second build
add_executable(sample_code sample_code.c) # for same_code.sh
target_link_libraries(sample_code PRIVATE heddle_flags hd_api hd_check m)
pkg_check_modules(MPFR IMPORTED_TARGET mpfr)
if(MPFR_FOUND AND CMOCKA_FOUND)
  heddle_unit_test(test_isel_builtins test_isel_builtins.c DEPS hd_lower hd_ptx_interp PkgConfig::MPFR)
endif()
add_executable(test_isel_forms test_isel_forms.c)
target_link_libraries(test_isel_forms PRIVATE heddle_flags hd_driver hd_check)
add_test(NAME test_isel_forms COMMAND test_isel_forms ${CMAKE_CURRENT_SOURCE_DIR}/isel_forms.txt)
set_tests_properties(test_isel_forms PROPERTIES LABELS diff)
# LSAN_OPTIONS: as in tests/sim/jit
add_test(NAME isel_forms_jit COMMAND test_isel_forms ${CMAKE_CURRENT_SOURCE_DIR}/isel_forms.txt jit)
set_tests_properties(isel_forms_jit PROPERTIES LABELS "diff;slow" SKIP_RETURN_CODE 77 TIMEOUT 1200 ENVIRONMENT LSAN_OPTIONS=use_tls=0)
add_test(NAME isel_forms_stencil COMMAND test_isel_forms ${CMAKE_CURRENT_SOURCE_DIR}/isel_forms.txt stencil)
set_tests_properties(isel_forms_stencil PROPERTIES LABELS "diff;slow" SKIP_RETURN_CODE 77)
foreach(engine gpu gpu-ptx)
  add_test(NAME ${engine}_forms COMMAND test_isel_forms ${CMAKE_CURRENT_SOURCE_DIR}/isel_forms.txt ${engine})
  set_tests_properties(${engine}_forms PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 RESOURCE_LOCK card)
endforeach()
# the same on the machine, compiled for a card of each kind
foreach(sm 7.5 8.0 9.0)
  add_test(NAME isel_forms_${sm} COMMAND test_isel_forms ${CMAKE_CURRENT_SOURCE_DIR}/isel_forms.txt gpu)
  set_tests_properties(isel_forms_${sm} PROPERTIES LABELS "diff;slow" ENVIRONMENT
    "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/tests/sim/gpu/fake;FAKE_CARD=${sm}")
endforeach()
add_executable(test_refusals test_refusals.c)
target_link_libraries(test_refusals PRIVATE heddle_flags hd_frontend hd_base)
add_test(NAME test_refusals COMMAND test_refusals $<TARGET_FILE:heddle> ${PROJECT_SOURCE_DIR}/tests/frontend/gates.txt)
set_tests_properties(test_refusals PROPERTIES LABELS err)
# Orders and scopes, which the simulator cannot tell, against ptxas.
add_test(NAME select_chain COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/select_chain.sh $<TARGET_FILE:heddle>)
add_test(NAME parted_headers COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/parted_headers.sh $<TARGET_FILE:heddle>)
set_tests_properties(select_chain parted_headers PROPERTIES LABELS lower)
add_test(NAME memory_orders COMMAND ${HEDDLE_WITH_PTXAS} ${CMAKE_CURRENT_SOURCE_DIR}/memory_orders.sh $<TARGET_FILE:heddle>
  ${CMAKE_CURRENT_BINARY_DIR})
set_tests_properties(memory_orders PROPERTIES SKIP_RETURN_CODE 77 LABELS emit)
# What ATOM refuses at generic addresses, in our code and, where there is a ptxas, in its code.
find_program(PYTHON3 python3)
if(PYTHON3)
  add_test(NAME generic_atoms COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/generic_atoms.py $<TARGET_FILE:heddle>
    ${CMAKE_CURRENT_BINARY_DIR}/generic_atoms)
  set_tests_properties(generic_atoms PROPERTIES LABELS diff)
  add_test(NAME long_products COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/long_products.py $<TARGET_FILE:heddle>
    ${CMAKE_CURRENT_BINARY_DIR}/long_products)
  set_tests_properties(long_products PROPERTIES LABELS diff)
endif()
