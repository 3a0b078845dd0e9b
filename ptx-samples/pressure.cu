// 48 running values a thread under a limit of 32 registers: must spill.
extern "C" __global__ void __maxnreg__(32) pressure(const unsigned *in, unsigned *out, int n) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n)
        return;
    unsigned v[48];
#pragma unroll
    for (int i = 0; i < 48; i++)
        v[i] = in[id * 48 + i];
    for (int round = 0; round < 3 + id % 4; round++) {
#pragma unroll
        for (int i = 0; i < 48; i++)
            v[i] = v[i] * 2654435761u + (v[(i * 7 + 5) % 48] ^ v[(i * 5 + 11) % 48] >> 3);
    }
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < 48; i++)
        sum = sum * 31 + v[i];
    out[id] = sum;
}
