list(APPEND LOWER_SOURCES cfg.c postdom.c callgraph.c uniform.c reconverge.c reconverge_yield.c
  opt.c opt_branches.c opt_fold.c opt_combine.c opt_cse.c opt_dce.c opt_returns.c legalise.c)
