// Sparse matrix (CSR) times vector, one row a thread: row lengths differ, so the loop diverges.
extern "C" __global__ void spmv(const int *row, const int *col, const double *val, const double *x, double *y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    double sum = 0;
    for (int i = row[r]; i < row[r + 1]; i++)
        sum += val[i] * x[col[i]];
    y[r] = sum;
}
