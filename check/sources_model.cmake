# The model checker.
set(CHECK_MODEL_SOURCES model.c model_step.c model_prog.c model_uniform.c model_report.c)
