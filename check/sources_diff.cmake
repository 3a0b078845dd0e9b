# Launch plans and differential validation.
set(CHECK_DIFF_SOURCES scalar.c plan.c plan_json.c diff.c diff_report.c plan_write.c coverage.c auto_flow.c auto_launch.c judge.c lane_diff.c lane_diff_json.c)
