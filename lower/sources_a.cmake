list(APPEND LOWER_SOURCES cfg.c postdom.c callgraph.c uniform.c reconverge.c reconverge_join.c reconverge_insert.c
  reconverge_sync.c reconverge_stub.c reconverge_check.c reconverge_meet.c reconverge_yield.c
  opt.c opt_branches.c opt_fold.c opt_combine.c opt_cse.c opt_dce.c opt_returns.c legalise.c
  predicate.c predicate_shape.c predicate_cost.c predicate_convert.c)
