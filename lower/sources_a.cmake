list(APPEND LOWER_SOURCES cfg.c uniform.c)
