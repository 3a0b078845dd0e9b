/* See form_kernel.h. Operations are known by name where their statement needs more than registers: all lanes,
 * a divisor that is not 0, a carry; a column of what a kernel must prepare would serve nothing else.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/form_kernel.h"
#include <stdlib.h>
#include <string.h>

static bool is_collective(PtxOp op) {
    return op == PTX_SHFL || op == PTX_VOTE || op == PTX_MATCH || op == PTX_REDUX || op == PTX_ELECT ||
           op == PTX_MMA || op == PTX_WMMA || op == PTX_MOVMATRIX;
}

/* The member mask, the last operand, is all lanes: all execute the statement. */
static void put_full_mask(char *statement) {
    char *comma = strrchr(statement, ',');
    if (comma)
        strcpy(comma, ", 0xffffffff;");
}

/* [%da] becomes [%da+8]; `size` is room for all. */
static void put_offsets(char *statement, size_t size, int offset_bytes) {
    for (char *at = statement; (at = strchr(at, ']')) != NULL; at++) {
        char text[16];
        size_t n = (size_t)snprintf(text, sizeof text, "+%d", offset_bytes);
        if (at < statement + 2 || at[-1] != 'a' || strlen(statement) + n >= size)
            continue;
        memmove(at + n, at, strlen(at) + 1);
        memcpy(at, text, n);
        at += n;
    }
}

bool gen_form_statement(const FormUse *form, char *out, size_t size, PtxInsn *insn) {
    Diags silent = {0};
    StrTab strings = {0};
    bool good = form_decode(form->opcode, strlen(form->opcode), (SrcLoc){0}, &silent, &strings, insn);
    str_free(&strings);
    bool all = good && is_collective((PtxOp)insn->op);
    good = good && gen_form_text(form->opcode, form->guarded && !all, form->optional, out, size);
    if (all && insn->flags & PF_SYNC)
        put_full_mask(out);
    if (good && form->offset_bytes)
        put_offsets(out, size, form->offset_bytes);
    return good;
}

/* Registers named in the statement, by file and number. */
typedef struct {
    bool named[5][40];
} Registers;
static const char files[] = "drhpq";

static Registers registers_of(const char *statement) {
    Registers registers = {0};
    for (const char *at = strchr(statement, '%'); at; at = strchr(at + 1, '%')) {
        const char *file = strchr(files, at[1]);
        unsigned n = (unsigned)strtoul(at + 2, NULL, 10);
        if (at[1] && file && at[2] >= '0' && at[2] <= '9' && n < 40)
            registers.named[file - files][n] = true;
    }
    return registers;
}

static void put_inputs(FILE *f, const Registers *registers, unsigned parameters) {
    static const char *const load[] = {"ld.%s.u64 %%d%u, [%s+%u]; ", "ld.%s.u32 %%r%u, [%s+%u]; ",
                                       "ld.%s.u16 %%h%u, [%s+%u]; "};
    for (unsigned n = 0; n < 40; n++) {
        unsigned at = n % FORM_WORDS * 8;
        bool given = parameters && n >= parameters;
        for (unsigned file = 0; file < 3; file++)
            if (registers->named[file][n])
                fprintf(f, load[file], given ? "param" : "global", n,
                        given ? "pp" : "%g", /* NOLINT: see above */
                        given ? at % FORM_PARAM_BYTES : at);
        if (registers->named[3][n])
            fprintf(f, "ld.global.u32 %%w, [%%g+%u]; and.b32 %%w, %%w, 1; setp.ne.u32 %%p%u, %%w, 0; ", at,
                    n);
        if (registers->named[4][n])
            fprintf(f,
                    "ld.global.u64 %%x, [%%g+%u]; ld.global.u64 %%y, [%%g+%u]; mov.b128 %%q%u, {%%x, %%y}; ",
                    at, (at + 8) % (FORM_WORDS * 8), n);
    }
}

static void put_outputs(FILE *f, const Registers *registers, const char *space) {
    unsigned at = 0;
    for (unsigned n = 0; n < 40; n++) {
        static const char *const store[] = {"st.global.u64 [%%o+%u], %%d%u; ",
                                            "st.global.u32 [%%o+%u], %%r%u; ",
                                            "st.global.u16 [%%o+%u], %%h%u; "};
        for (unsigned file = 0; file < 3; file++)
            if (registers->named[file][n])
                fprintf(f, store[file], 8 * at++, n); /* NOLINT */
        if (registers->named[3][n])
            fprintf(f, "selp.b32 %%w, 1, 0, %%p%u; st.global.u32 [%%o+%u], %%w; ", n, 8 * at++);
        if (registers->named[4][n]) {
            fprintf(f,
                    "mov.b128 {%%x, %%y}, %%q%u; st.global.u64 [%%o+%u], %%x; st.global.u64 [%%o+%u], %%y; ",
                    n, 8 * at, 8 * at + 8);
            at += 2;
        }
    }
    for (unsigned k = 0; space && k < FORM_OWN_BYTES / 8; k++)
        fprintf(f, "ld.%s.u64 %%x, [%%ra+%u]; st.global.u64 [%%o+%u], %%x; ", space, 8 * k,
                8 * (FORM_OUT_WORDS - FORM_OWN_BYTES / 8 + k));
}

char *gen_form_kernel(const FormUse *form, unsigned number) {
    char statement[600], *text;
    size_t size;
    PtxInsn insn;
    if (!gen_form_statement(form, statement, sizeof statement, &insn))
        return NULL;
    Registers registers = registers_of(statement);
    bool cluster = insn.space == SP_SHARED_CLUSTER;
    const char *space = insn.space == SP_SHARED || cluster ? "shared"
                        : insn.space == SP_LOCAL           ? "local"
                                                           : NULL;
    FILE *f = open_memstream(&text, &size);
    fprintf(
        f,
        ".visible .entry k%u(.param .u64 in, .param .u64 out, .param .u64 own, .param .align 16 .b8 pp[%u]) "
        "{ "
        ".reg .b64 %%d<40>, %%da, %%g, %%o, %%x, %%y; .reg .b32 %%r<40>, %%ra, %%t, %%w; .reg .b16 %%h<40>; "
        ".reg "
        ".pred %%p<40>; .reg .b128 %%q<40>; .shared .align 16 .b8 area[%u]; .local .align 16 .b8 frame[%u]; ",
        number, FORM_PARAM_BYTES, FORM_BLOCK * FORM_OWN_BYTES, FORM_OWN_BYTES);
    fprintf(
        f,
        "mov.u32 %%t, %%tid.x; mov.u32 %%w, %%ctaid.x; mad.lo.u32 %%w, %%w, %u, %%t; ld.param.u64 %%g, [in]; "
        "ld.param.u64 %%o, [out]; ld.param.u64 %%da, [own]; mad.wide.u32 %%g, %%w, %u, %%g; mad.wide.u32 "
        "%%o, "
        "%%w, %u, %%o; mad.wide.u32 %%da, %%w, %u, %%da; mov.u32 %%ra, %s; ",
        FORM_BLOCK, FORM_WORDS * 8, FORM_OUT_WORDS * 8, FORM_OWN_BYTES,
        insn.space == SP_SHARED || cluster ? "area"
        : insn.space == SP_LOCAL           ? "frame"
                                           : "0");
    if (insn.space == SP_CONST)
        fprintf(f, "mov.u64 %%da, table; ");
    if (insn.space == SP_SHARED || cluster)
        fprintf(f, "mad.lo.u32 %%ra, %%t, %u, %%ra; ", FORM_OWN_BYTES);
    for (unsigned k = 0; space && k < FORM_OWN_BYTES / 8; k++)
        fprintf(f, "ld.global.u64 %%x, [%%da+%u]; st.%s.u64 [%%ra+%u], %%x; ", 8 * k, space, 8 * k);
    if (cluster)
        fprintf(f, "cvt.u64.u32 %%da, %%ra; ");
    put_inputs(f, &registers, form->parameters);
    if (insn.op == PTX_DIV || insn.op == PTX_REM) /* by 0: anything. Floating point: any number is as good */
        fprintf(f, registers.named[0][9]   ? "or.b64 %%d9, %%d9, 1; "
                   : registers.named[1][9] ? "or.b32 %%r9, %%r9, 1; "
                                           : "or.b16 %%h9, %%h9, 1; ");
    if (insn.op == PTX_BFE || insn.op == PTX_BFI) /* beyond: anything */
        fprintf(f, "and.b32 %%r9, %%r9, 255; and.b32 %%r13, %%r13, 255; and.b32 %%r17, %%r17, 255; ");
    if (insn.op == PTX_ADDC || insn.op == PTX_SUBC ||
        insn.op == PTX_MADC) /* a carry that nobody else writes */
        fprintf(f, "ld.global.u32 %%w, [%%g+16]; add.cc.u32 %%w, %%w, %%w; ");
    fprintf(f, "%s ", statement);
    put_outputs(f, &registers, space);
    fprintf(f, "ret; }\n");
    fclose(f);
    return text;
}

void gen_form_head(FILE *f, const char *target) {
    fprintf(f, ".version 8.8\n.target %s\n.address_size 64\n.const .align 16 .b32 table[16] = {", target);
    for (unsigned k = 0; k < 16; k++)
        fprintf(f, "%s0x%x", k ? ", " : "", 0x3f8001ff * (k + 3));
    fprintf(f, "};\n");
}
