// Steps and largest value of the 3n+1 sequence, 64-bit.
extern "C" __global__ void collatz(unsigned *steps, unsigned long long *peak, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long v = i + 1, top = v;
    unsigned count = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        if (v > top)
            top = v;
        count++;
    }
    steps[i] = count;
    peak[i] = top;
}
