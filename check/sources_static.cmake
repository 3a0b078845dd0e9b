# Control flow of decoded binaries and the static checker.
set(CHECK_STATIC_SOURCES binflow.c)
