/* The mutator: what each class changes, and nothing else; a small campaign.
 * SPDX-License-Identifier: MIT */
#include "check/mutate/mutate.h"
#include "model_common.h"
#include <stdio.h>

static const char program[] =
    ".target bru1\n.entry k\n [B------:R-:W0:-:S02] S2R R0, SR_LANEID ;\n [B0-----:R-:W-:-:S13] "
    "ISETP.EQ.U32.AND P0, PT, R0, 0x5, PT ;\n"
    " BSSY B1, `(behind1) ;\n BSSY B0, `(behind0) ;\n @P0 BRA `(join0) ;\n SEL R1, R0, RZ, P0 ;\n @P0 STS "
    "[R0], R1 ;\n BREAK B1 ;\n @P0 BREAK B1 ;\n BMOV R7, B1 ;\n YIELD ;\njoin0:\n"
    " BSYNC B0 ;\nbehind0:\n NOP ;\n BSYNC B1 ;\nbehind1:\n WARPSYNC 0xffffffff ;\n IADD3 R2, R0, R1, RZ ;\n "
    "EXIT ;\n";

typedef struct {
    void *image;
    uint8_t *out;
    Mutator *m;
} Fixture;

static Fixture start(void) {
    Fixture f = {0};
    Diags d = {.sink = show};
    size_t size;
    f.image = assembled(program, &size);
    f.m = mutate_new("test", f.image, size, &d);
    assert_non_null(f.m);
    f.out = malloc(size);
    return f;
}
static void stop(Fixture *fixture) {
    mutate_free(fixture->m);
    free(fixture->image);
    free(fixture->out);
}

/* The mutant of a site, decoded again; the caller frees. */
static Binary *mutant(Fixture *fixture, MutSite s) {
    Diags d = {.sink = show};
    assert_true(mutate_apply(fixture->m, s, fixture->out));
    Binary *b = binary_read("mutant", fixture->out, fixture->m->image_bytes, &d);
    assert_non_null(b);
    return b;
}

static void one_word_each(void **state) {
    (void)state;
    static const uint8_t most[MUT_CLASSES] = {
        [MUT_MOVE_BSYNC] = 2, [MUT_SWAP_B] = 2, [MUT_LATE_BSSY] = 8, [MUT_HOIST_STORE] = 2};
    Fixture f = start();
    for (unsigned c = 0; c < MUT_CLASSES; c++) {
        assert_true(f.m->sites[c].n > 0);
        for (uint32_t i = 0; i < f.m->sites[c].n; i++) {
            Binary *binary = mutant(&f, f.m->sites[c].at[i]);
            unsigned words = 0;
            for (uint32_t k = 0; k < binary->ncode; k++)
                words +=
                    binary->code[k][0] != f.m->bin->code[k][0] || binary->code[k][1] != f.m->bin->code[k][1];
            assert_true(words > 0 && words <= (most[c] ? most[c] : 1));
            size_t bytes = 0;
            for (size_t k = 0; k < f.m->image_bytes; k++)
                bytes += f.out[k] != ((const uint8_t *)f.image)[k];
            assert_true(bytes <= words * 16);
            binary_free(binary);
        }
    }
    stop(&f);
}

static MachInst decoded(const Binary *binary, uint32_t i) {
    MachInst in;
    char error[ISA_ERROR_BYTES];
    assert_true(isa_decode(binary->target, binary->code[i], &in, error));
    return in;
}

static void meanings(void **state) {
    (void)state;
    Fixture f = start();
    MutSite s = f.m->sites[MUT_DROP_BSYNC].at[0];
    Binary *b = mutant(&f, s);
    assert_int_equal(decoded(b, s.inst).optype, OT_NOP);
    binary_free(b);
    s = f.m->sites[MUT_LATE_BSSY].at[1]; /* BSSY B0, directly before the branch */
    b = mutant(&f, s);
    assert_int_equal(decoded(b, s.inst).optype, OT_BRA);
    assert_int_equal(decoded(b, s.inst + 1).optype, OT_BSSY);
    /* both still name the same places */
    assert_int_equal(decoded(b, s.inst).wide, f.m->flow->insts[s.inst + 1].wide + 16);
    assert_int_equal(decoded(b, s.inst + 1).wide, f.m->flow->insts[s.inst].wide - 16);
    binary_free(b);
    s = f.m->sites[MUT_WARPSYNC_LANE].at[1];
    b = mutant(&f, s);
    MachInst in = decoded(b, s.inst);
    bool found = false;
    for (unsigned k = 0; k < in.nsrc; k++)
        found |= in.src[k].kind == OPK_IMM && in.src[k].value == 0xffffffdfu;
    assert_true(found);
    binary_free(b);
    s = f.m->sites[MUT_SHORT_STALL].at[0]; /* stall 2 of S2R */
    b = mutant(&f, s);
    assert_int_equal(decoded(b, s.inst).ctrl.stall_cycles, 1);
    binary_free(b);
    s = f.m->sites[MUT_DROP_WAIT].at[0];
    b = mutant(&f, s);
    assert_int_equal(decoded(b, s.inst).ctrl.wait_mask, 0);
    binary_free(b);
    s = f.m->sites[MUT_FLIP_PREDICATE].at[0];
    b = mutant(&f, s);
    assert_true(decoded(b, s.inst).guard.mods & OPM_NOT);
    binary_free(b);
    for (uint32_t k = 0; k < f.m->sites[MUT_WRONG_MODIFIER].n;
         k++) { /* each changes the modifiers, and only them */
        s = f.m->sites[MUT_WRONG_MODIFIER].at[k];
        b = mutant(&f, s);
        MachInst was = decoded(f.m->bin, s.inst), is = decoded(b, s.inst);
        assert_int_equal(was.optype, is.optype);
        assert_int_not_equal(was.mods, is.mods);
        assert_memory_equal(was.src, is.src, sizeof was.src);
        binary_free(b);
    }
    s = f.m->sites[MUT_WRONG_CONSTANT].at[0];
    b = mutant(&f, s);
    assert_int_equal(decoded(b, s.inst).src[s.other].value, decoded(f.m->bin, s.inst).src[s.other].value ^ 1);
    binary_free(b);
    s = f.m->sites[MUT_WRONG_REGISTER].at[0];
    b = mutant(&f, s);
    assert_int_equal(decoded(b, s.inst).src[s.other >> 8].value,
                     decoded(f.m->bin, s.inst).src[s.other & 0xff].value);
    binary_free(b);
    stop(&f);
}

static void names(void **state) {
    (void)state;
    for (unsigned c = 0; c < MUT_CLASSES; c++) {
        MutClass back;
        const char *name = mutate_class((MutClass)c)->name;
        assert_true(mutate_class_find(name, strlen(name), &back));
        assert_int_equal(back, c);
    }
    MutClass c;
    assert_false(mutate_class_find("drop", 4, &c));
}

/* docs/mutation.md names each class in the table of its group. */
static void docs(void **state) {
    (void)state;
    static char text[40000];
    FILE *f = fopen(DOCS_DIR "/mutation.md", "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    char *table = strstr(text, "| group | classes |");
    assert_non_null(table);
    *strstr(table, "\n\n") = 0;
    for (unsigned c = 0; c < MUT_CLASSES; c++) {
        char name[60];
        snprintf(name, sizeof name, "`%s`", mutate_class((MutClass)c)->name);
        if (!strstr(table, name))
            fail_msg("docs/mutation.md lacks %s", name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_word_each), cmocka_unit_test(meanings),
                                       cmocka_unit_test(names), cmocka_unit_test(docs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
