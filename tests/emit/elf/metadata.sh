#!/bin/sh
# metadata.sh HEDDLE DIRECTORY: what a file says of its kernels beside the code is what ptxas says: parameters, barriers,
# bounds of the block, its third index, and which addresses the loader puts into variables. Skipped (77) without ptxas.
# SPDX-License-Identifier: MIT
set -eu
. "$(dirname "$0")/../../part.sh"
heddle=$1 ptxas=$PTXAS work=$2/metadata
rm -rf "$work"
mkdir -p "$work"
sed -n 's/^NVATTR(\(0x[0-9a-f]*\), \([A-Z0-9_]*\), .*$/s,EIATTR_\2\\>,\1,/p' "$(dirname "$0")/../../../emit/elf/nvinfo.def" > "$work/numbers"

# The kernel's records by value; generic addresses in data by kind and symbol, since variables may lie in another order (others have a
# kind of their own here, and the generic one in ptxas's files).
facts() {
  "$heddle" disasm --sections "$1" > "$work/text"
  sed -n '/section\t"\.nv\.info\.k"$/,/^\/\/ *---/p' "$work/text" | grep -E 'EIATTR_(CBANK_PARAM_SIZE|KPARAM_INFO|NUM_BARRIERS|MAX_THREADS|REQNTID|CTA_PER_CLUSTER|EXPLICIT_CLUSTER|MAX_CLUSTER_RANK|CTAIDZ_USED|SYSCALL_OFFSETS|SW2861232_WAR|SW_WAR|CUDA_API_VERSION|ISA_VERSION|RESERVED_SMEM_USED|EXTERNS)' | tr -d '\t' | sed 's/^\.__attr[0-9]*//' | sort
  sed -n 's/^\t\.__rela*\t0x[0-9a-f]*, 4, .*\/\/ \(v_.*\)/generic \1/p' "$work/text" | sort
}
same() { # NAME: the module's declarations, parameters and body are standard input, parted by lines of ---
  awk -v RS='---\n' '{ part[NR] = $0 } END {
    printf ".version 8.0\n.target TARGET\n.address_size 64\n%s.visible .entry k(%s)\n", part[1], part[2]
    printf "%s\n{\n .reg .b32 %%r<4>; .reg .b64 %%d<4>; .reg .pred %%p<2>;\n%s ret;\n}\n", part[3], part[4] }' > "$work/$1.ptx"
  for sm in sm_75 sm_80 sm_89 sm_90 sm_90a; do
    mine || continue
    sed "s/TARGET/$sm/" "$work/$1.ptx" > "$work/x.ptx"
    "$ptxas" -arch "$sm" "$work/x.ptx" -o "$work/theirs.cubin" 2> /dev/null || continue # an older or newer ptxas
    "$heddle" compile -t "$sm" "$work/x.ptx" -o "$work/ours.cubin"
    for file in theirs ours; do # a record's number says the same as its name
      "$heddle" disasm --sections "$work/$file.cubin" | sed -f "$work/numbers" > "$work/numbers.sass"
      grep -q EIATTR "$work/numbers.sass" && { echo "$1, $sm: a record without a number"; exit 1; }
      "$heddle" asm "$work/numbers.sass" -o "$work/numbers.cubin"
      cmp "$work/$file.cubin" "$work/numbers.cubin"
    done
    for file in theirs ours; do
      "$heddle" disasm "$work/$file.cubin" | grep -qx "\.target $sm" || { echo "$1: $file is not of $sm"; exit 1; }
    done
    facts "$work/theirs.cubin" > "$work/theirs"
    facts "$work/ours.cubin" > "$work/ours"
    [ -s "$work/theirs" ] || { echo "$1, $sm: ptxas says nothing"; exit 1; }
    diff "$work/theirs" "$work/ours" || { echo "$1, $sm"; exit 1; }
    ! "$heddle" check "$work/theirs.cubin" | grep M-06 || { echo "$1, $sm: the form of ptxas's file"; exit 1; }
  done
}
same params << 'END'
---
.param .u8 a, .param .u64 b, .param .u16 c, .param .align 16 .b8 d[24], .param .u8 e, .param .f64 f, .param .u8 g---
---
 ld.param.u64 %d1, [b]; st.global.u64 [%d1], %d1;
END
same param_end << 'END'
---
.param .u64 a, .param .align 4 .b8 b[6], .param .u16 c, .param .u32 d, .param .u8 e---
---
 ld.param.u64 %d1, [a]; st.global.u64 [%d1], %d1;
END
same param_pointers << 'END'
---
.param .u64 .ptr a, .param .u64 .ptr .align 1 b, .param .u64 .ptr .global .align 16 c, .param .u64 .ptr .shared d, .param .u64 .ptr .local .align 128 f, .param .u32 g---
---
 ld.param.u64 %d1, [c]; st.global.u64 [%d1], %d1;
END
same param_aligned << 'END'
---
.param .u32 a, .param .align 64 .b8 b[128], .param .u8 c, .param .align 128 .b8 d[4]---
---
 ld.param.u8 %r1, [d]; ld.param.u32 %r2, [b+64]; st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r2;
END
same cluster << 'END'
---
.param .u64 a---
.reqnctapercluster 3, 1, 2 .explicitcluster---
END
same cluster_row << 'END'
---
.param .u64 a---
.reqnctapercluster 4---
END
same cluster_most << 'END'
---
.param .u64 a---
.explicitcluster .maxclusterrank 6---
END
same barrier << 'END'
---
.param .u64 a---
---
 bar.sync 5; bar.sync 2, 64;
END
same barrier_register << 'END'
---
.param .u64 a, .param .u32 n---
---
 ld.param.u32 %r1, [n]; bar.sync %r1;
END
same barrier_count << 'END'
---
.param .u64 a, .param .u32 n---
---
 ld.param.u32 %r1, [n]; bar.sync 3, %r1;
END
for call in 'call (%r1), f' 'mov.u64 %d2, f; p: .callprototype (.param .b32 _) _ (); call (%r1), %d2, (), p'; do
  printf -- '.func (.param .b32 z) f()\n{ .reg .b32 %%a; mov.u32 %%a, %%ctaid.z; st.param.b32 [z], %%a; ret; }
---\n.param .u64 a---\n---\n ld.param.u64 %%d1, [a]; { .param .b32 r; %s; ld.param.b32 %%r1, [r]; } st.global.u32 [%%d1], %%r1;\n' \
    "$(printf %s "$call" | sed 's/(%r1)/(r)/')" | same block_index
done
for bound in '.maxntid 96, 5, 3' '.maxntid 64' '.reqntid 32, 4, 2' '.reqntid 128'; do
  printf -- '---\n.param .u64 a---\n%s---\n ld.param.u64 %%d1, [a]; st.global.u64 [%%d1], %%d1;\n' "$bound
" | same bound
done
same addresses << 'END'
.const .align 4 .u32 v_table[3] = {1, 2, 3};
.global .align 4 .u32 v_plain[2] = {5, 6};
.const .align 8 .u64 v_generic[2] = {generic(v_table) + 4, 7};
.global .align 8 .u64 v_where[3] = {generic(v_plain), 0, generic(v_plain) + 4};
---
.param .u64 a---
---
 ld.param.u64 %d1, [a]; mov.u64 %d2, v_where; st.global.u64 [%d1], %d2; ld.const.u64 %d3, [v_generic]; st.global.u64 [%d1+8], %d3;
END
