/* The kernels of this folder in OpenCL C, for bench/pocl. SPDX-License-Identifier: MIT */
kernel void saxpy(global const float *x, global float *y, float a, int n) {
    int i = get_global_id(0);
    if (i < n)
        y[i] = fma(a, x[i], y[i]);
}
kernel void ffma64(global float *out, float a, float b) {
    int i = get_global_id(0);
    float v = i;
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        v = fma(v, a, b);
        v = fma(v, a, b);
        v = fma(v, a, b);
        v = fma(v, a, b);
    }
    out[i] = v;
}
kernel void xorsh(global uint *out) {
    int i = get_global_id(0);
    uint x = i * 2654435761u + 1;
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        if (x & 1)
            x = x * 3 + out[i];
        else
            x ^= 0x5555;
    }
    out[i] = x;
}
kernel void mm16(global const float *a, global const float *b, global float *c, int n) {
    local float ta[16][16], tb[16][16];
    int x = get_local_id(0), y = get_local_id(1), col = get_group_id(0) * 16 + x, row = get_group_id(1) * 16 + y;
    float sum = 0;
    for (int p = 0; p < n; p += 16) {
        ta[y][x] = a[row * n + p + x];
        tb[y][x] = b[(p + y) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < 16; i++)
            sum = fma(ta[y][i], tb[i][x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum;
}
kernel void rb8(global const float *in, global float *out, int rounds) {
    int t = get_global_id(0);
    float a[8], b[8], c[8][8] = {};
    for (int i = 0; i < 8; i++)
        a[i] = in[t * 16 + i], b[i] = in[t * 16 + 8 + i];
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                c[i][j] = fma(a[i], b[j], c[i][j]);
    }
    float s = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            s += c[i][j];
    out[t] = s;
}
kernel void collatz(global uint *steps, global ulong *peak, uint n) {
    uint i = get_global_id(0), count = 0;
    if (i >= n)
        return;
    ulong v = (ulong)i + 1, most = v;
    for (; v != 1; count++) {
        v = v & 1 ? v * 3 + 1 : v >> 1;
        most = v > most ? v : most;
    }
    steps[i] = count;
    peak[i] = most;
}
