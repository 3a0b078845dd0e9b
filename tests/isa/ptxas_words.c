/* ptxas_words extract CUBIN                the words of every .text section, to standard output
 * ptxas_words compare TARGET WORDS TEXT    decode each word; the text must be nvdisasm's, and both the
 * instruction and its text must encode to the same word
 * SPDX-License-Identifier: MIT */
#include "isa/isa.h"
#include <ctype.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int extract(const char *path) {
    int fd = open(path, O_RDONLY);
    elf_version(EV_CURRENT);
    Elf *e = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    size_t names;
    if (!e || elf_getshdrstrndx(e, &names))
        return 2;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(e, s));) {
        GElf_Shdr h;
        const char *name = gelf_getshdr(s, &h) ? elf_strptr(e, names, h.sh_name) : NULL;
        Elf_Data *data = name && !strncmp(name, ".text.", 6) ? elf_getdata(s, NULL) : NULL;
        if (data)
            fwrite(data->d_buf, 1, data->d_size, stdout);
    }
    elf_end(e);
    close(fd);
    return 0;
}

/* One blank between words, none before a comma or in "] [", no descriptor (nvdisasm prints it since sm_90
 * only), no bits of a NaN. */
static void normalise(const char *in, char *out, size_t n) {
    size_t k = 0;
    while (isspace((unsigned char)*in))
        in++;
    for (; *in && *in != ';' && k + 1 < n; in++) {
        if (!strncmp(in, "desc[", 5)) {
            in = strchr(in, ']');
            if (!in)
                break;
            continue;
        }
        if (!strncmp(in, "NAN(0x", 6) && strchr(in, ')')) {
            k += (size_t)snprintf(out + k, n - k, "NAN");
            in = strchr(in, ')');
            continue;
        }
        if (isspace((unsigned char)*in)) {
            const char *q = in;
            while (isspace((unsigned char)*q))
                q++;
            if (*q == ',' || *q == ';' || !*q || (*q == '[' && k && out[k - 1] == ']')) {
                in = q - 1;
                continue;
            }
            in = q - 1;
            out[k++] = ' ';
            continue;
        }
        out[k++] = *in;
    }
    while (k && out[k - 1] == ' ')
        k--;
    out[k] = 0;
}

/* The next "   /\*0010*\/  TEXT ;" line. */
static int next_text(FILE *f, char *out, size_t n) {
    char line[4096];
    while (fgets(line, sizeof line, f)) {
        char *p = strstr(line, "/*"), *q = p ? strstr(p, "*/") : NULL;
        if (!q || !isxdigit((unsigned char)p[2]))
            continue;
        normalise(q + 2, out, n);
        if (out[0])
            return 1;
    }
    return 0;
}

static int report(const char *what, const uint64_t w[2], const char *a, const char *b) {
    fprintf(stderr, "%s: 0x%016llx 0x%016llx\n  nvdisasm %s\n  heddle   %s\n", what, (unsigned long long)w[0],
            (unsigned long long)w[1], a, b);
    return 1;
}

static int check(const Target *t, const uint64_t w[2], uint64_t pc, const char *text) {
    MachInst in, back;
    char error[ISA_ERROR_BYTES] = "", ours[512], norm[512];
    const char *end;
    uint64_t x[2] = {0, 0};
    if (!isa_decode(t, w, &in, error))
        return report("decode", w, text, error);
    isa_print(t, &in, pc, NULL, ours, sizeof ours);
    normalise(ours, norm, sizeof norm);
    if (strcmp(norm, text))
        return report("text", w, text, norm);
    if (!isa_encode(t, &in, x, error) || x[0] != w[0] || x[1] != w[1])
        return report("encode", w, text, error);
    if (!isa_parse(t, ours, pc, NULL, &back, &end, error))
        return report("parse", w, text, error);
    back.ctrl = in.ctrl;
    if (!isa_encode(t, &back, x, error) || x[0] != w[0] || x[1] != w[1])
        return report("parse and encode", w, text, error);
    return 0;
}

static int compare(const char *target, const char *words, const char *texts) {
    const Target *t = isa_target(target);
    FILE *f = fopen(words, "rb"), *g = fopen(texts, "r");
    uint64_t w[2], pc = 0;
    char text[4096];
    int n = 0, bad = 0;
    if (!t || !f || !g)
        return 2;
    for (; fread(w, sizeof w, 1, f) == 1; pc += INST_BYTES) {
        if (!next_text(g, text, sizeof text)) {
            fprintf(stderr, "nvdisasm's text is shorter than the words\n");
            return 1;
        }
        n++;
        bad += check(t, w, pc, text);
        if (bad > 20)
            break;
    }
    fclose(f);
    fclose(g);
    printf("%s: %d words, %d differ\n", target, n, bad);
    return bad || !n;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "extract"))
        return extract(argv[2]);
    if (argc == 5 && !strcmp(argv[1], "compare"))
        return compare(argv[2], argv[3], argv[4]);
    fprintf(stderr, "usage: ptxas_words extract CUBIN | compare TARGET WORDS TEXT\n");
    return 2;
}
