/* What the host programs of the samples share: each computes a kernel's inputs and expected outputs in
 * plain C, independently of PTX and of Heddle, and writes them as files that the launch file names.
 *     NAME_host DIRECTORY
 * Compile with -ffp-contract=off: the kernels are compiled with -fmad=false.
 * SPDX-License-Identifier: MIT */
#ifndef SAMPLE_HOST_H
#define SAMPLE_HOST_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *sample_directory;
static uint32_t sample_state = 12345;

/* xorshift32 */
static inline uint32_t rnd(void) {
    sample_state ^= sample_state << 13;
    sample_state ^= sample_state >> 17;
    sample_state ^= sample_state << 5;
    return sample_state;
}
/* uniform in [0, 1), exact in f32 */
static inline float rnd_f32(void) { return (float)(rnd() >> 8) * 0x1p-24f; }

static inline void save(const char *name, const void *data, size_t size_bytes) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", sample_directory, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size_bytes, f) != size_bytes || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static void sample(void); /* each program defines it */
int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    sample_directory = argv[1];
    sample();
    return 0;
}
#endif
