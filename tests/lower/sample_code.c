/* sample_code FILE SAMPLE.ptx...: writes a line to FILE for each sample, target and level: a hash of the
 * binary, or "refused", in front. run-tests compares what two compilers' builds of Heddle write.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "isa/isa.h"
#include "heddle.h"
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 4 };

static char *read_text(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && !fseek(file, 0, SEEK_END)) {
        *size = (size_t)ftell(file);
        rewind(file);
        text = malloc(*size + 1);
        if (text && fread(text, 1, *size, file) != *size) {
            free(text);
            text = NULL;
        }
    }
    if (file)
        fclose(file);
    return text;
}

/* One after the other, so that nothing of a compilation stays for the next. */
static bool write_codes(FILE *list, const char *path, const char *text, size_t size) {
    for (const Target *const *target = isa_targets; *target; target++)
        for (unsigned level = 0; level < LEVELS; level++) {
            const char *name = isa_target_name(*target);
            HdContext *context = hd_create(NULL);
            HdModule *ptx, *binary;
            HdStatus status = hd_parse(context, path, text, size, &ptx);
            if (status == HD_OK)
                status = hd_compile(ptx, &(HdCompileOptions){.target = name, .opt_level = level}, &binary);
            const void *image = NULL;
            size_t bytes = 0;
            if (status == HD_OK)
                status = hd_image(binary, &image, &bytes);
            uint64_t hash = bytes;
            for (size_t k = 0; k < bytes; k++)
                hash = rng_mix(hash ^ ((const unsigned char *)image)[k]);
            if (status == HD_OK)
                fprintf(list, "%016llx %s -t %s -O%u\n", (unsigned long long)hash, path, name, level);
            else
                fprintf(list, "refused %s -t %s -O%u\n", path, name, level);
            hd_destroy(context);
            if (status != HD_OK && status != HD_ERR_INPUT)
                return false;
        }
    return true;
}

int main(int argc, char **argv) {
    FILE *list = argc > 2 ? fopen(argv[1], "w") : NULL;
    bool good = list != NULL;
    for (int k = 2; k < argc && good; k++) {
        size_t size = 0;
        char *text = read_text(argv[k], &size);
        good = text && write_codes(list, argv[k], text, size);
        free(text);
    }
    if (list && (ferror(list) | fclose(list)))
        good = false;
    return !good;
}
