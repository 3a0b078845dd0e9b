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

static void write_signature(Calls *c, unsigned f) {
    Gen *g = c->g;
    const Signature *s = &c->sig[f];
    OUT(g, ".func (");
    gen_text(g->p, arg_types[s->ret], "out", 0u);
    OUT(g, ") f%u(.param .b64 a0, .param .b32 a1, .param .b64 al", f);
    for (unsigned k = 0; k < s->nparams; k++) {
        OUT(g, ", ");
        gen_text(g->p, arg_types[s->param[k]], "a", k + 2);
    }
    OUT(g, ")");
}

static bool same_signature(const Signature *a, const Signature *b) {
    return a->nparams == b->nparams && a->ret == b->ret &&
           memcmp(a->param, b->param, a->nparams * sizeof a->param[0]) == 0;
}

/* Tables of the functions up to f that have its signature. */
static unsigned table_size(const Calls *c, unsigned f) {
    unsigned n = 0;
    for (unsigned k = 0; k <= f; k++)
        n += same_signature(&c->sig[k], &c->sig[f]);
    return n;
}

static void write_tables(Calls *c) {
    for (unsigned f = 0; f < c->nfuncs; f++) {
        unsigned n = table_size(c, f);
        if (n < 2)
            continue;
        gen_text(c->g->p, ".global .align 8 .u64 table%u[%u] = {", f, n);
        for (unsigned k = 0, out = 0; k <= f; k++)
            if (same_signature(&c->sig[k], &c->sig[f]))
                gen_text(c->g->p, "%sf%u", out++ ? ", " : "", k);
        gen_text(c->g->p, "};\n");
    }
}

/* %x3 = address of function f, or for some lanes of another one below `limit` with the same signature; the
 * prototype. */
static unsigned write_pointer(Calls *c, unsigned f, unsigned limit) {
    Gen *g = c->g;
    const Signature *s = &c->sig[f];
    unsigned other = f, label = g->nlabels++;
    for (unsigned k = 0; k < limit; k++)
        if (same_signature(&c->sig[k], s) && (other == f || gen_chance(g, 50)))
            other = k;
    OUT(g, "P%u: .callprototype (", label);
    gen_text(g->p, arg_types[s->ret], "_", 0u);
    OUT(g, ") _ (.param .b64 _, .param .b32 _, .param .b64 _");
    for (unsigned k = 0; k < s->nparams; k++) {
        OUT(g, ", ");
        gen_text(g->p, arg_types[s->param[k]], "_", k + 1);
    }
    unsigned n = table_size(c, f);
    if (n > 1 && gen_chance(g, 60)) {
        OUT(g,
            "); mad.lo.u32 %%u3, %%u1, 2654435769, %u; mul.hi.u32 %%u3, %%u3, %u; mov.u64 %%x3, table%u; "
            "mad.wide.u32 %%x3, %%u3, 8, %%x3; ld.global.u64 %%x3, [%%x3]; ",
            (unsigned)gen_u64(g), n, f);
        return label;
    }
    OUT(g, "); mov.u64 %%x3, f%u; mov.u64 %%x2, f%u; selp.b64 %%x3, %%x3, %%x2, %%p%u; ", f, other,
        gen_src(g, POOL_P));
    return label;
}

/* One line, so that a reducer drops or keeps it whole: parameters, call, results folded into the pools. */
static void write_call(Calls *c, unsigned f, unsigned limit, const char *depth) {
    Gen *g = c->g;
    const Signature *s = &c->sig[f];
    bool indirect = gen_chance(g, 25);
    OUT(g, "{ ");
    unsigned prototype = indirect ? write_pointer(c, f, limit) : 0;
    OUT(g, ".param .b64 q0; .param .b32 q1; .param .b64 ql; ");
    for (unsigned k = 0; k < s->nparams; k++) {
        gen_text(g->p, arg_types[s->param[k]], "q", k + 2);
        OUT(g, "; ");
    }
    gen_text(g->p, arg_types[s->ret], "res", 0u);
    OUT(g, "; st.param.b64 [q0], %%gi; st.param.b64 [ql], %%gl; st.param.b32 [q1], %s; ", depth);
    for (unsigned k = 0; k < s->nparams; k++)
        switch (s->param[k]) {
        case ARG_B32: OUT(g, "st.param.b32 [q%u], %%r%u; ", k + 2, gen_src(g, POOL_R)); break;
        case ARG_B64: OUT(g, "st.param.b64 [q%u], %%d%u; ", k + 2, gen_src(g, POOL_D)); break;
        case ARG_B16: OUT(g, "st.param.b16 [q%u], %%h%u; ", k + 2, gen_src(g, POOL_H)); break;
        default:
            OUT(g, "st.param.b64 [q%u], %%d%u; st.param.b32 [q%u+8], %%r%u; st.param.b32 [q%u+12], %%r%u; ",
                k + 2, gen_src(g, POOL_D), k + 2, gen_src(g, POOL_R), k + 2, gen_src(g, POOL_R));
            OUT(g, "st.param.b64 [q%u+16], %%d%u; ", k + 2, gen_src(g, POOL_D));
        }
    if (indirect)
        OUT(g, "call (res0), %%x3, (q0, q1, ql");
    else
        OUT(g, "call (res0), f%u, (q0, q1, ql", f);
    for (unsigned k = 0; k < s->nparams; k++)
        OUT(g, ", q%u", k + 2);
    if (indirect)
        OUT(g, "), P%u; ", prototype);
    else
        OUT(g, "); ");
    switch (s->ret) {
    case ARG_B32: OUT(g, "ld.param.b32 %%r%u, [res0]; }\n", gen_dst(g, POOL_R)); break;
    case ARG_B64: OUT(g, "ld.param.b64 %%d%u, [res0]; }\n", gen_dst(g, POOL_D)); break;
    case ARG_B16: OUT(g, "ld.param.b16 %%h%u, [res0]; }\n", gen_dst(g, POOL_H)); break;
    default:
        OUT(g, "ld.param.b64 %%d%u, [res0+8]; ld.param.b32 %%r%u, [res0+4]; }\n", gen_dst(g, POOL_D),
            gen_dst(g, POOL_R));
    }
}

static void write_result(Calls *c, unsigned f) {
    Gen *g = c->g;
    switch (c->sig[f].ret) {
    case ARG_B32: OUT(g, "st.param.b32 [out0], %%r%u;\n", gen_src(g, POOL_R)); break;
    case ARG_B64: OUT(g, "st.param.b64 [out0], %%d%u;\n", gen_src(g, POOL_D)); break;
    case ARG_B16: OUT(g, "st.param.b16 [out0], %%h%u;\n", gen_src(g, POOL_H)); break;
    default:
        OUT(g, "st.param.b64 [out0], %%d%u;\nst.param.b64 [out0+8], %%d%u;\nst.param.b64 [out0+16], %%d%u;\n",
            gen_src(g, POOL_D), gen_src(g, POOL_D), gen_src(g, POOL_D));
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
static void body(Calls *c, unsigned self, unsigned n) {
    Gen *g = c->g;
    bool kernel = self == c->nfuncs;
    unsigned below =
        kernel || self < c->cycle ? self : c->cycle; /* it may call the functions before that one */
    for (unsigned i = 0; i < n; i++) {
        unsigned r = gen_below(g, 100), label = g->nlabels++;
        data(g, 1, 2);
        if (r < 30 && below) {
            if (gen_chance(g, 55)) {
                some_lanes(g);
                OUT(g, "@!%%c0 bra L%u;\n", label);
                gen_data_insn(g);
            }
            write_call(c, gen_below(g, below), below, kernel ? "3" : "%u2");
            OUT(g, "L%u:\n", label);
        } else if (r < 40 && !kernel) {
            some_lanes(g);
            OUT(g, "@!%%c0 bra L%u;\n", label);
            gen_log_block(g);
            write_result(c, self);
            OUT(g, "L%u:\n", label);
        } else if (r < 75 && g->depth < 3) { /* lanes part */
            unsigned other = g->nlabels++;
            g->depth++;
            some_lanes(g);
            OUT(g, "@%s%%c0 bra L%u;\n", gen_chance(g, 50) ? "!" : "", other);
            body(c, self, gen_range(g, 1, 2));
            if (gen_chance(g, 50)) {
                OUT(g, "bra L%u;\nL%u:\n", label, other);
                body(c, self, gen_range(g, 1, 2));
                OUT(g, "L%u:\n", label);
            } else
                OUT(g, "L%u:\n", other);
            g->depth--;
        } else if (r < 82 && g->depth < 3) { /* a loop; its counter is its own */
            unsigned counter = 8 + g->depth;
            g->depth++;
            OUT(g, "shr.u32 %%u%u, %%u1, %u;\nand.b32 %%u%u, %%u%u, 1;\nL%u:\n", counter, gen_below(g, 5),
                counter, counter, label);
            body(c, self, 1);
            OUT(g, "setp.eq.u32 %%c1, %%u%u, 0;\nsub.u32 %%u%u, %%u%u, 1;\n@!%%c1 bra L%u;\n", counter,
                counter, counter, label);
            g->depth--;
        } else
            gen_log_block(g);
    }
}

static void load_params(Calls *c, unsigned f) {
    Gen *g = c->g;
    const Signature *s = &c->sig[f];
    static const char *const zero[ARG_KINDS] = {"b32 [out0], 0", "b64 [out0], 0", "b16 [out0], 0",
                                                "b64 [out0+8], 0; st.param.b64 [out0], 0"};
    OUT(g, "st.param.%s; // keep\n", zero[s->ret]);
    if (s->ret == ARG_BYTES)
        OUT(g, "st.param.b64 [out0+16], 0; // keep\n");
    OUT(g, "ld.param.u64 %%gi, [a0];\nld.param.u64 %%gl, [al]; // keep\nld.param.u32 %%u2, [a1];\nmov.u32 "
           "%%u1, %%tid.x;\n");
    gen_load_pools(g, "%gi");
    for (unsigned k = 0; k < s->nparams; k++)
        switch (s->param[k]) {
        case ARG_B32: OUT(g, "ld.param.b32 %%r%u, [a%u];\n", gen_dst(g, POOL_R), k + 2); break;
        case ARG_B64: OUT(g, "ld.param.b64 %%d%u, [a%u];\n", gen_dst(g, POOL_D), k + 2); break;
        case ARG_B16: OUT(g, "ld.param.b16 %%h%u, [a%u];\n", gen_dst(g, POOL_H), k + 2); break;
        default:
            OUT(g, "ld.param.b64 %%d%u, [a%u+8];\nld.param.b32 %%r%u, [a%u+4];\n", gen_dst(g, POOL_D), k + 2,
                gen_dst(g, POOL_R), k + 2);
        }
}

static void function(Calls *c, unsigned f) {
    Gen *g = c->g;
    write_signature(c, f);
    OUT(g, "\n{\n");
    gen_declare_pools(g);
    OUT(g, ".reg .b64 %%gi, %%gl; // keep\n");
    load_params(c, f);
    body(c, f, gen_range(g, 1, 2));
    if (f >= c->cycle) { /* round the cycle, one level down */
        unsigned next = f + 1 < c->nfuncs ? f + 1 : c->cycle, label = g->nlabels++;
        OUT(g, "setp.eq.u32 %%c1, %%u2, 0;\n@%%c1 bra L%u;\nsub.u32 %%u2, %%u2, 1;\n", label);
        write_call(c, next, 0, "%u2");
        OUT(g, "L%u:\n", label);
    }
    body(c, f, gen_range(g, 0, 1));
    write_result(c, f);
    OUT(g, "}\n");
}

void gen_calls(Gen *g) {
    Calls c = {.g = g, .nfuncs = gen_chance(g, 15) ? 1 : gen_range(g, 2, MAX_FUNCS)};
    c.cycle = gen_chance(g, 40) ? gen_below(g, c.nfuncs) : c.nfuncs;
    g->has_areas = false;
    gen_module_head(g);
    for (unsigned f = 0; f < c.nfuncs; f++) {
        c.sig[f].nparams = gen_below(g, MAX_PARAMS);
        c.sig[f].ret = (ArgKind)gen_below(g, ARG_KINDS);
        for (unsigned k = 0; k < c.sig[f].nparams; k++)
            c.sig[f].param[k] = (ArgKind)gen_below(g, ARG_KINDS);
        if (f && gen_chance(g, 40))
            c.sig[f] = c.sig[f - 1];
        write_signature(&c, f);
        OUT(g, ";\n");
    }
    write_tables(&c);
    for (unsigned f = 0; f < c.nfuncs; f++)
        function(&c, f);
    gen_kernel_head(g, "");
    OUT(g, "mov.u32 %%u1, %%tid.x;\n");
    body(&c, c.nfuncs, gen_range(g, 2, 4));
    write_call(&c, c.nfuncs - 1, c.nfuncs, "2");
    gen_store_pools(g);
}
