/* The register rows of a binary's map: which PTX register, and which word of it, a machine register holds
 * from an instruction on. Nothing of a proof rests on them, but `heddle validate` and whoever debugs go by
 * them. A row that begins behind an instruction of a statement that writes the register is compared with the
 * statement's result: a machine register that holds, as a term, another word of it than the row says makes
 * the region unknown. Where the terms are neither, a schedule or an optimisation has come between, and
 * nothing is said. A statement that is executed in several rounds of a loop has a result in each, and which
 * of them a copy's register holds the row does not say: one that is the named word of any is right.
 * SPDX-License-Identifier: MIT */
#include "check/prove/lane/internal.h"
#include <string.h>

/* The register of this name that the statement writes; 0: none. */
static uint32_t written_by(const Prover *prover, const PtxInsn *in, const char *name) {
    for (unsigned d = 0; d < in->ndst; d++) {
        const PtxOperand *o = &in->operands[d];
        unsigned n = o->kind == PO_VEC ? o->nvec : 1;
        for (unsigned k = 0; k < n; k++) {
            const PtxOperand *one = o->kind == PO_VEC ? &o->vec[k] : o;
            if (one->kind == PO_REG && one->reg &&
                strcmp(str_text(&prover->module->strings, prover->pf->regs[one->reg].name), name) == 0)
                return one->reg;
        }
    }
    return 0;
}

/* The value that holds a word of a register: one of 128 bits has two. */
static uint32_t row_value(const Prover *prover, uint32_t reg, unsigned word) {
    return prover->upper[reg] && word / 2 == 1 ? prover->upper[reg] - 1 : reg;
}

void prove_rows_setup(Prover *prover) {
    const BinFunc *bf = prover->bf;
    MapRows *rows = &prover->rows;
    if (!bf->locs || prover->opt->no_map)
        return;
    rows->value = ARENA_ARRAY(&prover->arena, uint32_t, bf->nvars + 1);
    rows->next_of_inst = ARENA_ARRAY(&prover->arena, uint32_t, bf->nvars + 1);
    rows->next_of_statement = ARENA_ARRAY(&prover->arena, uint32_t, bf->nvars + 1);
    rows->of_inst = ARENA_ARRAY(&prover->arena, uint32_t, bf->ninsts + 1);
    rows->of_statement = ARENA_ARRAY(&prover->arena, uint32_t, prover->pf->ninsns + 1);
    for (uint32_t r = 0; r < bf->nvars; r++) {
        uint32_t behind = bf->vars[r].lo_bytes / INST_BYTES;
        uint32_t statement = behind ? bf->locs[behind - 1].ptx_insn : 0;
        if (!statement || statement > prover->pf->ninsns ||
            (bf->vars[r].file != RF_R && bf->vars[r].file != RF_UR))
            continue;
        uint32_t reg = written_by(prover, &prover->pf->insns[statement - 1], bf->vars[r].ptx_name);
        if (!reg)
            continue;
        rows->value[r] = row_value(prover, reg, bf->vars[r].component);
        rows->next_of_inst[r] = rows->of_inst[behind - 1];
        rows->of_inst[behind - 1] = r + 1;
        rows->next_of_statement[r] = rows->of_statement[statement - 1];
        rows->of_statement[statement - 1] = r + 1;
    }
}

static RowTerms *terms_of(Prover *prover, Run *run, uint32_t row) {
    if (!run->rows)
        run->rows = ARENA_ARRAY(prover->run_arena, RowTerms, prover->bf->nvars + 1);
    return &run->rows[row];
}

void prove_rows_after_statement(Prover *prover, Run *run, uint32_t statement, Term *const *val) {
    for (uint32_t r = prover->rows.value ? prover->rows.of_statement[statement] : 0; r;
         r = prover->rows.next_of_statement[r - 1]) {
        RowTerms *terms = terms_of(prover, run, r - 1);
        RowTerms *before =
            terms->held || terms->before ? arena_copy(prover->run_arena, terms, sizeof *terms) : NULL;
        *terms = (RowTerms){val[prover->rows.value[r - 1]], before};
    }
}

void prove_rows_after_inst(Prover *prover, Run *run, uint32_t inst, Term *const *val) {
    for (uint32_t r = prover->rows.value ? prover->rows.of_inst[inst] : 0; r;
         r = prover->rows.next_of_inst[r - 1]) {
        const BinVarRow *row = &prover->bf->vars[r - 1];
        terms_of(prover, run, r - 1)->held = val[(row->file == RF_R ? LOC_R : LOC_UR) + row->reg];
    }
}

/* Is the word the other one of a register's 64 bits in some round, and in none the one that is named? */
static bool is_other_word(Terms *ts, const RowTerms *rounds, Term *word, unsigned part) {
    bool other = false;
    for (; rounds; rounds = rounds->before) {
        Term *value = rounds->held;
        if (!value || value->width != 64)
            continue;
        if (word == (part ? t_hi(ts, value) : t_lo(ts, value)))
            return false;
        other |= word == (part ? t_lo(ts, value) : t_hi(ts, value));
    }
    return other;
}

const char *prove_rows_wrong(Prover *prover, const Run *ptx, const Run *mach, uint32_t *statement,
                             uint32_t *inst) {
    for (uint32_t r = 0; prover->rows.value && ptx->rows && mach->rows && r < prover->bf->nvars; r++) {
        const BinVarRow *row = &prover->bf->vars[r];
        Term *value = ptx->rows[r].held, *word = mach->rows[r].held;
        if (!value || !word || word->width != 32)
            continue;
        *inst = prover->ff->first_inst + row->lo_bytes / INST_BYTES - 1;
        *statement = prover->bf->locs[row->lo_bytes / INST_BYTES - 1].ptx_insn - 1;
        unsigned words = value->width == 64 ? 2 : 1,
                 part = row->component - (prover->rows.value[r] >= prover->first_upper ? words : 0u);
        if (value->width <= 64 && part >= words)
            return "the map names a word that the PTX register has not";
        if (is_other_word(&prover->ts, &ptx->rows[r], word, part))
            return "the map names another word of the PTX register than this register holds";
    }
    return NULL;
}
