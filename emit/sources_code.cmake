# set(EMIT_CODE_SOURCES latency.c layout.c schedule.c control.c code.c)
