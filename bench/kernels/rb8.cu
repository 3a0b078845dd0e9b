extern "C" __global__ void rb8(const float *in, float *out, int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float a[8], b[8], c[8][8] = {};
    for (int i = 0; i < 8; i++)
        a[i] = in[t * 16 + i], b[i] = in[t * 16 + 8 + i];
#pragma unroll 1
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                c[i][j] = fmaf(a[i], b[j], c[i][j]);
    }
    float s = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            s += c[i][j];
    out[t] = s;
}
