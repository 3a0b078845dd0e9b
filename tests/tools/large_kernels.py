"""Kernels whose pages are large: many_barriers, 20 divergent branches in nests five deep; long_code, more than 1,000 instructions
behind 60 divergent branches. SPDX-License-Identifier: MIT"""
import pathlib

HEAD = """.version 7.0
.target sm_80
.address_size 64
.visible .entry {}(.param .u64 p)
{{
    .reg .b32 %r<20>;
    .reg .b64 %rd<4>;
    .reg .pred %p<4>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r2, %r1;
    mov.u32 %r3, 7;
"""
END = "    st.global.u32 [%rd1], %r2;\n    ret;\n}\n"


def nest(depth, number, lines):
    here = number[0] = number[0] + 1
    lines.append(f"    and.b32 %r4, %r1, {1 << depth};\n    setp.eq.u32 %p1, %r4, 0;\n    @%p1 bra ELSE{here};")
    lines += [f"    mul.lo.u32 %r2, %r2, %r3;\n    add.u32 %r2, %r2, {here * 7 + k};\n    st.global.u32 [%rd1], %r2;" for k in range(6)]
    if depth < 4:
        nest(depth + 1, number, lines)
    lines.append(f"    bra JOIN{here};\nELSE{here}:")
    lines += [f"    xor.b32 %r2, %r2, {here * 9 + k};\n    mad.lo.u32 %r2, %r2, %r1, %r3;\n    st.global.u32 [%rd1], %r2;" for k in range(6)]
    lines.append(f"JOIN{here}:\n    add.u32 %r3, %r3, %r2;")


def write(folder):
    """The two files; each takes a buffer of 1,024 words."""
    lines, number = [], [0]
    for _ in range(4):
        nest(0, number, lines)
    many = pathlib.Path(folder) / "many_barriers.ptx"
    many.write_text(HEAD.format("many_barriers") + "\n".join(lines) + "\n" + END)
    lines = []
    for b in range(60):
        lines.append(f"    setp.lt.u32 %p1, %r2, {b * 3 + 1};\n    @%p1 bra L{b};")
        lines += [f"    mad.lo.u32 %r2, %r2, %r3, {b + k};\n    xor.b32 %r3, %r3, %r2;" for k in range(14)]
        lines.append(f"L{b}:")
    long = pathlib.Path(folder) / "long_code.ptx"
    long.write_text(HEAD.format("long_code") + "\n".join(lines) + "\n" + END)
    return many, long
