/* A filter: each output is the median of 3 x 3 inputs, borders repeated. The tile and its halo lie in local memory,
 * whose size the launch gives; threads of the last blocks are outside of the picture.
 * SPDX-License-Identifier: MIT */
static void order(__private ushort *low, __private ushort *high) {
    ushort a = *low, b = *high;
    *low = a < b ? a : b;
    *high = a < b ? b : a;
}

__kernel void medians(__global const ushort *in, __global ushort *out, int width, int height,
                      __local ushort *tile) {
    int tile_width = (int)get_local_size(0) + 2, tile_height = (int)get_local_size(1) + 2;
    int left = (int)(get_group_id(0) * get_local_size(0)) - 1, top = (int)(get_group_id(1) * get_local_size(1)) - 1;
    int thread = (int)(get_local_id(1) * get_local_size(0) + get_local_id(0)),
        threads = (int)(get_local_size(0) * get_local_size(1));
    for (int i = thread; i < tile_width * tile_height; i += threads) {
        int x = left + i % tile_width, y = top + i / tile_width;
        x = x < 0 ? 0 : x >= width ? width - 1 : x;
        y = y < 0 ? 0 : y >= height ? height - 1 : y;
        tile[i] = in[y * width + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    if (x >= width || y >= height)
        return;
    ushort v[9];
    for (int i = 0; i < 9; i++)
        v[i] = tile[((int)get_local_id(1) + i / 3) * tile_width + (int)get_local_id(0) + i % 3];
    for (int round = 0; round < 5; round++) /* far enough for the one in the middle */
        for (int i = 0; i < 8 - round; i++)
            order(&v[i], &v[i + 1]);
    out[y * width + x] = v[4];
}
