/* Inputs and expected output of tokens.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 140, LEN = 40 };
/* Written as a scanner that eats one token after the other, not as a state machine. */
static void scan(const char *s, int32_t *w, int32_t *d, int32_t *q, int32_t *e) {
    int i = 0;
    while (i < LEN) {
        if (s[i] == ' ') {
            i++;
        } else if (s[i] == '#') {
            i = LEN;
        } else if (s[i] == '\\') {
            ++*e, i++;
        } else if (s[i] == '"') {
            for (i++; i < LEN && s[i] != '"'; i++)
                i += s[i] == '\\';
            if (i < LEN)
                ++*q;
            else
                ++*e;
            i++;
        } else if (s[i] >= '0' && s[i] <= '9') {
            while (i < LEN && s[i] >= '0' && s[i] <= '9')
                i++;
            if (i == LEN || s[i] == ' ')
                ++*d;
            else
                for (++*e; i < LEN && s[i] != ' ';)
                    i++;
        } else {
            while (i < LEN && s[i] != ' ')
                i++;
            ++*w;
        }
    }
}
static void sample(void) {
    static char text[N][LEN];
    static int32_t words[N], numbers[N], strings[N], errors[N];
    const char alphabet[] = "  ab12\"\\ #7z  4";
    for (int i = 0; i < N * LEN; i++)
        text[i / LEN][i % LEN] = alphabet[rnd() >> 7 & 15 ? rnd() % 15 : 0];
    for (int i = 0; i < N; i++)
        scan(text[i], &words[i], &numbers[i], &strings[i], &errors[i]);
    save("text.bin", text, sizeof text);
    save("words.bin", words, sizeof words);
    save("numbers.bin", numbers, sizeof numbers);
    save("strings.bin", strings, sizeof strings);
    save("errors.bin", errors, sizeof errors);
}
