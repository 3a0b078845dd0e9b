#!/usr/bin/env python3
"""Wrong binaries made by hand: none may be called proved, by file nor by kernel.

  planted.py HEDDLE WHETHER CASES SCRATCH [NAME or FILE...]

Each row of PLANTED is one error of a kind that compilers make, as edits of the disassembly of CASES/FILE.ptx:
  sub PATTERN REPLACEMENT   the first line that matches
  state PATTERN REPLACEMENT the same of an attribute record, which the assembler then takes as it stands
  drop PATTERN              a NOP in its place
  move PATTERN BEFORE       one instruction in front of another one
Patterns are regular expressions of a line, `in:SECTION PATTERN` of one in or behind that section; `FILE|KERNEL` asks for one kernel alone, with what it calls,
`FILE!KERNEL` for the kernel's own verdict, of edits in or behind its section: the library's functions for f64, which it calls, are not proved.
WHETHER is the program of whether.c: the unchanged binary must be proved, and no other.
SPDX-License-Identifier: MIT"""
import collections
import pathlib
import re
import subprocess
import sys

TARGETS = collections.defaultdict(lambda: "sm_80", vectors="sm_90")
OPTIONS = collections.defaultdict(list, textures=["--predicate=off"])  # branches that the rows speak of
CODE = re.compile(r"\s*(?:\S+:\s+)*\[B")
Row = collections.namedtuple("Row", "file how kernel name action pattern other")
PLANTED = """
arith: low word of another pair | sub IADD3 R12, P0, R0 / IADD3 R12, P0, R6
arith: high word of another pair | sub IADD3.X R13, R6 / IADD3.X R13, R0
arith: carry dropped | sub IADD3.X R13, R6, (\\S+), RZ, P0 / IADD3.X R13, R6, \\1, RZ, !PT
arith: carry of the other sum | sub IADD3 R14, P0, / IADD3 R14, P1,
arith: borrow not complemented | sub IADD3.X R15, ~R6 / IADD3.X R15, R6
arith: carry polarity | sub IADD3.X R15, (.*), P0, !PT / IADD3.X R15, \\1, !P0, !PT
arith: carry-in of a sum that has none | sub (IADD3.X R5, RZ, \\S+, RZ), P0 / \\1, !PT
arith: halves of a stored pair swapped | sub STG.E.64 \\[R2.64\\], R12 / STG.E.64 [R2.64], R14
arith: wide product unsigned | sub IMAD.WIDE R4, R9 / IMAD.WIDE.U32 R4, R9
arith: high product of signed | sub IMAD.HI.U32 (\\S+), R9 / IMAD.HI \\1, R9
arith: comparison signed for unsigned, low words | sub ISETP.LE.U32.AND P0, PT, R0 / ISETP.LE.AND P0, PT, R0
arith: comparison signed for unsigned, high words | sub ISETP.LE.U32.AND.EX / ISETP.LE.AND.EX
arith: less or equal for greater | sub ISETP.GT.AND P0, PT, R9 / ISETP.LE.AND P0, PT, R9
arith: less for less or equal | sub ISETP.LE.U32.AND P0, PT, R0 / ISETP.LT.U32.AND P0, PT, R0
arith: comparison with the operands swapped | sub ISETP.GT.AND P0, PT, R9 / ISETP.LT.AND P0, PT, R9
arith: NaN ordered | sub FSETP.LTU / FSETP.LT
arith: predicates combined by or | sub FSETP.LTU.AND P0 / FSETP.LTU.OR P0
arith: second predicate dropped | sub FSETP.LTU.AND P0, PT, R8, 1, P0 / FSETP.LTU.AND P0, PT, R8, 1, PT
arith: second predicate complemented | sub FSETP.LTU.AND P0, PT, R8, 1, P0 / FSETP.LTU.AND P0, PT, R8, 1, !P0
arith: the low words' result dropped | sub (ISETP.LE.U32.AND.EX.*), PT, P0 / \\1, PT, PT
arith: selected the wrong way | sub SEL (\\S+), R7, R9, P0 / SEL \\1, R9, R7, P0
arith: selected by the complement | sub SEL (\\S+), R7, R9, P0 / SEL \\1, R7, R9, !P0
arith: shift logical for arithmetic | sub SHF.R.S32.HI R5 / SHF.R.U32.HI R5
arith: shift by another amount | sub SHF.R.S32.HI R5, RZ, 0x3 / SHF.R.S32.HI R5, RZ, 0x4
arith: funnel shift of swapped words | sub SHF.L.W.U32.HI (\\S+), R7, 0x5, R9 / SHF.L.W.U32.HI \\1, R9, 0x5, R7
arith: another permutation | sub PRMT (\\S+), R7, 0x5410 / PRMT \\1, R7, 0x5411
arith: another truth table | sub (LOP3.LUT .*), 0x1b / \\1, 0x1d
arith: maximum for minimum | sub IMNMX (\\S+), R7, R9, !PT / IMNMX \\1, R7, R9, PT
arith: signed minimum for unsigned | sub IMNMX.U32 (\\S+), R7 / IMNMX \\1, R7
arith: rounding mode | sub FFMA.RZ / FFMA
arith: rounding mode of f64 | sub DADD.RP / DADD.RM
arith: subnormals not flushed | sub FADD.FTZ / FADD
arith: not saturated | sub FMUL.SAT / FMUL
arith: maximum of floats for minimum | sub FMNMX (.*), PT / FMNMX \\1, !PT
arith: sign left out | sub DADD R14, -R10, -0.0 / DADD R14, R10, -0.0
arith: sign of a zero | sub DADD R14, -R10, -0.0 / DADD R14, -R10, RZ
arith: sign of a factor | sub DMUL (\\S+, \\S+), -R10 / DMUL \\1, R10
arith: conversion rounds to nearest | sub F2I.TRUNC / F2I
arith: NaN to the sign bit | sub F2I.TRUNC.NTZ / F2I.TRUNC
arith: conversion from signed | sub I2F.U32 / I2F
arith: field sign-extended | sub SGXT.U32 / SGXT
arith: field of another width | sub SGXT.U32 (.*), 0x8 / SGXT.U32 \\1, 0x9
arith: other function of MUFU | sub MUFU.EX2 / MUFU.LG2
arith: leading zeros as position | sub FLO.U32.SH / FLO.U32
arith: of the complement's ones | sub POPC (\\S+), c / POPC \\1, ~c
arith: guard polarity | sub @P0 STG / @!P0 STG
arith: guard dropped | sub @!P0 STG /     STG
arith: other predicate | sub @!P0 STG / @!P1 STG
arith: parameter's offset | sub c.0x0..0x178. / c[0x0][0x17c]
arith: constant bank | sub IADD3 R12, P0, R0, c.0x0. / IADD3 R12, P0, R0, c[0x3]
arith: constant bank of jump tables | sub MOV R7, c.0x0. / MOV R7, c[0x2]
arith: half a word stored | sub STG.E (.*), R0 ; / STG.E.U16 \\1, R0 ;
arith: a word stored for a half | sub STG.E.U16 / STG.E
arith: store at another place | sub \\[R2.64.0x20\\] / [R2.64+0x22]
arith: store dropped | drop STG.E .R2.64.0x24.
arith: other element of a vector | sub STG.E.128 .R2.64.0x50., R20 / STG.E.128 [R2.64+0x50], R16
arith: other special register | sub SR_TID.X / SR_TID.Y
arith: result read too early | sub B0-----:(.*)IMAD.WIDE R4 / B------:\\1IMAD.WIDE R4
arith: stall too short | sub S04(.*)SHF.R.S32.HI / S01\\1SHF.R.S32.HI
arith: scoreboard of another instruction | sub W0:(.*)DMUL R10 / W1:\\1DMUL R10
arith: overwritten before it is stored | sub B-----5:R-:W-:-:S04(.*)SHF.R.S32.HI R5 / B------:R-:W-:-:S04\\1SHF.R.S32.HI R5
arith: too few registers | state (EIATTR_REGCOUNT, \\S+), \\w+ / \\1, 0x8
arith: parameters without the last | sub (EIATTR_CBANK_PARAM_SIZE), \\w+ / \\1, 0x20
arith: parameter at another offset | sub (EIATTR_KPARAM_INFO, \\w+), 0x100002 / \\1, 0x140002
arith: parameter of another size | sub (EIATTR_KPARAM_INFO, \\w+, 0x100002), \\w+ / \\1, 0x11f000
arith: parameter block elsewhere | sub (EIATTR_PARAM_CBANK, \\S+), 0x(\\w+)160 / \\1, 0x\\g<2>164
arith: no way out | drop EXIT
arith: exits too early | sub DMUL R10, R12, -R10 / EXIT
arith: traps at the end | sub EXIT ; / BPT.TRAP 0x1 ;
memory: load moved before a store that may be to its place | move LDG.E R0, .R4.64. / STG.E .R2.64., R6
memory: store moved before a load that may be of its place | move STG.E .R2.64.0x8., R7 / LDG.E R0, .R4.64.
memory: stores that may be to one place swapped | move STG.E .R2.64.0x8., R7 / STG.E .R4.64.0x4.
memory: volatile store no longer volatile | sub STG.E.STRONG.SYS / STG.E
memory: volatile load no longer volatile | sub LDG.E.STRONG.SYS / LDG.E
memory: volatile of another scope | sub LDG.E.STRONG.SYS / LDG.E.STRONG.SM
memory: volatile accesses swapped | move LDG.E.STRONG.SYS / STG.E.STRONG.SYS
memory: volatile store dropped | drop STG.E.STRONG.SYS
memory: byte zero-extended | sub LDG.E.S8 / LDG.E.U8
memory: fence dropped | drop MEMBAR
memory: fence of a block | sub MEMBAR.SC.GPU / MEMBAR.SC.CTA
memory: weaker fence | sub MEMBAR.SC.GPU / MEMBAR.ALL.GPU
memory: copies kept over the fence | drop CCTL.IVALL
memory: copies forgotten before the fence | move CCTL.IVALL / MEMBAR
memory: store moved over the fence | move STG.E .R2.64.0x24., R6 / MEMBAR
memory: store moved behind the fence | move MEMBAR / STG.E .R2.64.0x20., R0
memory: atomic of another operation | sub ATOMG.E.ADD / ATOMG.E.MAX
memory: atomic of another type | sub ATOMG.E.MIN.S32 / ATOMG.E.MIN
memory: atomic of another width | sub ATOMG.E.ADD.STRONG / ATOMG.E.ADD.64.STRONG
memory: atomic of another scope | sub ATOMG.E.ADD.STRONG.GPU / ATOMG.E.ADD.STRONG.SYS
memory: reduction of another scope | sub RED.E.MAX.STRONG.SYS / RED.E.MAX.STRONG.GPU
memory: reduction signed | sub RED.E.MAX.STRONG / RED.E.MAX.S32.STRONG
memory: comparand and value swapped | sub (ATOMG.E.CAS.*), R6, R7 / \\1, R7, R6
memory: atomics swapped | move ATOMG.E.MIN / ATOMG.E.ADD
memory: atomic dropped | drop RED.E.MAX
memory: atomic's result elsewhere | sub ATOMG.E.MIN.S32.STRONG.GPU PT, R9 / ATOMG.E.MIN.S32.STRONG.GPU PT, RZ
memory: an atomic's predicate into one that is used | sub ATOMG.E.ADD.STRONG.GPU PT / ATOMG.E.ADD.STRONG.GPU P0
memory: barrier dropped | drop BAR.SYNC
memory: barrier of another number | sub (BAR.SYNC\\S*) 0x0 / \\1 0x1
memory: barrier of half the block | sub (BAR.SYNC\\S*) 0x0 / \\1 0x0, 0x40
memory: arrives only | sub BAR.SYNC\\S* 0x0 / BAR.ARV 0x0, 0x80
memory: shared store moved over the barrier | move BAR.SYNC / STS .R0.0x100., R6
memory: shared load moved over the barrier | move LDS R10 / BAR.SYNC
memory: shared variable elsewhere | sub (LDS R10, .R0).0x100 / \\1+0x80
memory: shared variable elsewhere, another index | sub (LDS R11, .R11).0x100 / \\1+0x80
memory: address masked otherwise | sub LOP3.LUT R0, R7, 0x7f / LOP3.LUT R0, R7, 0xff
memory: other symbol | sub (__rela .I_14_0210, \\w+), \\S+, / \\1, index@(second),
memory: other addend | sub (__rela \\S+, 56, \\S+), 0x0 / \\1, 0x8
memory: relocation of another instruction | sub (__rela) .I_14_0220, / \\1 0x230,
memory: relocation of the other word | sub (__rela .I_14_0210), 56, / \\1, 57,
memory: relocation lost | sub (__rela) .I_14_0240, / \\1 0x370,
memory: symbol elsewhere | sub (__symbol .second.), .L_15_0010, / \\1, 0x8,
memory: constant of another place | sub LDC R9, c.0x3..0x8. / LDC R9, c[0x3][0xc]
memory: constant of another bank | sub LDC R8, c.0x3. / LDC R8, c[0x0]
memory: constant of another width | sub LDC R8, / LDC.U8 R8,
memory: constant wider than it is aligned | sub LDC R9, / LDC.64 R10,
memory: constant beyond the bank | sub MOV R12, 0x0 / LDC R12, c[0x3][R0+0x4000]
memory: frame's variable elsewhere | sub IADD3 R0, R1, 0x4, / IADD3 R0, R1, 0x8,
memory: stack not lowered | drop IADD3 R1, R1, -0x40
memory: local store dropped | drop STL .R7.
memory: local load before the store | move LDL R0 / STL .R7.
memory: more lanes than threads allowed | sub (EIATTR_MAX_THREADS), 0x80 / \\1, 0x40
memory: launches of more threads than the PTX allows | sub (EIATTR_MAX_THREADS), 0x80 / \\1, 0x100
memory: stack too small | state (EIATTR_MIN_STACK_SIZE, index@.memory.), 0x40 / \\1, 0x10
memory: frame too small | state (EIATTR_FRAME_SIZE, index@.memory.), 0x40 / \\1, 0x10
memory: shared memory too small for where its variables lie | sub in:.nv.shared.memory __section_size 0x300 / __section_size 0x200
memory: records of another kernel | sub in:.nv.info.memory (__section_info) section@.*memory. / \\1 section@(.text.other)
memory: constants of another kernel | sub in:.nv.constant0.memory (__section_info) section@.*memory. / \\1 section@(.text.other)
memory: shared memory of another kernel | sub in:.nv.shared.memory (__section_info) section@.*memory. / \\1 section@(.text.other)
memory: code that is not executable | sub in:.text.memory (__section_flags 0x\\w*)6$ / \\g<1>2
memory: list of EXIT instructions | state in:.nv.info.memory EIATTR_EXIT_INSTR_OFFSETS / EIATTR_EXIT_INSTR_OFFSETS, 0x350
memory: fewer registers in a launch than the code has | sub in:.nv.info.memory EIATTR_MAXREG_COUNT, 0xff / EIATTR_MAXREG_COUNT, 0x10
memory|memory: one kernel alone, stored elsewhere | sub \\[R2.64.0x50\\] / [R2.64+0x54]
atomics: another sum | sub FADD R11, R10, R0 / FADD R11, R10, -R0
atomics: product for the sum | sub FADD R11, R10, R0 / FMUL R11, R10, R0
atomics: rounded otherwise | sub FADD R11, R10, R0 / FADD.RZ R11, R10, R0
atomics: another operand | sub FADD R11, R10, R0 / FADD R11, R10, R8
atomics: swapped at another place | sub ATOMS.CAS R11, .RZ. / ATOMS.CAS R11, [RZ+0x4]
atomics: first read of another place | sub LDS R10, .RZ. / LDS R10, [RZ+0x4000]
atomics: compared with what was not believed | sub (ATOMS.CAS R11, .RZ.), R10 / \\1, R0
atomics: loop left where it failed | sub ISETP.NE.U32.AND P0, PT, R11, R10 / ISETP.EQ.U32.AND P0, PT, R11, R10
atomics: loop left at once | sub ISETP.NE.U32.AND P0, PT, R11, R10 / ISETP.NE.U32.AND P0, PT, R11, R11
atomics: loop left where the other word failed | sub ISETP.NE.U32.OR P0, PT, R13, R11, P0 / ISETP.NE.U32.OR P0, PT, R13, R13, P0
atomics: another round where it did not fail | sub ISETP.NE.U32.OR P0, PT, R13, R11, P0 / ISETP.NE.U32.OR.EX P0, PT, R13, R11, P0, PT
atomics: another round with the same belief | sub MOV R10, R11 / MOV R10, R10
atomics: another round with one word of the belief | sub MOV R7, R11 / MOV R7, R7
atomics: always another round | sub ISETP.NE.U32.AND P0, PT, R11, R10 / ISETP.T.U32.AND P0, PT, R11, R10
atomics: loop left where one word failed | sub ISETP.NE.U32.OR P0, PT, R13, R11, P0 / ISETP.NE.U32.AND P0, PT, R13, R11, P0
atomics: retry guard's polarity | sub @P0 BRA / @!P0 BRA
atomics: goes on with another belief | sub ATOMS.CAS R11, .RZ., R10, R11 / ATOMS.CAS R9, [RZ], R10, R11
atomics: no compare-and-swap | drop ATOMS.CAS R11
atomics: minimum for maximum | sub ISETP.GT.AND.EX P0, PT, R7, R9 / ISETP.LT.AND.EX P0, PT, R7, R9
atomics: unsigned maximum | sub ISETP.GT.AND.EX P0, PT, R7, R9 / ISETP.GT.U32.AND.EX P0, PT, R7, R9
atomics: words selected the other way | sub SEL R15, R7, R9, P0 / SEL R15, R9, R7, P0
atomics: one word swapped | sub ATOMS.CAS.64 R10, / ATOMS.CAS R10,
atomics: what was stored for what was there | sub STG.E.64 (.R4.64.0x8.), R10 / STG.E.64 \\1, R14
atomics: acquire without fence | drop MEMBAR.ALL.GPU
atomics: copies kept over an acquire | drop CCTL.IVALL
atomics: the cache written back, not emptied | sub CCTL.IVALL / CCTL.WBALL
atomics: release without fence | drop MEMBAR.ALL.SYS
atomics: release of a smaller scope | sub MEMBAR.ALL.SYS / MEMBAR.ALL.GPU
atomics: fence behind the release | move STG.E.STRONG.SYS / MEMBAR.ALL.SYS
atomics: fence before the acquire | move MEMBAR.ALL.GPU / LDG.E.STRONG.GPU
undefined: lanes without a value bring one thing and store another | sub STG.E .R6.64.0x4., R0 / STG.E [R6.64+0x4], R2
undefined: a sum of another value than was brought | sub IADD3 R0, R0, 0x1 / IADD3 R0, R2, 0x1
undefined: lanes with a value bring another register | sub SHFL.BFLY PT, R8, R0 / SHFL.BFLY PT, R8, R2
undefined: loaded where there is no value | sub @P0 LDS R0 /     LDS R0
undefined: loaded by the other lanes | sub @P0 LDS R0 / @!P0 LDS R0
undefined: no lane loads | drop @P0 LDS R0
undefined: one word of a pair loaded | sub @P0 LDS.64 R2 / @P0 LDS R2
undefined: words of a pair of two registers | sub STG.E.64 (\\S+), R2 / STG.E.64 \\1, R4
undefined: a pair loaded by the other lanes | sub @P0 LDS.64 R2 / @!P0 LDS.64 R2
undefined: a pair loaded under the other condition | drop ISETP.LT.U32.AND P0, PT, R4, 0x3
undefined: a pair is another where it has a value | sub in:.text.pair SHF.R.U32.HI R2, RZ, 0x2, R7 / SHF.R.U32.HI R2, RZ, 0x2, R6
undefined: a pair's words exchanged | sub in:.text.pair LEA.HI.X R11, R0, (\\S+), R2 / LEA.HI.X R11, R2, \\1, R0
undefined: one word of a pair for both | sub in:.text.pair LEA.HI.X R11, R0, (\\S+), R2 / LEA.HI.X R11, R0, \\1, R0
undefined: a pair used where it has no value | sub in:.text.pair @!P0 STG.E / @P0 STG.E
undefined: a pair used on all ways | sub in:.text.pair @!P0 STG.E /     STG.E
chosen: a lane with one item leaves | sub ISETP.LT.OR P0, PT, R5, 0x1, P0 / ISETP.LE.OR P0, PT, R5, 0x1, P0
chosen: lanes beyond go on | sub ISETP.LT.OR P0, PT, R5, 0x1, P0 / ISETP.LT.AND P0, PT, R5, 0x1, PT
chosen: lanes beyond load what they have not | sub SEL R4, R0, RZ, P0 / SEL R4, R0, RZ, PT
chosen: the lanes with an item load the first one | sub SEL R4, R0, RZ, P0 / SEL R4, R0, RZ, !P0
chosen: another item behind the barrier | sub in:.text.beyond IMAD.WIDE R8, R4 / IMAD.WIDE R8, R5
chosen: one word of a sum does not begin anew | drop in:.text.sums SEL R3, R3, RZ
chosen: a sum begins one round late | sub in:.text.sums ISETP.GT.AND P0, PT, R10, 0x1 / ISETP.GT.AND P0, PT, R10, 0x2
chosen: added to the other sum | sub in:.text.sums DADD R14, R4, R12 / DADD R14, R2, R12
chosen: a sum is what was added last | sub in:.text.sums MOV R4, R14 / MOV R4, R12
chosen: the low word of a sum for both | sub in:.text.sums MOV R5, R15 / MOV R5, R14
chosen: a sum that did not begin is stored | sub in:.text.sums @!P0 STG.E.64 /     STG.E.64
undefined: a pair never used | drop in:.text.pair PLOP3.*line 47
undefined: the last round's question | drop in:.text.pair PLOP3.*line 41
undefined: the last round's pair | drop in:.text.pair SHF.R.U64 R0
twins: number of another size | sub in:.text.rows IMAD.WIDE R16, R6, 0x4 / IMAD.WIDE R16, R6, 0x8
twins: number without its sign | sub in:.text.rows IMAD.WIDE R16, R6, 0x4 / IMAD.WIDE.U32 R16, R6, 0x4
twins: another number | sub in:.text.rows IMAD.WIDE R16, R6, 0x4 / IMAD.WIDE R16, R14, 0x4
twins: number of the next row | sub in:.text.rows IMAD.U32 R6, R6 / IMAD.U32 R6, R10
twins: number starts elsewhere | sub in:.text.rows MOV R6, RZ / MOV R6, 0x1
twins: number is counted in the loop | sub in:.text.rows IADD3 R14, R14, -0x4 / IADD3 R6, R6, -0x4
twins: one of two pointers moves faster | sub in:.text.together IADD3 R8, P0, R8, 0x4 / IADD3 R8, P0, R8, 0x8
twins: one of two pointers stays | drop in:.text.together IADD3 R8, P0, R8, 0x4
twins: carry of one of two pointers | sub in:.text.together IADD3.X R9, R9, RZ, RZ, P0 / IADD3.X R9, R9, RZ, RZ, !PT
twins: pointers start at one place | sub in:.text.together MOV R8, R2 / MOV R8, R6
twins: offset for another size | sub in:.text.together IADD3 R5, R5, 0x4 / IADD3 R5, R5, 0x8
twins: counter goes up | sub in:.text.together IADD3 R0, R0, -0x1 / IADD3 R0, R0, 0x1
twins: counter goes down twice as fast | sub in:.text.together IADD3 R0, R0, -0x1 / IADD3 R0, R0, -0x2
twins: counter starts as the other | sub in:.text.together MOV R4, c.0x0..0x174. / MOV R4, c[0x0][0x170]
twins: counter for the other at the end | sub in:.text.together (STG.E .R2.64.0x4.), R4 / \\1, R0
twins: the way that skips the sums | sub in:.text.together @!P0 BRA / @P0 BRA
asked: asked again under the complement | sub in:.text.asked @!P0 BRA `\\(.L_(\\d+)_01a0 / @P0 BRA `(.L_\\1_01a0
asked: the loop's question for the one before it | sub in:.text.asked @!P0 BRA `\\(.L_(\\d+)_01a0 / @!P1 BRA `(.L_\\1_01a0
asked: not asked again | drop in:.text.asked @!P0 BRA
asked: the loop writes what is asked again | sub in:.text.asked ISETP.LT.U32.AND P1, PT, R5 / ISETP.LT.U32.AND P1, P0, R5
asked: the loop asks into what is asked again | sub in:.text.asked ISETP.LT.U32.AND P1, PT, R5, (.*)line 24 / ISETP.LT.U32.AND P0, P1, R5, \\1line 24
asked: another limit | sub in:.text.asked ISETP.GT.AND P0, PT, R0, c.0x0..0x168. / ISETP.GT.AND P0, PT, R0, c[0x0][0x16c]
asked: the loop's value where it was not run | sub in:.text.asked MOV R5, RZ ; / MOV R4, RZ ;
asked: not asked again of the new value | drop in:.text.changed ISETP.GT.AND.*line 68
asked: asked before the value changes | sub in:.text.changed ISETP.GT.AND P0, PT, R0, (.*)line 68 / ISETP.GE.AND P0, PT, R0, \\1line 68
asked: a predicate's number is its complement's | sub in:.text.kept SEL R5, RZ, 0x1, !P0 / SEL R5, RZ, 0x1, P0
asked: the number of another predicate | sub in:.text.kept ISETP.NE.U32.AND P0, PT, R5, RZ / ISETP.NE.U32.AND P0, PT, R6, RZ
asked: the number asked under the complement | sub in:.text.kept ISETP.NE.U32.AND P0, PT, R5, RZ / ISETP.EQ.U32.AND P0, PT, R5, RZ
asked: the number is overwritten on the way | sub in:.text.kept MOV R0, RZ ;(.*line 114) / MOV R5, RZ ;\\1
asked: the number is written after it was decided | sub in:.text.kept IADD3 R0, R0, 0x1, RZ ;(.*line 102) / IADD3 R5, R0, 0x1, RZ ;\\1
asked: outer loop does not ask again | sub in:.text.changed @P0 BRA `\\(.L_(\\d+)_0050\\) / @P0 BRA `(.L_\\1_0060)
asked: outer loop leaves by the inner one's question | drop in:.text.changed ISETP.LT.AND P0, PT, R0, 0x64
past: traps where no region starts | sub (0190\\S+ +)EXIT / \\1BPT.TRAP 0x1
past: stores where no region starts | sub (0190\\S+ +)EXIT / \\1STG.E [R2.64+0x8], R0
past: one way ends too early | sub (0110\\S+ +)@P0 EXIT / \\1EXIT
past: one way ends under the complement | sub (00d0\\S+ +)@P0 EXIT / \\1@!P0 EXIT
past: one way does not end | drop 0110\\S+ +@P0 EXIT
past: one way comes before the place | sub BRA `\\(.L_(\\d+)_0190\\) / BRA `(.L_\\1_0100+0x40)
whole: asks for all lanes but one | sub LOP3.LUT P1, RZ, R8, 0xffffffff / LOP3.LUT P1, RZ, R8, 0xfffffffe
whole: asks for half of the lanes | sub LOP3.LUT P1, RZ, R8, 0xffffffff / LOP3.LUT P1, RZ, R8, 0xffff
whole: goes straight on where lanes are missing | sub in:.text.whole @!P1 BRA / @P1 BRA
whole: waits for all lanes but one | sub WARPSYNC 0xffffffff / WARPSYNC 0xfffffffe
whole: waits for no lane | sub WARPSYNC 0xffffffff / NOP
whole: another vote where none is missing | sub VOTE.EQ P1, P0 / VOTE.EQ P1, !PT
whole: another vote where lanes were missing | sub VOTE.EQ P0, P0 / VOTE.ALL P0, P0
whole: asks those who are there for another value | sub VOTE.ANY R8, PT, PT / VOTE.ANY R8, PT, P0
whole: waits for the lanes of another register | sub WARPSYNC R9 / WARPSYNC R5
whole: another vote of the mask where none is missing | sub (01d0\\S+ +)VOTE.ANY R8, PT, P1 / \\1VOTE.ANY R8, PT, !P1
textures: another texture's handle | sub TEX.B.LL R10, R12, R8, R2, 2D / TEX.B.LL R10, R12, R8, R4, 2D
textures: coordinates exchanged | sub MOV R17, R8 / MOV R17, R9
textures: another channel stored | sub STG.E (.R6.64.0xc.), R13 / STG.E \\1, R12
textures: last channel for the third | sub STG.E (.R6.64.0x10.), R11 / STG.E \\1, R10
textures: two dimensions for three | sub TEX.B.LL RZ, R10, R8, R4, 3D / TEX.B.LL RZ, R10, R8, R4, 2D
textures: first level for the one asked for | sub TEX.B.LL RZ, R10, R8, R4, 3D / TEX.B.LZ RZ, R10, R8, R4, 3D
textures: level of another register | sub MOV R5, R10 / MOV R5, R12
textures: fetch where the PTX does none | move TEX.B.LL RZ, R10, R8, R4, 3D / BSSY
textures: fetch in the other lanes | sub @!P0 BRA / @P0 BRA
textures: last layer too far | sub IMNMX.U32 R16, R3, 0xffff / IMNMX.U32 R16, R3, 0x1ffff
textures: layer signed | sub IMNMX.U32 R16 / IMNMX R16
textures: direction for a layer of two dimensions | sub R16, R14, ARRAY_2D / R16, R14, 3D
textures: name of the other texture | sub MOV R3, c.0x0..0x184. / MOV R3, c[0x0][0x188]
textures: other texture's name, the other way | sub MOV R12, c.0x0..0x188. / MOV R12, c[0x0][0x184]
textures: offset left out | sub TLD.B.LZ.AOFFI RZ / TLD.B.LZ RZ
textures: offset of another size | sub MOV R13, 0x3 / MOV R13, 0x4
textures: number for a whole texel | sub TLD.B.LZ RZ, R10, R0, R3, 1D / TEX.B.LZ RZ, R10, R0, R3, 1D
textures: whole texels, place of the other | sub TLD.B.LZ RZ, R10, R0, R3, 1D / TLD.B.LZ RZ, R10, R5, R3, 1D
textures: some channels not fetched | sub (TLD.B.LZ.AOFFI RZ, R12, R5, R12, 1D) / \\1, 0x5
textures: width for height | sub (TXQ.*), 0x2 ; / \\1, 0x1 ;
textures: size of another texture | sub TXQ.B RZ, R0, R4 / TXQ.B RZ, R0, R2
textures: another channel gathered | sub TLD4.G.B / TLD4.R.B
textures: another offset of a gather | sub MOV R3, 0x3f01 / MOV R3, 0x3f02
textures: offsets of a gather in another form | sub MOV R3, 0x3f01 / MOV R3, 0xf1
textures: a gather without its offsets | sub TLD4.G.B.AOFFI / TLD4.G.B
textures: derivatives exchanged | sub MOV R10, R9 / MOV R10, R8
textures: derivatives ignored | sub TXD.B R2, RZ, R8, R12, 2D / TEX.B.LZ R2, RZ, R8, R12, 2D
textures: fetch behind the store of what it needs | move TLD.B.LZ.AOFFI / IMNMX.U32
textures: rounded to halves | sub TEX.B.LL R10, R12, R8, R2, 2D / TEX.B.F16.RN.LL R10, R12, R8, R2, 2D
textures: place and handle in one list | sub TEX.B.LL RZ, R10, R8, R4, 3D / TEX.SCR.B.LL RZ, R10, R8, R4, 3D
textures: surface of another handle | sub SULD.D.BA.2D.64.STRONG.SM R10, .R8., R0 / SULD.D.BA.2D.64.STRONG.SM R10, [R8], R2
textures: surface at another place | sub SULD.D.BA.2D.64.STRONG.SM R10, .R8., R0 / SULD.D.BA.2D.64.STRONG.SM R10, [R4], R0
textures: outside of a surface nothing for the nearest | sub SULD.D.BA.2D.64.STRONG.SM R10 / SULD.D.BA.2D.64.STRONG.SM.IGN R10
textures: halves of what is written exchanged | sub MOV R12, R11 / MOV R12, R10
textures: outside of a surface ignored | sub SUST.D.BA.2D.64.STRONG.SM.TRAP / SUST.D.BA.2D.64.STRONG.SM.IGN
textures: less written | sub SUST.D.BA.2D.64.STRONG.SM.TRAP .R8., R12 / SUST.D.BA.2D.STRONG.SM.TRAP [R8], R12
textures: texels for bytes | sub SUST.D.BA.2D.64.STRONG.SM.TRAP / SUST.P.2D.STRONG.SM.RG.TRAP
textures: read before it is written | move SULD.D.BA.2D.U8 / SUST.D.BA.2D.64
textures: byte read with a sign | sub SULD.D.BA.2D.U8 / SULD.D.BA.2D.S8
textures: another reduction | sub SURED.D.BA.2D.ADD / SURED.D.BA.2D.MAX
textures: reduction of texels | sub SURED.D.BA.2D.ADD / SURED.D.2D.ADD
textures: sum of 64 bits | sub SURED.D.BA.2D.ADD.STRONG.SYS.TRAP .R8., R19 / SURED.D.BA.2D.ADD.U64.STRONG.SYS.TRAP [R8], R18
textures: fewer channels written | sub SUST.P.2D.STRONG.SM / SUST.P.2D.STRONG.SM.RG
textures: write to a surface left out | drop SUST.P.2D
textures: reduction done in none | drop SURED.D.BA
partial: first loaded by the other lanes | sub in:.text.partial @!P0 (LDG.*line 20) / @P0 \\1
partial: first loaded by none | drop in:.text.partial LDG.*line 20
partial: second loaded under the first's condition | drop in:.text.partial ISETP.GE.*line 23
partial: second loaded by the other lanes | sub in:.text.partial @!P0 (LDG.*line 25) / @P0 \\1
partial: one word of the second | sub in:.text.partial @!P0 LDG.E.64 (.*line 25) / @!P0 LDG.E \\1
partial: second from the third's place | sub in:.text.partial (@!P0 LDG.*)0x100(.*line 25) / \\g<1>0x200\\2
partial: third to the first's registers | sub in:.text.partial @!P0 LDG.E.64 R\\d+(.*line 30) / @!P0 LDG.E.64 R6\\1
partial: third under another limit | sub in:.text.partial 0x40, RZ(.*line 27) / 0x41, RZ\\1
partial: all load, first to the second's registers | sub in:.text.partial LDG.E.64 R6, (.*)line 33 / LDG.E.64 R8, \\1line 33
partial: all load, second left out | drop in:.text.partial LDG.E.64.*line 34
partial: way of all for the others | sub in:.text.partial @P0 (BRA.*line 17) / @!P0 \\1
partial: limit of the way of all | sub in:.text.partial 0x5f, PT / 0x3f, PT
partial: first stored for the second | sub in:.text.partial (STS.64.*0x100.), R8 / \\1, R6
partial: a pair written before it is stored | sub in:.text.partial LDG.E.64 R4(.*line 35) / LDG.E.64 R8\\1
partial: another who asks for itself | sub in:.text.partial VOTE.ANY (R\\d+), PT, PT(.*)line 60 / VOTE.ANY \\1, PT, P1\\2line 60
partial: nobody asks the first time | drop in:.text.partial VOTE.ANY.*line 60
partial: nobody asks the second time | drop in:.text.partial VOTE.ANY.*line 67
partial: ballot of all | sub in:.text.partial VOTE.ANY (R\\d+), PT, P\\d(.*line 69) / VOTE.ANY \\1, PT, PT\\2
partial: shuffle of the other word | sub in:.text.partial SHFL.UP PT, (R\\d+), R\\d+(.*line 63) / SHFL.UP PT, \\1, R0\\2
partial: shuffle by another distance | sub in:.text.partial (SHFL.UP PT, R\\d+, R\\d+), 0x1(.*line 63) / \\1, 0x2\\2
partial: barrier left out behind the stores | drop in:.text.partial BAR.SYNC.*line 43
partial: loaded before the barrier | move in:.text.partial LDS.64 / BAR.SYNC
partial: stored behind the barrier | move in:.text.partial BAR.SYNC / STS.64 .*0x200.
partial: sum of the stale value | drop in:.text.partial LDS.64
signs: a quarter for a half | sub in:.text.halved LEA.HI R0, R5, R4, RZ, 0x1f / LEA.HI R0, R5, R4, RZ, 0x1e
signs: half with its sign | sub in:.text.halved LEA.HI R0, R5, R4, RZ, 0x1f / LEA.HI.SX32 R0, R5, R4, 0x1f
signs: low word for the high one | sub in:.text.halved LEA.HI R0, R5, R4, RZ, 0x1f / LEA R0, R5, R4, 0x1f
signs: a bit above the half | sub in:.text.halved LEA.HI R0, R5, R4, RZ, 0x1f / LEA.HI R0, R5, R4, R4, 0x1f
signs: half taken from the sum | sub in:.text.halved LEA.HI R0, R5, R4, RZ, 0x1f / LEA.HI R0, -R5, R4, RZ, 0x1f
signs: half of the factor | sub in:.text.halved LEA.HI R0, R5, R4, RZ, 0x1f / LEA.HI R0, R4, R5, RZ, 0x1f
signs: magnitude's sign is not changed | sub in:.text.signs FADD R0, -.R0., -0.0 / FADD R0, |R0|, -0.0
signs: another's sign is changed | sub in:.text.signs FADD R0, -.R0., -0.0 / FADD R0, -R0, -0.0
signs: magnitude is not taken | sub in:.text.signs FADD R5, .R0., -0.0 / FADD R5, R0, -0.0
signs: sign is changed once of twice | sub in:.text.signs FADD R6, R5, R4 / FADD R6, R5, -R4
signs: second change of sign left out | sub in:.text.signs FADD.FTZ R0, -R0, -0.0 / FADD.FTZ R0, R0, -0.0
signs: magnitude for the second change of sign | sub in:.text.signs FADD.FTZ R0, -R0, -0.0 / FADD.FTZ R0, |R0|, -0.0
signs: a zero loses its sign | sub in:.text.signs FADD R0, -R4, -0.0 / FADD R0, -R4, RZ
signs: sign changed of a subnormal that is flushed | sub in:.text.signs FADD R0, -R4, -0.0 / FADD.FTZ R0, -R4, -0.0
signs: sign of another shift | sub in:.text.spread SHF.R.S32.HI R4, RZ, 0x1f, R3 / SHF.R.S32.HI R4, RZ, 0x1c, R3
signs: high word without a sign | sub in:.text.spread SHF.R.S32.HI R4, RZ, 0x1f, R3 / SHF.R.U32.HI R4, RZ, 0x1f, R3
signs: low word of another shift | sub in:.text.spread SHF.R.S32.HI R3, RZ, 0x2, R3 / SHF.R.S32.HI R3, RZ, 0x3, R3
signs: low word shifted without its sign | sub in:.text.spread SHF.R.S32.HI R3, RZ, 0x2, R3 / SHF.R.U32.HI R3, RZ, 0x2, R3
vectors: an element at another's place | sub (ATOMG\\S+ PT, R9, .R2.64)\\+0x4. / \\1+0x8]
vectors: an element of another | sub (ATOMG\\S+ PT, R9, .R2.64.0x4.), R5 / \\1, R4
vectors: an element dropped | drop REDG\\S+ .R2.64.0x14.
vectors: an element twice | sub (REDG\\S+ .R2.64)\\+0x14., R5 / \\1+0x10], R4
vectors: one result in another's register | sub (ATOMG\\S+ PT), R10, / \\1, R11,
vectors: an element of another scope | sub (REDG\\S+STRONG).GPU (.R2.64.0x14.) / \\1.SYS \\2
packed: low half twice | sub HFMA2 R6, R8 / HFMA2 R6, R8.H0_H0
packed: halves swapped of a sum | sub HADD2 R7, R6, R11 / HADD2 R7, R6, R11.H1_H1
packed: sum for a product | sub HFMA2 R6, R8, R9, R10 / HFMA2 R6, R8, R10, R9
packed: result of the upper half | sub HSETP2.LT.AND P0, PT / HSETP2.LT.AND PT, P0
packed: results of the halves swapped | sub HSETP2.GTU.AND P0, P1 / HSETP2.GTU.AND P1, P0
packed: ordered comparison | sub HSETP2.GTU / HSETP2.GT
packed: bytes unsigned | sub IDP.4A.S8.U8 / IDP.4A.U8.U8
packed: bytes of the second signed | sub IDP.4A.S8.U8 / IDP.4A.S8.S8
packed: the other halves | sub IDP.2A.HI.U16 / IDP.2A.LO.U16
packed: another mode of the permutation | sub PRMT.ECL / PRMT.ECR
packed: permutation by bytes | sub PRMT.ECL / PRMT
packed: width not modulo 32 | sub SGXT.W / SGXT
packed: width modulo 32 | sub BMSK / BMSK.W
wide: upper half of 128 bits lost | sub STG.E.128 (.R4.64.0x30.), R8 / STG.E.64 \\1, R8
wide: another word of 128 bits | sub LDG.E.128 R8, .R2.64. / LDG.E.128 R8, [R2.64+0x10]
wide: halves not swapped | sub MOV R12, R10 / MOV R12, R8
wide: a word for another of a half | sub MOV R13, R11 / MOV R13, R10
wide: carry of a counter that was even at first | sub in:.text.even (00d0\\S+ +IADD3.X R0, R0, RZ, RZ), P0 / \\1, !PT
wide: carry of another sum into the counter | sub in:.text.even IADD3 R4, P0, R4, 0x1 / IADD3 R4, P1, R4, 0x1
wide: counter's high word not counted | drop in:.text.even 00d0\\S+ +IADD3.X
wide: counter stays even | sub in:.text.even IADD3 R4, P0, R4, 0x1 / IADD3 R4, P0, R4, 0x2
joined: four words at an address that two are aligned at | sub LDS.64 R8, .R0. / LDS.128 R8, [R0]
joined: the second pair a word on | sub LDS.64 R10, .R0.0x8. / LDS.64 R10, [R0+0xc]
joined: the second pair where the first is | sub LDS.64 R10, .R0.0x8. / LDS.64 R10, [R0]
joined: half a pair loaded | sub LDS.64 R10, / LDS R10,
joined: half a pair stored | sub STS.64 / STS
joined: steps of one word | sub IADD3 R0, R0, 0x8 / IADD3 R0, R0, 0x4
joined: stored behind the barrier | move BAR.SYNC / STS.64
counters: upper word not counted | sub (01b0\\S+ +IADD3.X R11, R11, RZ, RZ), P0 / \\1, !PT
counters: upper word counts down | sub (01b0\\S+ +IADD3.X R11, R11), RZ / \\1, -0x1
counters: negative without its sign | sub MOV R8, 0xffffffff / MOV R8, RZ
counters: borrow lost | sub (0270\\S+ +IADD3.X R6, R6, -0x1, RZ), P1 / \\1, !PT
counters: no borrow | sub (0270\\S+ +IADD3.X R6, R6, -0x1, RZ), P1 / \\1, PT
counters: one more pair | sub 0xfffffff9 / 0xfffffff8
counters: one round less | sub MOV R5, 0x6 / MOV R5, 0x5
counters: ends by its upper word | sub (0210\\S+ +ISETP.EQ.AND.EX P0, PT, R6, RZ, PT), P1 / \\1, PT
counters: upper word of the other counter | sub (0280\\S+ +IADD3.X R8), R8 / \\1, R6
counters: carry of the other counter | sub (0280\\S+ +IADD3.X R8, R8, RZ, RZ), P0 / \\1, P1
rounds: a round reads the next one's word | sub .R2.64.0x1c. / [R2.64+0x20]
rounds: leaves where it goes on | sub (0400\\S+ +)@P0 BRA / \\1@!P0 BRA
products: carry into the upper half lost | sub in:.text.products (0160\\S+ +IADD3.X R11, R15, RZ, RZ), P0 / \\1, !PT
products: borrow of the other difference | sub in:.text.products (0210\\S+ +IADD3.X R6, R11, ~R8, RZ), P0 / \\1, !P0
products: no borrow | sub in:.text.products (0210\\S+ +IADD3.X R6, R11, ~R8, RZ), P0 / \\1, PT
products: difference not complemented | sub in:.text.products (0290\\S+ +IADD3.X R15), ~R11 / \\1, R11
products: borrow lost | sub in:.text.products (0290\\S+ +IADD3.X R15, \\S+, \\S+, RZ), P0 / \\1, !PT
products: other partial product | sub in:.text.products (0100\\S+ +IMAD.WIDE.U32 R16, R7), R8 / \\1, R9
products: partial product signed | sub in:.text.products (0110\\S+ +)IMAD.WIDE.U32 / \\1IMAD.WIDE
products: lower word not carried up | sub in:.text.products (00f0\\S+ +MOV R18), R15 / \\1, RZ
packed: carry out of the low word | sub IADD3.X R22, P0, R6, RZ, RZ, P1 / IADD3.X R22, P0, R6, RZ, RZ, P0
packed: carry lost between words | sub IADD3.X R21, P1, R7, R3, RZ, P0 / IADD3.X R21, P1, R7, R3, RZ, !PT
packed: another space | sub QSPC.E.S / QSPC.E.L
packed: space of another address | sub QSPC.E.S P1, RZ, .R6. / QSPC.E.S P1, RZ, [R6+0x8]
packed: all for any of a block | sub BAR.RED.OR / BAR.RED.AND
packed: another barrier's result | sub (BAR.RED.OR\\S*) 0x0, P1 / \\1 0x1, P1
packed: of another predicate | sub (BAR.RED.OR\\S*) 0x0, P1 / \\1 0x0, P0
packed: result of the barrier lost | drop B2R.RESULT
indirect: the other function is called | sub (__rela \\S+ 58), index@.twice. / \\1, index@(increment)
indirect: compared with the address of the other function | sub (__rela \\S+ 56), index@.increment. / \\1, index@(twice)
indirect: compared with one word | sub ISETP.EQ.U32.AND.EX P0, PT, R3, R5, PT, P0 / ISETP.EQ.U32.AND.EX P0, PT, R3, R3, PT, P0
indirect: polarity | sub @P0 BRA / @!P0 BRA
indirect: no trap | sub BPT.TRAP 0x1 / NOP
indirect: argument of another register | sub MOV R4, c.0x0..0x168. / MOV R4, c[0x0][0x160]
indirect: another entry of the table | sub IMAD.WIDE.U32 R2, R4, 0x8, R2 / IMAD.WIDE.U32 R2, R4, 0x10, R2
indirect: table with one function twice | sub (__rela .L_15_0000, 2), index@.increment. / \\1, index@(twice)
lanes: other mode of the shuffle | sub SHFL.DOWN / SHFL.UP
lanes: shuffle's distance | sub (SHFL.DOWN P1, R5, R4), 0x4 / \\1, 0x5
lanes: shuffle's clamp | sub (SHFL.DOWN P1, R5, R4, 0x4), 0x1f / \\1, 0x1e
lanes: shuffle's segment | sub (SHFL.DOWN P1, R5, R4, 0x4), 0x1f / \\1, 0x101f
lanes: shuffle of another value | sub SHFL.DOWN P1, R5, R4 / SHFL.DOWN P1, R5, R0
lanes: shuffle's predicate lost | sub SHFL.DOWN P1 / SHFL.DOWN PT
lanes: vote of another predicate | sub VOTE.ANY R4, PT, P0 / VOTE.ANY R4, PT, P1
lanes: vote of the complement | sub VOTE.ANY R4, PT, P0 / VOTE.ANY R4, PT, !P0
lanes: all for any | sub VOTE.ANY P0, P1 / VOTE.ALL P0, P1
lanes: collectives swapped | move VOTE.ANY R4, PT, P0 / SHFL.DOWN
lanes: mask without a lane | sub WARPSYNC 0xffffffff / WARPSYNC 0x7fffffff
lanes: barrier released in another register | sub BSYNC B0 / BSYNC B1
lanes: barrier never released | drop BSYNC B0
lanes: barrier set again inside the loop | sub IADD3 R8, R6, R7, RZ / BSSY B0, `(.L_9_0150)
lanes: loop leaves on the complement | sub @P1 BRA / @!P1 BRA
lanes: loop is not left | sub @P1 BRA / BRA
lanes: loop's counter steps by two | sub IADD3 R7, R7, 0x1 / IADD3 R7, R7, 0x2
lanes: loop's counter starts at one | sub MOV R7, RZ / MOV R7, 0x1
lanes: branch into the loop's middle | sub (@P1 BRA) `\\(.L_9_00e0\\) / \\1 `(.L_9_00e0+0x10)
lanes: uniform register from a lane's | sub IADD3 R7, R7, 0x1, RZ / R2UR UR4, R7
lanes: store of shared memory moved over bar.warp.sync | move LDS R0, .R7.X4.0x4. / STS .R7.X4., R6
lanes: shared memory by another factor | sub (STS .R7.)X4 / \\1X8
lanes: shared memory without a factor | sub (STS .R7).X4(.0x100) / \\1\\2
lanes: load of shared memory moved over bar.sync | move LDS R0, .R7.X4.0x100. / BAR.SYNC\\S* 0x0
lanes: count of the barrier | sub (BAR.SYNC\\S*) 0x1, 0x40 / \\1 0x1, 0x20
lanes: barriers swapped | sub (BAR.SYNC\\S*) 0x1, 0x40 / \\1 0x0
lanes: collective dropped, result kept | drop VOTE.ANY P0
meet: gathers for another mask | sub R2UR UR0, R4 / R2UR UR0, R5
meet: asks of lanes with other masks | sub ISETP.EQ.U32.AND P0, PT, R4, UR0 / ISETP.NE.U32.AND P0, PT, R4, UR0
meet: half the mask is compared | sub ISETP.EQ.U32.AND P0, PT, R4, UR0 / ISETP.EQ.U32.AND P0, PT, R5, UR0
meet: does not ask who is there | sub @P0 BRA.DIV UR0 / @P0 BRA
meet: asks who agrees | sub @P0 BRA.DIV UR0 / @P0 BRA.CONV UR0
meet: asks under the complement | sub @P0 BRA.DIV UR0 / @!P0 BRA.DIV UR0
meet: lanes with the mask ask again | sub @!P0 BRA `\\(.L_\\d+_0020 / @P0 BRA `(.L_15_0020
meet: leaves another barrier than it joined | sub BREAK B2 / BREAK B3
meet: does not leave the barrier | drop BREAK B2
meet: comes back to another address | sub RET.ABS.NODEC R2 0x0 / RET.ABS.NODEC R2 0x10
meet: comes back by another register | sub RET.ABS.NODEC R2 / RET.ABS.NODEC R4
meet: a caller's barrier is not left | drop BREAK B1
meet: all callers' barriers are not left, the second one's twice | sub BREAK B0 / BREAK B1
meet: gathers without letting others run | drop YIELD
meet: waits in a barrier of the caller's | sub BSSY B3, / BSSY B1,
meet: waits for others at another barrier | sub BSYNC B3 / BSYNC B2
meet: does not wait for those that ask | drop BSYNC B2
meet: gathers for ever | sub BSYNC B3 / BRA `(.L_15_00a0)
meet: stub waits for lanes of another register | sub in:.text.$sync$VOTE$1 WARPSYNC R4 / WARPSYNC R5
meet: stub waits for all lanes | sub in:.text.$sync$VOTE$1 WARPSYNC R4 / WARPSYNC 0xffffffff
meet: stub waits for nobody | drop in:.text.$sync$VOTE$1 WARPSYNC R4
meet: stub waits under a predicate | sub in:.text.$sync$VOTE$1 WARPSYNC R4 / WARPSYNC P6, R4
meet: stub waits under a predicate that is false | sub in:.text.$sync$VOTE$1 WARPSYNC R4 / WARPSYNC !PT, R4
meet: stub comes back one level too far | sub in:.text.$sync$VOTE$1 RET.ABS.NODEC R2 / RET.ABS R2
meet: stub takes the predicate for its complement | sub ISETP.NE.U32.AND P0, PT, R5, RZ / ISETP.EQ.U32.AND P0, PT, R5, RZ
meet: stub takes another operand | sub ISETP.NE.U32.AND P0, PT, R5, RZ / ISETP.NE.U32.AND P0, PT, R4, RZ
meet: stub votes otherwise | sub VOTE.ANY R4, PT, P0 / VOTE.ANY R4, PT, !P0
meet: stub's result in another register | sub VOTE.ANY R4, PT, P0 / VOTE.ANY R5, PT, P0
meet: stub does not come back | sub in:.text.$sync$VOTE$1 RET.ABS.NODEC R2 0x0 / EXIT
meet: stub comes back to another address | sub in:.text.$sync$VOTE$1 RET.ABS.NODEC R2 0x0 / RET.ABS.NODEC R2 -0x10
meet: gathered for another WARPSYNC's mask | sub MOV R4, R9 / MOV R4, R8
meet: calls the stub for the gathering | sub (__rela .I_17_0100, 58), index@..gather.. / \\1, index@($sync$VOTE$1)
meet: gathers in place of the stub | sub (__rela \\S+ 58), index@..sync.VOTE.1. / \\1, index@($gather$)
meet: vote's operand of the other place | sub SEL R5, RZ, 0x1, !P1 / SEL R5, RZ, 0x1, P1
meet: WARPSYNC for sum of all lanes | sub in:.text.meet WARPSYNC.EXCLUSIVE R9 / WARPSYNC 0xffff
meet: WARPSYNC for sum of another register | sub in:.text.meet WARPSYNC.EXCLUSIVE R9 / WARPSYNC.EXCLUSIVE R8
meet: WARPSYNC for match of all lanes | sub in:.text.meet WARPSYNC R9 / WARPSYNC 0xffff
meet: WARPSYNC for match under a predicate | sub in:.text.meet WARPSYNC R9 / WARPSYNC P6, R9
meet: WARPSYNC for match of another register | sub in:.text.meet WARPSYNC R9 / WARPSYNC R8
meet: asks for lanes of another mask | sub LOP3.LUT P0, RZ, R5, R9, RZ, 0xc, / LOP3.LUT P0, RZ, R5, R8, RZ, 0xc,
meet: asks for lanes that are here | sub LOP3.LUT P0, RZ, R5, R9, RZ, 0xc, / LOP3.LUT P0, RZ, R5, R9, RZ, 0xc0,
meet: asks for lanes with another value | sub MATCH.ANY R5, R9 / MATCH.ANY R5, R8
meet: fast way where lanes are missing | sub @!P0 BRA `\\(.L_\\d+_0160 / @P0 BRA `(.L_17_0160
meet: lanes part where some are missing | drop VOTE.ANY P0, P0
meet: match keeps lanes of other masks | sub LOP3.LUT R9, R10, R9, RZ, 0xc0, !PT / MOV R9, R10
meet: vote keeps lanes of other masks | sub LOP3.LUT R0, R11, R9, RZ, 0xc0, !PT / MOV R0, R11
meet: fast way matches another value | sub MATCH.ANY R10, R8 / MATCH.ANY R10, R0
meet: fast way votes the complement | sub VOTE.ANY R11, PT, P1 / VOTE.ANY R11, PT, !P1
meet: WARPSYNC lets lanes of all masks go on | sub in:.text.meet WARPSYNC.EXCLUSIVE R9 / WARPSYNC R9
meet: match of all for any | sub MATCH.ANY R11, R8 / MATCH.ALL PT, R11, R8
meet: match of 64 bits | sub MATCH.ANY R11, R8 / MATCH.ANY.U64 R11, R8
meet: match of another value | sub MATCH.ANY R11, R8 / MATCH.ANY R11, R0
meet: reduction by another operation | sub REDUX.SUM / REDUX.OR
meet: reduction of another value | sub REDUX.SUM UR0, R8 / REDUX.SUM UR0, R0
meet: reduced before it is there | sub B---3--(.*)MOV R12, UR0 / B------\\1MOV R12, UR0
meet: barrier is not released | drop in:.text.meet BSYNC B0
meet: table's last index traps | sub ISETP.GE.U32.AND P0, PT, R0, 0x6 / ISETP.GE.U32.AND P0, PT, R0, 0x5
meet: table's index checked under the complement | sub ISETP.GE.U32.AND P0, PT, R0, 0x6 / ISETP.LT.U32.AND P0, PT, R0, 0x6
meet: default of the table signed | sub ISETP.GT.U32.AND P0, PT, R0, 0x5 / ISETP.GT.AND P0, PT, R0, 0x5
meet: default of the table off by one | sub ISETP.GT.U32.AND P0, PT, R0, 0x5 / ISETP.GT.U32.AND P0, PT, R0, 0x4
meet: table's offset of words | sub SHF.L.U32 R5, R0, 0x2 / SHF.L.U32 R5, R0, 0x3
meet: table of another kernel's place | sub c.0x2..R5. / c[0x2][R5+0x4]
meet: table's entry before the branch | sub (BRX R6) \\(.L_18_0000 - . - 0x10\\) / \\1 -0xe0
meet: table's high word | sub in:.text.table MOV R7, RZ / MOV R7, 0x1
meet: leaves a barrier too few | drop in:.text.table BREAK B1
meet: leaves another barrier | sub in:.text.table BREAK B1 / BREAK B0
meet: falls into the next case | drop in:.text.table BRA `\\(.L_\\d+_01b0\\) ;.*// line 56
meet: returns in place of going on | sub in:.text.table BRA `\\(.L_\\d+_01b0\\) ; / EXIT ;
meet: case joins the wrong barrier | sub BSYNC B1 / BSYNC B0
meet: constant of another bank | sub in:.text.table c.0x0..0x168. / c[0x1][0x168]
meet: value used before its store is done | sub B-----5(.*)IADD3 R4, R4, 0xd / B------\\1IADD3 R4, R4, 0xd
meet: registers too few in the section's header | sub in:.text.meet 0xf000000 / 0xb000000
meet: registers too few by one | state (EIATTR_REGCOUNT, index@.meet.), 0xf / \\1, 0xb
parts: behind the halves' collective all lanes vote without meeting | drop WARPSYNC 0xffffffff
parts: votes of the half | sub WARPSYNC 0xffffffff / WARPSYNC 0xffff
parts: shuffle of all lanes behind those who gather for the half | sub WARPSYNC R\\d+ / WARPSYNC 0xffffffff
parts: shuffle of the half without meeting | drop WARPSYNC R3
rounded: quotient rounded otherwise | sub FFMA R0, R3, R0, R2 / FFMA.RZ R0, R3, R0, R2
rounded: reciprocal not corrected upwards | sub FFMA.RP / FFMA
rounded: remainder of the first quotient | sub FFMA R3, -R19, R2, R18 / FFMA R3, -R19, R3, R18
rounded: remainder's sign | sub FFMA R3, -R19, / FFMA R3, R19,
rounded: subnormals flushed on the way | sub FMUL / FMUL.FTZ
rounded: the first correction left out | sub FFMA R2, R2, R0, R3 / MOV R2, R3
rounded: the second correction left out | sub FFMA R0, R3, R0, R2 / MOV R0, R2
rounded: range of the operands swapped | sub FCHK P0, (\\S+), (\\S+) / FCHK P0, \\2, \\1
rounded: range of the magnitude | sub FCHK P0, (\\S+), \\S+ / FCHK P0, \\1, \\1
rounded: slow way where it is not needed only | sub in:.text.rounded @!P0 BRA / @P0 BRA
rounded: slow way never taken | sub in:.text.rounded @!P0 BRA / BRA
rounded: operands of the call swapped | sub MOV R5, R19 / MOV R5, R18
rounded: one is another number | sub FFMA R6, -R18, R0, 1 / FFMA R6, -R18, R0, 2
rounded: reciprocal of subnormals | sub (FSETP.GE.AND P0, PT, \\S+), 1.175494350822287508e-38 / \\1, 0
rounded: reciprocal of what is too large | sub (FSETP.LT.AND P0, PT, \\S+), 4.25352958651173079329e.37 / \\1, 1.7e38
rounded: sign of the operand in the range | sub FSETP.GE.AND P0, PT, .(R\\d+)., / FSETP.GE.AND P0, PT, \\1,
rounded: second limit does not count | sub FSETP.LT.AND (P0, PT, .R\\d+., \\S+, P0) / FSETP.LT.OR \\1
rounded: operand of the call not flushed | sub FADD.FTZ R5, / FADD R5,
rounded: result of the call not flushed | sub FADD.FTZ (\\S+), R4 / FADD \\1, R4
rounded: reciprocal of the root for the reciprocal | sub MUFU.RCP R0, R18 / MUFU.RSQ R0, R18
rounded: root of small numbers | sub (FSETP.GE.AND P0, PT, R\\d+), 7.8886090522101180541e-31 / \\1, 1e-38
rounded: root of infinity | sub FSETP.LT.AND (P0, PT, R\\d+, .INF), P0 / FSETP.LE.AND \\1, P0
rounded: root of small numbers by the library not enlarged | sub in:.text.__heddle_sqrt_rp_f32 FSETP.LT.AND / FSETP.GT.AND
rounded: root of a zero by the library | sub in:.text.__heddle_sqrt_rp_f32 FSETP.EQ.AND / FSETP.NE.AND
rounded: half of another number | sub in:.text.rounded FMUL (\\S+, \\S+), 0.5 / FMUL \\1, 0.25
rounded: root rounded otherwise | sub FFMA.RP R18, R18, R0, R8 / FFMA.RM R18, R18, R0, R8
rounded: root without its second correction | sub FFMA.RP R18, R18, R0, R8 / MOV R18, R8
rounded: another rounding mode's function | sub (__rela \\S+ 58), index@.__heddle_div_rn_f32. / \\1, index@(__heddle_div_rz_f32)
rounded64!wide: quotient rounded otherwise | sub DFMA R2, R6, R2, R4 / DFMA.RZ R2, R6, R2, R4
rounded64!wide: quotient rounded to nearest | sub DFMA.RZ R2, R6, R2, R4 / DFMA R2, R6, R2, R4
rounded64!wide: quotient not corrected | sub DFMA R2, R6, R2, R4 / DADD R2, R4, -0.0
rounded64!wide: square of the error left out | sub DFMA R2, R2, R2, R2 / DADD R2, R2, -0.0
rounded64!wide: second step of the reciprocal left out | drop DFMA R2, R2, R4, R2
rounded64!wide: a step of the reciprocal rounded up | sub DFMA R2, R8, R2, R8 / DFMA.RP R2, R8, R2, R8
rounded64!wide: remainder's sign | sub DFMA R6, -R26, R4, R24 / DFMA R6, R26, R4, R24
rounded64!wide: remainder of another quotient | sub DFMA R6, -R26, R4, R24 / DFMA R6, -R26, R2, R24
rounded64!wide: one is another number | sub DFMA R2, -R26, R8, 1 / DFMA R2, -R26, R8, 2
rounded64!wide: reciprocal of the root for the reciprocal | sub MUFU.RCP64H R9, R27 / MUFU.RSQ64H R9, R27
rounded64!wide: reciprocal of the low word | sub MUFU.RCP64H R9, R27 / MUFU.RCP64H R9, R26
rounded64!wide: low word of the reciprocal | sub MOV R8, RZ / MOV R8, 0x1
rounded64!wide: largest divisor of a binade | sub ISETP.NE.U32.AND P0, PT, R26, -0x1 / ISETP.NE.U32.AND P0, PT, R26, -0x2
rounded64!wide: low word of the dividend asked | sub ISETP.NE.U32.AND P0, PT, R26, -0x1 / ISETP.NE.U32.AND P0, PT, R24, -0x1
rounded64!wide: dividend too small | sub FSETP.GE.AND P0, PT, .R25., 6.5827683646048100446e-37 / FSETP.GE.AND P0, PT, |R25|, 6.5827683646048e-38
rounded64!wide: sign of the dividend in the range | sub FSETP.GE.AND P0, PT, .R25., 6.58 / FSETP.GE.AND P0, PT, R25, 6.58
rounded64!wide: subnormal quotient | sub FSETP.GT.AND P0, PT, .R3., / FSETP.GE.AND P0, PT, |R3|,
rounded64!wide: quotient that is NaN | sub FSETP.GT.AND P0, PT, .R3., / FSETP.GTU.AND P0, PT, |R3|,
rounded64!wide: only the quotient counts | sub (FSETP.GT.AND P0, PT, .R3., \\S+) P0 / \\1 PT
rounded64!wide: slow way where it is not needed only | sub @P0 (BRA `\\(.L_18_) / @!P0 \\1
rounded64!wide: slow way never taken | sub @P0 (BRA `\\(.L_18_) / \\1
rounded64!wide: operand of the call | sub MOV R6, R26 / MOV R6, R24
rounded64!wide: rounding mode of the call | sub MOV R8, 0x3 / MOV R8, 0x1
rounded64!wide: half of the call's result | sub MOV R3, R5 / MOV R3, R4
rounded64!wide: reciprocal of what is infinite | sub FSETP.LT.AND P2, PT, .R25., .INF / FSETP.LE.AND P2, PT, |R25|, +INF
rounded64!wide: root of small numbers | sub IADD3 R0, R27, -0x3500000 / IADD3 R0, R27, -0x3400000
rounded64!wide: root of infinity | sub ISETP.LT.U32.AND P3, PT, R0, 0x7ca00000 / ISETP.LE.U32.AND P3, PT, R0, 0x7ca00000
rounded64!wide: root of negative numbers | sub ISETP.LT.U32.AND P3 / ISETP.LT.AND P3
rounded64!wide: three eighths are another number | sub MOV R13, 0x3fd80000 / MOV R13, 0x3fd00000
rounded64!wide: half of another number | sub DMUL R2, R2, 0.5 / DMUL R2, R2, 0.25
rounded64!wide: root rounded otherwise | sub DFMA.RP R2, R6, R2, R4 / DFMA.RM R2, R6, R2, R4
watched: second volatile load of shared memory is the first | sub LDS R6, .0x4. / MOV R6, R0
watched: volatile load of shared memory dropped | sub IMAD.U32 R0, R0, 0x3, R6 / IMAD.U32 R0, R0, 0x3, R0
watched: volatile loads of one place in the other order | sub IMAD.U32 R0, R0, 0x3, R6 / IMAD.U32 R0, R6, 0x3, R0
watched: first of two volatile stores to shared memory dropped | drop STS .RZ., R0
watched: relaxed load of shared memory from what was stored | drop LDS R0, .0x8.
generic: acquire of a weak load | sub LD.E.STRONG.GPU / LD.E
generic: acquire of another scope | sub LD.E.STRONG.GPU / LD.E.STRONG.SM
generic: acquire without fence | drop MEMBAR.ALL.GPU
generic: fence of the acquire for a block | sub MEMBAR.ALL.GPU / MEMBAR.ALL.CTA
generic: copies kept over the acquire | drop CCTL.IVALL
generic: weak load moved before the acquire's fence | move LD.E R\\d+, / MEMBAR.ALL.GPU
generic: release of a weak store | sub ST.E.STRONG.SYS / ST.E
generic: fence behind the release | move ST.E.STRONG.SYS / MEMBAR.ALL.SYS
generic: atomic of another scope | sub ATOM.E.ADD.STRONG.SYS / ATOM.E.ADD.STRONG.GPU
generic: volatile load no longer volatile | sub LD.E.STRONG.SYS / LD.E
generic: fence under the complement | sub @P0 MEMBAR.ALL.GPU / @!P0 MEMBAR.ALL.GPU
generic: release of the block without fence | drop MEMBAR.ALL.CTA
generic|forwarded: a word from the store beside | sub IADD3 R7, R0, 0x1 / IADD3 R7, R6, 0x1
generic|forwarded: what another pointer's store may have changed | sub W2:-:S02(.*)LD.E R7, .R2.0x10. / W-:-:S05\\1MOV R7, R7
generic|forwarded: from a store that a guard leaves out | sub W3:-:S02(.*)LD.E R7, .R2.0x14. / W-:-:S05\\1MOV R7, R6
generic|forwarded: a word of which half was stored | sub W4:-:S02(.*)LD.E R0, .R2.0x18. / W-:-:S05\\1MOV R0, R0
watched: load by the read-only cache | sub LDG.E R8 / LDG.E.CONSTANT R8
watched: volatile load before the loop that watches | move LDS R3, .RZ. / BSSY
watched: no other lane runs while one watches | drop YIELD
calls: other callee | sub (__rela .I_14_0080, 58), index@.twice. / \\1, index@(thrice)
calls: into the callee's middle | sub (__rela .I_14_0080, 58, \\S+), 0x0 / \\1, 0x10
calls: before the callee | sub (__rela .I_14_00d0, 58, \\S+), 0x0 / \\1, -0x10
calls: returns to the call | sub (__rela .I_14_0060, 56, \\S+), \\(.L_14_0090 - .L_14_0000\\) / \\1, 0x80
calls: returns behind the next one | sub (__rela .I_14_0060, 56, \\S+), \\(.L_14_0090 - .L_14_0000\\) / \\1, 0xa0
calls: high word of the return address | sub (__rela .I_14_0070), 57, / \\1, 56,
calls: other argument | sub MOV R4, R10 / MOV R4, R11
calls: argument in another register | sub MOV R4, R5 / MOV R6, R5
calls: a call dropped | drop 0120\\S+ +CALL.ABS
calls: results swapped | sub STG.E \\[R8.64\\], R11 / STG.E [R8.64], R10
calls: value kept in a register that the callee writes | sub MOV R11, R4 / MOV R0, R4
calls: callee does not restore the stack | sub IADD3 R1, R1, 0x20 / IADD3 R1, R1, 0x10
calls: callee returns elsewhere | sub RET.ABS.NODEC R2 0x0 / RET.ABS.NODEC R2 0x10
calls: callee returns by another register | sub RET.ABS.NODEC R2 / RET.ABS.NODEC R4
calls: callee's result | sub MOV R0, 0x2 / MOV R0, 0x3
calls: stack without the callee's | state (EIATTR_MIN_STACK_SIZE, index@.calls.), 0x20 / \\1, 0x0
calls|calls: one kernel alone, the callee is wrong | sub IMAD.U32 R4, R4, R0, 0x1 / IMAD.U32 R4, R4, R0, 0x2
"""


def first_line(lines, kernel, pattern, code):
    start, section = 0, f".text.{kernel}"
    if pattern.startswith("in:"):
        section, pattern = pattern[3:].split(" ", 1)
    elif not kernel:
        section = None
    if section:
        start = next(at for at, line in enumerate(lines) if f'.section "{section}"' in line)
    for at, line in enumerate(lines[start:], start):
        if (not code or CODE.match(line)) and re.search(pattern, line):
            return at
    return None


def state_records(lines):
    """All records as they stand: the assembler derives none, so the lists of EXIT instructions are spelt out, too."""
    exits, section = collections.defaultdict(list), ""
    for line in lines:
        section = (re.findall(r'\.section "(.*)"', line) or [section])[0]
        exits[section.replace(".text.", ".nv.info.", 1)] += re.findall(r"/\*([0-9a-f]+)\*/.*\bEXIT ;", line)
    for at, line in enumerate(lines):
        section = (re.findall(r'\.section "(.*)"', line) or [section])[0]
        if line.startswith(" .section") and section.startswith(".text."):
            lines[at] += "\n .__as_stated"
        if line.endswith("EIATTR_EXIT_INSTR_OFFSETS"):
            lines[at] += "".join(f", 0x{place}" for place in exits[section])


def edit(lines, kernel, action, pattern, other):
    code = action not in ("sub", "state")
    at = first_line(lines, kernel, pattern, code)
    if at is None:
        return "nothing to edit"
    if not code:
        new = re.sub(re.sub(r"^in:\S+ ", "", pattern), other, lines[at], count=1)
        if new == lines[at]:
            return "changes nothing"
        lines[at] = new
        if action == "state":
            state_records(lines)
    elif action == "drop":
        lines[at] = re.sub(r"(\*/\s*).*?;", r"\1NOP ;", lines[at])
    else:
        before = first_line(lines, kernel, other, code)
        if before is None:
            return "nowhere to move to"
        first, last = min(at, before), max(at, before)
        address = re.compile(r"/\*[0-9a-f]{4}\*/")
        old = [found.group() for found in map(address.search, lines[first : last + 1]) if found]
        lines.insert(before, lines.pop(at))
        for k in range(first, last + 1):  # the places stay, the instructions move
            if address.search(lines[k]):
                lines[k] = address.sub(old.pop(0), lines[k], count=1)
    return None


def rows():
    for line in PLANTED.strip().splitlines():
        head, edits = line.split(" | ")
        where, name = head.split(": ", 1)
        action, rest = edits.split(" ", 1)
        pattern, _, other = (part.strip() if action == "move" else part for part in rest.partition(" / "))
        file, how, kernel = re.fullmatch(r"(\w+)(\W?)(\w*)", where).groups()
        yield Row(file, how, kernel, name, action, pattern, other)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def mutant(heddle, text, row, folder, number):
    """The wrong binary, or why there is none."""
    lines = list(text)
    why = edit(lines, row.kernel if row.how == "!" else None, row.action, row.pattern, row.other)
    if why:
        return None, why
    source, binary = folder / "bad.sass", folder / f"bad{number}.cubin"
    source.write_text("\n".join(lines) + "\n")
    made = run(heddle, "asm", source, "-o", binary)
    return (None, f"does not assemble: {made.stderr}") if made.returncode else (binary, None)


def answers(whether, ptx, kernel, how, binaries):
    """One for each binary; what ends the process is told of the first without one."""
    asked = run(whether, ptx, kernel, "own" if how == "!" else "all", *binaries)
    told = asked.stdout.splitlines()
    return told + [f"status {asked.returncode}, {asked.stderr}"] * (len(binaries) - len(told))


def planted(heddle, whether, cases, folder, file, wanted):
    """The errors of one program: how many answers of each kind, and what fails."""
    ptx, good, failures, table = cases / f"{file}.ptx", folder / f"{file}.cubin", [], collections.Counter()
    run(heddle, "compile", "-t", TARGETS[file], *OPTIONS[file], ptx, "-o", good)
    text = run(heddle, "disasm", "--sections", good).stdout.replace("\t", " ").splitlines()
    asked = collections.defaultdict(list)
    for number, row in enumerate(wanted):
        binary, why = mutant(heddle, text, row, folder, number)
        if why:
            failures.append(f"{file}: {row.name}: {why}")
        else:
            asked[row.kernel, row.how].append((row.name, binary))
    for (kernel, how), mutants in asked.items():
        first, *others = answers(whether, ptx, kernel, how, [good] + [binary for _, binary in mutants])
        if first != "proved":
            failures.append(f"{file} as it is: {first}")
        for (name, _), answer in zip(mutants, others):
            table[answer] += 1
            if answer not in ("not proved", "unreadable"):
                failures.append(f"{file}: {name}: {answer}")
    return table, failures


def main():
    heddle, whether, cases, scratch = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    words, table, failures = sys.argv[5:], collections.Counter(), []
    known = list(rows())
    files = list(dict.fromkeys(row.file for row in known))
    named = [word for word in words if word not in files]
    for file in files:
        wanted = [row for row in known if row.file == file
                  and (not words or file in words or any(word in row.name for word in named))]
        if wanted:
            folder = scratch / file
            folder.mkdir(parents=True, exist_ok=True)
            counted, failed = planted(heddle, whether, cases, folder, file, wanted)
            table += counted
            failures += failed
    for failure in failures:
        print(f"FAILED: {failure}")
    for answer, n in sorted(table.items()):
        print(f"{n} {answer}")
    sys.exit(bool(failures) or not table)


main()
