/* Products of matrices as a card computed them: both executions must give its bits, with the numbers of its
 * target (docs/numerics.md 7).
 *   test_card_products FILE TARGET
 * FILE: a statement a line, then its registers (h100_products.txt says how).
 * SPDX-License-Identifier: MIT */
#include <heddle.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, MOST_REGS = 8, LEAST_CASES = 10 };

typedef struct {
    char statement[128];
    unsigned nregs[4]; /* of A, B, C and D */
    uint32_t reg[4][MOST_REGS][LANES];
} Case;

static void complain(void *user, HdSeverity severity, const char *text) {
    (void)user;
    if (severity == HD_ERROR)
        fputs(text, stderr);
}

static void list(char *out, char name, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        out += sprintf(out, "%s%%%c%u", i ? ", " : "{", name, i);
    strcpy(out, "}");
}

static void text_of(const Case *x, char *out) {
    char operands[4][100];
    out += sprintf(out, ".version 8.7\n.target sm_89\n.address_size 64\n"
                        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
                        ".reg .b32 %%a<8>, %%b<8>, %%c<8>, %%d<8>, %%t; .reg .u64 %%p, %%o;\n"
                        "mov.u32 %%t, %%tid.x; mul.wide.u32 %%o, %%t, 4;\n");
    for (unsigned part = 0; part < 4; part++) {
        char name = "abcd"[part];
        list(operands[part], name, x->nregs[part]);
        if (part == 3)
            out += sprintf(out, "%s %s, %s, %s, %s;\n", x->statement, operands[3], operands[0], operands[1],
                           operands[2]);
        out += sprintf(out, "ld.param.u64 %%p, [%c]; add.u64 %%p, %%p, %%o;\n", name);
        for (unsigned i = 0; i < x->nregs[part]; i++)
            out += part == 3 ? sprintf(out, "st.global.b32 [%%p+%u], %%d%u;\n", 4 * LANES * i, i)
                             : sprintf(out, "ld.global.b32 %%%c%u, [%%p+%u];\n", name, i, 4 * LANES * i);
    }
    strcpy(out, "ret; }\n");
}

/* Number of words of D that are not the card's; -1: it did not run. */
static int differing(HdStatus (*engine)(HdModule *, const HdLaunch *), HdModule *module, const char *target,
                     const Case *x) {
    uint32_t memory[4][MOST_REGS][LANES];
    HdArg args[4];
    int n = 0;
    memcpy(memory, x->reg, sizeof memory);
    memset(memory[3], 0xee, sizeof memory[3]);
    for (unsigned k = 0; k < 4; k++)
        args[k] = (HdArg){.buffer = memory[k], .size_bytes = sizeof memory[k]};
    HdLaunch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {LANES, 1, 1}, .args = args, .nargs = 4, .target = target};
    if (engine(module, &launch) != HD_OK)
        return -1;
    for (unsigned i = 0; i < x->nregs[3]; i++)
        for (unsigned lane = 0; lane < LANES; lane++)
            n += memory[3][i][lane] != x->reg[3][i][lane];
    return n;
}

static bool is_the_cards(const Case *x, const char *target) {
    static char text[1 << 14];
    HdContext *c = hd_create(&(HdOptions){.message = complain});
    HdModule *ptx, *binary;
    int by_ptx = -1, by_machine = -1;
    text_of(x, text);
    if (hd_parse(c, "product.ptx", text, strlen(text), &ptx) == HD_OK &&
        hd_compile(ptx, &(HdCompileOptions){.target = target, .opt_level = 2}, &binary) == HD_OK) {
        by_ptx = differing(hd_interpret, ptx, target, x);
        by_machine = differing(hd_launch, binary, NULL, x);
    }
    hd_destroy(c);
    if (by_ptx || by_machine)
        printf("%s: words that differ from the card's: %d of the interpreter, %d of the machine\n",
               x->statement, by_ptx, by_machine);
    return !by_ptx && !by_machine;
}

/* The next statement and its registers; `line` is the one that was read last. */
static bool next_case(FILE *f, char *line, size_t size, Case *x) {
    memset(x, 0, sizeof *x);
    while (line[0] == '#')
        if (!fgets(line, (int)size, f))
            return false;
    if (strncmp(line, "mma.", 4) != 0)
        return false;
    snprintf(x->statement, sizeof x->statement, "%.*s", (int)strcspn(line, "\n"), line);
    line[0] = 0;
    while (fgets(line, (int)size, f) && line[1] == ' ') {
        unsigned part = (unsigned)(line[0] - 'a');
        char *at = line + 1;
        if (part > 3 || x->nregs[part] == MOST_REGS)
            return false;
        for (unsigned lane = 0; lane < LANES; lane++)
            x->reg[part][x->nregs[part]][lane] = (uint32_t)strtoul(at, &at, 16);
        x->nregs[part]++;
        line[0] = 0;
    }
    return true;
}

int main(int argc, char **argv) {
    static char line[1024] = "#";
    static Case x;
    unsigned n = 0, bad = 0;
    FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (!f)
        return 2;
    while (next_case(f, line, sizeof line, &x)) {
        n++;
        bad += !is_the_cards(&x, argv[2]);
    }
    fclose(f);
    printf("%u products, %u not as the card computes them\n", n, bad);
    return bad || n < LEAST_CASES;
}
