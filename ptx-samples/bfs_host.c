/* Inputs and expected output of bfs.ptx. SPDX-License-Identifier: MIT */
#include "host.h"
enum { N = 210, E = 500, DEPTH = 8 };
static void sample(void) {
    static int32_t from[E], first[N + 1], edge[E], level[N], changed[DEPTH], queue[N], fill[N];
    for (int i = 0; i < E; i++) {
        from[i] = (int32_t)(rnd() % N);
        first[from[i] + 1]++;
    }
    for (int v = 0; v < N; v++)
        first[v + 1] += first[v];
    for (int i = 0; i < E; i++)
        edge[first[from[i]] + fill[from[i]]++] = (int32_t)(rnd() % N);
    for (int v = 0; v < N; v++)
        level[v] = -1;
    level[from[0]] = 0;
    save("first.bin", first, sizeof first);
    save("edge.bin", edge, sizeof edge);
    save("level0.bin", level, sizeof level);
    int head = 0, tail = 0;
    queue[tail++] = from[0];
    while (head < tail) {
        int v = queue[head++];
        for (int i = first[v]; level[v] < DEPTH && i < first[v + 1]; i++)
            if (level[edge[i]] < 0) {
                level[edge[i]] = level[v] + 1;
                changed[level[v]]++;
                queue[tail++] = edge[i];
            }
    }
    save("level.bin", level, sizeof level);
    save("changed.bin", changed, sizeof changed);
}
