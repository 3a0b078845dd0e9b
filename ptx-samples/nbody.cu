// All-pairs forces with softening; exact square root and division, so the host gives the same bits.
extern "C" __global__ void nbody(const float4 *body, float4 *force, int n) {
    __shared__ float4 tile[50];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float fx = 0, fy = 0, fz = 0;
    for (int base = 0; base < n; base += 50) {
        int j = base + threadIdx.x;
        if (threadIdx.x < 50 && j < n)
            tile[threadIdx.x] = body[j];
        __syncthreads();
        int count = n - base < 50 ? n - base : 50;
        for (int k = 0; k < count; k++) {
            float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
            float d2 = dx * dx + dy * dy + dz * dz + 0.01f;
            if (d2 > 0.75f)
                continue;
            float s = tile[k].w / (d2 * sqrtf(d2));
            fx += dx * s;
            fy += dy * s;
            fz += dz * s;
        }
        __syncthreads();
    }
    if (i < n)
        force[i] = make_float4(fx, fy, fz, sqrtf(fx * fx + fy * fy + fz * fz));
}
