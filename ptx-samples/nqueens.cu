// Counts the solutions of the n-queens problem that begin with a given pair of columns; the search keeps its
// stack in local memory.
extern "C" __global__ void nqueens(unsigned *count, int n) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n * n)
        return;
    int col[16];
    unsigned found = 0;
    col[0] = id / n;
    col[1] = id % n;
    int d = col[0] - col[1];
    if (d >= 2 || d <= -2) {
        int row = 2;
        col[2] = -1;
        while (row >= 2) {
            int c = ++col[row];
            if (c >= n) {
                row--;
                continue;
            }
            bool good = true;
            for (int r = 0; r < row && good; r++) {
                int e = col[r] - c;
                good = e != 0 && e != row - r && e != r - row;
            }
            if (!good)
                continue;
            if (row == n - 1)
                found++;
            else
                col[++row] = -1;
        }
    }
    count[id] = found;
}
