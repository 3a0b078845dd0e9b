extern "C" __global__ void ffma64(float *out, float a, float b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i;
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        v = fmaf(v, a, b);
        v = fmaf(v, a, b);
        v = fmaf(v, a, b);
        v = fmaf(v, a, b);
    }
    out[i] = v;
}
