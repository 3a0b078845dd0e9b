heddle_unit_test(test_binflow test_binflow.c DEPS hd_check m)
heddle_unit_test(test_check test_check.c DEPS hd_check m)
