"""libheddle.so by ctypes: the structs and functions of heddle.h, in its order. SPDX-License-Identifier: MIT"""
import ctypes as c
import os
import pathlib

NAMES = ("done", "input", "usage", "internal", "different", "trap", "nothing", "memory", "limit", "cancelled")
OK, INPUT, USAGE, INTERNAL, DIFFERENT, TRAP, NOTHING, MEMORY, LIMIT, CANCELLED = range(len(NAMES))
MESSAGE = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p)
PRINT = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)
TRACE = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)


class Options(c.Structure):
    _fields_ = [("message", MESSAGE), ("user", c.c_void_p), ("cancel", c.c_void_p), ("max_memory_bytes", c.c_size_t),
                ("diagnostic", c.c_void_p)]


class CompileOptions(c.Structure):
    _fields_ = [("target", c.c_char_p), ("opt_level", c.c_uint), ("predicate", c.c_char_p), ("no_map", c.c_bool),
                ("no_ptx", c.c_bool), ("profile", c.c_char_p), ("reconverge_opt", c.c_char_p)]


class Arg(c.Structure):
    _fields_ = [("value", c.c_void_p), ("buffer", c.c_void_p), ("size_bytes", c.c_size_t)]


class Print(c.Structure):
    _fields_ = [("block", c.c_uint32 * 3), ("thread", c.c_uint32 * 3), ("text", c.c_void_p), ("size_bytes", c.c_size_t)]


class Trace(c.Structure):
    _fields_ = [("function", c.c_char_p), ("text", c.c_char_p), ("pc_bytes", c.c_uint64), ("ptx_line", c.c_uint32),
                ("block", c.c_uint32 * 3), ("warp", c.c_uint32), ("valid", c.c_uint32), ("active", c.c_uint32), ("executed", c.c_uint32)]


class Statistics(c.Structure):
    _fields_ = [(name, c.c_uint64) for name in ("warp_instructions", "thread_instructions", "data_warp_instructions",
                                                "data_thread_instructions", "convergence_instructions", "divergences", "switches",
                                                "barrier_phases")]


class Launch(c.Structure):
    _fields_ = [("kernel", c.c_char_p), ("grid", c.c_uint32 * 3), ("block", c.c_uint32 * 3), ("shared_bytes", c.c_uint32),
                ("args", c.POINTER(Arg)), ("nargs", c.c_size_t), ("host_call", c.c_void_p), ("host_user", c.c_void_p),
                ("max_steps", c.c_uint64), ("max_seconds", c.c_double), ("print", PRINT), ("print_user", c.c_void_p),
                ("memory", c.c_void_p), ("jobs", c.c_uint), ("cooperative", c.c_bool),
                ("policies", c.c_char_p), ("trace", TRACE), ("trace_user", c.c_void_p),
                ("statistics", c.POINTER(Statistics)), ("target", c.c_char_p)]


class CheckOptions(c.Structure):
    _fields_ = [("rules", c.c_char_p), ("no_hazards", c.c_bool), ("form", c.c_int)]


class ProveOptions(c.Structure):
    _fields_ = [("kernel", c.c_char_p), ("query_seconds", c.c_double), ("max_seconds", c.c_double),
                ("max_terms", c.c_uint32), ("max_memory_bytes", c.c_size_t), ("regions", c.c_bool), ("form", c.c_int)]


class PageOptions(c.Structure):
    _fields_ = [("kernel", c.c_char_p), ("launch", c.POINTER(Launch)), ("infer", c.c_bool), ("seed", c.c_uint64)]


class Param(c.Structure):
    _fields_ = [("offset_bytes", c.c_uint32), ("size_bytes", c.c_uint32)]


class Kernel(c.Structure):
    _fields_ = [("name", c.c_char_p), ("params", c.POINTER(Param)), ("nparams", c.c_size_t), ("param_bytes", c.c_uint32),
                ("registers", c.c_uint32), ("barriers", c.c_uint32), ("stack_bytes", c.c_uint32),
                ("shared_bytes", c.c_uint32), ("max_block", c.c_uint32 * 3), ("req_block", c.c_uint32 * 3)]


def path():
    """Where libheddle.so is: HEDDLE_LIBRARY, or beside this file."""
    found = sorted(pathlib.Path(__file__).parent.glob("libheddle.so*"))
    return os.environ.get("HEDDLE_LIBRARY") or str(found[0] if found else "libheddle.so")


def ptx_run_path():
    """Where the library with gpuocelot's ptx_run is, for tinygrad's OCELOT_PATH."""
    return str(pathlib.Path(path()).with_name("libheddle-ptxrun.so"))


_P = c.c_void_p
_OUT = c.POINTER(c.c_void_p)
_SIGNATURES = {
    "hd_create": (_P, [c.POINTER(Options)]),
    "hd_destroy": (None, [_P]),
    "hd_parse": (c.c_int, [_P, c.c_char_p, c.c_char_p, c.c_size_t, _OUT]),
    "hd_load": (c.c_int, [_P, c.c_char_p, c.c_char_p, c.c_size_t, _OUT]),
    "hd_assemble": (c.c_int, [_P, c.c_char_p, c.c_char_p, c.c_size_t, _OUT]),
    "hd_compile": (c.c_int, [_P, c.POINTER(CompileOptions), _OUT]),
    "hd_image": (c.c_int, [_P, _OUT, c.POINTER(c.c_size_t)]),
    "hd_disassemble": (c.c_int, [_P, _OUT, c.POINTER(c.c_size_t)]),
    "hd_link": (c.c_int, [c.POINTER(_P), c.c_size_t, _OUT]),
    "hd_kernels": (c.c_int, [_P, c.POINTER(c.POINTER(Kernel)), c.POINTER(c.c_size_t)]),
    "hd_memory": (c.c_int, [_P, _OUT]),
    "hd_allocate": (c.c_int, [_P, c.c_size_t, c.POINTER(c.c_uint64)]),
    "hd_release": (c.c_int, [_P, c.c_uint64]),
    "hd_write": (c.c_int, [_P, c.c_uint64, _P, c.c_size_t]),
    "hd_read": (c.c_int, [_P, c.c_uint64, _P, c.c_size_t]),
    "hd_variable": (c.c_int, [_P, _P, c.c_char_p, c.POINTER(c.c_uint64), c.POINTER(c.c_size_t)]),
    "hd_launch": (c.c_int, [_P, c.POINTER(Launch)]),
    "hd_interpret": (c.c_int, [_P, c.POINTER(Launch)]),
    "hd_validate": (c.c_int, [_P, _P, c.POINTER(Launch), _OUT]),
    "hd_validate_auto": (c.c_int, [_P, _P, c.c_char_p, c.c_uint64, _OUT]),
    "hd_check": (c.c_int, [_P, c.POINTER(CheckOptions), _OUT]),
    "hd_prove": (c.c_int, [_P, _P, c.POINTER(ProveOptions), _OUT]),
    "hd_report": (c.c_int, [_P, c.POINTER(CompileOptions), c.c_int, _OUT]),
    "hd_page": (c.c_int, [_P, c.POINTER(CompileOptions), c.POINTER(PageOptions), _OUT]),
    "hd_explain": (_P, [c.c_char_p]),
    "hd_free": (None, [_P]),
}
_loaded = None


def library():
    global _loaded
    if _loaded is None:
        _loaded = c.CDLL(path())
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(_loaded, name)
            function.restype, function.argtypes = result, arguments
    return _loaded
