# Translation validation.
set(CHECK_PROVE_SOURCES prove.c prove_env.c prove_term.c prove_sum.c prove_mem.c prove_eval.c prove_mach.c prove_mach_ops.c
  prove_ptx.c prove_ptx_arith.c prove_ptx_float.c prove_ptx_mem.c prove_judge.c prove_refute.c prove_report.c prove_z3.c)
