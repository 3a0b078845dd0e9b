list(APPEND LOWER_SOURCES cfg.c postdom.c)
