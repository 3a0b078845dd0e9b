/* Damaged dumps and repositories: a diagnostic or what is in them, never a crash, and a diagnostic wherever
 * reading fails. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "learn/feed.h"
#include "learn/learn.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static const char dump[] =
    "\tcode for sm_75\n"
    "\t\tFunction : k\n"
    "        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ; /* 0x00000a00ff017624 */\n"
    "                                                                       /* 0x000fd000078e00ff */\n"
    ".L_x_1:\n"
    "        /*0010*/              @!P0 LDG.E.SYS R5, [R36+-0x10] ;             /* 0xfffff00024058381 */\n"
    "                                                                       /* 0x000ee200001ee900 */\n"
    "        /*0020*/                   BRA `(.L_x_1) ;                         /* 0xffffffe000007947 */\n"
    "                                                                       /* 0x000fc0000383ffff */\n";

typedef struct {
    LearnRepository repository;
    unsigned n;
} Fed;

static bool feed_one(void *user, const LearnFed *fed) {
    Fed *all = user;
    char why[LEARN_WHY_BYTES];
    const char *at = NULL;
    LearnSight sight = {.text = fed->text,
                        .pc_bytes = fed->pc_bytes,
                        .word = {fed->word[0], fed->word[1]},
                        .file = fed->file,
                        .count = 1};
    LearnAdded added = learn_add(&all->repository, &sight, &at, why);
    if (added == LEARN_NO_TEXT)
        assert_true(at >= fed->text && at <= fed->text + strlen(fed->text) && *why);
    all->n++;
    return true;
}

static bool feed_text(Fed *all, const char *text, size_t size) {
    Diags diags = {.sink = NULL};
    LearnFeed feed = {.each = feed_one, .user = all};
    FILE *in = fmemopen((void *)(uintptr_t)text, size, "r");
    learn_open(&all->repository, "sm_75");
    all->n = 0;
    bool good = learn_feed_stream(&feed, "d", in, &diags);
    assert_true(good || diags.nerrors);
    fclose(in);
    return good;
}

static void whole(void **state) {
    (void)state;
    Fed all;
    assert_true(feed_text(&all, dump, strlen(dump)));
    assert_int_equal(all.n, 3);
    assert_int_equal(all.repository.keys.n, 3);
    learn_free(&all.repository);
}

static void dumps(void **state) {
    (void)state;
    static const char letters[] = " /*;.,0xRP[]()`@\n\t:+-{}|!~cdesc7f";
    uint64_t seed = 3;
    unsigned refused = 0;
    for (unsigned round = 0; round < 3000; round++) {
        char text[sizeof dump];
        size_t size = strlen(dump);
        memcpy(text, dump, sizeof dump);
        if (round % 4 == 0)
            size = 1 + rng_next(&seed) % (size - 1);
        for (unsigned i = 0; i < round % 4; i++)
            text[rng_next(&seed) % size] =
                rng_next(&seed) % 8 ? letters[rng_next(&seed) % strlen(letters)] : (char)rng_next(&seed);
        Fed all;
        refused += !feed_text(&all, text, size);
        learn_free(&all.repository);
    }
    assert_true(refused > 300);
}

static void repositories(void **state) {
    (void)state;
    Fed all;
    char *text;
    size_t size;
    assert_true(feed_text(&all, dump, strlen(dump)));
    FILE *out = open_memstream(&text, &size);
    learn_save(&all.repository, out);
    fclose(out);
    learn_free(&all.repository);
    uint64_t seed = 5;
    unsigned refused = 0;
    char *changed = malloc(size + 1);
    for (unsigned round = 0; round < 3000; round++) {
        LearnRepository repository = {0};
        Diags diags = {.sink = NULL};
        memcpy(changed, text, size + 1);
        for (unsigned i = 0; i <= round % 3; i++)
            changed[rng_next(&seed) % size] =
                (char)(rng_next(&seed) % 4 ? 32 + rng_next(&seed) % 95 : rng_next(&seed));
        FILE *in = fmemopen(changed, size, "r");
        bool good = learn_load_stream(&repository, "r", in, &diags);
        fclose(in);
        assert_int_equal(good, diags.nerrors == 0);
        refused += !good;
        if (repository.arch)
            learn_free(&repository);
    }
    assert_true(refused > 800);
    free(changed);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(dumps),
                                       cmocka_unit_test(repositories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
