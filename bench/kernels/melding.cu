// Kernels whose branches have similar sides, and whose loops end at other rounds in each lane, for bench/reconvergence.
// Every one reads 256 numbers and writes one for each thread. melding.ptx: nvcc -ptx -O3 -arch=sm_80 melding.cu, with
// comments taken out.
// SPDX-License-Identifier: MIT
#define KERNEL(name) extern "C" __global__ void name(const unsigned *in, unsigned *out)
#define NEXT(x) ((x) = (x)*1664525u + 1013904223u)
#define LOOP _Pragma("unroll 1") for
#define WHILE _Pragma("unroll 1") while

KERNEL(bitonic) { // the usual one, of keys with values: up and down are the two sides of a branch
    __shared__ unsigned s[256], v[256];
    unsigned t = threadIdx.x;
    s[t] = in[t];
    v[t] = in[t] >> 3 ^ t;
    __syncthreads();
    LOOP (unsigned k = 2; k <= 256; k *= 2)
        LOOP (unsigned j = k / 2; j > 0; j /= 2) {
            unsigned ixj = t ^ j;
            if (ixj > t) {
                if ((t & k) == 0) {
                    if (s[t] > s[ixj]) {
                        unsigned x = s[t];
                        s[t] = s[ixj];
                        s[ixj] = x;
                        x = v[t];
                        v[t] = v[ixj];
                        v[ixj] = x;
                    }
                } else {
                    if (s[t] < s[ixj]) {
                        unsigned x = s[t];
                        s[t] = s[ixj];
                        s[ixj] = x;
                        x = v[t];
                        v[t] = v[ixj];
                        v[ixj] = x;
                    }
                }
            }
            __syncthreads();
        }
    out[t] = s[t] ^ v[t] * 9;
}

KERNEL(merge_sort) { // each thread merges two runs of eight numbers, then sixteen
    unsigned t = threadIdx.x, a[32], b[32];
    LOOP (int i = 0; i < 32; i++)
        a[i] = in[(t * 7 + i * 13) & 255];
    LOOP (int width = 1; width < 32; width *= 2) {
        LOOP (int lo = 0; lo < 32; lo += 2 * width) {
            int i = lo, j = lo + width, mid = j, hi = lo + 2 * width;
            LOOP (int k = lo; k < hi; k++) {
                if (i < mid && (j >= hi || a[i] <= a[j])) {
                    unsigned x = a[i];
                    b[k] = x;
                    i++;
                } else {
                    unsigned x = a[j];
                    b[k] = x;
                    j++;
                }
            }
        }
        LOOP (int k = 0; k < 32; k++)
            a[k] = b[k];
    }
    unsigned sum = 0;
    LOOP (int i = 0; i < 32; i++)
        sum = sum * 31 + a[i];
    out[t] = sum;
}

KERNEL(merge_path) { // merging through pointers: both sides load, store and step
    __shared__ unsigned s[256];
    unsigned t = threadIdx.x;
    unsigned run = t * 16 & 255, n = 8;
    s[t] = in[t] >> 8;
    __syncthreads();
    const unsigned *x = s + run, *y = s + (run + n & 255);
    unsigned i = 0, j = 0, sum = 0, last = 0;
    LOOP (unsigned k = 0; k < 14; k++) {
        unsigned u = x[i & 7], v = y[j & 7];
        if (u <= v) {
            sum = (sum << 5 | sum >> 27) ^ (u * 0x9e3779b1u + last);
            last = sum >> 7 ^ u;
            sum += in[(u ^ last) & 255];
            i++;
        } else {
            sum = (sum << 5 | sum >> 27) ^ (v * 0x85ebca6bu + last);
            last = sum >> 9 ^ v;
            sum += in[(v + last) & 255];
            j++;
        }
    }
    out[t] = sum;
}

KERNEL(queens) { // solutions of 7 queens that begin with two rows chosen by the thread, without recursion
    const unsigned n = 7, all = (1u << n) - 1;
    unsigned t = threadIdx.x, cols[8], left[8], right[8], todo[8];
    unsigned c0 = t % n, c1 = t / n % n, count = 0;
    unsigned a = 1u << c0, b = 1u << c1;
    unsigned l = a << 1, r = a >> 1;
    if (!((a | l | r) & b) && t < n * n) {
        int depth = 2;
        cols[2] = a | b;
        left[2] = (l | b) << 1;
        right[2] = (r | b) >> 1;
        todo[2] = all & ~(cols[2] | left[2] | right[2]);
        WHILE (depth >= 2) {
            if (todo[depth]) {
                unsigned bit = todo[depth] & -todo[depth];
                todo[depth] ^= bit;
                if (depth == (int)n - 1) {
                    count++;
                } else {
                    cols[depth + 1] = cols[depth] | bit;
                    left[depth + 1] = (left[depth] | bit) << 1;
                    right[depth + 1] = (right[depth] | bit) >> 1;
                    depth++;
                    todo[depth] = all & ~(cols[depth] | left[depth] | right[depth]);
                }
            } else {
                depth--;
            }
        }
    }
    out[t] = count;
}

KERNEL(mandelbrots) { // points of a thread, each of its own depth
    unsigned t = threadIdx.x, s = in[t], sum = 0;
    LOOP (int p = 0; p < 32; p++) {
        NEXT(s);
        float cx = (float)(s >> 20) * (3.0f / 4096) - 2.2f, cy = (float)(s >> 8 & 4095) * (2.4f / 4096) - 1.2f;
        float x = 0, y = 0;
        int n = 0;
        WHILE (n < 64 && x * x + y * y <= 4) {
            float z = x * x - y * y + cx;
            y = 2 * x * y + cy;
            x = z;
            n++;
        }
        sum = sum * 67 + n;
    }
    out[t] = sum;
}

KERNEL(bfs) { // one level: each thread takes several vertices, a vertex has 0 to 15 neighbours
    unsigned t = threadIdx.x, found = 0;
    LOOP (unsigned v = t; v < t + 8; v++) {
        unsigned vertex = in[v & 255], degree = vertex >> 28, at = vertex;
        LOOP (unsigned e = 0; e < degree; e++) {
            NEXT(at);
            unsigned w = in[at >> 24];
            if ((w ^ vertex) & 0x80) {
                found = (found << 3 | found >> 29) + (w >> 5);
                found ^= in[(w ^ e) & 255];
                found += in[(w + e) & 255] >> 7;
            }
        }
    }
    out[t] = found;
}

KERNEL(monte_carlo) { // a rare expensive event in each round
    unsigned t = threadIdx.x, s = in[t], acc = t;
    LOOP (int i = 0; i < 48; i++) {
        NEXT(s);
        if (s >> 29 == 0) {
            float x = (float)(s & 0xffff);
            LOOP (int k = 0; k < 6; k++)
                x = x * 0.75f + (x * x) * rsqrtf(x + 1.0f);
            acc += (unsigned)x;
        }
        acc = acc * 5 + (s >> 7);
    }
    out[t] = acc;
}

KERNEL(up_or_down) { // both sides are loops of one shape
    unsigned t = threadIdx.x, s = in[t], acc = 0;
    if (s & 0x100) {
        LOOP (unsigned i = 0; i < 16 + (t & 7); i++) {
            NEXT(s);
            acc += in[s >> 24] ^ (acc << 3);
        }
    } else {
        LOOP (unsigned i = 0; i < 20; i++) {
            NEXT(s);
            acc -= in[s >> 23 & 255] ^ (acc >> 3);
        }
    }
    out[t] = acc;
}
