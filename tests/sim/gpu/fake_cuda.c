/* A libcuda.so.1 whose card is the SIMT machine: what sim/gpu/driver.def asks of a driver, so that the
 * engine's side of it can be tested where there is no card. Addresses on this card are not the guest's.
 *
 * The variable FAKE_CARD says what it is like: "9.0" (default) or another compute capability; "none": the
 * driver finds no device; "hangs": no kernel ends; "dies": the process ends in a launch.
 * FAKE_CONTEXTS: a file that gets a line for every context, every tensor map that is encoded, every
 * array, texture and surface.
 * SPDX-License-Identifier: MIT */
#include "sim/gpu/driver.h"
#include "sim/machine/machine.h"
#include "sim/tensormap.h"
#include "tools/jobs/driver.h"
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
static int nobjects; /* arrays, textures, surfaces */
enum { MOST_REFS = 16 };
static struct Ref { /* a variable that is a texture or surface, of the module that is loaded */
    const char *name;
    SimTexture what;
    bool is_surface;
    CudaSampler sampler;
} refs[MOST_REFS];
static unsigned nrefs;

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
    memory->ntextures = 0;
    binary_free(binary);
    binary = NULL;
    nrefs = 0;
    return nobjects ? ERROR_INVALID_VALUE : CUDA_SUCCESS; /* an object that was not given back */
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

/* ---- textures ---- */
struct CudaArrayObject { /* its texels are memory of the card */
    SimTexture what;
    unsigned flags;
    uint64_t block; /* 0: one level of a mipmap */
};
struct CudaMipmapObject {
    struct CudaArrayObject all, level[16];
};

static CudaResult make(struct CudaArrayObject *out, const CudaArrayShape *shape, unsigned levels) {
    static const uint8_t texels[256] = {
        [0x01] = SIM_TEXEL_U8,  [0x08] = SIM_TEXEL_S8,  [0x02] = SIM_TEXEL_U16, [0x09] = SIM_TEXEL_S16,
        [0x03] = SIM_TEXEL_U32, [0x0a] = SIM_TEXEL_S32, [0x10] = SIM_TEXEL_F16, [0x20] = SIM_TEXEL_F32};
    static const uint8_t numbers[] = {SIM_TEXEL_U8, SIM_TEXEL_U16, SIM_TEXEL_S8, SIM_TEXEL_S16};
    bool has_numbers = shape->format >= 0xc0; /* the format says how many channels there are, too */
    unsigned cube = shape->flags & CUDA_ARRAY_CUBE, layered = shape->flags & CUDA_ARRAY_LAYERED;
    unsigned slices = cube || layered ? (unsigned)shape->depth : 0, faces = cube ? 6 : 1;
    unsigned dims = !shape->height ? 1 : !shape->depth || slices ? 2 : 3;
    if (!shape->width || (cube && (slices % 6 || shape->width != shape->height)) ||
        (shape->flags & CUDA_ARRAY_GATHER && (dims != 2 || cube || layered)))
        return ERROR_INVALID_VALUE;
    *out = (struct CudaArrayObject){.flags = shape->flags};
    out->what =
        (SimTexture){.name = "",
                     .size = {(uint32_t)shape->width, dims > 1 ? (uint32_t)shape->height : 1,
                              dims > 2 ? (uint32_t)shape->depth : 1},
                     .layers = layered ? slices / faces : 0,
                     .dims = (uint8_t)dims,
                     .cube = cube,
                     .texel = has_numbers ? numbers[(shape->format - 0xc0) / 3] : texels[shape->format],
                     .as_float = has_numbers,
                     .channels = (uint8_t)shape->nchannels,
                     .more_levels = (uint8_t)(levels - 1)};
    out->block = out->what.address = simmem_alloc(memory, "", sim_texture_bytes(&out->what));
    note("array\n");
    nobjects++;
    return out->block ? CUDA_SUCCESS : ERROR_OUT_OF_MEMORY;
}

CudaResult cuArray3DCreate_v2(CudaArray *array, const CudaArrayShape *shape) {
    *array = calloc(1, sizeof **array);
    return *array ? make(*array, shape, 1) : ERROR_OUT_OF_MEMORY;
}

CudaResult cuArrayDestroy(CudaArray array) {
    CudaResult result = array->block ? cuMemFree_v2(array->block) : ERROR_INVALID_VALUE;
    free(array);
    nobjects--;
    return result;
}

CudaResult cuMipmappedArrayCreate(CudaMipmap *mipmap, const CudaArrayShape *shape, unsigned levels) {
    *mipmap = calloc(1, sizeof **mipmap);
    return *mipmap && levels <= 16 ? make(&(*mipmap)->all, shape, levels) : ERROR_OUT_OF_MEMORY;
}

CudaResult cuMipmappedArrayDestroy(CudaMipmap mipmap) {
    CudaResult result = cuMemFree_v2(mipmap->all.block);
    free(mipmap);
    nobjects--;
    return result;
}

CudaResult cuMipmappedArrayGetLevel(CudaArray *array, CudaMipmap mipmap, unsigned level) {
    const SimTexture *all = &mipmap->all.what;
    if (level > all->more_levels)
        return ERROR_INVALID_VALUE;
    *array = &mipmap->level[level];
    **array = (struct CudaArrayObject){.what = *all, .flags = mipmap->all.flags};
    (*array)->what.more_levels = 0;
    for (unsigned k = 0; k < level; k++)
        (*array)->what.address += sim_level_bytes(all, k);
    for (unsigned k = 0; k < 3; k++)
        (*array)->what.size[k] = sim_level_size(all, k, level);
    return CUDA_SUCCESS;
}

/* All of an array, from or to the host. */
CudaResult cuMemcpy3D_v2(const CudaCopy *copy) {
    bool in = copy->to.memory == CUDA_MEMORY_ARRAY;
    const CudaCopySide *host = in ? &copy->from : &copy->to;
    const SimTexture *what = &(in ? &copy->to : &copy->from)->array->what;
    uint64_t size_bytes = copy->width_bytes * copy->height * copy->depth;
    if (host->memory != CUDA_MEMORY_HOST || size_bytes != sim_texture_bytes(what) ||
        copy->height != what->size[1] || host->pitch_bytes != copy->width_bytes ||
        host->height != copy->height)
        return ERROR_INVALID_VALUE;
    return in ? cuMemcpyHtoD_v2(what->address, host->host, size_bytes)
              : cuMemcpyDtoH_v2((void *)host->host, what->address, size_bytes);
}

static SimTexture sampled(SimTexture what, const CudaSampler *sampler) {
    what.as_float = what.texel <= SIM_TEXEL_S16 && !(sampler->flags & CUDA_READ_AS_INTEGER);
    what.normalized = sampler->flags & CUDA_NORMALIZED;
    what.linear = sampler->filter;
    what.mip_linear = sampler->mip_filter;
    what.lod_bias = sampler->bias;
    what.lod_min = sampler->least;
    what.lod_max = sampler->most;
    for (unsigned k = 0; k < 3; k++)
        what.mode[k] = (uint8_t)sampler->address[k];
    memcpy(what.border, sampler->border, sizeof what.border);
    return what;
}

CudaResult cuTexObjectCreate(CudaHandle *handle, const CudaResource *resource, const CudaSampler *sampler,
                             const void *view) {
    bool mipmap = resource->kind == CUDA_RESOURCE_MIPMAP;
    SimTexture what = sampled(mipmap ? resource->of.mipmap->all.what : resource->of.array->what, sampler);
    *handle = simmem_add_texture(memory, &what);
    note("texture\n");
    nobjects++;
    return view || resource->flags ? ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CudaResult cuTexObjectDestroy(CudaHandle handle) {
    nobjects--;
    return handle ? CUDA_SUCCESS : ERROR_INVALID_VALUE;
}

CudaResult cuSurfObjectCreate(CudaHandle *handle, const CudaResource *resource) {
    const struct CudaArrayObject *array = resource->of.array;
    if (resource->kind != CUDA_RESOURCE_ARRAY || !(array->flags & CUDA_ARRAY_SURFACE))
        return ERROR_INVALID_VALUE;
    *handle = simmem_add_texture(memory, &array->what);
    note("surface\n");
    nobjects++;
    return CUDA_SUCCESS;
}

CudaResult cuSurfObjectDestroy(CudaHandle handle) { return cuTexObjectDestroy(handle); }

static struct Ref *ref_of(CudaModule module, const char *name, bool surface) {
    for (uint32_t i = 0; module && i < binary->ntextures && nrefs < MOST_REFS; i++)
        if (strcmp(binary->textures[i].name, name) == 0 && binary->textures[i].is_surface == surface) {
            refs[nrefs] = (struct Ref){.name = binary->textures[i].name, .is_surface = surface};
            return &refs[nrefs++];
        }
    return NULL;
}

CudaResult cuModuleGetTexRef(CudaTexRef *ref, CudaModule module, const char *name) {
    *ref = (CudaTexRef)(void *)ref_of(module, name, false);
    return *ref ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CudaResult cuModuleGetSurfRef(CudaSurfRef *ref, CudaModule module, const char *name) {
    *ref = (CudaSurfRef)(void *)ref_of(module, name, true);
    return *ref ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CudaSampler *sampler_of(CudaTexRef ref) { return &((struct Ref *)(void *)ref)->sampler; }

static CudaResult bind(void *ref, const SimTexture *what) {
    ((struct Ref *)ref)->what = *what;
    return CUDA_SUCCESS;
}

CudaResult cuTexRefSetArray(CudaTexRef ref, CudaArray array, unsigned flags) {
    return flags == CUDA_OVERRIDE_FORMAT ? bind(ref, &array->what) : ERROR_INVALID_VALUE;
}

CudaResult cuTexRefSetMipmappedArray(CudaTexRef ref, CudaMipmap mipmap, unsigned flags) {
    return flags == CUDA_OVERRIDE_FORMAT ? bind(ref, &mipmap->all.what) : ERROR_INVALID_VALUE;
}

CudaResult cuSurfRefSetArray(CudaSurfRef ref, CudaArray array, unsigned flags) {
    return !flags && array->flags & CUDA_ARRAY_SURFACE ? bind(ref, &array->what) : ERROR_INVALID_VALUE;
}

#define SETTER(name, type, member)                                                                           \
    CudaResult name(CudaTexRef ref, type value) {                                                            \
        sampler_of(ref)->member = value;                                                                     \
        return CUDA_SUCCESS;                                                                                 \
    }
SETTER(cuTexRefSetFilterMode, int, filter)
SETTER(cuTexRefSetFlags, unsigned, flags)
SETTER(cuTexRefSetMipmapFilterMode, int, mip_filter)
SETTER(cuTexRefSetMipmapLevelBias, float, bias)

CudaResult cuTexRefSetAddressMode(CudaTexRef ref, int axis, int mode) {
    sampler_of(ref)->address[axis] = mode;
    return CUDA_SUCCESS;
}

CudaResult cuTexRefSetBorderColor(CudaTexRef ref, float *border) {
    memcpy(sampler_of(ref)->border, border, sizeof sampler_of(ref)->border);
    return CUDA_SUCCESS;
}

CudaResult cuTexRefSetMipmapLevelClamp(CudaTexRef ref, float least, float most) {
    sampler_of(ref)->least = least;
    sampler_of(ref)->most = most;
    return CUDA_SUCCESS;
}

static void add_refs(void) {
    for (unsigned i = 0; i < nrefs; i++) {
        SimTexture what = refs[i].is_surface ? refs[i].what : sampled(refs[i].what, &refs[i].sampler);
        what.name = refs[i].name;
        simmem_add_texture(memory, &what);
    }
}

/* ---- launches ---- */
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
    add_refs();
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
