/* Random programs: what all kinds share. See gen.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/fuzz/gen_internal.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*make)(Gen *g);
} kinds[GEN_KINDS] = {
#define GEN_KIND(constant, name) {#name, gen_##name},
    GEN_EACH_KIND(GEN_KIND)
#undef GEN_KIND
};

#define GEN_KIND(constant, name) " " #name
const char gen_kind_names[] = GEN_EACH_KIND(GEN_KIND);
#undef GEN_KIND

const char *gen_kind_name(GenKind k) { return k < GEN_KINDS ? kinds[k].name : "file"; }

bool gen_kind_find(const char *name, size_t size_bytes, GenKind *k) {
    for (unsigned i = 0; i < GEN_KINDS; i++)
        if (strlen(kinds[i].name) == size_bytes && memcmp(kinds[i].name, name, size_bytes) == 0) {
            *k = (GenKind)i;
            return true;
        }
    return false;
}

uint64_t gen_u64(Gen *gen) { return rng_next(&gen->rng); }

/* ---- text ---- */
static void reserve(GenProgram *program, size_t more) {
    if (program->cap - program->size_bytes > more)
        return;
    size_t cap = program->cap ? 2 * program->cap : 4096;
    while (cap - program->size_bytes <= more)
        cap *= 2;
    char *text = realloc(program->text, cap);
    if (!text)
        abort();
    program->text = text;
    program->cap = cap;
}

void gen_text(GenProgram *program, const char *fmt, ...) {
    reserve(program, 256);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(program->text + program->size_bytes, program->cap - program->size_bytes, fmt, ap);
    va_end(ap);
    if ((size_t)n >= program->cap - program->size_bytes) {
        reserve(program, (size_t)n + 1);
        va_start(ap, fmt);
        vsnprintf(program->text + program->size_bytes, program->cap - program->size_bytes, fmt, ap);
        va_end(ap);
    }
    program->size_bytes += (size_t)n;
}

/* ---- values ---- */
// clang-format off
static const uint64_t edge64[] = {
    0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
    0x80000001, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
    0xfffffffffffffffe, 0xffffffff80000000, 0xffffffff7fffffff, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa,
    0x0123456789abcdef, 0xfffffffffffffff0};
// clang-format on
static const uint32_t edge_f32[] = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x00800001, 0x807fffff,
    0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x3f000000, 0x3fc00000, 0xbfc00000, 0x40200000,
    0x4b000000, 0x4b7fffff, 0xcb000001, 0x4f000000, 0x4effffff, 0xcf000000, 0x4f800000, 0x5f000000,
    0xdf000000, 0x5f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7fffffff,
    0xffc00001, 0x7f800001, 0x477fe000, 0x477ff000, 0x33000000, 0x38800000, 0x387fc000, 0x7f7f8000,
    0x3effffff, 0x3f000001, 0x40490fdb, 0x00000100};
// clang-format off
static const uint64_t edge_f64[] = {
    0, 0x8000000000000000, 1, 0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x3fe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0x41dfffffffc00000, 0x41e0000000000000,
    0xc1e0000000000000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000, 0x7fefffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001,
    0x47efffffe0000000, 0x47effffff0000000, 0x36a0000000000000, 0x3690000000000000, 0x380fffffffffffff,
    0x3ff0000010000000, 0x3fefffffffffffff, 0x4330000000000001, 0x40f0000000000000, 0xc040000000000000};
// clang-format on
static const uint16_t edge_f16[] = {0,      0x8000, 1,      0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3800, 0x3e00,
                                    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7fff, 0x7c01, 0x6400, 0x3bff,
                                    0x3c01, 0x3f80, 0xbf80, 0x7f7f, 0x7f80, 0xff80, 0x0080, 0x007f, 0x4248};
#define PICK(x, array) (array)[(x) % (sizeof(array) / sizeof *(array))]

void gen_data(uint64_t data_seed, uint8_t *out, size_t size_bytes) {
    uint64_t state = data_seed;
    for (size_t i = 0; i < size_bytes; i += 8) {
        uint64_t x = rng_next(&state), v = rng_mix(x);
        switch (x >> 60) {
        case 0:
        case 1:
        case 2: v = PICK(v, edge64); break;
        case 3:
        case 4:
            v = (uint64_t)PICK(v & 0xffff, edge_f32) | (uint64_t)PICK(v >> 16 & 0xffff, edge_f32) << 32;
            break;
        case 5: /* f32 near one, and with small exponent differences */
            v = (v & 0x83ffffff83ffffff) | 0x3c0000003c000000;
            break;
        case 6:
        case 7: v = PICK(v, edge_f64); break;
        case 8: v = (v & 0x80ffffffffffffff) | 0x3f00000000000000; break;
        case 9:
            v = (uint64_t)PICK(v & 0xff, edge_f16) | (uint64_t)PICK(v >> 8 & 0xff, edge_f16) << 16 |
                (uint64_t)PICK(v >> 16 & 0xff, edge_f16) << 32 |
                (uint64_t)PICK(v >> 24 & 0xff, edge_f16) << 48;
            break;
        case 10: /* two small integers */ v = (v & 0x3f) | (v >> 8 & 0x3f) << 32; break;
        case 11:
            v = (uint64_t)(uint32_t)PICK(v & 0xffff, edge64) | PICK(v >> 16 & 0xffff, edge64) << 32;
            break;
        default: break;
        }
        size_t n = size_bytes - i < 8 ? size_bytes - i : 8;
        memcpy(out + i, &v, n);
    }
}

void gen_constant(Gen *g, PtxType t, char out[40]) {
    unsigned bytes = ptx_type_bytes(t);
    uint64_t r = gen_u64(g), v = gen_chance(g, 30)   ? r
                                 : gen_chance(g, 30) ? r >> 40 & 63
                                                     : PICK(r >> 20, edge64);
    if (t == TY_F32)
        snprintf(out, 40, "0f%08" PRIx32, r & 0x10000 ? (uint32_t)r : PICK(r >> 20, edge_f32));
    else if (t == TY_F64)
        snprintf(out, 40, "0d%016" PRIx64, r & 0x10000 ? rng_mix(r) : PICK(r >> 20, edge_f64));
    else if (bytes == 2)
        snprintf(out, 40, "%d", ptx_type_class(t) == TC_SIGNED ? (int)(int16_t)v : (int)(uint16_t)v);
    else if (bytes == 4)
        snprintf(out, 40, "%" PRId64,
                 ptx_type_class(t) == TC_SIGNED ? (int64_t)(int32_t)v : (int64_t)(uint32_t)v);
    else
        snprintf(out, 40, "0x%016" PRIx64, v);
}

/* ---- registers ---- */
GenPool gen_pool_of(unsigned bytes) { return bytes <= 2 ? POOL_H : bytes == 4 ? POOL_R : POOL_D; }
char gen_letter(GenPool pool) { return "hrdp"[pool]; }

unsigned gen_src(Gen *gen, GenPool pool) {
    return gen_chance(gen, 40) ? gen->recent[pool] : gen_below(gen, gen->npool[pool]);
}

unsigned gen_dst(Gen *gen, GenPool pool) { return gen->recent[pool] = gen_below(gen, gen->npool[pool]); }

void gen_guard(Gen *gen) {
    if (gen_chance(gen, gen->guard_percent)) {
        unsigned guard = gen_src(gen, POOL_P);
        OUT(gen, "@%s%%p%u ", gen_chance(gen, 40) ? "!" : "", guard);
    }
}

/* ---- heads and tails ---- */
void gen_module_head(Gen *g) {
    OUT(g, ".version 8.6\n.target sm_%u\n.address_size 64\n", gen_sm(g));
    OUT(g, ".const .align 16 .b32 table[16] = {0, 1, 0xffffffff, 0x80000000, 0x3f800000, 0xbf800000, "
           "0x7f800000, 7,\n"
           "  0x12345678, 0x9abcdef0, 0x00010001, 0x3c003c00, 0x7fffffff, 0x7ff00000, 42, 0x80000001};\n");
}

void gen_declare_pools(Gen *gen) {
    OUT(gen, ".reg .b16 %%h<%u>;\n.reg .b32 %%r<%u>;\n.reg .b64 %%d<%u>;\n.reg .pred %%p<%u>;\n",
        gen->npool[POOL_H], gen->npool[POOL_R], gen->npool[POOL_D], gen->npool[POOL_P]);
    OUT(gen, ".reg .b32 %%t<6>; // keep\n.reg .b64 %%x<6>;\n.reg .pred %%c<4>;\n.reg .b32 %%u<16>;\n");
}

/* The thread's number in the grid, its input and output addresses. */
static void addresses(Gen *gen) {
    OUT(gen, "ld.param.u64 %%gi, [in];\nld.param.u64 %%go, [out]; // keep\n");
    OUT(gen, "mov.u32 %%id, %%tid.x; // keep\n");
    if (gen->p->block[1] > 1)
        OUT(gen,
            "mov.u32 %%t0, %%tid.y; mov.u32 %%t1, %%ntid.x; mad.lo.u32 %%id, %%t0, %%t1, %%id; // keep\n");
    if (gen->has_areas) {
        OUT(gen, "mov.u32 %%sb, area; mad.lo.u32 %%sb, %%id, %d, %%sb; // keep\n", GEN_AREA_BYTES);
        OUT(gen, "mov.u32 %%lb, frame;\n");
    }
    if (gen->p->grid[0] > 1)
        OUT(gen, "mov.u32 %%t0, %%ctaid.x; mad.lo.u32 %%id, %%t0, %u, %%id; // keep\n",
            gen->p->block[0] * gen->p->block[1]);
    OUT(gen, "mad.wide.u32 %%gi, %%id, %d, %%gi;\n", GEN_IN_BYTES);
    OUT(gen, "mad.wide.u32 %%go, %%id, %d, %%go; // keep\n", GEN_OUT_BYTES);
    OUT(gen, "add.s64 %%gl, %%go, %d; mov.u32 %%lc, 0; // keep\n", GEN_LOG_OFFSET);
    if (!gen->has_areas)
        return;
    OUT(gen, "mov.u64 %%ga0, %%go;\n");
    OUT(gen, "cvt.u64.u32 %%ga1, %%sb;\ncvta.shared.u64 %%ga1, %%ga1;\n");
    OUT(gen, "cvt.u64.u32 %%ga2, %%lb;\ncvta.local.u64 %%ga2, %%ga2;\n");
    for (unsigned k = 0; k < GEN_AREA_BYTES; k += 16) {
        OUT(gen, "ld.global.v2.b64 {%%x0, %%x1}, [%%gi+%u];\n", k);
        OUT(gen, "st.global.v2.b64 [%%go+%u], {%%x0, %%x1};\n", k);
        OUT(gen, "st.shared.v2.b64 [%%sb+%u], {%%x1, %%x0};\n", k);
        OUT(gen, "st.local.v2.b64 [%%lb+%u], {%%x0, %%x1};\n", k);
    }
    OUT(gen, "st.local.b32 [last], %%id;\n"); /* the frame's last word, before what is spilled */
}

void gen_kernel_head(Gen *gen, const char *more_declarations) {
    OUT(gen, ".visible .entry fuzz(.param .u64 in, .param .u64 out)\n{\n");
    gen_declare_pools(gen);
    OUT(gen, ".reg .b64 %%gi, %%go, %%gl, %%ga<3>; // keep\n.reg .b32 %%sb, %%lb, %%id, %%lc; // keep\n");
    if (gen->has_areas)
        OUT(gen,
            ".shared .align 16 .b8 area[%u]; // keep\n.local .align 16 .b8 frame[%d];\n.local .b32 last;\n",
            GEN_AREA_BYTES * gen->p->block[0] * gen->p->block[1], GEN_AREA_BYTES);
    OUT(gen, "%s", more_declarations);
    addresses(gen);
    gen_load_pools(gen, "%gi");
}

static void start_constant(Gen *g, GenPool pool, unsigned i) {
    static const PtxType types[3][2] = {{TY_U16, TY_S16}, {TY_U32, TY_F32}, {TY_U64, TY_F64}};
    char text[40];
    PtxType t = types[pool][gen_below(g, 2)];
    gen_constant(g, t, text);
    OUT(g, "mov.%s %%%c%u, %s;\n", ptx_type_name(t), gen_letter(pool), i, text);
}

void gen_load_pools(Gen *gen, const char *base) {
    static const char type[] = {'h', 'r', 'd'};
    unsigned at = 0;
    for (unsigned k = 0; k < 3; k++)
        for (unsigned i = 0; i < gen->npool[k]; i++, at += 8)
            if (gen_chance(gen, gen->constant_percent))
                start_constant(gen, (GenPool)k, i);
            else
                OUT(gen, "ld.global.b%u %%%c%u, [%s+%u];\n", 16u << k, type[k], i, base, at % GEN_IN_BYTES);
    for (unsigned i = 0; i < gen->npool[POOL_P]; i++)
        OUT(gen, "setp.%s.s32 %%p%u, %%r%u, %%r%u;\n", i & 1 ? "lt" : "ge", i, i % gen->npool[POOL_R],
            (i + 1) % gen->npool[POOL_R]);
}

void gen_store_pools(Gen *gen) {
    unsigned at = GEN_AREA_BYTES;
    for (unsigned i = 0; i < gen->npool[POOL_D]; i++, at += 8)
        OUT(gen, "st.global.b64 [%%go+%u], %%d%u;\n", at, i);
    for (unsigned i = 0; i < gen->npool[POOL_R]; i++, at += 4)
        OUT(gen, "st.global.b32 [%%go+%u], %%r%u;\n", at, i);
    for (unsigned i = 0; i < gen->npool[POOL_H]; i++, at += 2)
        OUT(gen, "st.global.b16 [%%go+%u], %%h%u;\n", at, i);
    at = (at + 3) & ~3u;
    for (unsigned i = 0; i < gen->npool[POOL_P]; i++, at += 4) {
        OUT(gen, "selp.b32 %%t0, 1, 2, %%p%u;\n", i);
        OUT(gen, "st.global.b32 [%%go+%u], %%t0;\n", at);
    }
    if (gen->has_areas)
        OUT(gen, "ld.local.b32 %%t0, [last];\nst.global.b32 [%%go+%u], %%t0;\n", at);
    OUT(gen, "ret;\n}\n");
}

/* A function keeps the count in the log's first event, as its caller goes on counting. */
void gen_log(Gen *gen, const char *number) {
    if (gen->kind == GEN_CALLS)
        OUT(gen,
            "ld.global.u32 %%t4, [%%gl]; add.u32 %%t4, %%t4, 8; st.global.u32 [%%gl], %%t4; and.b32 %%t4, "
            "%%t4, %d; "
            "add.u32 %%t4, %%t4, 8; ",
            4 * GEN_LOG_EVENTS - 8);
    else if (gen->kind == GEN_CFG) { /* whose visits are counted: the log is long enough */
        OUT(gen, "add.s64 %%gl, %%gl, 8; mov.u32 %%t5, %s; st.global.v2.b32 [%%gl+-8], {%%t5, %%r%u};\n",
            number, gen->recent[POOL_R]);
        return;
    } else
        OUT(gen, "and.b32 %%t4, %%lc, %d; add.u32 %%lc, %%lc, 8; ", 8 * GEN_LOG_EVENTS - 8);
    OUT(gen, "cvt.u64.u32 %%x4, %%t4; add.s64 %%x4, %%x4, %%gl; ");
    if (number[0] != '%') {
        OUT(gen, "mov.u32 %%t5, %s; ", number);
        number = "%t5";
    }
    OUT(gen, "st.global.v2.b32 [%%x4], {%s, %%r%u};\n", number, gen->recent[POOL_R]);
}

void gen_log_block(Gen *gen) {
    char number[16];
    snprintf(number, sizeof number, "%u", gen->nlogs++);
    gen_log(gen, number);
}

/* ---- programs ---- */
static void write_header(const Gen *gen, uint64_t seed, uint64_t index) {
    GenProgram *program = gen->p;
    gen_text(program,
             "// fuzz block=%u,%u,%u grid=%u,%u,%u in=%u out=%u data=%" PRIu64 " kind=%s seed=%" PRIu64
             " index=%" PRIu64 "\n",
             program->block[0], program->block[1], program->block[2], program->grid[0], program->grid[1],
             program->grid[2], program->in_bytes, program->out_bytes, program->data_seed,
             gen_kind_name(gen->kind), seed, index);
}

bool gen_read_header(GenProgram *program) {
    const char *line = program->text ? strstr(program->text, "// fuzz block=") : NULL;
    return line && sscanf(line,
                          "// fuzz block=%" SCNu32 ",%" SCNu32 ",%" SCNu32 " grid=%" SCNu32 ",%" SCNu32
                          ",%" SCNu32 " in=%" SCNu32 " out=%" SCNu32 " data=%" SCNu64,
                          &program->block[0], &program->block[1], &program->block[2], &program->grid[0],
                          &program->grid[1], &program->grid[2], &program->in_bytes, &program->out_bytes,
                          &program->data_seed) == 9;
}

/* Block and grid: mostly one warp, for speed; partial warps; several. */
static void choose_launch(Gen *gen) {
    GenProgram *program = gen->p;
    unsigned r = gen_below(gen, 100);
    if (gen->kind == GEN_CFG) /* measured */
        r = r < 70 ? 0 : r;
    program->block[0] = r < 55   ? 32
                        : r < 65 ? gen_range(gen, 1, 31)
                        : r < 80 ? 64
                        : r < 90 ? gen_range(gen, 33, 70)
                                 : 8;
    program->block[1] = program->block[0] == 8 ? gen_range(gen, 1, 6) : 1;
    program->block[2] = program->grid[1] = program->grid[2] = 1;
    program->grid[0] = gen_chance(gen, 8) ? 2 : 1;
    if (gen->kind == GEN_COLLECTIVES || gen->kind == GEN_BARRIERS) {
        program->block[0] = 32 * (gen->kind == GEN_BARRIERS ? gen_range(gen, 2, 8)
                                  : gen_chance(gen, 75)     ? 1
                                                            : gen_range(gen, 2, 3));
        program->block[1] = 1;
    }
    gen->nthreads = program->block[0] * program->block[1] * program->grid[0];
    program->in_bytes = gen->nthreads * GEN_IN_BYTES;
    program->out_bytes = gen->nthreads * GEN_OUT_BYTES;
}

void gen_program(GenKind kind, uint64_t seed, uint64_t index, GenForms *forms, GenProgram *program) {
    Gen g = {.rng = rng_mix(seed + 0x632be59bd9b4e019ull * (kind + 1u)) ^ rng_mix(index + 1),
             .p = program,
             .forms = forms,
             .kind = kind};
    program->size_bytes = 0;
    program->graph = (GenGraph){0};
    program->data_seed = gen_u64(&g) >> 8;
    g.npool[POOL_H] = gen_range(&g, 2, 4);
    g.npool[POOL_R] = gen_range(&g, 4, 8);
    g.npool[POOL_D] = gen_range(&g, 2, 6);
    g.npool[POOL_P] = gen_range(&g, 3, 5);
    if (gen_chance(&g, 10)) { /* many live values */
        g.npool[POOL_R] = gen_range(&g, 20, 50);
        g.npool[POOL_D] = gen_range(&g, 8, 24);
        g.npool[POOL_P] = gen_range(&g, 5, 12);
        g.npool[POOL_H] = gen_range(&g, 4, 12);
    }
    g.guard_percent = gen_chance(&g, 70) ? 15 : 50;
    g.constant_percent = gen_chance(&g, 20) ? 70 : 0;
    g.has_areas = true;
    choose_launch(&g);
    write_header(&g, seed, index);
    kinds[kind].make(&g);
}

void gen_program_free(GenProgram *program) {
    free(program->text);
    *program = (GenProgram){0};
}
