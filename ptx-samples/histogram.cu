// Histogram of bytes: shared-memory atomics for each CTA, then global atomics.
extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, unsigned *max, int n) {
    __shared__ unsigned local[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned char v = in[i];
        if (v != 255)
            atomicAdd(&local[v >> 2], 1);
        atomicMax(max, v);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x)
        if (local[b])
            atomicAdd(&bins[b], local[b]);
}
