/* What a folder of compiled code says of how often a region without code was executed: it comes back as it
 * was kept, of another key there is none, and a file that is damaged, cut, longer, no file or not the user's
 * alone says nothing and is replaced. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/jit/cache.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 32 };
static const XXH128_hash_t key = {1, 2}, other = {2, 1};
static const uint64_t heat = 0x123456789abcull;
static char folder[] = "/tmp/heddle-heat-XXXXXX", file[sizeof folder + 256];

/* The one file in the folder. */
static void find_file(void) {
    DIR *all = opendir(folder);
    unsigned found = 0;
    assert_non_null(all);
    for (const struct dirent *item; (item = readdir(all)) != NULL;)
        if (item->d_name[0] != '.') {
            snprintf(file, sizeof file, "%s/%s", folder, item->d_name);
            found++;
        }
    closedir(all);
    assert_int_equal(found, 1);
}

static void write_bytes(const unsigned char *bytes, size_t size) {
    FILE *out = fopen(file, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static void says_nothing(const CodeCache *cache) {
    assert_int_equal(jit_cache_heat(cache, key), 0);
    jit_cache_keep_heat(cache, key, heat);
    assert_true(jit_cache_heat(cache, key) == heat);
}

/* Each byte of the file counts: magic, heat, digest. */
static void test_bytes(const CodeCache *cache, const unsigned char *good) {
    for (unsigned k = 0; k < FILE_BYTES; k++) {
        unsigned char bad[FILE_BYTES];
        memcpy(bad, good, sizeof bad);
        bad[k] ^= 0x10;
        write_bytes(bad, sizeof bad);
        says_nothing(cache);
    }
    write_bytes(good, FILE_BYTES - 1);
    says_nothing(cache);
    write_bytes(good, FILE_BYTES + 1);
    says_nothing(cache);
    write_bytes(good, 0);
    says_nothing(cache);
    write_bytes(good, FILE_BYTES); /* it is only what was changed that counted */
    assert_true(jit_cache_heat(cache, key) == heat);
}

static void test_kinds(const CodeCache *cache) {
    assert_int_equal(chmod(file, 0666), 0);
    says_nothing(cache);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(symlink("/dev/zero", file), 0);
    says_nothing(cache);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    says_nothing(cache);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkdir(file, 0700), 0); /* which no file replaces */
    assert_int_equal(jit_cache_heat(cache, key), 0);
    jit_cache_keep_heat(cache, key, heat);
    assert_int_equal(jit_cache_heat(cache, key), 0);
    find_file(); /* and nothing else is left behind */
    assert_int_equal(rmdir(file), 0);
}

static void test_heat(void **state) {
    (void)state;
    unsigned char good[FILE_BYTES + 1] = {0};
    assert_non_null(mkdtemp(folder));
    CodeCache *cache = jit_cache_open(folder);
    if (!cache) { /* this build has no build-id */
        rmdir(folder);
        skip();
    }
    assert_int_equal(jit_cache_heat(cache, key), 0);
    jit_cache_keep_heat(cache, key, 1);
    assert_int_equal(jit_cache_heat(cache, key), 1);
    jit_cache_keep_heat(cache, key, heat);
    assert_true(jit_cache_heat(cache, key) == heat);
    assert_int_equal(jit_cache_heat(cache, other), 0);
    find_file();
    FILE *in = fopen(file, "rb");
    assert_non_null(in);
    assert_int_equal(fread(good, 1, sizeof good, in), FILE_BYTES);
    fclose(in);
    test_bytes(cache, good);
    test_kinds(cache);
    jit_cache_close(cache);
    assert_int_equal(rmdir(folder), 0);
    cache = jit_cache_open("/proc/self/no/place");
    jit_cache_keep_heat(cache, key, heat);
    assert_int_equal(jit_cache_heat(cache, key), 0);
    jit_cache_close(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_heat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
