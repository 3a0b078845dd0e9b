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
as() { "$clang" -c --target=x86_64-linux-gnu -o "$2" "$1"; }
for level in v3 v4; do
    here=$work/$level
    # Loops become vectors before they are unrolled: of 16 lanes in a row clang makes pieces of vectors.
    "$clang" -O2 -mllvm -unroll-full-max-count=2 -S -I "$top" -o "$here.s" "$top/sim/jit/stencil_ir.c" --target=x86_64-linux-gnu \
        -march=x86-64-$level -mprefer-vector-width=512 -mno-vzeroupper -fno-pic -mcmodel=small -ffunction-sections \
        -fno-asynchronous-unwind-tables -fomit-frame-pointer -fno-stack-protector -fcf-protection=none \
        -ffp-contract=off -fno-strict-aliasing -fno-math-errno
    # Every instruction of vectors in the encoding that has room for every register.
    if [ $level = v4 ]; then
        most=31
        # Sources that are one row are one register (sim/jit/stencil_rows.c): none may be used for another thing meanwhile.
        awk '/^lane_of_|^place_|^store_/ {name = $1}
             name && /%[xyz]mm[0-5]( *\{[^}]*\})*[ \t]*(#.*)?$/ {print name " writes a source: " $0; bad = 1}
             /^\.Lfunc_end/ {name = ""}
             END {exit bad}' "$here.s"
        sed -i '/%[xy]mm/{/%zmm/!{s/^\t\(vpxor\|vpand\|vpor\)\t/\t\1d\t/;s/^\t\(vmovdq[au]\)\t/\t\132\t/;s/^\tv/\t{evex} v/}}' "$here.s"
    else
        most=15
        sed -i '/%[xy]mm/s/^\tv/\t{vex3} v/' "$here.s"
    fi
    as "$here.s" "$here.o"
    all=
    objects=
    for r in $(seq 0 $most); do
        all="$all;s/mm$r\\b/mm@$((r ^ most))/g"
        sed "s/\(%[xyz]mm\)$r\\b/\1$((r ^ 1))/g" "$here.s" > "$here.$r.s"
        as "$here.$r.s" "$here.$r.o"
        objects="$objects $here.$r.o"
    done
    sed "/%[xyz]mm/{${all#;};s/mm@/mm/g}" "$here.s" > "$here.all.s"
    as "$here.all.s" "$here.all.o"
    # shellcheck disable=SC2086 # names without spaces
    "$tool" $level "$here.o" "$here.all.o" $objects > "$work/made"
    sed "1s/:/, clang $version:/" "$work/made" > "$work/stencils_$level.inc"
    if [ "${UPDATE:-}" ]; then
        cp "$work/stencils_$level.inc" "$top/sim/jit/stencils_$level.inc"
    else
        diff -u "$top/sim/jit/stencils_$level.inc" "$work/stencils_$level.inc"
    fi
done
