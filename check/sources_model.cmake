# The model checker.
set(CHECK_MODEL_SOURCES mutate.c campaign.c campaign_report.c model.c model_step.c model_prog.c model_uniform.c model_report.c)
