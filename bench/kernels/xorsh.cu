extern "C" __global__ void xorsh(unsigned *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = i * 2654435761u + 1;
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        if (x & 1)
            x = x * 3 + out[i];
        else
            x ^= 0x5555;
    }
    out[i] = x;
}
