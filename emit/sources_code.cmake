set(EMIT_CODE_SOURCES latency.c mach.c layout.c schedule.c control.c code.c tables.c)
