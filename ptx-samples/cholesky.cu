// Cholesky factorisation of one 12x12 matrix a CTA, in f64, right-looking, in shared memory.
#define N 12
extern "C" __global__ void cholesky(const double *a, double *l) {
    __shared__ double m[N][N];
    const double *mine = a + blockIdx.x * N * N;
    for (int i = threadIdx.x; i < N * N; i += blockDim.x)
        m[i / N][i % N] = mine[i];
    __syncthreads();
    for (int k = 0; k < N; k++) {
        if (threadIdx.x == 0)
            m[k][k] = sqrt(m[k][k]);
        __syncthreads();
        for (int i = k + 1 + threadIdx.x; i < N; i += blockDim.x)
            m[i][k] = m[i][k] / m[k][k];
        __syncthreads();
        for (int e = threadIdx.x; e < N * N; e += blockDim.x) {
            int i = e / N, j = e % N;
            if (j > k && i >= j)
                m[i][j] -= m[i][k] * m[j][k];
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < N * N; i += blockDim.x)
        l[blockIdx.x * N * N + i] = i % N <= i / N ? m[i / N][i % N] : 0.0;
}
