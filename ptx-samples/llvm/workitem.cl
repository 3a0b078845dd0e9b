/* The OpenCL functions that the samples use, for a build without libclc: linked by --libdevice.
 * SPDX-License-Identifier: MIT */
#define EACH(function, register)                                                                             \
    size_t __attribute__((overloadable, const)) function(uint dimension) {                                   \
        return dimension == 0   ? (size_t)__nvvm_read_ptx_sreg_##register##_x()                              \
               : dimension == 1 ? (size_t)__nvvm_read_ptx_sreg_##register##_y()                              \
                                : (size_t)__nvvm_read_ptx_sreg_##register##_z();                             \
    }
typedef unsigned uint;
typedef __SIZE_TYPE__ size_t;
EACH(get_local_id, tid)
EACH(get_local_size, ntid)
EACH(get_group_id, ctaid)
EACH(get_num_groups, nctaid)
size_t __attribute__((overloadable, const)) get_global_id(uint dimension) {
    return get_group_id(dimension) * get_local_size(dimension) + get_local_id(dimension);
}
void __attribute__((overloadable, convergent)) barrier(uint flags) { __nvvm_bar_sync(0); }
