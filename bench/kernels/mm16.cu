extern "C" __global__ void mm16(const float *a, const float *b, float *c, int n) {
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int p = 0; p < n; p += 16) {
        ta[y][x] = a[row * n + p + x];
        tb[y][x] = b[(p + y) * n + col];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++)
            sum = fmaf(ta[y][i], tb[i][x], sum);
        __syncthreads();
    }
    c[row * n + col] = sum;
}
