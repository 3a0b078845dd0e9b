/* Tables of LOP3 and PLOP3: bit 4a + 2b + c is the result where the inputs' bits are a, b and c
 * (sass_encoding.md, LOP3). So the table of an expression is that expression of the inputs' own tables.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_MACHINE_LUTS_H
#define HEDDLE_ISA_MACHINE_LUTS_H

enum {
    LUT_A = 0xf0,
    LUT_B = 0xcc,
    LUT_C = 0xaa,
    LUT_ALL = 0xff,
    LUT_AND = LUT_A & LUT_B,
    LUT_OR = LUT_A | LUT_B,
    LUT_XOR = LUT_A ^ LUT_B,
    LUT_NOT_A = LUT_ALL & ~LUT_A,
    LUT_LACKS = ~LUT_A & LUT_B,                     /* what b names and a does not */
    LUT_CHOOSE = (LUT_A & LUT_B) | (~LUT_A & LUT_C) /* a ? b : c */
};
#endif
