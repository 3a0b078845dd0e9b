// Escape-time iteration: every lane leaves its loop at its own count.
extern "C" __global__ void mandelbrot(unsigned short *out, int width, int height, float x0, float y0, float step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float cx = x0 + step * x, cy = y0 + step * y, zx = 0, zy = 0;
    int n = 0;
    while (n < 100 && zx * zx + zy * zy < 4.0f) {
        float t = zx * zx - zy * zy + cx;
        zy = 2.0f * zx * zy + cy;
        zx = t;
        n++;
    }
    out[y * width + x] = n;
}
