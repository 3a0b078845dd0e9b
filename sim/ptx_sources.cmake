# The PTX reference interpreter and what both engines share; sim/CMakeLists.txt includes this file.
#   hd_launch      launch description, guest memory, traps
#   hd_ptx_interp  the PTX reference interpreter; knows the frontend's AST and nothing of lowering or machine
heddle_library(hd_launch launch.c)
set(PTX_INTERP_SOURCES ptx_interp.c ptx_decode.c ptx_vars.c ptx_int.c ptx_float.c ptx_logic.c ptx_cvt.c ptx_math.c
  ptx_mem.c ptx_flow.c ptx_warp.c ptx_checks.c ptx_race.c ptx_promise.c)
heddle_library(hd_ptx_interp ${PTX_INTERP_SOURCES} DEPS hd_frontend hd_base hd_launch m)
