/* Inputs and expected output of convert.ptx. SPDX-License-Identifier: MIT */
/* Build with -frounding-math. Saturation is PTX's: out of range goes to the nearest end, NaN is not used. */
#include "host.h"
#include <fenv.h>
#include <math.h>
enum { N = 170 };
static double clamp(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }
static int64_t to_s64(double v) { return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v; }
static uint64_t to_u64(double v) { return v >= 0x1p64 ? UINT64_MAX : v <= 0 ? 0 : (uint64_t)v; }
static float f32_of(double d, int mode) {
    fesetround(mode);
    volatile double in = d;
    volatile float f = (float)in;
    fesetround(FE_TONEAREST);
    return f;
}
/* Nearest f16 to a finite f32, ties to even, as f32. */
static float through_f16(float f) {
    int e;
    if (f == 0)
        return f;
    frexpf(f, &e);
    int lsb = e - 11 < -24 ? -24 : e - 11;
    double q = rint(ldexp((double)f, -lsb)), r = ldexp(q, lsb);
    return fabs(r) >= 65536 ? copysignf(INFINITY, f) : copysignf((float)r, f);
}
static void sample(void) {
    static double in[N];
    static union {
        uint32_t w[22];
        float f[22];
        uint64_t q[11];
        double d[11];
    } out[N];
    static const double special[] = {
        0.0,          -0.0,         0.5,           1.5,          2.5,  -0.5,   -1.5,    -2.5,
        2147483647.5, 2147483648.0, -2147483648.5, 4294967295.5, 1e19, -1e19,  1e30,    255.9,
        256.0,        65519.9,      65520.0,       1e-8,         6e-8, 0x1p63, -0x1p63, 0x1.fffffep127};
    for (int i = 0; i < N; i++) {
        double r = (double)(int32_t)rnd() * 0x1p-31 + (double)rnd() * 0x1p-62;
        in[i] = i < 24 ? special[i] : ldexp(r, (int)(rnd() % 70) - 3);
    }
    for (int i = 0; i < N; i++) {
        double d = in[i];
        float f = out[i].f[0] = f32_of(d, FE_TONEAREST);
        out[i].f[1] = f32_of(d, FE_TOWARDZERO);
        out[i].f[2] = f32_of(d, FE_UPWARD);
        out[i].w[3] = (uint32_t)(int32_t)clamp(rint((double)f), INT32_MIN, INT32_MAX);
        out[i].w[4] = (uint32_t)(int32_t)clamp(floor((double)f), INT32_MIN, INT32_MAX);
        out[i].w[5] = (uint32_t)clamp(ceil((double)f), 0, UINT32_MAX);
        out[i].q[3] = (uint64_t)to_s64(trunc(d));
        out[i].q[4] = to_u64(rint(d));
        out[i].f[10] = rintf(f);
        out[i].f[11] = through_f16(f);
        uint64_t q;
        memcpy(&q, &d, 8);
        int32_t low = (int32_t)(uint32_t)q;
        out[i].f[12] = (float)low;
        out[i].f[13] = f32_of((double)(uint32_t)low, FE_TOWARDZERO);
        out[i].d[7] = (double)(int64_t)q;
        fesetround(FE_DOWNWARD);
        volatile uint64_t v = q;
        volatile float down = (float)v;
        fesetround(FE_TONEAREST);
        out[i].f[16] = down;
        out[i].w[17] = (uint32_t)(int32_t)(int8_t)low;
        out[i].w[18] = (uint32_t)(low < 0 ? 0 : low > 255 ? 255 : low);
        out[i].w[19] = (uint32_t)(low < -32768 ? -32768 : low > 32767 ? 32767 : low);
        out[i].w[20] = (uint32_t)clamp(trunc((double)f), 0, 255);
        out[i].f[21] = f > 0 ? fminf(f, 1) : 0;
    }
    save("in.bin", in, sizeof in);
    save("out.bin", out, sizeof out);
}
