// SHA-256 of one short message a thread; message lengths differ, so the number of blocks does.
__constant__ unsigned k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
static __device__ unsigned rotr(unsigned x, int n) { return x >> n | x << (32 - n); }
static __device__ unsigned byte_at(const unsigned char *msg, int len, int blocks, int i) {
    if (i < len)
        return msg[i];
    if (i == len)
        return 0x80;
    if (i >= blocks * 64 - 8) /* length in bits, big end first; it fits 32 bits */
        return i < blocks * 64 - 4 ? 0 : (unsigned)(len * 8) >> (8 * (blocks * 64 - 1 - i)) & 255;
    return 0;
}
extern "C" __global__ void sha256(const unsigned char *text, const int *length, unsigned *digest, int n) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n)
        return;
    const unsigned char *msg = text + id;
    int len = length[id], blocks = (len + 8) / 64 + 1;
    unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int b = 0; b < blocks; b++) {
        unsigned w[16], s[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
            s[i] = h[i];
        for (int i = 0; i < 64; i++) {
            unsigned x;
            if (i < 16) {
                x = 0;
                for (int j = 0; j < 4; j++)
                    x = x << 8 | byte_at(msg, len, blocks, b * 64 + i * 4 + j);
            } else {
                unsigned a = w[(i + 1) & 15], e = w[(i + 14) & 15];
                x = w[i & 15] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + w[(i + 9) & 15] + (rotr(e, 17) ^ rotr(e, 19) ^ e >> 10);
            }
            w[i & 15] = x;
            unsigned t1 = s[7] + (rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + x;
            unsigned t2 = (rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
            s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + t1, s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = t1 + t2;
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
            h[i] += s[i];
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        digest[id * 8 + i] = h[i];
}
