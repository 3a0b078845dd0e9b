"""Compile PTX to GPU machine code, disassemble, run and validate it, without a GPU.

    import heddle, numpy
    ptx = heddle.parse(text)
    binary = ptx.compile("sm_80")
    x = numpy.arange(256, dtype=numpy.float32)
    binary.launch("scale", grid=2, block=128, args=[x, numpy.float32(3), numpy.uint32(256)])   # x is changed in place
    print(binary.disassemble(), binary.kernels["scale"].registers, ptx.validate(binary, "scale").text)

Arguments of a launch are writable arrays (numpy's, or anything with a contiguous buffer), which are copied in before and out after
it; numpy scalars and ctypes values, whose bytes are passed; and integers and floats, which take the size of the kernel's parameter.
With a Memory, arrays stay on the device: its allocations are integers. What the library says goes into Error.messages, or, where
nothing failed, into `messages` of the module's context. SPDX-License-Identifier: MIT"""
import ctypes as _c
import struct as _struct
from operator import index as _index

from . import _library as _l
from ._library import path as library_path
from ._library import ptx_run_path

__all__ = ["parse", "link", "load", "assemble", "explain", "library_path", "ptx_run_path", "Ptx", "Binary", "Memory", "Report", "Error", "Kernel", "Trace"]
__version__ = "0.1.0"
_FORMS = {"text": 0, "json": 1, "sarif": 2, "html": 3}


class Error(Exception):
    """A call failed: `status` is the name of the HdStatus ("input", "trap", "limit" ...), `messages` what was said."""

    def __init__(self, status, messages):
        self.status, self.messages = _l.NAMES[status], messages
        super().__init__(f"{self.status}: {''.join(messages).strip()}" if messages else self.status)


class Report:
    """`status` ("done": shown, "different", "nothing": nothing was shown), true if done; `text` says what was found."""

    def __init__(self, status, text):
        self.status, self.text = _l.NAMES[status], text

    def __bool__(self):
        return self.status == "done"

    def __repr__(self):
        return f"Report({self.status!r}, {self.text!r})"


class Kernel:
    """What a module says of a kernel; registers, barriers, stack and shared memory are 0 for PTX."""

    def __init__(self, row):
        self.name = row.name.decode()
        self.params = [(row.params[k].offset_bytes, row.params[k].size_bytes) for k in range(row.nparams)]
        for field in ("param_bytes", "registers", "barriers", "stack_bytes", "shared_bytes"):
            setattr(self, field, getattr(row, field))
        self.max_block, self.req_block = tuple(row.max_block), tuple(row.req_block)

    def __repr__(self):
        return f"Kernel({self.name!r}, params={self.params}, registers={self.registers})"


class _Context:
    def __init__(self):
        self.messages = []
        self._keep = _l.MESSAGE(lambda user, severity, text: self.messages.append(text.decode(errors="replace")))
        self.handle = _l.library().hd_create(_c.byref(_l.Options(message=self._keep)))
        if not self.handle:
            raise MemoryError("hd_create")

    def __del__(self):
        if getattr(self, "handle", None):
            _l.library().hd_destroy(self.handle)

    def call(self, function, *arguments, allow=(_l.OK,)):
        self.messages.clear()
        status = getattr(_l.library(), function)(*arguments)
        if status not in allow:
            raise Error(status, list(self.messages))
        return status


def _text(pointer):
    """The text of the library at a pointer, which is released."""
    if not pointer:
        return ""
    text = _c.string_at(pointer).decode(errors="replace")
    _l.library().hd_free(pointer)
    return text


def _three(value):
    values = tuple(value) if hasattr(value, "__iter__") else (value,)
    if len(values) > 3 or not all(0 <= _index(one) < 1 << 32 for one in values):
        raise ValueError(f"{value!r} is not the extent of a grid or block: up to three integers")
    return (_c.c_uint32 * 3)(*(tuple(_index(one) for one in values) + (1, 1, 1))[:3])


class Trace:
    """An instruction that a warp issues: function, text, pc_bytes, ptx_line, block, warp; lanes as masks: valid, active, executed."""

    def __init__(self, row):
        for name, kind in row._fields_:
            value = getattr(row, name)
            setattr(self, name, value.decode() if isinstance(value, bytes) else tuple(value) if name == "block" else value)

    def __repr__(self):
        return f"<{self.function}+0x{self.pc_bytes:x} warp {self.warp} {self.executed:08x} {self.text}>"


class _Module:
    def __init__(self, context, handle):
        self._context, self._handle = context, handle
        rows, n = _c.POINTER(_l.Kernel)(), _c.c_size_t()
        context.call("hd_kernels", handle, _c.byref(rows), _c.byref(n))
        self.kernels = {kernel.name: kernel for kernel in (Kernel(rows[k]) for k in range(n.value))}
        _l.library().hd_free(rows)

    @property
    def messages(self):
        """What the library said in the last call."""
        return list(self._context.messages)

    def _kernel(self, name):
        if name is None and len(self.kernels) == 1:
            return next(iter(self.kernels.values()))
        if name not in self.kernels:
            raise KeyError(f"no kernel {name!r}; there are {', '.join(sorted(self.kernels))}")
        return self.kernels[name]

    def _argument(self, value, size):
        """An Arg, and what must live as long as it."""
        if isinstance(value, (bool, int)):
            data = int(value).to_bytes(size, "little", signed=value < 0)
        elif isinstance(value, float):
            data = _struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
        elif isinstance(value, (bytes, _c._SimpleCData)) or getattr(value, "shape", None) == () and hasattr(value, "tobytes"):
            data = value.tobytes() if hasattr(value, "tobytes") else bytes(value)
        else:
            view = memoryview(value)
            if view.readonly or not view.c_contiguous:
                raise ValueError("an array argument must be writable and contiguous")
            if not view.nbytes:
                raise ValueError("an array argument is empty")
            owner = (_c.c_char * view.nbytes).from_buffer(view.cast("B") if view.ndim else view)
            return _l.Arg(buffer=_c.addressof(owner), size_bytes=view.nbytes), owner
        owner = _c.create_string_buffer(data, len(data))
        return _l.Arg(value=_c.addressof(owner), size_bytes=len(data)), owner

    def _launch(self, kernel, grid, block, args, shared, max_steps, max_seconds, memory, on_print=None, policies=None, on_trace=None,
                target=None, cooperative=False):
        found = self._kernel(kernel)
        if len(args) != len(found.params):
            raise TypeError(f"{found.name} has {len(found.params)} parameters, {len(args)} arguments are given")
        made = [self._argument(value, size) for value, (_, size) in zip(args, found.params)]
        rows = (_l.Arg * max(1, len(made)))(*[arg for arg, _ in made])

        def deliver(_, address):
            text = _l.Print.from_address(address)
            on_print(_c.string_at(text.text, text.size_bytes).decode(errors="replace"))
        launch = _l.Launch(kernel=found.name.encode(), grid=_three(grid), block=_three(block), shared_bytes=shared, args=rows,
                           nargs=len(made), max_steps=max_steps, max_seconds=max_seconds,
                           memory=memory._handle if memory else None, cooperative=cooperative)
        if on_print:
            launch.print = _l.PRINT(deliver)
        if on_trace:
            launch.trace = _l.TRACE(lambda _, address: on_trace(Trace(_l.Trace.from_address(address))))
        if policies:
            launch.policies = policies.encode()
        if target:
            launch.target = target.encode()
        return launch, made

    def _run(self, function, kernel, grid, block, args, shared, max_steps, max_seconds, memory, on_print, cooperative, *more):
        launch, alive = self._launch(kernel, grid, block, args, shared, max_steps, max_seconds, memory, on_print, *more,
                                     cooperative=cooperative)
        counts = _l.Statistics()
        launch.statistics = _c.pointer(counts)
        self._context.call(function, self._handle, _c.byref(launch))
        del alive
        return {name: getattr(counts, name) for name, _ in counts._fields_}


class Binary(_Module):
    """Machine code: compiled, loaded or assembled."""

    @property
    def image(self):
        data, size = _c.c_void_p(), _c.c_size_t()
        self._context.call("hd_image", self._handle, _c.byref(data), _c.byref(size))
        return _c.string_at(data, size.value)

    def disassemble(self):
        text, size = _c.c_void_p(), _c.c_size_t()
        self._context.call("hd_disassemble", self._handle, _c.byref(text), _c.byref(size))
        return _text(text)

    def launch(self, kernel=None, grid=1, block=1, args=(), shared=0, max_steps=0, max_seconds=0.0, memory=None, on_print=None,
               policies=None, on_trace=None, cooperative=False):
        """Run it on the SIMT machine; what it executed, by name. Error("trap") says which trap; arrays keep what was written.
        policies: as `heddle run --policy`; on_trace: called with a Trace for every instruction; cooperative: all blocks are there
        at once and may wait for each other."""
        return self._run("hd_launch", kernel, grid, block, args, shared, max_steps, max_seconds, memory, on_print, cooperative, policies,
                         on_trace)

    def check(self, rules=None, form="text"):
        """The static checker's findings: convergence barriers, collectives, control codes."""
        options = _l.CheckOptions(rules=rules.encode() if rules else None, form=_FORMS[form])
        out = _c.c_void_p()
        status = self._context.call("hd_check", self._handle, _c.byref(options), _c.byref(out), allow=(_l.OK, _l.DIFFERENT))
        return Report(status, _text(out))


class Ptx(_Module):
    """A PTX module."""

    def _options(self, target, opt_level, predicate, reconverge_opt, profile):
        texts = [text.encode() if text else None for text in (target, predicate, reconverge_opt, profile)]
        return _l.CompileOptions(target=texts[0], opt_level=opt_level, predicate=texts[1], reconverge_opt=texts[2],
                                 profile=texts[3])

    def compile(self, target=None, opt_level=2, predicate=None, reconverge_opt=None, profile=None):
        """Machine code for "bru1" (default), "sm_75" ... "sm_90"."""
        options, out = self._options(target, opt_level, predicate, reconverge_opt, profile), _c.c_void_p()
        self._context.call("hd_compile", self._handle, _c.byref(options), _c.byref(out))
        return Binary(self._context, out)

    def report(self, target=None, opt_level=2, predicate=None, reconverge_opt=None, profile=None, form="text"):
        """Where lanes come together, and why not elsewhere; form "html": as `page` of the only kernel."""
        options, out = self._options(target, opt_level, predicate, reconverge_opt, profile), _c.c_void_p()
        self._context.call("hd_report", self._handle, _c.byref(options), _FORMS[form], _c.byref(out))
        return _text(out)

    def page(self, kernel=None, grid=None, block=1, args=(), shared=0, infer=False, seed=0, target=None, opt_level=2, predicate=None,
             reconverge_opt=None, profile=None, max_steps=0, cooperative=False):
        """HTML, in one text, of a kernel: its control flow with barrier regions, its code, and with a launch (grid), or with
        `infer` an inferred one, what the lanes did. Arrays are not changed."""
        options, out = self._options(target, opt_level, predicate, reconverge_opt, profile), _c.c_void_p()
        page, alive = _l.PageOptions(kernel=self._kernel(kernel).name.encode(), infer=infer, seed=seed), None
        if grid is not None:
            launch, alive = self._launch(kernel, grid, block, args, shared, max_steps, 0.0, None, cooperative=cooperative)
            page.launch = _c.pointer(launch)
        self._context.call("hd_page", self._handle, _c.byref(options), _c.byref(page), _c.byref(out))
        del alive
        return _text(out)

    def interpret(self, kernel=None, grid=1, block=1, args=(), shared=0, max_steps=0, max_seconds=0.0, memory=None,
                  on_print=None, target=None, cooperative=False):
        """Run the PTX by the reference interpreter; what it executed, by name: thread_instructions.
        target: products of matrices add as this target's, "sm_90"; cooperative: as of Binary.launch."""
        return self._run("hd_interpret", kernel, grid, block, args, shared, max_steps, max_seconds, memory, on_print, cooperative, None,
                         None, target)

    def _report(self, function, *arguments):
        out = _c.c_void_p()
        status = self._context.call(function, self._handle, *arguments, _c.byref(out),
                                    allow=(_l.OK, _l.DIFFERENT, _l.NOTHING))
        return Report(status, _text(out))

    def validate(self, binary, kernel=None, grid=None, block=1, args=(), shared=0, max_steps=0, max_seconds=0.0, seed=0,
                 cooperative=False):
        """Do PTX and binary do the same? With a launch (grid), which changes no array, or under inferred ones."""
        if grid is None:
            return self._report("hd_validate_auto", binary._handle, self._kernel(kernel).name.encode(), seed)
        launch, alive = self._launch(kernel, grid, block, args, shared, max_steps, max_seconds, None, cooperative=cooperative)
        return self._report("hd_validate", binary._handle, _c.byref(launch))

    def prove(self, binary, kernel=None, max_seconds=0.0, form="text"):
        """Does the binary mean what the PTX means, for all inputs?"""
        options = _l.ProveOptions(kernel=kernel.encode() if kernel else None, max_seconds=max_seconds, form=_FORMS[form])
        return self._report("hd_prove", binary._handle, _c.byref(options))


class Memory:
    """Device memory that stays from launch to launch, of modules of the context that `module` is of."""

    def __init__(self, module):
        self._context, out = module._context, _c.c_void_p()
        self._context.call("hd_memory", self._context.handle, _c.byref(out))
        self._handle = out

    def allocate(self, size_bytes):
        address = _c.c_uint64()
        self._context.call("hd_allocate", self._handle, size_bytes, _c.byref(address))
        return address.value

    def release(self, address):
        self._context.call("hd_release", self._handle, address)

    def write(self, address, array):
        data = memoryview(array).tobytes()
        self._context.call("hd_write", self._handle, address, data, len(data))

    def read(self, address, array):
        """Fill the writable array."""
        view = memoryview(array)
        data = (_c.c_char * view.nbytes).from_buffer(view.cast("B"))
        self._context.call("hd_read", self._handle, address, _c.addressof(data), view.nbytes)

    def variable(self, module, name):
        """Address and size of a module's variable."""
        address, size = _c.c_uint64(), _c.c_size_t()
        self._context.call("hd_variable", self._handle, module._handle, name.encode(), _c.byref(address), _c.byref(size))
        return address.value, size.value


def _made(function, kind, name, data):
    context, out = _Context(), _c.c_void_p()
    context.call(function, context.handle, name.encode(), data, len(data), _c.byref(out))
    return kind(context, out)


def parse(text, name="ptx"):
    """PTX text to a Ptx."""
    return _made("hd_parse", Ptx, name, text.encode() if isinstance(text, str) else bytes(text))


def link(texts):
    """Several PTX texts as one Ptx: .extern names of each are definitions of the others."""
    context, out = _Context(), _c.c_void_p()
    handles = (_c.c_void_p * len(texts))()
    for k, text in enumerate(texts):
        data = text.encode() if isinstance(text, str) else bytes(text)
        context.call("hd_parse", context.handle, f"ptx {k + 1}".encode(), data, len(data), _c.byref(out))
        handles[k] = out.value
    context.call("hd_link", handles, len(texts), _c.byref(out))
    return Ptx(context, out)


def load(image, name="binary"):
    """The bytes of an ELF file, Heddle's or a cubin, to a Binary."""
    return _made("hd_load", Binary, name, bytes(image))


def assemble(text, name="sass"):
    """Assembly text to a Binary."""
    return _made("hd_assemble", Binary, name, text.encode())


def explain(rule):
    """What a rule of check demands; None: there is none of that name."""
    return _text(_l.library().hd_explain(rule.encode())) or None
