# Control flow of decoded binaries and the static checker.
set(CHECK_STATIC_SOURCES binflow.c check.c check_text.c static_structure.c static_uniform.c static_barriers.c
  static_collectives.c static_registers.c static_hazards.c)
