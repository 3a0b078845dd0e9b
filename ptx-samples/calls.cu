// Device functions that are really called: several arguments and results, a struct by value, recursion.
struct Fraction { long long num, den; };
static __device__ __noinline__ long long gcd(long long a, long long b) { return b == 0 ? a : gcd(b, a % b); }
static __device__ __noinline__ Fraction add(Fraction x, Fraction y) {
    Fraction r = {x.num * y.den + y.num * x.den, x.den * y.den};
    long long g = gcd(r.num < 0 ? -r.num : r.num, r.den);
    r.num /= g;
    r.den /= g;
    return r;
}
static __device__ __noinline__ int depth(unsigned n, int limit) { return n <= 1 || limit == 0 ? 0 : 1 + depth(n % 2 ? 3 * n + 1 : n / 2, limit - 1); }
extern "C" __global__ void calls(long long *num, long long *den, int *steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Fraction sum = {0, 1};
    for (int k = 1; k <= 3 + i % 9; k++) {
        Fraction term = {k % 2 ? 1 + i % 5 : -1, k + i % 3};
        sum = add(sum, term);
    }
    num[i] = sum.num;
    den[i] = sum.den;
    steps[i] = depth(i + 1, 40);
}
