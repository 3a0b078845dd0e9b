heddle_unit_test(test_cfg test_cfg.c DEPS hd_lower)
heddle_unit_test(test_uniform test_uniform.c DEPS hd_lower)
heddle_unit_test(test_reconverge test_reconverge.c warp_model.c DEPS hd_lower)
heddle_unit_test(test_opt test_opt.c DEPS hd_lower)
