/* A program of a user: compiles PTX, runs it on memory of its own, and has an accept and a step of its own,
 * which the library has too. SPDX-License-Identifier: MIT */
#include <heddle.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int step = 3;

static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry twice(.param .u64 p) {\n .reg .u64 %a<3>;\n .reg .u32 %r<3>;\n"
                           " ld.param.u64 %a1, [p];\n mov.u32 %r1, %tid.x;\n mul.wide.u32 %a2, %r1, 4;\n"
                           " add.u64 %a1, %a1, %a2;\n ld.global.u32 %r2, [%a1];\n add.u32 %r2, %r2, %r2;\n"
                           " st.global.u32 [%a1], %r2;\n ret;\n}\n";

int main(void) {
    HdContext *context = hd_create(NULL);
    HdModule *ptx, *binary;
    unsigned data[32];
    for (unsigned i = 0; i < 32; i++)
        data[i] = i;
    HdArg args[] = {{.buffer = data, .size_bytes = sizeof data}};
    HdLaunch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .args = args, .nargs = 1};
    if (hd_parse(context, "twice.ptx", text, strlen(text), &ptx) != HD_OK ||
        hd_compile(ptx, NULL, &binary) != HD_OK || hd_launch(binary, &launch) != HD_OK)
        return 1;
    for (unsigned i = 0; i < 32; i++)
        if (data[i] != 2 * i)
            return 2;
    hd_destroy(context);
    if (accept(-1, NULL, NULL) != -1 || step != 3) /* the C library's, not a function of Heddle's */
        return 3;
    puts("32 numbers doubled");
    return 0;
}
