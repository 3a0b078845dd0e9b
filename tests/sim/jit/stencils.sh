#!/bin/sh
# Are sim/jit/stencils_v3.inc and stencils_v4.inc what clang 19 makes of sim/jit/stencil_ir.c? UPDATE=1 writes them. Another
# release of it (19.1.1, say) may choose other instructions: skipped; test_stencils asks what they do.
#   stencils.sh SOURCE-DIR STENCIL_TABLE
# SPDX-License-Identifier: MIT
set -eu
top=$1 tool=$2
clang=$(command -v clang-19) || { echo "no clang-19"; exit 77; }
version=$("$clang" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')
made_by=$(sed -n '1s/.*, clang \([0-9.]*\):.*/\1/p' "$top/sim/jit/stencils_v3.inc")
[ "${UPDATE:-}" ] || [ "$version" = "$made_by" ] || { echo "the stencils are of clang $made_by, this is $version"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for level in v3 v4; do
    "$clang" -O2 -c -I "$top" -o "$work/$level.o" "$top/sim/jit/stencil_ir.c" --target=x86_64-linux-gnu \
        -march=x86-64-$level -mprefer-vector-width=512 -mno-vzeroupper -fno-pic -mcmodel=small -ffunction-sections \
        -fno-asynchronous-unwind-tables -fomit-frame-pointer -fno-stack-protector -fcf-protection=none \
        -ffp-contract=off -fno-strict-aliasing -fno-math-errno
    "$tool" $level "$work/$level.o" > "$work/made"
    sed "1s/:/, clang $version:/" "$work/made" > "$work/stencils_$level.inc"
    if [ "${UPDATE:-}" ]; then
        cp "$work/stencils_$level.inc" "$top/sim/jit/stencils_$level.inc"
    else
        diff -u "$top/sim/jit/stencils_$level.inc" "$work/stencils_$level.inc"
    fi
done
