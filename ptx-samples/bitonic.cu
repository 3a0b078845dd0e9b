// Bitonic sort of 256 keys for each CTA in shared memory; 80 threads, so the pairs are strided. Odd CTAs sort downwards.
extern "C" __global__ void bitonic(int *keys) {
    __shared__ int s[256];
    int *mine = keys + blockIdx.x * 256;
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        s[i] = mine[i];
    __syncthreads();
    for (int k = 2; k <= 256; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            for (int p = threadIdx.x; p < 128; p += blockDim.x) {
                int i = 2 * j * (p / j) + p % j;
                int up = ((i & k) == 0) != (blockIdx.x & 1);
                if ((s[i] > s[i + j]) == up) {
                    int t = s[i];
                    s[i] = s[i + j];
                    s[i + j] = t;
                }
            }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        mine[i] = s[i];
}
