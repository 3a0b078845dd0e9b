/* isagen's reference pages: docs/isa-TARGET.md in the build folder, one table an opcode.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/isagen.h"
#include <string.h>

static void bits(const IgField *f, FILE *o) {
    for (unsigned p = 0; p < f->nparts; p++)
        fprintf(o, "%s%u-%u", p ? " + " : "", f->lo[p], f->lo[p] + f->w[p] - 1);
}

static void opcode_table(const IgRow *r, FILE *o) {
    fprintf(o, "\n### %s\n\n`%s`\n\n| bits | field | type | value |\n|---|---|---|---|\n", r->name,
            r->syntax);
    for (unsigned i = 0; i < r->fields.n; i++) {
        const IgField *f = &r->fields.at[i];
        if (f->kind == FD_ZERO || f->kind == FD_SPARE || !f->nparts || f->value == VT_CTRL)
            continue;
        fprintf(o, "| ");
        bits(f, o);
        fprintf(o, " | %s%s%s%s%s | %s | ", f->name, f->attr ? "." : "", f->attr ? f->attr : "",
                f->as && strcmp(f->as, f->name) && !f->attr ? " = " : "",
                f->as && strcmp(f->as, f->name) && !f->attr ? f->as : "",
                f->type && f->type->flag ? "flag" : f->type_name);
        if (f->kind == FD_FIXED)
            fprintf(o, "always %s0x%llx", f->def.text[0] ? "" : "", (unsigned long long)f->def.number);
        else if (f->has_default)
            fprintf(o, "default %s", f->def.text);
        if (f->reversed)
            fprintf(o, ", reversed");
        if (f->scale > 1)
            fprintf(o, ", in units of %u", f->scale);
        if (f->bias)
            fprintf(o, ", less %d", f->bias);
        fprintf(o, " |\n");
    }
    for (unsigned i = 0; i < r->errors.n; i++)
        fprintf(o, "\nEncoding error: %s\n", r->errors.at[i].text);
}

bool ig_emit_docs(Ig *g, unsigned target, FILE *o) {
    fprintf(o,
            "# Instructions of %s\n\nMade by isagen from `isa/*.isa`. Bits that no table names are zero or "
            "control.\n",
            g->targets.at[target]->name);
    for (unsigned t = 1; t < g->optypes.n; t++) {
        const IgOptype *ot = g->optypes.at[t];
        if (!(ot->targets >> target & 1))
            continue;
        fprintf(o, "\n## %s\n\nDestinations:", ot->name);
        for (unsigned i = 0; i < ot->dst.n; i++)
            fprintf(o, " `%s`", ot->dst.at[i].name);
        fprintf(o, "%s Sources:", ot->dst.n ? "." : " none.");
        for (unsigned i = 0; i < ot->src.n; i++)
            fprintf(o, " `%s`", ot->src.at[i].name);
        fprintf(o, "%s\n", ot->src.n ? "." : " none.");
        for (unsigned i = 0; i < ot->mods.n; i++) {
            const IgMod *m = &ot->mods.at[i];
            fprintf(o, "%s`%s`", i ? ", " : "\nModifiers: ", m->name);
            for (unsigned k = 0; m->type && !m->type->flag && k < m->type->vals.n; k++)
                fprintf(o, "%s%s", k ? " " : " (", m->type->vals.at[k].name);
            if (m->type && !m->type->flag)
                fprintf(o, ")");
        }
        if (ot->mods.n)
            fprintf(o, ".\n");
        for (unsigned i = 0; i < g->rows.n; i++)
            if (g->rows.at[i]->target == target && g->rows.at[i]->optype == t)
                opcode_table(g->rows.at[i], o);
    }
    return true;
}

bool ig_emit_fields(Ig *g, unsigned target, FILE *o) {
    for (unsigned i = 0; i < g->rows.n; i++) {
        const IgRow *r = g->rows.at[i];
        for (unsigned k = 0; r->target == target && k < r->fields.n; k++) {
            const IgField *f = &r->fields.at[k];
            if (f->kind == FD_ZERO || f->kind == FD_SPARE || f->value == VT_CTRL)
                continue;
            for (unsigned p = 0; p < f->nparts; p++)
                fprintf(o, "%s %s%s%s %u %u %s%s\n", r->name, f->name, f->attr ? "." : "",
                        f->attr ? f->attr : "", f->lo[p], f->w[p], f->kind == FD_FIXED ? "==" : "",
                        f->kind == FD_FIXED || f->has_default ? f->def.text : "-");
        }
    }
    return true;
}
