// A program of a user in C++. SPDX-License-Identifier: MIT
#include <heddle.h>
#include <iostream>
#include <string>

static void print(void *, HdSeverity, const char *text) { std::cout << text; }

int main() {
    HdOptions options{};
    options.message = print;
    HdContext *context = hd_create(&options);
    const std::string text = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";
    HdModule *ptx = nullptr, *binary = nullptr;
    HdKernel *kernels = nullptr;
    size_t n = 0;
    bool good = hd_parse(context, "k.ptx", text.data(), text.size(), &ptx) == HD_OK &&
                hd_compile(ptx, nullptr, &binary) == HD_OK && hd_kernels(binary, &kernels, &n) == HD_OK &&
                n == 1 && std::string(kernels[0].name) == "k";
    hd_free(kernels);
    hd_destroy(context);
    std::cout << (good ? "one kernel\n" : "wrong\n");
    return good ? 0 : 1;
}
