/* isagen's reference pages: docs/isa-TARGET.md in the build folder, one table an opcode.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/traits.h"
#include <string.h>

static void bits(const IgField *field, FILE *o) {
    for (unsigned p = 0; p < field->nparts; p++)
        fprintf(o, "%s%u-%u", p ? " + " : "", field->lo[p], field->lo[p] + field->w[p] - 1);
}

static void opcode_table(const IgRow *row, FILE *o) {
    fprintf(o, "\n### %s\n\n`%s`\n\n| bits | field | type | value |\n|---|---|---|---|\n", row->name,
            row->syntax);
    for (unsigned i = 0; i < row->fields.n; i++) {
        const IgField *field = &row->fields.at[i];
        if (field->kind == FD_ZERO || field->kind == FD_SPARE || !field->nparts || field->value == VT_CTRL)
            continue;
        fprintf(o, "| ");
        bits(field, o);
        fprintf(o, " | %s%s%s%s%s | %s | ", field->name, field->attr ? "." : "",
                field->attr ? field->attr : "",
                field->as && strcmp(field->as, field->name) && !field->attr ? " = " : "",
                field->as && strcmp(field->as, field->name) && !field->attr ? field->as : "",
                field->type && field->type->flag ? "flag" : field->type_name);
        if (field->kind == FD_FIXED)
            fprintf(o, "always %s0x%llx", field->def.text[0] ? "" : "",
                    (unsigned long long)field->def.number);
        else if (field->has_default)
            fprintf(o, "default %s", field->def.text);
        if (field->reversed)
            fprintf(o, ", reversed");
        if (field->scale > 1)
            fprintf(o, ", in units of %u", field->scale);
        if (field->bias)
            fprintf(o, ", less %d", field->bias);
        fprintf(o, " |\n");
    }
    for (unsigned i = 0; i < row->errors.n; i++)
        fprintf(o, "\nEncoding error: %s\n", row->errors.at[i].text);
}

static void properties(const IgTarget *target, FILE *out) {
    fprintf(out, "\n| property | value | |\n|---|---|---|\n");
    for (unsigned i = 0; ig_props[i].name; i++) {
        fprintf(out, "| %s | ", ig_props[i].name);
        if (ig_props[i].choices)
            fprintf(out, "%s", target->prop[i].choice);
        else
            fprintf(out, target->prop[i].number > 255 ? "0x%llx" : "%llu",
                    (unsigned long long)target->prop[i].number);
        fprintf(out, " | %s |\n", ig_props[i].meaning);
    }
}

/* The page has headings of its own: those of the prose become bold, outside of ```. */
static void prose_lines(const char *text, int bytes, FILE *out) {
    bool fence = false;
    for (const char *line = text; line < text + bytes;) {
        int n = (int)strcspn(line, "\n");
        int marks = (int)strspn(line, "#");
        fence ^= !strncmp(line + strspn(line, " \t"), "```", 3);
        if (marks && !fence && line[marks] == ' ')
            fprintf(out, "**%.*s**\n", n - marks - 1, line + marks + 1);
        else
            fprintf(out, "%.*s\n", n, line);
        line += n + 1;
    }
}

static void definition_prose(const IgDef *def, FILE *out) {
    for (unsigned i = 0; i < def->prose.n; i++) {
        const char *text = def->prose.at[i].text + strspn(def->prose.at[i].text, "\n");
        int n = (int)strlen(text);
        while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
            n--;
        if (!n)
            continue;
        fprintf(out, "\n**%s**\n\n", def->prose.at[i].heading);
        prose_lines(text, n, out);
    }
}

/* What the definition of an operation says in words, or with a name of NULL what groups say. */
static void prose_of(const Ig *ig, unsigned target, const char *optype, FILE *out) {
    for (unsigned i = 0; i < ig->defs.n; i++) {
        const IgDef *def = ig->defs.at[i];
        if (!(def->targets >> target & 1) || !def->prose.n || def->kind != (optype ? DK_OPTYPE : DK_GROUP) ||
            (optype && strcmp(def->name, optype)))
            continue;
        if (!optype)
            fprintf(out, "\n## Group %s\n", def->name);
        definition_prose(def, out);
    }
}

static void opcode(const IgRow *row, FILE *out) {
    opcode_table(row, out);
    if (row->def->kind == DK_OPCODE)
        definition_prose(row->def, out);
}

bool ig_emit_docs(Ig *ig, unsigned target, FILE *o) {
    fprintf(o,
            "# Instructions of %s\n\nMade by isagen from `isa/*.isa`. Bits that no table names are zero or "
            "control.\n",
            ig->targets.at[target]->name);
    properties(ig->targets.at[target], o);
    prose_of(ig, target, NULL, o);
    for (unsigned t = 1; t < ig->optypes.n; t++) {
        const IgOptype *ot = ig->optypes.at[t];
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
            const IgMod *mod = &ot->mods.at[i];
            fprintf(o, "%s`%s`", i ? ", " : "\nModifiers: ", mod->name);
            for (unsigned k = 0; mod->type && !mod->type->flag && k < mod->type->vals.n; k++)
                fprintf(o, "%s%s", k ? " " : " (", mod->type->vals.at[k].name);
            if (mod->type && !mod->type->flag)
                fprintf(o, ")");
        }
        if (ot->mods.n)
            fprintf(o, ".\n");
        igt_docs(ot, o);
        prose_of(ig, target, ot->name, o);
        for (unsigned i = 0; i < ig->rows.n; i++)
            if (ig->rows.at[i]->target == target && ig->rows.at[i]->optype == t)
                opcode(ig->rows.at[i], o);
    }
    return true;
}

bool ig_emit_fields(Ig *ig, unsigned target, FILE *o) {
    for (unsigned i = 0; i < ig->rows.n; i++) {
        const IgRow *row = ig->rows.at[i];
        for (unsigned k = 0; row->target == target && k < row->fields.n; k++) {
            const IgField *field = &row->fields.at[k];
            if (field->kind == FD_ZERO || field->kind == FD_SPARE || field->value == VT_CTRL)
                continue;
            for (unsigned p = 0; p < field->nparts; p++)
                fprintf(o, "%s %s%s%s %u %u %s%s\n", row->name, field->name, field->attr ? "." : "",
                        field->attr ? field->attr : "", field->lo[p], field->w[p],
                        field->kind == FD_FIXED ? "==" : "",
                        field->kind == FD_FIXED || field->has_default ? field->def.text : "-");
        }
    }
    return true;
}
