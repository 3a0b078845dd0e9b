heddle_unit_test(test_binflow test_binflow.c DEPS hd_check m)
