/* Arena, strings, bit sets, diagnostics, files, scopes of work, JSON.
 * SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "base/bitset.h"
#include "base/demangle.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "base/str.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static void arena_zeroes_aligns_and_releases(void **state) {
    (void)state;
    Arena a = {0};
    for (size_t n = 0; n < 5000; n += 37) {
        unsigned char *p = arena_alloc(&a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
    ArenaMark m = arena_mark(&a);
    size_t before = a.total_bytes;
    void *first = arena_alloc(&a, 100);
    arena_alloc(&a, 5u << 20);
    arena_release(&a, m);
    assert_int_equal(a.total_bytes, before);
    assert_ptr_equal(arena_alloc(&a, 100), first);
    arena_free(&a);
    assert_int_equal(a.total_bytes, 0);
}

static void vec_keeps_its_elements(void **state) {
    (void)state;
    Arena a = {0};
    VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 10000; i++) {
        VEC_ADD(&a, &v, i * 3);
        if (i % 100 == 0)
            arena_alloc(&a, 8); /* so that it must move */
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(v.at[i], i * 3);
    arena_free(&a);
}

static void vec_zeroes_what_it_uses_again(void **state) {
    (void)state;
    Arena a = {0};
    VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 5; i++)
        VEC_ADD(&a, &v, 7);
    v.n = 2;
    assert_int_equal(*VEC_PUSH(&a, &v), 0);
    assert_int_equal(v.at[1], 7);
    arena_free(&a);
}

static void strings_are_equal_by_id(void **state) {
    (void)state;
    StrTab t = {0};
    char text[32];
    StrId first[3000];
    assert_int_equal(str_find(&t, "x", 1).i, 0);
    for (int i = 0; i < 3000; i++)
        first[i] = str_intern(&t, text, (size_t)snprintf(text, sizeof text, "name%d", i));
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "name%d", i);
        assert_int_equal(str_intern_z(&t, text).i, first[i].i);
        assert_string_equal(str_text(&t, first[i]), text);
        for (int j = i + 1; j < i + 3 && j < 3000; j++)
            assert_int_not_equal(first[i].i, first[j].i);
    }
    assert_int_equal(str_intern(&t, "", 0).i, 0);
    assert_int_equal(str_size(&t, str_intern(&t, "a\0b", 3)), 3);
    Arena a = {0};
    StrMap m = {0};
    for (int i = 0; i < 3000; i += 2)
        strmap_put(&m, &a, first[i], (uint32_t)i + 1);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(strmap_get(&m, first[i]), i % 2 ? 0 : i + 1);
    arena_free(&a);
    str_free(&t);
}

static void bitset_agrees_with_bytes(void **state) {
    (void)state;
    Arena a = {0};
    uint32_t x = 1;
    for (uint32_t bits = 1; bits < 300; bits += 41) {
        Bitset s = bs_new(&a, bits), o = bs_new(&a, bits);
        unsigned char ref[300] = {0}, other[300] = {0};
        for (int k = 0; k < 200; k++) {
            x = x * 1664525u + 1013904223u;
            uint32_t i = (x >> 8) % bits;
            if (x & 0x80000000u)
                bs_add(&s, i), ref[i] = 1;
            else if (x & 0x40000000u)
                bs_del(&s, i), ref[i] = 0;
            else
                bs_add(&o, i), other[i] = 1;
        }
        uint32_t n = 0, seen = 0;
        for (uint32_t i = 0; i < bits; i++)
            n += ref[i];
        BS_EACH(i, &s) {
            assert_true(ref[i]);
            seen++;
        }
        assert_int_equal(seen, n);
        assert_int_equal(bs_count(&s), n);
        bool changes = false;
        for (uint32_t i = 0; i < bits; i++)
            changes |= other[i] && !ref[i];
        assert_int_equal(bs_or(&s, &o), changes);
        assert_false(bs_or(&s, &o));
        bs_andnot(&s, &o);
        for (uint32_t i = 0; i < bits; i++)
            assert_int_equal(bs_has(&s, i), ref[i] && !other[i]);
    }
    arena_free(&a);
}

static char last[2048];
static void keep(void *user, Severity severity, const char *line) {
    (void)severity;
    ++*(int *)user;
    snprintf(last, sizeof last, "%s", line);
}

/* What a user can meet is explained; internal errors are not. */
static void diagnostics_are_explained(void **state) {
    (void)state;
    for (DiagCode code = 0; code < DIAG_COUNT; code++) {
        DiagInfo info = diag_info(code);
        if ((info.help != NULL) == (strstr(info.format, "internal") != NULL))
            fail_msg("%s: %s", info.name, info.help ? info.help : "no HELP");
        assert_true(!info.help || strlen(info.help) > 20);
    }
}

static void diagnostics_show_position_and_caret(void **state) {
    (void)state;
    Source s = {"k.ptx", "one\n\ttwo three\n", 15};
    int count = 0;
    Diags d = {.source = &s, .sink = keep, .user = &count};
    assert_false(diag(&d, (SrcLoc){10}, DIAG_E0003, "it"));
    assert_string_equal(last, "k.ptx:2:6: error E0003: it is empty\n\ttwo three\n\t    ^\n");
    diag(&d, (SrcLoc){1000}, DIAG_E0003, "it"); /* past the end: the last position */
    assert_non_null(strstr(last, "k.ptx:3:1:"));
    for (int i = 0; i < 100; i++)
        diag(&d, (SrcLoc){1}, DIAG_E0003, "it");
    assert_int_equal(count, DIAG_MAX_ERRORS);
    assert_int_equal(d.nerrors, 102);
}

static void files_are_written_whole_or_not_at_all(void **state) {
    (void)state;
    char path[] = "/tmp/heddle-test-XXXXXX";
    int fd = mkstemp(path), count = 0;
    assert_true(fd >= 0);
    close(fd);
    Arena a = {0};
    Diags d = {.sink = keep, .user = &count};
    char *text;
    size_t size;
    assert_true(file_write(path, "a\0b", 3, &d));
    assert_true(file_read(&a, path, &d, &text, &size));
    assert_int_equal(size, 3);
    assert_memory_equal(text, "a\0b", 4);
    assert_false(file_write("/nonexistent-directory/x", "a", 1, &d));
    assert_false(file_read(&a, "/nonexistent-directory/x", &d, &text, &size));
    assert_int_equal(count, 2);
    unlink(path);
    arena_free(&a);
}

static void a_folder_is_made_in_one_that_is_there(void **state) {
    (void)state;
    char path[] = "/tmp/heddle-test-XXXXXX", folder[80], file[80], below[90];
    int count = 0;
    Diags d = {.sink = keep, .user = &count};
    struct stat status;
    assert_non_null(mkdtemp(path));
    snprintf(folder, sizeof folder, "%s/a/", path);
    snprintf(file, sizeof file, "%s/a/file", path);
    snprintf(below, sizeof below, "%s/b/c", path);
    assert_true(file_make_folder(folder, &d));
    assert_true(stat(folder, &status) == 0 && S_ISDIR(status.st_mode));
    assert_true(file_make_folder(folder, &d)); /* it is there */
    assert_true(file_write(file, "a", 1, &d));
    assert_int_equal(count, 0);
    assert_false(file_make_folder(file, &d));
    assert_false(file_make_folder(below, &d));
    assert_false(file_make_folder("", &d));
    assert_int_equal(count, 3);
    unlink(file);
    rmdir(folder);
    assert_int_equal(rmdir(path), 0);
}

typedef struct {
    ScopeEnd end;
    unsigned released; /* guarded objects */
    void *kept;
    ScopeResult inner;
    int depth;
} Work;

static void count_release(void *object) { ((Work *)object)->released++; }

static void work(void *user) {
    Work *w = user;
    Arena a = {0};
    char *first = mem_text("first"), *list = NULL;
    for (unsigned i = 0; i < 1000; i++) { /* many, some released again, some moved */
        char *block = mem_alloc(i % 50);
        list = mem_resize(list, i + 1);
        arena_alloc(&a, 1000);
        if (i % 3)
            mem_free(block);
        else
            w->kept = block;
    }
    TextStream *stream = text_open();
    fprintf(stream->out, "%5000d", 7);
    Work guarded = {0};
    scope_guard(&guarded, count_release);
    scope_unguard(&guarded);
    scope_guard(w, count_release);
    if (w->depth-- > 0) {
        Work inside = {.end = SCOPE_MEMORY};
        w->inner = scope_run(work, &inside, NULL);
        assert_int_equal(inside.released, 1);
    }
    if (w->end != SCOPE_DONE)
        scope_give_up(w->end, "why");
    size_t size_bytes;
    char *text = text_close(stream, &size_bytes);
    assert_int_equal(size_bytes, 5000);
    assert_int_equal(strlen(text), 5000);
    mem_free(text);
    arena_free(&a);
    mem_free(list);
    assert_string_equal(first, "first");
    mem_free(first);
    assert_int_equal(guarded.released, 0);
}

/* In a sanitized build what is lost, or released twice, is an error. */
static void scopes_end_as_they_are_told(void **state) {
    (void)state;
    Work w = {.end = SCOPE_INTERNAL, .depth = 1};
    ScopeResult result = scope_run(work, &w, NULL);
    assert_int_equal(result.end, SCOPE_INTERNAL);
    assert_string_equal(result.what, "why");
    assert_int_equal(w.inner.end, SCOPE_MEMORY);
    assert_int_equal(w.released, 1);
    result = scope_run(work, &(Work){.end = SCOPE_MEMORY}, &(ScopeLimits){.bytes = 1 << 20});
    assert_int_equal(result.end, SCOPE_MEMORY);
}

static void ask_too_much(void *user) {
    mem_free(mem_alloc(1000)); /* what is free again does not count */
    void *block = mem_alloc(600);
    block = mem_resize(block, 300);
    mem_free(mem_alloc(700));
    mem_free(block);
    if (user)
        mem_zeroed(SIZE_MAX / 2, 3);
    mem_alloc(1001);
}

static void scopes_count_memory(void **state) {
    (void)state;
    int some;
    assert_int_equal(scope_run(ask_too_much, NULL, &(ScopeLimits){.bytes = 1000}).end, SCOPE_MEMORY);
    assert_int_equal(scope_run(ask_too_much, &some, NULL).end, SCOPE_MEMORY);
}

static void json_is_utf8(void **state) {
    (void)state;
    static const struct {
        const char *text, *json;
    } rows[] = {{"a\"\\\n\x01", "[\"a\\\"\\\\\\n\\u0001\"]"}, /* escaped */
                {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82", "[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82\"]"},
                {"a\xff\xc3", "[\"a\xef\xbf\xbd\xef\xbf\xbd\"]"},
                {"\xc0\x80", "[\"\xef\xbf\xbd\xef\xbf\xbd\"]"},                 /* overlong */
                {"\xed\xa0\x80", "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]"}, /* a surrogate */
                {"\xf4\x90\x80\x80", "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]"}, /* too high */
                {NULL, "[\"\"]"}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        cJSON *list = json_list();
        json_append(list, json_text(rows[i].text));
        char *text = json_close_line(list);
        assert_string_equal(text, rows[i].json);
        mem_free(text);
    }
}

/* A file of a library has thousands of kernels: room for the list of them grows as it does. */
static void list_of_many(void **state) {
    (void)state;
    enum { MANY = 3000, LONG = 300 };
    static const char *names[MANY];
    Arena a = {0};
    for (unsigned i = 0; i < MANY; i++)
        names[i] = arena_printf(&a, "k%0*u", LONG - 1, i);
    const char *list = str_list_symbols(&a, names, MANY);
    assert_int_equal(strlen(list), MANY * (LONG + 2) - 2);
    assert_string_equal(list + strlen(list) - LONG, names[MANY - 1]);
    assert_true(a.total_bytes < 16 * MANY * LONG);
    arena_free(&a);
}

/* Names as c++filt prints them. */
static void names_of_the_source(void **state) {
    (void)state;
    Arena a = {0};
    assert_true(str_is_named(&a, "_Z2lpPfi", "_Z2lpPfi"));
    assert_false(str_is_named(&a, "_Z2lpPfi", "_Z2lpPf"));
    assert_false(str_is_named(&a, "plain", "pl"));
    assert_string_equal(str_list_symbols(&a, (const char *const[]){"a", "b"}, 2), "a, b");
    assert_string_equal(str_list_symbols(&a, NULL, 0), "none");
    if (str_demangle(&a, "_Z2lpPfi")) { /* where a C++ runtime library is */
        assert_string_equal(str_list_symbols(&a, (const char *const[]){"_Z2lpPfi"}, 1),
                            "_Z2lpPfi (lp(float*, int))");
        assert_true(str_is_named(&a, "_Z2lpPfi", "lp"));
        assert_true(str_is_named(&a, "_Z2lpPfi", "lp(float*, int)"));
        assert_true(str_is_named(&a, "_Z2lpPfi", "lp( float *,int )"));
        assert_false(str_is_named(&a, "_Z2lpPfi", "lp(float*"));
        assert_false(str_is_named(&a, "_Z2lpPfi", "lp(float*,in"));
        assert_false(str_is_named(&a, "_ZN12_GLOBAL__N_11fEi", " "));
        assert_false(str_is_named(&a, "_Z2lpPfi", "l"));
        assert_false(str_is_named(&a, "_Z2lpPfi", ""));
        assert_true(str_is_named(&a, "_Z2lpIfEvPT_", "void lp<float>(float*)"));
        assert_true(str_is_named(&a, "_Z2lpIfEvPT_", "lp<float>(float*)"));
        assert_true(str_is_named(&a, "_Z2lpIfEvPT_", "lp<float>"));
        assert_false(str_is_named(&a, "_Z2lpIfEvPT_", "lp"));
    }
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(list_of_many),
                                       cmocka_unit_test(names_of_the_source),
                                       cmocka_unit_test(arena_zeroes_aligns_and_releases),
                                       cmocka_unit_test(vec_keeps_its_elements),
                                       cmocka_unit_test(vec_zeroes_what_it_uses_again),
                                       cmocka_unit_test(strings_are_equal_by_id),
                                       cmocka_unit_test(bitset_agrees_with_bytes),
                                       cmocka_unit_test(diagnostics_show_position_and_caret),
                                       cmocka_unit_test(diagnostics_are_explained),
                                       cmocka_unit_test(files_are_written_whole_or_not_at_all),
                                       cmocka_unit_test(a_folder_is_made_in_one_that_is_there),
                                       cmocka_unit_test(scopes_end_as_they_are_told),
                                       cmocka_unit_test(scopes_count_memory),
                                       cmocka_unit_test(json_is_utf8)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
