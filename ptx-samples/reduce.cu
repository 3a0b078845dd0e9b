// Shared-memory sum of each CTA's slice, tree shape, any block size.
extern "C" __global__ void reduce(const int *in, int *out, int n) {
    __shared__ int part[128];
    int t = threadIdx.x, size = blockDim.x;
    int sum = 0;
    for (int i = blockIdx.x * size + t; i < n; i += gridDim.x * size)
        sum += in[i] * (t % 3 == 0 ? 2 : 1);
    part[t] = sum;
    __syncthreads();
    while (size > 1) {
        int half = (size + 1) / 2;
        if (t + half < size)
            part[t] += part[t + half];
        __syncthreads();
        size = half;
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}
