// Warp-level scan by shuffles, a vote and a ballot, all in converged flow; the last warp is partial.
extern "C" __global__ void warpscan(const int *in, int *sum, unsigned *ballot, int *any, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    unsigned mask = __activemask();
    int v = i < n ? in[i] : 0;
    unsigned odd = __ballot_sync(mask, v & 1);
    int neg = __any_sync(mask, v < -900) + 2 * __all_sync(mask, v < 990);
    for (int d = 1; d < 32; d *= 2) {
        int up = __shfl_up_sync(mask, v, d);
        if (lane >= d)
            v += up;
    }
    int swap = __shfl_xor_sync(mask, v, 1);
    int first = __shfl_sync(mask, v, 3);
    if (i < n) {
        sum[i] = v;
        ballot[i] = odd;
        any[i] = neg + ((lane ^ 1) <= 31 - __clz(mask) ? swap : 0) * 4 + first;
    }
}
