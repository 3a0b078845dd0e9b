// C = A B + C by tensor cores: nvcuda::wmma on tiles in shared memory, whose rows are longer than a tile's against
// bank conflicts. A block of two warps makes 32 by 32 of C, a warp 16 of its rows.
// nvcc -ptx -arch=sm_75 wmma_gemm.cu
#include <mma.h>
using namespace nvcuda;
enum { TILE = 32, PAD = 8, FRAGMENT = 16, LANES = 32 };

extern "C" __global__ void gemm_half(const half *a, const half *b, float *c, int n, int k) {
    __shared__ half ta[TILE][TILE + PAD], tb[TILE][TILE + PAD];
    int row = blockIdx.y * TILE, col = blockIdx.x * TILE, warp = threadIdx.x / LANES;
    wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> sum[2];
    float *out = c + (row + warp * FRAGMENT) * n + col;
    for (int j = 0; j < 2; j++)
        wmma::load_matrix_sync(sum[j], out + j * FRAGMENT, n, wmma::mem_row_major);
    for (int at = 0; at < k; at += TILE) {
        for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
            ta[i / TILE][i % TILE] = a[(row + i / TILE) * k + at + i % TILE];
            tb[i / TILE][i % TILE] = b[(at + i / TILE) * n + col + i % TILE];
        }
        __syncthreads();
        for (int step = 0; step < TILE; step += FRAGMENT) {
            wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> fa;
            wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> fb;
            wmma::load_matrix_sync(fa, &ta[warp * FRAGMENT][step], TILE + PAD);
            for (int j = 0; j < 2; j++) {
                wmma::load_matrix_sync(fb, &tb[step][j * FRAGMENT], TILE + PAD);
                wmma::mma_sync(sum[j], fa, fb, sum[j]);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < sum[j].num_elements; i++) // what is done to each element needs no place
            sum[j].x[i] *= 0.5f;
        wmma::store_matrix_sync(out + j * FRAGMENT, sum[j], n, wmma::mem_row_major);
    }
}

// Bytes, B by columns, from global memory: a warp makes 32 by 8.
extern "C" __global__ void gemm_bytes(const signed char *a, const signed char *b, int *c, int n, int k) {
    int row = blockIdx.y * 32, col = blockIdx.x * 8;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    for (int at = 0; at < k; at += 16) {
        wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> fb;
        wmma::load_matrix_sync(fa, a + row * k + at, k);
        wmma::load_matrix_sync(fb, b + col * k + at, k);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::store_matrix_sync(c + row * n + col, sum, n, wmma::mem_row_major);
}
