/* A libcuda.so.1 whose card is the SIMT machine: what sim/gpu/driver.def asks of a driver, so that the
 * engine's side of it can be tested where there is no card. Addresses on this card are not the guest's.
 *
 * The variable FAKE_CARD says what it is like: "9.0" (default) or another compute capability; "none": the
 * driver finds no device; "hangs": no kernel ends; "dies": the process ends in a launch.
 * FAKE_CONTEXTS: a file that gets a line for every context, and for every tensor map that is encoded.
 * SPDX-License-Identifier: MIT */
#include "sim/gpu/driver.h"
#include "sim/machine/machine.h"
#include "sim/tensormap.h"
#include "tools/driver.h"
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { ERROR_INVALID_VALUE = 1, ERROR_OUT_OF_MEMORY = 2, ERROR_INVALID_IMAGE = 200 };
static const uint64_t first_address = SIM_GLOBAL_BASE + 0x4000000000u;

static SimMemory *memory;
static Binary *binary;
static SimTrapKind trap;
static bool is_current;

static bool card_is(const char *what) {
    const char *text = getenv("FAKE_CARD");
    return text && strcmp(text, what) == 0;
}

static void note(const char *line) {
    const char *log = getenv("FAKE_CONTEXTS");
    FILE *f = log ? fopen(log, "a") : NULL;
    if (f) {
        fputs(line, f);
        fclose(f);
    }
}

static void print_line(void *user, Severity severity, const char *line) {
    (void)severity;
    snprintf(user, 256, "%s", line);
}

/* Prototypes: the names are the driver's. */
#define F(member, name, params) EXPORT CudaResult name params;
#define NEWER F
#include "sim/gpu/driver.def"
#undef F
#undef NEWER

/* As the real one, it maps addresses by the tens of GiB. */
CudaResult cuInit(unsigned flags) {
    const size_t most = (size_t)64 << 30;
    void *addresses = mmap(NULL, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED)
        return ERROR_OUT_OF_MEMORY;
    munmap(addresses, most);
    return flags ? ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CudaResult cuDriverGetVersion(int *version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

CudaResult cuGetErrorName(CudaResult result, const char **name) {
    *name = result == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OF_THE_TEST";
    return CUDA_SUCCESS;
}

CudaResult cuGetErrorString(CudaResult result, const char **text) {
    *text = result == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "an error";
    return CUDA_SUCCESS;
}

CudaResult cuDeviceGetCount(int *count) {
    *count = !card_is("none");
    return CUDA_SUCCESS;
}

CudaResult cuDeviceGet(CudaDevice *device, int ordinal) {
    *device = ordinal;
    return ordinal ? ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CudaResult cuDeviceGetName(char *name, int name_bytes, CudaDevice device) {
    snprintf(name, (size_t)name_bytes, "Fake card %d", device);
    return CUDA_SUCCESS;
}

CudaResult cuDeviceGetAttribute(int *value, int attribute, CudaDevice device) {
    const char *text = getenv("FAKE_CARD");
    int major = 9, minor = 0;
    if (text && sscanf(text, "%d.%d", &major, &minor) != 2)
        major = 9;
    *value = attribute == CUDA_COMPUTE_CAPABILITY_MAJOR ? major : minor;
    return device ? ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CudaResult cuDevicePrimaryCtxRetain(CudaContext *context, CudaDevice device) {
    *context = (CudaContext)(uintptr_t)(device + 1);
    return CUDA_SUCCESS;
}

CudaResult cuCtxSetCurrent(CudaContext context) {
    is_current = context != NULL;
    note("context\n");
    memory = simmem_create();
    memory->next_address = first_address;
    return CUDA_SUCCESS;
}

/* The driver is given no length: the file ends with what lies last in it. */
static size_t elf_bytes(const uint8_t *image) {
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    size_t end = header.e_shoff + (size_t)header.e_shnum * sizeof(Elf64_Shdr);
    if (header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr) > end)
        end = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, image + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
            end = section.sh_offset + section.sh_size;
    }
    return end;
}

static Binary *compile(const char *text, Diags *diags) {
    DriverOptions opt = {.target = isa_target("sm_90"), .opt_level = 1};
    Compilation made;
    PtxModule *module = ptx_parse("text", text, strlen(text), diags);
    Binary *out = NULL;
    if (module && driver_compile(&made, module, &opt, diags))
        out = binary_read("text", made.image, made.image_bytes, diags);
    if (module)
        driver_free(&made);
    return out;
}

CudaResult cuModuleLoadDataEx(CudaModule *module, const void *image, unsigned noptions, int *options,
                              void **values) {
    static char nowhere[256];
    char *log = nowhere;
    for (unsigned i = 0; i < noptions; i++)
        if (options[i] == CUDA_JIT_ERROR_LOG)
            log = values[i];
    Diags diags = {.sink = print_line, .user = log};
    bool elf = memcmp(image, ELFMAG, SELFMAG) == 0;
    binary = !is_current ? NULL
             : elf       ? binary_read("image", image, elf_bytes(image), &diags)
                         : compile(image, &diags);
    if (!binary || !machine_place_variables(binary, memory, &diags))
        return ERROR_INVALID_IMAGE;
    *module = (CudaModule)(uintptr_t)1;
    return CUDA_SUCCESS;
}

/* Its variables go with it. */
CudaResult cuModuleUnload(CudaModule module) {
    if (!module || !binary)
        return ERROR_INVALID_VALUE;
    while (memory->nallocs)
        simmem_remove(memory, memory->allocs[0].address);
    binary_free(binary);
    binary = NULL;
    return CUDA_SUCCESS;
}

CudaResult cuModuleGetFunction(CudaFunction *function, CudaModule module, const char *name) {
    const BinFunc *found = module ? binary_find(binary, name) : NULL;
    *function = (CudaFunction)(uintptr_t)found;
    return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CudaResult cuModuleGetGlobal_v2(CudaAddress *address, size_t *size_bytes, CudaModule module,
                                const char *name) {
    const SimAlloc *alloc = module ? simmem_find_name(memory, name) : NULL;
    if (!alloc)
        return CUDA_ERROR_NOT_FOUND;
    *address = alloc->address;
    *size_bytes = alloc->size_bytes;
    return CUDA_SUCCESS;
}

CudaResult cuFuncSetAttribute(CudaFunction function, int attribute, int value) {
    return function && ((attribute == CUDA_MAX_DYNAMIC_SHARED_BYTES && value <= 227 * 1024) ||
                        attribute == CUDA_ANY_CLUSTER_SIZE)
               ? CUDA_SUCCESS
               : ERROR_INVALID_VALUE;
}

CudaResult cuMemAlloc_v2(CudaAddress *address, size_t size_bytes) {
    *address = simmem_alloc(memory, "", size_bytes);
    return *address ? CUDA_SUCCESS : ERROR_INVALID_VALUE;
}

CudaResult cuMemFree_v2(CudaAddress address) {
    return simmem_remove(memory, address) ? CUDA_SUCCESS : ERROR_INVALID_VALUE;
}

CudaResult cuMemcpyHtoD_v2(CudaAddress to, const void *from, size_t size_bytes) {
    return simmem_write(memory, to, from, size_bytes) ? CUDA_SUCCESS : ERROR_INVALID_VALUE;
}

CudaResult cuMemcpyDtoH_v2(void *to, CudaAddress from, size_t size_bytes) {
    return simmem_read(memory, from, to, size_bytes) ? CUDA_SUCCESS : ERROR_INVALID_VALUE;
}

static CudaResult run(CudaFunction function, Launch launch, void **extra) {
    const BinFunc *kernel = (const BinFunc *)(uintptr_t)function;
    for (; extra && *extra != (void *)CUDA_PARAM_END; extra += 2) {
        if (*extra == (void *)CUDA_PARAM_BUFFER)
            launch.params = extra[1];
        else
            launch.param_bytes = (uint32_t) * (size_t *)extra[1];
    }
    char text[256] = "";
    Diags diags = {.sink = print_line, .user = text};
    MachineResult result;
    if (kernel->nparams && !launch.params)
        return ERROR_INVALID_VALUE;
    if (card_is("dies"))
        abort();
    machine_run(binary, kernel->name, &launch, memory, NULL, &result, &diags);
    trap = result.trap.kind;
    machine_result_free(&result);
    return CUDA_SUCCESS;
}

CudaResult cuLaunchKernel(CudaFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                          CudaStream stream, void **params, void **extra) {
    Launch launch = {.grid = {grid_x, grid_y, grid_z},
                     .block = {block_x, block_y, block_z},
                     .dynamic_shared_bytes = shared_bytes};
    return stream || params ? ERROR_INVALID_VALUE : run(function, launch, extra);
}

CudaResult cuLaunchKernelEx(const CudaLaunchConfig *config, CudaFunction function, void **params,
                            void **extra) {
    const unsigned *grid = config->grid, *block = config->block, *cluster = config->attributes->value;
    Launch launch = {.grid = {grid[0], grid[1], grid[2]},
                     .block = {block[0], block[1], block[2]},
                     .cluster = {cluster[0], cluster[1], cluster[2]},
                     .dynamic_shared_bytes = config->shared_bytes};
    bool good = !config->stream && !params && config->nattributes == 1 &&
                config->attributes->id == CUDA_CLUSTER_DIMENSION;
    return good ? run(function, launch, extra) : ERROR_INVALID_VALUE;
}

/* The map is Heddle's own, as the machine reads it. */
static CudaResult encode(void *out, SimTensorMap map, int type, void *address, const uint64_t *size,
                         const uint64_t *stride, const unsigned *step) {
    static const uint8_t types[] = {SIM_TENSOR_U8,  SIM_TENSOR_U16, SIM_TENSOR_U32, SIM_TENSOR_S32,
                                    SIM_TENSOR_U64, SIM_TENSOR_S64, SIM_TENSOR_F16, SIM_TENSOR_F32,
                                    SIM_TENSOR_F64, SIM_TENSOR_BF16};
    uint32_t words[TENSOR_WORDS];
    note("map\n");
    map.magic = SIM_TENSOR_MAGIC;
    map.type = types[type];
    map.address = (uint64_t)(uintptr_t)address;
    for (unsigned k = 0; k < map.rank; k++) {
        map.size[k] = size[k];
        map.step[k] = (uint8_t)step[k];
        if (k > 0)
            map.stride[k - 1] = stride[k - 1];
    }
    sim_tensor_encode(&map, words);
    memcpy(out, words, sizeof words);
    return CUDA_SUCCESS;
}

CudaResult cuTensorMapEncodeTiled(void *out, int type, unsigned rank, void *address, const uint64_t *size,
                                  const uint64_t *stride, const unsigned *box, const unsigned *step,
                                  int interleave, int swizzle, int promotion, int fill) {
    SimTensorMap map = {.rank = (uint8_t)rank, .swizzle = (uint8_t)swizzle, .nan_fill = (uint8_t)fill};
    for (unsigned k = 0; k < rank; k++)
        map.box[k] = (uint16_t)box[k];
    return interleave || promotion ? ERROR_INVALID_VALUE
                                   : encode(out, map, type, address, size, stride, step);
}

CudaResult cuTensorMapEncodeIm2col(void *out, int type, unsigned rank, void *address, const uint64_t *size,
                                   const uint64_t *stride, const int *lower, const int *upper,
                                   unsigned channels, unsigned pixels, const unsigned *step, int interleave,
                                   int swizzle, int promotion, int fill) {
    SimTensorMap map = {.rank = (uint8_t)rank,
                        .im2col = 1,
                        .channels = (uint16_t)channels,
                        .pixels = (uint16_t)pixels,
                        .swizzle = (uint8_t)swizzle,
                        .nan_fill = (uint8_t)fill};
    for (unsigned k = 0; k + 2 < rank; k++) {
        map.lower[k] = (int16_t)lower[k];
        map.upper[k] = (int16_t)upper[k];
    }
    return interleave || promotion ? ERROR_INVALID_VALUE
                                   : encode(out, map, type, address, size, stride, step);
}

CudaResult cuCtxSynchronize(void) {
    while (card_is("hangs"))
        pause();
    switch (trap) {
    case TRAP_NONE: return CUDA_SUCCESS;
    case TRAP_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case TRAP_OUT_OF_RANGE: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case TRAP_ILLEGAL: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default: return CUDA_ERROR_LAUNCH_FAILED;
    }
}
