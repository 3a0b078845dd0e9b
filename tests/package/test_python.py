"""The Python package as its user has it; arrays are numpy's where there is one, else array.array. Expected values are computed
here. SPDX-License-Identifier: MIT"""
import array
import ctypes
import subprocess
import sys

import heddle

try:
    import numpy
except ImportError:
    numpy = None

TEXT = """.version 7.0
.target sm_35
.address_size 64
.global .align 4 .u32 calls = 2;
.visible .entry scale(.param .u64 x, .param .f32 a, .param .u32 n) {
    .reg .u64 %a<3>; .reg .u32 %r<6>; .reg .f32 %f<4>; .reg .pred %p;
    ld.param.u64 %a1, [x];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra DONE;
    mul.wide.u32 %a2, %r2, 4;
    add.u64 %a1, %a1, %a2;
    ld.global.f32 %f2, [%a1];
    mul.f32 %f2, %f2, %f1;
    st.global.f32 [%a1], %f2;
    red.global.add.u32 [calls], 1;
DONE:
    ret;
}
"""
N = 250


def floats():
    return numpy.arange(256, dtype=numpy.float32) if numpy else array.array("f", range(256))


def expect(values, factor):
    assert [float(x) for x in values] == [k * factor if k < N else float(k) for k in range(256)], list(values)


def fails(status, call):
    try:
        call()
    except heddle.Error as error:
        assert error.status == status, error
        return error
    raise AssertionError(f"{status} was expected")


ptx = heddle.parse(TEXT, "scale.ptx")
assert ptx.kernels["scale"].params == [(0, 8), (8, 4), (12, 4)]
for target in ("bru1", "sm_80"):
    binary = ptx.compile(target, opt_level=3)
    assert binary.kernels["scale"].registers >= 4 and binary.image[:4] == b"\x7fELF"
    x = floats()
    binary.launch("scale", grid=2, block=128, args=[x, 3.0, N])
    expect(x, 3)
    ptx.interpret(grid=(2, 1, 1), block=(128,), args=[x, ctypes.c_float(0.5), N])
    expect(x, 1.5)
    again = heddle.load(binary.image)
    assert "FMUL" in again.disassemble() and heddle.assemble(again.disassemble()).image == binary.image
    assert ptx.validate(binary) and "equal" in ptx.validate(binary).text
    before = list(x)
    assert ptx.validate(binary, "scale", grid=2, block=128, args=[x, 2.0, N]) and list(x) == before
    assert ptx.prove(binary).status in ("done", "nothing") and binary.check() and '"' in binary.check(form="json").text

wrong = heddle.parse(TEXT.replace("mul.f32 %f2, %f2, %f1", "add.f32 %f2, %f2, %f1")).compile("sm_80").image
found = ptx.validate(heddle.load(wrong))
assert not found and found.status == "different" and "differs" in found.text, found
if numpy:
    x = numpy.arange(256, dtype=numpy.float32)
    binary.launch(grid=2, block=128, args=[x, numpy.float32(3), numpy.uint32(N)])
    expect(x, 3)
assert "exit" in ptx.report() and ptx.report(form="json").lstrip().startswith("{")
error = fails("input", lambda: heddle.parse("hello", "h.ptx"))
assert "h.ptx:1:1" in str(error)
fails("trap", lambda: ptx.compile().launch(grid=1, block=1, args=[64, 1.0, 1]))
fails("usage", lambda: ptx.compile("sm_1"))
for extent in ((1, 1, 1, 2), -1, (1, 1 << 32), 1.5, "1"):
    try:
        binary.launch("scale", grid=extent, args=[floats(), 1.0, N])
        raise SystemExit(f"a grid of {extent!r}")
    except (TypeError, ValueError):
        pass
if numpy:
    binary.launch("scale", grid=numpy.int64(2), block=numpy.array([128, 1]), args=[floats(), 1.0, N])
assert heddle.explain("R-01") and heddle.explain("R-99") is None

seen = []
counts = ptx.compile().launch(grid=2, block=128, args=[floats(), 2.0, N], policies="bsync-nb=blocked", on_trace=seen.append)
assert counts["warp_instructions"] == len(seen) > 50 and {row.function for row in seen} == {"scale"}, counts
assert any("FMUL" in row.text for row in seen) and max(row.block for row in seen) == (1, 0, 0)
assert ptx.interpret(grid=2, block=128, args=[floats(), 2.0, N])["thread_instructions"] > N
fails("usage", lambda: ptx.compile().launch(grid=2, block=128, args=[floats(), 2.0, N], policies="bsync-nb=never"))
fails("input", lambda: heddle.link([TEXT, TEXT]))
assert list(heddle.link([TEXT, TEXT.replace("scale", "other").replace("calls", "more")]).kernels) == ["scale", "other"]

# a cooperative launch: each block waits until all have come, which takes all of them being there
MEET = """.version 7.0
.target sm_75
.address_size 64
.visible .entry meet(.param .u64 x) {
    .reg .u64 %a<3>; .reg .u32 %r<5>; .reg .pred %p;
    ld.param.u64 %a1, [x];
    mov.u32 %r1, %envreg1;
    mov.u32 %r2, %envreg2;
    or.b32 %r1, %r1, %r2;
    setp.eq.u32 %p, %r1, 0;
    @%p trap;
    atom.global.add.u32 %r2, [%a1], 1;
    mov.u32 %r3, %nctaid.x;
AGAIN:
    ld.acquire.gpu.u32 %r4, [%a1];
    setp.lt.u32 %p, %r4, %r3;
    @%p bra AGAIN;
    ret;
}
"""
meet = heddle.parse(MEET)
for run in (meet.interpret, meet.compile("sm_80").launch):
    count = array.array("I", [0])
    run(grid=50, args=[count], cooperative=True)
    assert count[0] == 50, count
    fails("trap", lambda: run(grid=50, args=[count]))
    fails("input", lambda: run(grid=1025, args=[count], cooperative=True))
assert meet.validate(meet.compile(), grid=9, args=[array.array("I", [0])], cooperative=True)

memory, binary = heddle.Memory(ptx), ptx.compile("sm_75")
at = memory.allocate(1024)
memory.write(at, floats())
for _ in range(3):
    binary.launch(grid=2, block=128, args=[at, 2.0, N], memory=memory)
out = floats()
memory.read(at, out)
expect(out, 8)
address, size = memory.variable(binary, "calls")
calls = array.array("I", [0])
memory.read(address, calls)
assert size == 4 and calls[0] == 2 + 3 * N, calls
memory.release(at)
fails("usage", lambda: memory.release(at))

# pages
page = ptx.report(form="html")
assert page.startswith("<!DOCTYPE html>") and "FMUL" in page and "Lanes over time" not in page
x = floats()
assert "Lanes over time" in ptx.page("scale", grid=2, block=128, args=[x, 2.0, N])
expect(x, 1)
assert "inferred launch" in ptx.page(infer=True, target="sm_80")

# gpuocelot's interface: block before grid, values as pointers
run = ctypes.CDLL(heddle.ptx_run_path()).ptx_run
data = (ctypes.c_float * 256)(*range(256))
bits = ctypes.c_uint32.from_buffer(ctypes.c_float(4)).value


def call(text, *values):
    run(text.encode(), len(values), (ctypes.c_void_p * len(values))(*values), 128, 1, 1, 2, 1, 1, 0)


call(TEXT, ctypes.addressof(data), bits, N)
expect(data, 4)
call(TEXT, ctypes.addressof(data), bits, N)
expect(data, 16)
# buffers on the heap, which grows meanwhile: large ones, one behind the other
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.mallopt.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_int]
libc.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD: from the heap
TWO = TEXT.replace(".param .u32 n)", ".param .u32 n, .param .u64 y)").replace("[x];", "[y];")
for _ in range(8):
    first, second = (libc.malloc(ctypes.c_size_t(1 << 20)) for _ in range(2))
    heap = (ctypes.c_float * 256).from_address(second)
    heap[:] = list(range(256))
    call(TWO, first, bits, N, second)
    expect(heap, 4)

script = "import ctypes, heddle; r = ctypes.CDLL(heddle.ptx_run_path()).ptx_run\n"
for arguments, said in (("b'hello', 0, None", "no kernel that compiles"), (f"{TEXT.encode()!r}, 1, (ctypes.c_void_p * 1)(0)", "3 parameters"),
                        (f"{TEXT.encode()!r}, 3, (ctypes.c_void_p * 3)(8, 0, 1)", "the kernel trapped")):
    done = subprocess.run([sys.executable, "-c", f"{script}r({arguments}, 1, 1, 1, 1, 1, 1, 0)"], capture_output=True, text=True)
    assert done.returncode == 0 and said in done.stderr, (done.returncode, done.stderr)
print("numpy" if numpy else "array", "OK")
