// Open-addressing hash table: insert with CAS (64-bit key and count in one word pair), then a second kernel looks up.
extern "C" __global__ void insert(unsigned long long *key, unsigned *count, const unsigned long long *item, int n, int slots) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long k = item[i];
    unsigned s = (unsigned)(k * 0x9e3779b97f4a7c15ull >> 40) % slots;
    for (;;) {
        unsigned long long old = atomicCAS(&key[s], 0ull, k);
        if (old == 0 || old == k) {
            atomicAdd(&count[s], 1);
            return;
        }
        s = s + 1 == slots ? 0 : s + 1;
    }
}
extern "C" __global__ void lookup(const unsigned long long *key, const unsigned *count, const unsigned long long *item, unsigned *out,
                                  int n, int slots) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long k = item[i];
    unsigned s = (unsigned)(k * 0x9e3779b97f4a7c15ull >> 40) % slots;
    while (key[s] != 0 && key[s] != k)
        s = s + 1 == slots ? 0 : s + 1;
    out[i] = key[s] == k ? count[s] : 0;
}
