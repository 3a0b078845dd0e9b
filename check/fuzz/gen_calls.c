/* Random calls: functions that call earlier ones, cycles of recursion with a depth that goes down, early
 * returns, calls in divergent flow; parameters of all sizes.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/gen_internal.h"
#include <stdio.h>
#include <string.h>

enum { MAX_FUNCS = 5, MAX_PARAMS = 5, DEPTH = 3 };
typedef enum { ARG_B32, ARG_B64, ARG_B16, ARG_BYTES, ARG_KINDS } ArgKind;
static const char *const arg_types[ARG_KINDS] = {".param .b32 %s%u", ".param .b64 %s%u", ".param .b16 %s%u",
                                                 ".param .align 8 .b8 %s%u[24]"};

/* Each function has more parameters in front: the thread's input and its log (64 bits), and the depth left
 * (32). */
typedef struct {
    unsigned nparams;
    ArgKind param[MAX_PARAMS], ret;
} Signature;
typedef struct {
    Gen *g;
    unsigned nfuncs, cycle; /* functions from `cycle` on call each other recursively */
    Signature sig[MAX_FUNCS];
} Calls;

static void write_signature(Calls *calls, unsigned f) {
    Gen *gen = calls->g;
    const Signature *signature = &calls->sig[f];
    OUT(gen, ".func (");
    gen_text(gen->p, arg_types[signature->ret], "out", 0u);
    OUT(gen, ") f%u(.param .b64 a0, .param .b32 a1, .param .b64 al", f);
    for (unsigned k = 0; k < signature->nparams; k++) {
        OUT(gen, ", ");
        gen_text(gen->p, arg_types[signature->param[k]], "a", k + 2);
    }
    OUT(gen, ")");
}

static bool same_signature(const Signature *signature, const Signature *b) {
    return signature->nparams == b->nparams && signature->ret == b->ret &&
           memcmp(signature->param, b->param, signature->nparams * sizeof signature->param[0]) == 0;
}

/* Tables of the functions up to f that have its signature. */
static unsigned table_size(const Calls *calls, unsigned f) {
    unsigned n = 0;
    for (unsigned k = 0; k <= f; k++)
        n += same_signature(&calls->sig[k], &calls->sig[f]);
    return n;
}

static void write_tables(Calls *calls) {
    for (unsigned f = 0; f < calls->nfuncs; f++) {
        unsigned n = table_size(calls, f);
        if (n < 2)
            continue;
        gen_text(calls->g->p, ".global .align 8 .u64 table%u[%u] = {", f, n);
        for (unsigned k = 0, out = 0; k <= f; k++)
            if (same_signature(&calls->sig[k], &calls->sig[f]))
                gen_text(calls->g->p, "%sf%u", out++ ? ", " : "", k);
        gen_text(calls->g->p, "};\n");
    }
}

/* %x3 = address of function f, or for some lanes of another one below `limit` with the same signature; the
 * prototype. */
static unsigned write_pointer(Calls *calls, unsigned f, unsigned limit) {
    Gen *gen = calls->g;
    const Signature *signature = &calls->sig[f];
    unsigned other = f, label = gen->nlabels++;
    for (unsigned k = 0; k < limit; k++)
        if (same_signature(&calls->sig[k], signature) && (other == f || gen_chance(gen, 50)))
            other = k;
    OUT(gen, "P%u: .callprototype (", label);
    gen_text(gen->p, arg_types[signature->ret], "_", 0u);
    OUT(gen, ") _ (.param .b64 _, .param .b32 _, .param .b64 _");
    for (unsigned k = 0; k < signature->nparams; k++) {
        OUT(gen, ", ");
        gen_text(gen->p, arg_types[signature->param[k]], "_", k + 1);
    }
    unsigned n = table_size(calls, f);
    if (n > 1 && gen_chance(gen, 60)) {
        OUT(gen,
            "); mad.lo.u32 %%u3, %%u1, 2654435769, %u; mul.hi.u32 %%u3, %%u3, %u; mov.u64 %%x3, table%u; "
            "mad.wide.u32 %%x3, %%u3, 8, %%x3; ld.global.u64 %%x3, [%%x3]; ",
            (unsigned)gen_u64(gen), n, f);
        return label;
    }
    OUT(gen, "); mov.u64 %%x3, f%u; mov.u64 %%x2, f%u; selp.b64 %%x3, %%x3, %%x2, %%p%u; ", f, other,
        gen_src(gen, POOL_P));
    return label;
}

/* One line, so that a reducer drops or keeps it whole: parameters, call, results folded into the pools. */
static void write_call(Calls *calls, unsigned f, unsigned limit, const char *depth) {
    Gen *gen = calls->g;
    const Signature *signature = &calls->sig[f];
    bool indirect = gen_chance(gen, 25);
    OUT(gen, "{ ");
    unsigned prototype = indirect ? write_pointer(calls, f, limit) : 0;
    OUT(gen, ".param .b64 q0; .param .b32 q1; .param .b64 ql; ");
    for (unsigned k = 0; k < signature->nparams; k++) {
        gen_text(gen->p, arg_types[signature->param[k]], "q", k + 2);
        OUT(gen, "; ");
    }
    gen_text(gen->p, arg_types[signature->ret], "res", 0u);
    OUT(gen, "; st.param.b64 [q0], %%gi; st.param.b64 [ql], %%gl; st.param.b32 [q1], %s; ", depth);
    for (unsigned k = 0; k < signature->nparams; k++)
        switch (signature->param[k]) {
        case ARG_B32: OUT(gen, "st.param.b32 [q%u], %%r%u; ", k + 2, gen_src(gen, POOL_R)); break;
        case ARG_B64: OUT(gen, "st.param.b64 [q%u], %%d%u; ", k + 2, gen_src(gen, POOL_D)); break;
        case ARG_B16: OUT(gen, "st.param.b16 [q%u], %%h%u; ", k + 2, gen_src(gen, POOL_H)); break;
        default:
            OUT(gen, "st.param.b32 [q%u+12], %%r%u; ", k + 2, gen_src(gen, POOL_R));
            OUT(gen, "st.param.b32 [q%u+8], %%r%u; ", k + 2, gen_src(gen, POOL_R));
            OUT(gen, "st.param.b64 [q%u], %%d%u; ", k + 2, gen_src(gen, POOL_D));
            OUT(gen, "st.param.b64 [q%u+16], %%d%u; ", k + 2, gen_src(gen, POOL_D));
        }
    if (indirect)
        OUT(gen, "call (res0), %%x3, (q0, q1, ql");
    else
        OUT(gen, "call (res0), f%u, (q0, q1, ql", f);
    for (unsigned k = 0; k < signature->nparams; k++)
        OUT(gen, ", q%u", k + 2);
    if (indirect)
        OUT(gen, "), P%u; ", prototype);
    else
        OUT(gen, "); ");
    switch (signature->ret) {
    case ARG_B32: OUT(gen, "ld.param.b32 %%r%u, [res0]; }\n", gen_dst(gen, POOL_R)); break;
    case ARG_B64: OUT(gen, "ld.param.b64 %%d%u, [res0]; }\n", gen_dst(gen, POOL_D)); break;
    case ARG_B16: OUT(gen, "ld.param.b16 %%h%u, [res0]; }\n", gen_dst(gen, POOL_H)); break;
    default:
        OUT(gen, "ld.param.b32 %%r%u, [res0+4]; ", gen_dst(gen, POOL_R));
        OUT(gen, "ld.param.b64 %%d%u, [res0+8]; }\n", gen_dst(gen, POOL_D));
    }
}

static void write_result(Calls *calls, unsigned f) {
    Gen *g = calls->g;
    switch (calls->sig[f].ret) {
    case ARG_B32: OUT(g, "st.param.b32 [out0], %%r%u;\n", gen_src(g, POOL_R)); break;
    case ARG_B64: OUT(g, "st.param.b64 [out0], %%d%u;\n", gen_src(g, POOL_D)); break;
    case ARG_B16: OUT(g, "st.param.b16 [out0], %%h%u;\n", gen_src(g, POOL_H)); break;
    default:
        for (unsigned k = 0; k < 3; k++)
            OUT(g, "st.param.b64 [out0+%u], %%d%u;\n", 16 - 8 * k, gen_src(g, POOL_D));
    }
    OUT(g, "ret;\n");
}

/* Some lanes only: a predicate of values. */
static void some_lanes(Gen *g) {
    OUT(g, "xor.b32 %%u3, %%r%u, %%u1;\nmul.lo.u32 %%u3, %%u3, 2654435769;\n", gen_src(g, POOL_R));
    OUT(g, "shr.u32 %%u3, %%u3, %u;\nsetp.eq.u32 %%c0, %%u3, 0;\n", gen_range(g, 29, 31));
}

static void data(Gen *g, unsigned least, unsigned most) {
    for (unsigned n = gen_range(g, least, most); n; n--)
        gen_data_insn(g);
}

/* Data, branches, early returns and calls. `self`: the function whose body it is, or nfuncs for the kernel.
 */
static void body(Calls *calls, unsigned self, unsigned n) {
    Gen *gen = calls->g;
    bool kernel = self == calls->nfuncs;
    unsigned below =
        kernel || self < calls->cycle ? self : calls->cycle; /* it may call the functions before that one */
    for (unsigned i = 0; i < n; i++) {
        unsigned r = gen_below(gen, 100), label = gen->nlabels++;
        data(gen, 1, 2);
        if (r < 30 && below) {
            if (gen_chance(gen, 55)) {
                some_lanes(gen);
                OUT(gen, "@!%%c0 bra L%u;\n", label);
                gen_data_insn(gen);
            }
            write_call(calls, gen_below(gen, below), below, kernel ? "3" : "%u2");
            OUT(gen, "L%u:\n", label);
        } else if (r < 40 && !kernel) {
            some_lanes(gen);
            OUT(gen, "@!%%c0 bra L%u;\n", label);
            gen_log_block(gen);
            write_result(calls, self);
            OUT(gen, "L%u:\n", label);
        } else if (r < 75 && gen->depth < 3) { /* lanes part */
            unsigned other = gen->nlabels++;
            gen->depth++;
            some_lanes(gen);
            OUT(gen, "@%s%%c0 bra L%u;\n", gen_chance(gen, 50) ? "!" : "", other);
            body(calls, self, gen_range(gen, 1, 2));
            if (gen_chance(gen, 50)) {
                OUT(gen, "bra L%u;\nL%u:\n", label, other);
                body(calls, self, gen_range(gen, 1, 2));
                OUT(gen, "L%u:\n", label);
            } else
                OUT(gen, "L%u:\n", other);
            gen->depth--;
        } else if (r < 82 && gen->depth < 3) { /* a loop; its counter is its own */
            unsigned counter = 8 + gen->depth;
            gen->depth++;
            OUT(gen, "shr.u32 %%u%u, %%u1, %u;\nand.b32 %%u%u, %%u%u, 1;\nL%u:\n", counter, gen_below(gen, 5),
                counter, counter, label);
            body(calls, self, 1);
            OUT(gen, "setp.eq.u32 %%c1, %%u%u, 0;\nsub.u32 %%u%u, %%u%u, 1;\n@!%%c1 bra L%u;\n", counter,
                counter, counter, label);
            gen->depth--;
        } else
            gen_log_block(gen);
    }
}

static void load_params(Calls *calls, unsigned f) {
    Gen *g = calls->g;
    const Signature *signature = &calls->sig[f];
    static const char *const zero[ARG_KINDS] = {"b32 [out0], 0", "b64 [out0], 0", "b16 [out0], 0",
                                                "b64 [out0+8], 0; st.param.b64 [out0], 0"};
    OUT(g, "st.param.%s; // keep\n", zero[signature->ret]);
    if (signature->ret == ARG_BYTES)
        OUT(g, "st.param.b64 [out0+16], 0; // keep\n");
    OUT(g, "ld.param.u64 %%gi, [a0];\nld.param.u64 %%gl, [al]; // keep\nld.param.u32 %%u2, [a1];\nmov.u32 "
           "%%u1, %%tid.x;\n");
    gen_load_pools(g, "%gi");
    for (unsigned k = 0; k < signature->nparams; k++)
        switch (signature->param[k]) {
        case ARG_B32: OUT(g, "ld.param.b32 %%r%u, [a%u];\n", gen_dst(g, POOL_R), k + 2); break;
        case ARG_B64: OUT(g, "ld.param.b64 %%d%u, [a%u];\n", gen_dst(g, POOL_D), k + 2); break;
        case ARG_B16: OUT(g, "ld.param.b16 %%h%u, [a%u];\n", gen_dst(g, POOL_H), k + 2); break;
        default:
            OUT(g, "ld.param.b32 %%r%u, [a%u+4];\n", gen_dst(g, POOL_R), k + 2);
            OUT(g, "ld.param.b64 %%d%u, [a%u+8];\n", gen_dst(g, POOL_D), k + 2);
        }
}

static void function(Calls *calls, unsigned f) {
    Gen *gen = calls->g;
    write_signature(calls, f);
    OUT(gen, "\n{\n");
    gen_declare_pools(gen);
    OUT(gen, ".reg .b64 %%gi, %%gl; // keep\n");
    load_params(calls, f);
    body(calls, f, gen_range(gen, 1, 2));
    if (f >= calls->cycle) { /* round the cycle, one level down */
        unsigned next = f + 1 < calls->nfuncs ? f + 1 : calls->cycle, label = gen->nlabels++;
        OUT(gen, "setp.eq.u32 %%c1, %%u2, 0;\n@%%c1 bra L%u;\nsub.u32 %%u2, %%u2, 1;\n", label);
        write_call(calls, next, 0, "%u2");
        OUT(gen, "L%u:\n", label);
    }
    body(calls, f, gen_range(gen, 0, 1));
    write_result(calls, f);
    OUT(gen, "}\n");
}

void gen_calls(Gen *gen) {
    Calls c = {.g = gen, .nfuncs = gen_chance(gen, 15) ? 1 : gen_range(gen, 2, MAX_FUNCS)};
    c.cycle = gen_chance(gen, 40) ? gen_below(gen, c.nfuncs) : c.nfuncs;
    gen->has_areas = false;
    gen_module_head(gen);
    for (unsigned f = 0; f < c.nfuncs; f++) {
        c.sig[f].nparams = gen_below(gen, MAX_PARAMS);
        c.sig[f].ret = (ArgKind)gen_below(gen, ARG_KINDS);
        for (unsigned k = 0; k < c.sig[f].nparams; k++)
            c.sig[f].param[k] = (ArgKind)gen_below(gen, ARG_KINDS);
        if (f && gen_chance(gen, 40))
            c.sig[f] = c.sig[f - 1];
        write_signature(&c, f);
        OUT(gen, ";\n");
    }
    write_tables(&c);
    for (unsigned f = 0; f < c.nfuncs; f++)
        function(&c, f);
    gen_kernel_head(gen, "");
    OUT(gen, "mov.u32 %%u1, %%tid.x;\n");
    body(&c, c.nfuncs, gen_range(gen, 2, 4));
    write_call(&c, c.nfuncs - 1, c.nfuncs, "2");
    gen_store_pools(gen);
}
