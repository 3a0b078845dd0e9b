/* One of two modules that nvlink joins (objects.sh): what is called from elsewhere, by name and by address,
 * with parameters of all sizes; variables of all spaces; a function that calls itself. nvcc 13.0
 * -arch=compute_75 -rdc=true -ptx makes one.ptx of it. SPDX-License-Identifier: MIT */
struct __align__(16) F4 {
    float x, y, z, w;
};
struct S12 {
    int a[12];
};
struct S13 {
    int a[13];
};
struct S3 {
    short a, b, c;
};
struct D3 {
    double x;
    int y;
    double z;
};
struct S {
    int a[6];
};
__constant__ int cc[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
extern __constant__ float cf[32];
__shared__ int shm[64];
extern __shared__ int dy[];
extern __device__ int up(int);
__device__ F4 f4(int a, F4 b, char c, F4 d, S3 e) {
    b.x += a + c + d.y + e.c;
    return b;
}
__device__ S12 s12(S12 a) {
    a.a[11]++;
    a.a[2] += up(a.a[3]);
    return a;
}
__device__ S13 s13(int a, S13 b) {
    b.a[0] += a;
    b.a[12] += up(b.a[1]);
    return b;
}
__device__ int csel(int i) { return cc[i & 15] + (int)cf[i & 31]; }
__device__ int *caddr(int i) { return &cc[i & 15]; }
__device__ void sput(int i, int v) {
    shm[i] = v;
    dy[i] = v * 3;
}
__device__ int ssel(int i) { return shm[i] + dy[i]; }
__device__ int *saddr(int i) { return &shm[i]; }
__device__ int stat(int i) {
    __shared__ int q[64];
    q[i] = i * i;
    __syncthreads();
    return q[i ^ 1];
}
__device__ int (*fp)(int) = csel;
__device__ int ind(int (*p)(int), int i) { return p(i) + 1; }
__device__ int gg(int a, float b, double c, char d, S s, long long l, D3 q, int z) {
    return a + (int)b + (int)c + d + s.a[0] + s.a[5] + (int)l + (int)q.z + q.y + z;
}
__device__ float leaf(const float *p) {
    float v[40];
    for (int i = 0; i < 40; i++)
        v[i] = p[i];
    float r = 0;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 40; i++)
            r = r * v[i] * .01f + v[39 - i];
        for (int i = 0; i < 40; i++)
            v[i] = v[i] * r * .01f + p[i + k];
    }
    return r;
}
__device__ int sw(int k, int x) {
    switch (k) {
    case 0: return x * 3;
    case 1: return up(x);
    case 2: return x ^ 77;
    case 3: return x / 7;
    case 4: return x % 5;
    case 5: return up(x + 1) * 2;
    case 6: return -x;
    case 7: return x << 3;
    default: return x;
    }
}
__device__ double quotient(double a, double b) { return a / b; }
__device__ int dfs(int n, int k) {
    if (n <= 1)
        return k;
    int r = 0;
    for (int i = 0; i < (n & 3); i++)
        r += dfs(n - 1 - i, k + i);
    return r + up(n);
}
