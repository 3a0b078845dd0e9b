list(APPEND LOWER_SOURCES cfg.c postdom.c callgraph.c uniform.c reconverge.c reconverge_yield.c)
