pkg_check_modules(MPFR IMPORTED_TARGET mpfr)
if(MPFR_FOUND AND TARGET hd_ptx_interp)
  heddle_unit_test(test_isel_builtins test_isel_builtins.c DEPS hd_lower hd_ptx_interp PkgConfig::MPFR)
endif()
