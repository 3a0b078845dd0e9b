# Translation validation.
set(CHECK_PROVE_SOURCES prove.c prove_env.c prove_term.c prove_sum.c prove_mem.c prove_eval.c prove_mach.c prove_mach_ops.c
  prove_ptx.c prove_ptx_arith.c prove_ptx_float.c prove_ptx_mem.c prove_judge.c prove_refute.c prove_replay.c prove_report.c prove_z3.c)
# Z3 is loaded at run time; its header says how to call it. Without the header nothing is asked.
find_path(Z3_INCLUDE_DIR z3.h)
if(Z3_INCLUDE_DIR)
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/prove_z3.c PROPERTIES COMPILE_DEFINITIONS HEDDLE_HAVE_Z3
    INCLUDE_DIRECTORIES ${Z3_INCLUDE_DIR})
endif()
