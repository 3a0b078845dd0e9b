// Tiled matrix product, 10x10 tiles in shared memory, so that a CTA of 100 threads has a partial warp; ragged edges.
#define T 10
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float ta[T][T], tb[T][T];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * T + x, row = blockIdx.y * T + y;
    float sum = 0;
    for (int p = 0; p < k; p += T) {
        ta[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0;
        tb[y][x] = col < n && p + y < k ? b[(p + y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += ta[y][i] * tb[i][x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}
