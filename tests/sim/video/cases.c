/* Writes all.ptx, agreed.ptx and launches for both into a directory: video instructions with random
 * selectors, types and second operations, on edge and random values, with what must come out, computed here
 * from the text of PTX ISA 9.7.18. agreed.ptx has those of which ptxas 13.0 makes what the text says
 * (docs/numerics.md). SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__extension__ typedef __int128 Exact;

enum { LANES = 32, EACH = 24 };
typedef enum { ADD, SUB, AVRG, ABSDIFF, MIN, MAX, SET, SHL, SHR, MAD, NUM_OPS } Op;
static const char *const op_names[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin",
                                       "vmax", "vset", "vshl",  "vshr",     "vmad"};
typedef enum { PLAIN, SECOND_ADD, SECOND_MIN, SECOND_MAX, MERGE } Second;
static const char *const second_names[] = {"", ".add", ".min", ".max", ""};
static const char *const cmp_names[] = {".eq", ".ne", ".lt", ".le", ".gt", ".ge"};

typedef struct {
    Op op;
    unsigned parts;    /* 1: scalar */
    bool is_signed[3]; /* result, a, b */
    bool sat, wraps, plus_one, minus[3] /* a, b, c */;
    unsigned scale, cmp;
    Second second;
    char selector[3][8]; /* result, a, b: "b3210", "h1", "" */
} Statement;

static uint32_t state = 2463534242u;
static uint32_t rnd(uint32_t below) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return (state >> 4) % below;
}

static uint32_t value(void) {
    static const uint32_t edges[] = {0,          1,          0x7f,       0x80,       0xff,       0x7fff,
                                     0x8000,     0xffff,     0x7fffffff, 0x80000000, 0xffffffff, 0x80808080,
                                     0x7f7f7f7f, 0xff00ff00, 0x7fff8000, 31,         32,         33};
    uint32_t how = rnd(5), high = rnd(65536), low = rnd(65536);
    return how < 2 ? edges[rnd(sizeof edges / sizeof *edges)] : how == 2 ? low & 63 : high << 16 | low;
}

/* ---- what must come out ---- */

static int64_t bits_of(uint64_t v, unsigned low, unsigned n, bool is_signed) {
    int64_t all = INT64_C(1) << n, part = (int64_t)(v >> low) & (all - 1);
    return is_signed && part >= all / 2 ? part - all : part;
}

static int64_t taken(const char *selector, uint32_t v, bool is_signed) {
    unsigned n = *selector == 'b' ? 8 : *selector == 'h' ? 16 : 32;
    return bits_of(v, n < 32 ? n * (unsigned)(selector[1] - '0') : 0, n, is_signed);
}

static int64_t to_range(int64_t v, bool is_signed, unsigned n) {
    int64_t all = INT64_C(1) << n, low = is_signed ? -all / 2 : 0, high = is_signed ? all / 2 - 1 : all - 1;
    return v < low ? low : v > high ? high : v;
}

static int64_t compute(const Statement *s, int64_t a, int64_t b) {
    bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    switch (s->op) {
    case ADD: return a + b;
    case SUB: return a - b;
    case AVRG: return a + b >= 0 ? (a + b + 1) / 2 : -((1 - a - b) / 2);
    case ABSDIFF: return llabs(a - b);
    case MIN: return a < b ? a : b;
    case MAX: return a > b ? a : b;
    case SET: return holds[s->cmp];
    default: break;
    }
    int64_t factor = INT64_C(1) << (s->wraps ? b % 32 : b > 32 ? 32 : b);
    if (s->op == SHL) /* a result of 34 bits with a sign */
        return bits_of((uint64_t)a * (uint64_t)factor, 0, 34, true);
    return a / factor - (a % factor < 0);
}

static uint32_t scalar(const Statement *s, uint32_t a, uint32_t b, uint32_t c) {
    const char *to = s->selector[0];
    unsigned n = *to == 'b' ? 8 : *to == 'h' ? 16 : 32;
    int64_t t = compute(s, taken(s->selector[1], a, s->is_signed[1]),
                        taken(s->selector[2], b, s->is_signed[2])),
            third = bits_of(c, 0, 32, s->is_signed[0]);
    if (s->sat)
        t = to_range(t, s->is_signed[0], n);
    if (s->second == SECOND_ADD)
        t += third;
    if ((s->second == SECOND_MIN && third < t) || (s->second == SECOND_MAX && third > t))
        t = third;
    if (n == 32)
        return (uint32_t)t;
    uint64_t low = n * (uint64_t)(to[1] - '0'), mask = ((UINT64_C(1) << n) - 1) << low;
    return (uint32_t)((c & ~mask) | ((uint64_t)t << low & mask));
}

static uint32_t multiply_add(const Statement *s, uint32_t a, uint32_t b, uint32_t c) {
    bool minus = s->minus[0] != s->minus[1],
         is_signed = s->is_signed[1] || s->is_signed[2] || minus || s->minus[2];
    Exact product =
        (Exact)taken(s->selector[1], a, s->is_signed[1]) * taken(s->selector[2], b, s->is_signed[2]);
    Exact third = bits_of(c, 0, 32, is_signed), divisor = (Exact)1 << s->scale;
    Exact sum = (minus ? -product : product) + (s->minus[2] ? -third : third) + s->plus_one;
    sum = sum / divisor - (sum % divisor < 0);
    Exact low = is_signed ? -((Exact)1 << 31) : 0, high = ((Exact)1 << (is_signed ? 31 : 32)) - 1;
    if (s->sat)
        sum = sum < low ? low : sum > high ? high : sum;
    return (uint32_t)sum;
}

static uint32_t parallel(const Statement *s, uint32_t a, uint32_t b, uint32_t c) {
    unsigned n = 32 / s->parts;
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t sum = c, whole = 0;
    for (unsigned k = 0; k < s->parts; k++) {
        const char *digit[3];
        for (unsigned i = 0; i < 3; i++)
            digit[i] = *s->selector[i] ? s->selector[i] + s->parts - k : NULL;
        unsigned from_a = digit[1] ? (unsigned)(*digit[1] - '0') : k,
                 from_b = digit[2] ? (unsigned)(*digit[2] - '0') : s->parts + k;
        int64_t t = compute(s, bits_of(both, n * from_a, n, s->is_signed[1]),
                            bits_of(both, n * from_b, n, s->is_signed[2]));
        if (s->sat)
            t = to_range(t, s->is_signed[0], n);
        bool is_masked = !*s->selector[0] || strchr(s->selector[0] + 1, (int)('0' + k));
        sum += is_masked ? (uint32_t)t : 0;
        whole |= (uint32_t)bits_of(is_masked ? (uint64_t)t : c >> n * k, 0, n, false) << n * k;
    }
    return s->second == SECOND_ADD ? sum : whole;
}

static uint32_t expected(const Statement *s, uint32_t a, uint32_t b, uint32_t c) {
    return s->op == MAD ? multiply_add(s, a, b, c) : s->parts > 1 ? parallel(s, a, b, c) : scalar(s, a, b, c);
}

/* ---- statements ---- */

static void select_one(char *out) {
    unsigned how = rnd(7);
    *out = 0;
    if (how != 6)
        snprintf(out, 8, "%c%u", how < 4 ? 'b' : 'h', how & 3);
}

/* The digits of a mask stand from the highest down. */
static void select_parts(const Statement *s, unsigned operand, char *out) {
    unsigned n = 0, mask = 1 + rnd((1u << s->parts) - 1);
    *out = 0;
    if (rnd(2))
        return;
    out[n++] = s->parts == 2 ? 'h' : 'b';
    for (unsigned k = s->parts; k-- > 0;)
        if (operand || mask >> k & 1)
            out[n++] = (char)('0' + (operand ? rnd(2 * s->parts) : k));
    out[n] = 0;
}

static Statement any_statement(Op op, unsigned parts) {
    static const unsigned scales[] = {0, 7, 15};
    Statement s = {.op = op, .parts = parts, .sat = op != SET && rnd(3) == 0, .wraps = rnd(2), .cmp = rnd(6)};
    for (unsigned k = 0; k < 3; k++)
        s.is_signed[k] = rnd(2) && !(k == 0 && op == SET) && !(k == 2 && (op == SHL || op == SHR));
    for (unsigned k = parts == 1; k < 3; k++)
        if (parts == 1)
            select_one(s.selector[k]);
        else
            select_parts(&s, k, s.selector[k]);
    if (op == MAD) {
        s.scale = scales[rnd(3)];
        s.plus_one = rnd(3) == 0;
        for (unsigned k = 0; k < 3 && !s.plus_one; k++)
            s.minus[k] = rnd(2);
        s.minus[2] &= s.minus[0] == s.minus[1];
    } else if (parts > 1) {
        s.second = s.sat || rnd(2) ? PLAIN : SECOND_ADD;
    } else {
        s.second = (Second)rnd(5);
        while (s.second == MERGE && !*s.selector[0])
            select_one(s.selector[0]);
    }
    return s;
}

/* Where ptxas 13.0 does what the text says. */
static bool is_agreed(const Statement *s) {
    bool orders = s->second == SECOND_MIN || s->second == SECOND_MAX;
    return s->parts > 1 || (s->op != MAD && !s->sat && !orders && strcmp(s->selector[0], "h1") != 0);
}

static const char *type_name(bool is_signed) { return is_signed ? ".s32" : ".u32"; }

static void put_statement(FILE *f, const Statement *s, unsigned k) {
    bool third = s->second != PLAIN || s->parts > 1 || s->op == MAD || rnd(8) == 0;
    fprintf(f, "%s", op_names[s->op]);
    if (s->parts > 1)
        fprintf(f, "%u", s->parts);
    for (unsigned i = s->op == SET; i < 3; i++)
        fputs(type_name(s->is_signed[i]), f);
    fprintf(f, "%s%s%s%s%s", s->op == SET ? cmp_names[s->cmp] : "", s->plus_one ? ".po" : "",
            s->sat ? ".sat" : "",
            s->op != SHL && s->op != SHR ? ""
            : s->wraps                   ? ".wrap"
                                         : ".clamp",
            second_names[s->second]);
    if (s->scale)
        fprintf(f, ".shr%u", s->scale);
    for (unsigned i = 0; i < 3; i++)
        fprintf(f, "%s%s%%r%u%s%s", i ? ", " : " ", i && s->minus[i - 1] ? "-" : "", i,
                *s->selector[i] ? "." : "", s->selector[i]);
    fprintf(f, third ? ", %s%%r3;" : ";", s->minus[2] ? "-" : "");
    fprintf(f, " st.global.u32 [%%d2+%u], %%r0;\n", 4 * k);
}

static FILE *create(const char *name) {
    FILE *f = fopen(name, "w");
    if (!f)
        perror(name), exit(1);
    return f;
}

static void put_program(const char *name, const Statement *all, unsigned n) {
    char file[64];
    uint32_t in[LANES][3];
    snprintf(file, sizeof file, "%s.ptx", name);
    FILE *f = create(file);
    fprintf(f,
            ".version 7.0\n.target sm_75\n.address_size 64\n"
            ".visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .b32 %%r<8>; .reg .b64 %%d<4>;\n"
            "ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r4, %%tid.x;\n"
            "mad.wide.u32 %%d1, %%r4, 12, %%d1; mad.wide.u32 %%d2, %%r4, %u, %%d2;\n"
            "ld.global.u32 %%r1, [%%d1]; ld.global.u32 %%r2, [%%d1+4]; ld.global.u32 %%r3, [%%d1+8];\n",
            4 * n);
    for (unsigned k = 0; k < n; k++)
        put_statement(f, &all[k], k);
    fputs("ret; }\n", f);
    fclose(f);
    snprintf(file, sizeof file, "%s.json", name);
    f = create(file);
    fprintf(f, "{\"module\": \"%s.ptx\",\n\"buffers\": {\"in\": {\"type\": \"u32\", \"values\": [", name);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned k = 0; k < 3; k++) {
            in[lane][k] = value();
            fprintf(f, "%s%u", lane + k ? ", " : "", in[lane][k]);
        }
    fprintf(f,
            "]},\n \"out\": {\"type\": \"u32\", \"count\": %u}},\n\"checks\": [{\"buffer\": \"out\", "
            "\"values\": [",
            n * LANES);
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned k = 0; k < n; k++)
            fprintf(f, "%s%u", lane + k ? ", " : "",
                    expected(&all[k], in[lane][0], in[lane][1], in[lane][2]));
    fprintf(f,
            "]}],\n\"launches\": [{\"kernel\": \"k\", \"grid\": [1], \"block\": [%d], \"args\": [\"in\", "
            "\"out\"]}]}\n",
            LANES);
    fclose(f);
}

int main(int argc, char **argv) {
    static Statement all[NUM_OPS * 3 * EACH], agreed[NUM_OPS * 3 * EACH];
    unsigned n = 0, nagreed = 0;
    if (argc != 2 || chdir(argv[1]))
        return 2;
    for (unsigned op = 0; op < NUM_OPS; op++)
        for (unsigned parts = 1; parts <= 4; parts *= 2) {
            if (parts == 1 ? op == AVRG : op >= SHL)
                continue;
            for (unsigned k = 0; k < EACH; k++) {
                all[n] = any_statement((Op)op, parts);
                if (k == 0 && parts == 4) /* in order, of all */
                    memset(all[n].selector, 0, sizeof all[n].selector);
                if (is_agreed(&all[n]))
                    agreed[nagreed++] = all[n];
                n++;
            }
        }
    all[n++] = (Statement){.op = ABSDIFF, .parts = 4, .second = SECOND_ADD};
    all[n++] = (Statement){.op = ABSDIFF, .parts = 4, .second = SECOND_ADD, .is_signed = {false, true, true}};
    agreed[nagreed++] = all[n - 2];
    agreed[nagreed++] = all[n - 1];
    put_program("all", all, n);
    put_program("agreed", agreed, nagreed);
    return 0;
}
