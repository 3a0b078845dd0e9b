// Breadth-first search, one level a launch: vertices of the current level visit their neighbours.
extern "C" __global__ void bfs(const int *first, const int *edge, int *level, int *changed, int n, int depth) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != depth)
        return;
    for (int i = first[v]; i < first[v + 1]; i++) {
        int w = edge[i];
        if (atomicCAS(&level[w], -1, depth + 1) == -1)
            atomicAdd(&changed[depth], 1);
    }
}
