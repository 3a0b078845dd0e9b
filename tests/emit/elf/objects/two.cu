/* The other module (objects.sh): the kernel, and what one.cu needs. nvcc 13.0 -arch=compute_75 -rdc=true -ptx
 * makes two.ptx of it. SPDX-License-Identifier: MIT */
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
__constant__ float cf[32] = {1.5f, 2.5f, 3.5f, 4.5f, 9, 8, 7, 6, 5};
__device__ int table[5] = {3, 1, 4, 1, 5};
extern __device__ F4 f4(int, F4, char, F4, S3);
extern __device__ S12 s12(S12);
extern __device__ S13 s13(int, S13);
extern __device__ int csel(int);
extern __device__ int *caddr(int);
extern __device__ void sput(int, int);
extern __device__ int ssel(int);
extern __device__ int *saddr(int);
extern __device__ int stat(int), ind(int (*)(int), int), gg(int, float, double, char, S, long long, D3, int),
    sw(int, int), dfs(int, int);
extern __device__ double quotient(double, double);
extern __device__ float leaf(const float *);
extern __device__ int (*fp)(int);
__device__ int up(int x) { return x < 0 ? table[(-x) % 5] : x + table[x % 5]; }
__device__ int own(int i) { return i * 7; }
__global__ void k(int *o, const float *in, int n) {
    int t = threadIdx.x;
    int *q = o + 24 * (t + blockIdx.x * blockDim.x);
    sput(t, t + 5);
    __syncthreads();
    F4 a = {in[t], in[t + 1], in[t + 2], 3}, b = {1, in[3], 2, 5};
    S3 e = {1, 2, (short)t};
    a = f4(t, a, (char)n, b, e);
    q[0] = (int)(a.x * 8);
    q[1] = (int)a.w;
    S12 c;
    for (int i = 0; i < 12; i++)
        c.a[i] = t * i;
    c = s12(c);
    q[2] = c.a[11] + c.a[2];
    S13 d;
    for (int i = 0; i < 13; i++)
        d.a[i] = t * i + n;
    d = s13(t, d);
    q[3] = d.a[0] + d.a[12];
    q[4] = csel(t);
    q[5] = *caddr(t);
    q[6] = ssel(t);
    q[7] = *saddr(t ^ 3);
    q[8] = stat(t);
    q[9] = ind(fp, t);
    q[10] = ind(t & 1 ? own : csel, t);
    S s;
    for (int i = 0; i < 6; i++)
        s.a[i] = t - i;
    D3 d3 = {1, 2, 3.0 + t};
    q[11] = gg(t, t * 2.f, t * 3., (char)t, s, 1ll << 20, d3, n);
    q[12] = (int)(leaf(in) * 16);
    q[13] = sw(t & 7, t);
    int r = 0;
    if (t % 3 == 0) {
        if (t & 1)
            r = up(t);
        else
            r = sw(2, t) + up(-t);
        for (int i = 0; i < t; i++)
            r += up(i);
    } else
        r = dfs(t & 7, t);
    q[14] = r + __shfl_xor_sync(~0u, r, 1);
    q[15] = dfs(5, n);
    q[16] = __shfl_sync(~0u, t, 3);
    q[17] = (int)in[t] / (t + 1);
    q[18] = (int)(quotient(t, 7) * 64 + in[t] / (t + 0.5) * 64);
}
