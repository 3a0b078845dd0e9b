// Five-point stencil with a halo in shared memory; borders are copied; three sweeps, each one launch.
#define W 18
#define H 6
extern "C" __global__ void stencil(const float *in, float *out, int width, int height) {
    __shared__ float tile[H + 2][W + 2];
    int x = blockIdx.x * W + threadIdx.x, y = blockIdx.y * H + threadIdx.y;
    for (int dy = threadIdx.y; dy < H + 2; dy += H)
        for (int dx = threadIdx.x; dx < W + 2; dx += W) {
            int gx = (int)(blockIdx.x * W) + dx - 1, gy = (int)(blockIdx.y * H) + dy - 1;
            gx = gx < 0 ? 0 : gx >= width ? width - 1 : gx;
            gy = gy < 0 ? 0 : gy >= height ? height - 1 : gy;
            tile[dy][dx] = in[gy * width + gx];
        }
    __syncthreads();
    if (x >= width || y >= height)
        return;
    float c = tile[threadIdx.y + 1][threadIdx.x + 1];
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
        c = c * 0.5f + 0.125f * (tile[threadIdx.y][threadIdx.x + 1] + tile[threadIdx.y + 2][threadIdx.x + 1] +
                                 tile[threadIdx.y + 1][threadIdx.x] + tile[threadIdx.y + 1][threadIdx.x + 2]);
    out[y * width + x] = c;
}
