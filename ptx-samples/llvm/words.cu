/* Word lengths of a text: how many words of each length a block's slice has begun, by shared atomics; a word's end is
 * looked for by its first thread, so lanes leave the loop at different rounds. CUDA without the toolkit's headers: what
 * clang knows by itself.
 * SPDX-License-Identifier: MIT */
#define GLOBAL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))
#define DEVICE __attribute__((device)) static

template <class T> DEVICE T least(T a, T b) { return a < b ? a : b; }

DEVICE bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Text {
    const char *bytes;
    int size;
    bool letter(int i) const __attribute__((device)) { return i >= 0 && i < size && is_letter(bytes[i]); }
};

GLOBAL words(const char *bytes, int size, unsigned *lengths, int nlengths) {
    const Text text = {bytes, size};
    SHARED static unsigned counts[32];
    int thread = __nvvm_read_ptx_sreg_tid_x(), threads = __nvvm_read_ptx_sreg_ntid_x();
    if (thread < 32)
        counts[thread] = 0;
    __nvvm_bar_sync(0);
    int first = __nvvm_read_ptx_sreg_ctaid_x() * threads + thread, stride = __nvvm_read_ptx_sreg_nctaid_x() * threads;
    for (int i = first; i < text.size; i += stride)
        if (text.letter(i) && !text.letter(i - 1)) {
            int end = i + 1;
            while (text.letter(end))
                end++;
            __nvvm_atom_add_gen_i((int *)&counts[least(end - i, 31)], 1);
        }
    __nvvm_bar_sync(0);
    if (thread < least(nlengths, 32))
        __nvvm_atom_add_gen_i((int *)&lengths[thread], counts[thread]);
}
