# The fuzzer compiles too, so it is a library of its own.
heddle_library(hd_fuzz fuzz.c fuzz_check.c reduce.c gen.c gen_forms.c gen_arith.c gen_flow.c gen_calls.c gen_warp.c gen_pred.c shape.c lane_trace.c metrics.c
  DEPS hd_check hd_passes hd_lower hd_regalloc hd_emit)
