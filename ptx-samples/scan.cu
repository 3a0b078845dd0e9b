// Inclusive scan: each CTA scans its slice (Hillis and Steele), writes the slice's total; a second kernel adds
// the totals of the slices before.
extern "C" __global__ void scan_slices(const unsigned *in, unsigned *out, unsigned *total, int n) {
    __shared__ unsigned buf[2][128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, cur = 0;
    buf[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        buf[1 - cur][t] = t >= d ? buf[cur][t] + buf[cur][t - d] : buf[cur][t];
        cur = 1 - cur;
        __syncthreads();
    }
    if (i < n)
        out[i] = buf[cur][t];
    if (t == blockDim.x - 1)
        total[blockIdx.x] = buf[cur][t];
}
extern "C" __global__ void scan_add(unsigned *out, const unsigned *total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned before = 0;
    for (int b = 0; b < blockIdx.x; b++)
        before += total[b];
    if (i < n)
        out[i] += before;
}
