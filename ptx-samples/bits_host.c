/* Inputs and expected output of bits.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 130 };
static uint32_t field(uint32_t a, uint32_t pos, uint32_t len, int is_signed) { /* PTX ISA, bfe: bit by bit */
    uint32_t last = pos + len - 1 < 31 ? pos + len - 1 : 31, sign = is_signed && len ? a >> last & 1 : 0,
             r = 0;
    for (uint32_t i = 0; i < 32; i++)
        r |= (i < len && pos + i <= 31 ? a >> (pos + i) & 1 : sign) << i;
    return r;
}
static uint32_t top_bit(uint32_t v) {
    for (int i = 31; i >= 0; i--)
        if (v >> i & 1)
            return (uint32_t)i;
    return 0xffffffffu;
}
static void sample(void) {
    static uint32_t in[N][3];
    static union {
        uint32_t w[18];
        uint64_t q[9];
    } out[N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 3; j++)
            in[i][j] = i % 10 == 7 && j == 1 ? 0 : rnd() >> (i % 4 == 1 ? rnd() & 31 : 0);
    for (int i = 0; i < N; i++) {
        uint32_t a = in[i][0], b = in[i][1], c = in[i][2], pos = c & 31, len = c >> 8 & 63, *o = out[i].w;
        o[0] = field(a, pos, len, 0);
        o[1] = field(a, pos, len, 1);
        o[2] = b;
        for (uint32_t k = 0; k < len && pos + k < 32; k++)
            o[2] = (o[2] & ~(1u << (pos + k))) | (a >> k & 1) << (pos + k);
        for (int k = 0; k < 4; k++) {
            uint32_t sel = c >> (4 * k) & 15, byte = ((sel & 4 ? b : a) >> (8 * (sel & 3))) & 255;
            o[3] |= (sel & 8 ? (byte & 128 ? 255u : 0) : byte) << (8 * k);
        }
        uint32_t x = a ^ b ^ c;
        o[4] = (x & b) | (~x & c);
        for (int k = 0; k < 32; k++)
            o[5] |= (a >> k & 1) << (31 - k);
        uint32_t ones = 0, zeros = 31 - top_bit(c);
        for (int k = 0; k < 32; k++)
            ones += a >> k & 1;
        o[6] = ones * 1000 + (c ? zeros : 32);
        o[7] = top_bit(b);
        uint32_t s = top_bit((int32_t)b < 0 ? ~b : b);
        o[8] = s == 0xffffffffu ? s : 31 - s;
        uint64_t ba = (uint64_t)b << 32 | a;
        o[9] = (uint32_t)(ba << (c & 31) >> 32);
        o[10] = (uint32_t)(len >= 32 ? b : ba >> len);
        o[11] = len >= 32 ? 0 : a << len;
        o[12] = (uint32_t)((int32_t)a >> (len >= 32 ? 31 : len));
        uint64_t w = (ba >> len) ^ (ba << pos);
        out[i].q[7] = w;
        int pop = 0, lead = 64;
        for (int k = 0; k < 64; k++)
            if (w >> k & 1)
                pop++, lead = 63 - k, out[i].q[8] |= 1ull << (63 - k);
        out[i].q[8] = ~out[i].q[8];
        o[13] = (uint32_t)(pop * 100 + lead);
    }
    save("in.bin", in, sizeof in);
    save("out.bin", out, sizeof out);
}
