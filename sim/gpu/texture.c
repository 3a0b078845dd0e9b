/* Textures and surfaces for a card: arrays of the driver with the texels of guest memory, objects of them for
 * parameters, references for variables. Textures of one place and one format share an array, so that a
 * surface's stores are those of the texture at the same place. What surfaces changed comes back after the
 * launch. SPDX-License-Identifier: MIT */
#include "sim/gpu/card.h"
#include <stdlib.h>
#include <string.h>

struct GpuImage {
    const SimTexture *what;
    CudaMipmap mipmap; /* NULL: of one level */
    CudaArray array;   /* of the first level */
    bool can_be_surface, is_surface;
    bool has_numbers; /* a surface's integers that are numbers of [0, 1] or [-1, 1] */
};
typedef struct GpuImage Image;

static bool wrong(GpuImages *images, const char *what, CudaResult result) {
    images->what = what;
    images->result = result;
    return false;
}

static bool good(GpuImages *images, const char *what, CudaResult result) {
    return result == CUDA_SUCCESS || wrong(images, what, result);
}

/* ---- arrays ---- */
static unsigned slices_of(const SimTexture *t) { return (t->layers ? t->layers : 1) * (t->cube ? 6 : 1); }

static bool same_image(const SimTexture *a, const SimTexture *b) {
    return a->address == b->address && memcmp(a->size, b->size, sizeof a->size) == 0 &&
           a->layers == b->layers && a->dims == b->dims && a->cube == b->cube && a->texel == b->texel &&
           a->channels == b->channels && a->more_levels == b->more_levels;
}

static const uint8_t *texels_of(const GpuImages *images, const SimTexture *t) {
    const SimAlloc *alloc = simmem_find(images->mem, t->address, sim_texture_bytes(t));
    return alloc ? alloc->data + (t->address - alloc->address) : NULL;
}

/* CUarray_format. That a texture reads integers as numbers its sampler says, of a surface the format. */
static int format_of(const Image *image) {
    static const int formats[] = {
        [SIM_TEXEL_U8] = 0x01,  [SIM_TEXEL_S8] = 0x08,  [SIM_TEXEL_U16] = 0x02, [SIM_TEXEL_S16] = 0x09,
        [SIM_TEXEL_U32] = 0x03, [SIM_TEXEL_S32] = 0x0a, [SIM_TEXEL_F16] = 0x10, [SIM_TEXEL_F32] = 0x20};
    static const int numbers[] = {/* of one channel; of two and four behind it */
                                  [SIM_TEXEL_U8] = 0xc0,
                                  [SIM_TEXEL_S8] = 0xc6,
                                  [SIM_TEXEL_U16] = 0xc3,
                                  [SIM_TEXEL_S16] = 0xc9};
    const SimTexture *t = image->what;
    return image->has_numbers ? numbers[t->texel] + t->channels / 2 : formats[t->texel];
}

/* An array for all that the driver makes one of its size for: surfaces and gathering have lower limits. */
static CudaResult make_array(const CudaDriver *cuda, Image *image) {
    static const unsigned uses[] = {CUDA_ARRAY_SURFACE | CUDA_ARRAY_GATHER, CUDA_ARRAY_SURFACE,
                                    CUDA_ARRAY_GATHER, 0};
    const SimTexture *t = image->what;
    CudaResult result = CUDA_SUCCESS;
    CudaArrayShape shape = {.width = t->size[0],
                            .height = t->dims > 1 ? t->size[1] : 0,
                            .depth = t->dims > 2            ? t->size[2]
                                     : t->layers || t->cube ? slices_of(t)
                                                            : 0,
                            .format = format_of(image),
                            .nchannels = t->channels};
    for (unsigned k = 0; k < sizeof uses / sizeof *uses; k++) {
        shape.flags = uses[k] | (t->layers ? CUDA_ARRAY_LAYERED : 0) | (t->cube ? CUDA_ARRAY_CUBE : 0);
        image->can_be_surface = uses[k] & CUDA_ARRAY_SURFACE;
        result = t->more_levels ? cuda->make_mipmap(&image->mipmap, &shape, t->more_levels + 1u)
                                : cuda->make_array(&image->array, &shape);
        if (result == CUDA_SUCCESS)
            break;
    }
    return result == CUDA_SUCCESS && t->more_levels ? cuda->get_level(&image->array, image->mipmap, 0)
                                                    : result;
}

/* One level, whose texels are at `bytes`, in or out. */
static CudaResult copy_level(const CudaDriver *cuda, const SimTexture *t, CudaArray array, unsigned level,
                             uint8_t *bytes, bool in) {
    size_t row = (size_t)sim_level_size(t, 0, level) * t->channels * sim_texel_bytes(t->texel);
    size_t rows = sim_level_size(t, 1, level);
    CudaCopySide host = {.memory = CUDA_MEMORY_HOST, .host = bytes, .pitch_bytes = row, .height = rows};
    CudaCopySide card = {.memory = CUDA_MEMORY_ARRAY, .array = array};
    CudaCopy copy = {.from = in ? host : card,
                     .to = in ? card : host,
                     .width_bytes = row,
                     .height = rows,
                     .depth = (size_t)sim_level_size(t, 2, level) * slices_of(t)};
    return cuda->copy_array(&copy);
}

static CudaResult copy_image(const CudaDriver *cuda, const Image *image, uint8_t *bytes, bool in) {
    CudaResult result = CUDA_SUCCESS;
    for (unsigned level = 0; level <= image->what->more_levels && result == CUDA_SUCCESS; level++) {
        CudaArray array = image->array;
        if (level)
            result = cuda->get_level(&array, image->mipmap, level);
        if (result == CUDA_SUCCESS)
            result = copy_level(cuda, image->what, array, level, bytes, in);
        bytes += sim_level_bytes(image->what, level);
    }
    return result;
}

static Image *image_of(GpuImages *images, const SimTexture *t, bool has_numbers) {
    for (uint32_t i = 0; i < images->nimages; i++)
        if (same_image(images->images[i].what, t) && images->images[i].has_numbers == has_numbers)
            return &images->images[i];
    Image *image = &images->images[images->nimages];
    const uint8_t *texels = texels_of(images, t);
    *image = (Image){.what = t, .has_numbers = has_numbers};
    if (!texels) {
        wrong(images, "a texture of no buffer", CUDA_SUCCESS);
        return NULL;
    }
    if (!good(images, "cuArray3DCreate", make_array(images->cuda, image)))
        return NULL;
    images->nimages++;
    return good(images, "cuMemcpy3D", copy_image(images->cuda, image, (uint8_t *)texels, true)) ? image
                                                                                                : NULL;
}

static Image *surface_of(GpuImages *images, const SimTexture *t) {
    Image *image = image_of(images, t, t->as_float);
    if (image && !image->can_be_surface) {
        wrong(images, "the driver makes no surface of that size", CUDA_SUCCESS);
        return NULL;
    }
    if (image)
        image->is_surface = true;
    return image;
}

/* ---- objects ---- */
static CudaSampler sampler_of(const SimTexture *t) {
    bool integers = t->texel <= SIM_TEXEL_S32 && !t->as_float;
    float last = t->more_levels;
    CudaSampler out = {.filter = t->linear,
                       .flags = (integers ? CUDA_READ_AS_INTEGER : 0u) |
                                (t->normalized || t->cube ? CUDA_NORMALIZED : 0u),
                       .mip_filter = t->mip_linear,
                       .bias = t->lod_bias,
                       .least = t->lod_min,
                       .most = t->lod_max < last ? t->lod_max : last};
    /* CUaddress_mode has the order of SimAddressMode. A card has two axes at least, and where the texture has
     * one it is at 0 of the other: by a linear filter half a border. */
    for (unsigned k = 0; k < 3; k++)
        out.address[k] = k < t->dims || t->cube ? t->mode[k] : SIM_ADDRESS_CLAMP;
    memcpy(out.border, t->border, sizeof out.border);
    return out;
}

static bool make_texture(GpuImages *images, const SimTexture *t, CudaHandle *handle) {
    Image *image = image_of(images, t, false);
    CudaSampler sampler = sampler_of(t);
    if (!image)
        return false;
    CudaResource resource = {.kind = t->more_levels ? CUDA_RESOURCE_MIPMAP : CUDA_RESOURCE_ARRAY};
    if (t->more_levels)
        resource.of.mipmap = image->mipmap;
    else
        resource.of.array = image->array;
    if (!good(images, "cuTexObjectCreate", images->cuda->make_texture(handle, &resource, &sampler, NULL)))
        return false;
    images->textures[images->ntextures++] = *handle;
    return true;
}

static bool make_surface(GpuImages *images, const SimTexture *t, CudaHandle *handle) {
    Image *image = surface_of(images, t);
    if (!image)
        return false;
    CudaResource resource = {.kind = CUDA_RESOURCE_ARRAY, .of.array = image->array};
    if (!good(images, "cuSurfObjectCreate", images->cuda->make_surface(handle, &resource)))
        return false;
    images->surfaces[images->nsurfaces++] = *handle;
    return true;
}

bool gpu_images_handle(GpuImages *images, const LaunchHandle *handle, uint8_t *params) {
    CudaHandle out = 0;
    uint64_t guest;
    memcpy(&guest, params + handle->offset_bytes, sizeof guest);
    const SimTexture *t = simmem_texture(images->mem, (uint32_t)guest & SIM_TEXTURE_MASK);
    if (!handle->uses)
        return wrong(images, "what the kernel does with the handle of a texture is known of its PTX only",
                     CUDA_SUCCESS);
    if (handle->uses == (SIM_USE_FETCH | SIM_USE_SURFACE))
        return wrong(images,
                     "a card has one handle for fetches from a texture, another for accesses to a surface",
                     CUDA_SUCCESS);
    bool made =
        t && (handle->uses == SIM_USE_FETCH ? make_texture(images, t, &out) : make_surface(images, t, &out));
    memcpy(params + handle->offset_bytes, &out, sizeof out);
    return made || !t;
}

/* ---- variables ---- */
static bool bind_texture(GpuImages *images, const SimTexture *t, CudaTexRef ref) {
    const CudaDriver *cuda = images->cuda;
    Image *image = image_of(images, t, false);
    CudaSampler sampler = sampler_of(t);
    CudaResult result = CUDA_SUCCESS;
    if (!image)
        return false;
    if (!cuda->bind_array || !cuda->bind_mipmap || !cuda->bind_address || !cuda->bind_filter ||
        !cuda->bind_flags || !cuda->bind_border || !cuda->bind_mip_filter || !cuda->bind_bias ||
        !cuda->bind_clamp)
        return wrong(images, "this driver knows no variables that are textures", CUDA_SUCCESS);
    for (int k = 0; k < 3 && result == CUDA_SUCCESS; k++)
        result = cuda->bind_address(ref, k, sampler.address[k]);
    if (result == CUDA_SUCCESS)
        result = cuda->bind_filter(ref, sampler.filter);
    if (result == CUDA_SUCCESS)
        result = cuda->bind_flags(ref, sampler.flags);
    if (result == CUDA_SUCCESS)
        result = cuda->bind_border(ref, sampler.border);
    if (result == CUDA_SUCCESS && t->more_levels) {
        result = cuda->bind_mip_filter(ref, sampler.mip_filter);
        if (result == CUDA_SUCCESS)
            result = cuda->bind_bias(ref, sampler.bias);
        if (result == CUDA_SUCCESS)
            result = cuda->bind_clamp(ref, sampler.least, sampler.most);
    }
    if (result == CUDA_SUCCESS)
        result = t->more_levels ? cuda->bind_mipmap(ref, image->mipmap, CUDA_OVERRIDE_FORMAT)
                                : cuda->bind_array(ref, image->array, CUDA_OVERRIDE_FORMAT);
    return good(images, "a variable that is a texture", result);
}

static bool bind_surface(GpuImages *images, const SimTexture *t, CudaSurfRef ref) {
    const CudaDriver *cuda = images->cuda;
    Image *image = surface_of(images, t);
    return image &&
           good(images, "cuSurfRefSetArray",
                cuda->bind_surface ? cuda->bind_surface(ref, image->array, 0) : CUDA_ERROR_NOT_SUPPORTED);
}

/* A name that the launch says nothing of stays as it is. */
static bool bind_variable(GpuImages *images, CudaModule loaded, const char *name) {
    const CudaDriver *cuda = images->cuda;
    uint32_t number = (uint32_t)simmem_texture_handle(images->mem, name) & SIM_TEXTURE_MASK;
    const SimTexture *t = simmem_texture(images->mem, number);
    CudaTexRef texture;
    CudaSurfRef surface;
    if (!t)
        return true;
    if (cuda->get_texture && cuda->get_texture(&texture, loaded, name) == CUDA_SUCCESS)
        return bind_texture(images, t, texture);
    if (cuda->get_surface && cuda->get_surface(&surface, loaded, name) == CUDA_SUCCESS)
        return bind_surface(images, t, surface);
    return wrong(images, "the driver does not find a variable that is a texture or surface", CUDA_SUCCESS);
}

bool gpu_images_bind(GpuImages *images, CudaModule loaded, const GpuModule *module) {
    bool bound = true;
    for (uint32_t i = 0; bound && i < module->ntextures; i++)
        bound = bind_variable(images, loaded, module->textures[i]);
    return bound;
}

/* ---- a launch ---- */
bool gpu_images_open(GpuImages *images, const CudaDriver *cuda, const SimMemory *mem, const Launch *launch) {
    *images = (GpuImages){.cuda = cuda,
                          .mem = mem,
                          .images = calloc(mem->ntextures + 1u, sizeof *images->images),
                          .textures = calloc(launch->nhandles + 1u, sizeof *images->textures),
                          .surfaces = calloc(launch->nhandles + 1u, sizeof *images->surfaces)};
    return (images->images && images->textures && images->surfaces) ||
           wrong(images, "no memory on this host", CUDA_SUCCESS);
}

bool gpu_images_out(GpuImages *images, const SimAlloc *alloc, uint8_t *bytes) {
    for (uint32_t i = 0; i < images->nimages; i++) {
        Image *image = &images->images[i];
        uint64_t at = image->what->address - alloc->address, size_bytes = sim_texture_bytes(image->what);
        if (!image->is_surface || at >= alloc->size_bytes)
            continue;
        uint8_t *got = malloc(size_bytes);
        if (!got)
            return wrong(images, "no memory on this host", CUDA_SUCCESS);
        bool came = good(images, "cuMemcpy3D", copy_image(images->cuda, image, got, false));
        for (uint64_t k = 0; came && k < size_bytes; k++)
            if (got[k] != alloc->data[at + k])
                bytes[at + k] = got[k];
        free(got);
        if (!came)
            return false;
    }
    return true;
}

bool gpu_images_close(GpuImages *images) {
    const CudaDriver *cuda = images->cuda;
    bool gone = true;
    for (uint32_t i = 0; gone && i < images->ntextures; i++)
        gone = good(images, "cuTexObjectDestroy", cuda->free_texture(images->textures[i]));
    for (uint32_t i = 0; gone && i < images->nsurfaces; i++)
        gone = good(images, "cuSurfObjectDestroy", cuda->free_surface(images->surfaces[i]));
    for (uint32_t i = 0; gone && i < images->nimages; i++)
        gone = images->images[i].mipmap
                   ? good(images, "cuMipmappedArrayDestroy", cuda->free_mipmap(images->images[i].mipmap))
                   : good(images, "cuArrayDestroy", cuda->free_array(images->images[i].array));
    free(images->images);
    free(images->textures);
    free(images->surfaces);
    *images = (GpuImages){0};
    return gone;
}
