// The approximate functions of the hardware, compared with the host's libm within the bounds that the PTX ISA gives.
extern "C" __global__ void approx(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i], r;
    switch (i % 8) {
    case 0: asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 1: asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 2: asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 3: asm("sin.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 4: asm("cos.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 5: asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    case 6: asm("ex2.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); break;
    default: asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(x + 1.5f)); break;
    }
    out[i] = r;
}
