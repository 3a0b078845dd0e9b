/* The columns of a row, in isagen: isa/gen/traits.c. The rest of isagen hands statements in and has the
 * output written; it knows no column.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_ISA_GEN_TRAITS_H
#define HEDDLE_ISA_GEN_TRAITS_H
#include "isa/gen/parse.h"

/* Does a column's statement stand here? Then it is read into `traits`, and *ok tells whether it is one. */
bool igt_statement(Parser *parser, IgTraits *traits, bool *ok);
/* What a definition says, on top of what its parents said. */
void igt_merge(IgTraits *to, const IgTraits *from);
/* What one row says joins what other rows of its optype have said; reports a difference. */
bool igt_join(Ig *g, IgOptype *optype, const IgTraits *row);
/* Every optype has every column that it needs, and the names are those of its slots; reports the first of
 * each. */
bool igt_check(Ig *g);
void igt_header(const Ig *g, FILE *f);            /* enumerations, lists of optypes by Simulated<> */
void igt_table(const Ig *g, FILE *f);             /* isa_optype_traits[] */
uint32_t igt_units(const Ig *g, unsigned target); /* bit set of the units that its operations run on */
void igt_docs(const IgOptype *optype, FILE *f);
#endif
