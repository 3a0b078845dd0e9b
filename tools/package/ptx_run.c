/* ptx_run with the C interface of gpuocelot, which tinygrad calls (OCELOT_PATH=.../libheddle-ptxrun.so): the
 * first kernel by name of a PTX text runs on the SIMT machine. An argument is the 64-bit value itself, of
 * which a smaller parameter takes the low bytes; pointers are addresses of this process. Of what such an
 * argument points into, the whole mapping (/proc/self/maps) is device memory for the launch; other addresses
 * are traps. There is no result: what fails is printed, and the call returns. Calls are one after the other;
 * compiled kernels are kept. SPDX-License-Identifier: MIT */
#include "heddle.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HD_API void ptx_run(const char *ptx, int n_args, void *args[], int block_x, int block_y, int block_z,
                    int grid_x, int grid_y, int grid_z, int shared_bytes);

enum { MAX_KEPT = 64, MAX_ARGS = 1024 };
typedef struct {
    char *text;
    HdContext *context;
    HdModule *binary;
    HdKernel *kernels;
    size_t kernel;
} Kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Kept all_kept[MAX_KEPT];
static unsigned next_kept;

static void print_message(void *user, HdSeverity severity, const char *text) {
    (void)user;
    if (severity == HD_ERROR)
        fprintf(stderr, "ptx_run: %s", text);
}

static void release(Kept *kept) {
    hd_free(kept->kernels);
    hd_destroy(kept->context);
    free(kept->text);
    *kept = (Kept){0};
}

/* The kernel of this text, compiled now or before; NULL: printed. */
static const Kept *kernel_of(const char *ptx) {
    for (unsigned k = 0; k < MAX_KEPT; k++)
        if (all_kept[k].text && strcmp(all_kept[k].text, ptx) == 0)
            return &all_kept[k];
    Kept *kept = &all_kept[next_kept++ % MAX_KEPT],
         made = {.context = hd_create(&(HdOptions){.message = print_message})};
    HdModule *module;
    size_t n = 0;
    release(kept);
    made.text = strdup(ptx);
    if (!made.context || !made.text ||
        hd_parse(made.context, "ptx_run", ptx, strlen(ptx), &module) != HD_OK ||
        hd_compile(module, NULL, &made.binary) != HD_OK ||
        hd_kernels(made.binary, &made.kernels, &n) != HD_OK || !n) {
        fputs("ptx_run: the PTX has no kernel that compiles\n", stderr);
        release(&made);
        return NULL;
    }
    for (size_t k = 1; k < n; k++)
        if (strcmp(made.kernels[k].name, made.kernels[made.kernel].name) < 0)
            made.kernel = k;
    *kept = made;
    return kept;
}

typedef struct {
    uint64_t from, to;
} Region;

static bool is_pointed_to(const Region *region, const HdKernel *kernel, void *args[]) {
    bool any = false;
    for (size_t k = 0; k < kernel->nparams; k++) {
        uint64_t address = (uint64_t)(uintptr_t)args[k];
        any |=
            kernel->params[k].size_bytes == sizeof(void *) && address >= region->from && address < region->to;
    }
    return any;
}

/* The runs of neighbouring mappings that can be read and written and that an argument points into: at most
 * one for each argument. All are found before any is made device memory, which takes host memory and so moves
 * their ends. */
static size_t find_regions(const HdKernel *kernel, void *args[], Region *out) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], mode[5];
    Region run = {0}, next;
    size_t n = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &next.from, &next.to, mode) != 3 || mode[0] != 'r' ||
            mode[1] != 'w')
            continue;
        if (next.from != run.to) {
            if (is_pointed_to(&run, kernel, args))
                out[n++] = run;
            run.from = next.from;
        }
        run.to = next.to;
    }
    if (is_pointed_to(&run, kernel, args))
        out[n++] = run;
    if (maps)
        fclose(maps);
    return n;
}

static void run(const Kept *kept, HdLaunch *launch, void *args[]) {
    const HdKernel *kernel = &kept->kernels[kept->kernel];
    HdArg *values = calloc(kernel->nparams + 1, sizeof *values);
    Region *regions = calloc(kernel->nparams + 1, sizeof *regions);
    size_t nregions = regions ? find_regions(kernel, args, regions) : 0;
    bool good = values && regions && hd_memory(kept->context, &launch->memory) == HD_OK;
    for (size_t k = 0; good && k < nregions; k++)
        good = hd_map(launch->memory, (void *)(uintptr_t)regions[k].from,
                      (size_t)(regions[k].to - regions[k].from)) == HD_OK;
    free(regions);
    if (!good) {
        hd_memory_end(launch->memory);
        free(values);
        fputs("ptx_run: there is no memory for it, or an argument points where Heddle has its windows\n",
              stderr);
        return;
    }
    for (size_t k = 0; k < kernel->nparams; k++)
        values[k] = (HdArg){.value = &args[k], .size_bytes = kernel->params[k].size_bytes};
    launch->kernel = kernel->name;
    launch->args = values;
    launch->nargs = kernel->nparams;
    HdStatus status = hd_launch(kept->binary, launch);
    if (status != HD_OK)
        fprintf(stderr, "ptx_run: %s: %s\n", kernel->name, hd_status_text(status));
    hd_memory_end(launch->memory);
    free(values);
}

void ptx_run(const char *ptx, int n_args, void *args[], int block_x, int block_y, int block_z, int grid_x,
             int grid_y, int grid_z, int shared_bytes) {
    HdLaunch launch = {.grid = {(uint32_t)grid_x, (uint32_t)grid_y, (uint32_t)grid_z},
                       .block = {(uint32_t)block_x, (uint32_t)block_y, (uint32_t)block_z},
                       .shared_bytes = (uint32_t)shared_bytes};
    pthread_mutex_lock(&lock);
    const Kept *kept = ptx ? kernel_of(ptx) : NULL;
    const HdKernel *kernel = kept ? &kept->kernels[kept->kernel] : NULL;
    bool fits = kernel && n_args >= 0 && (size_t)n_args == kernel->nparams && n_args <= MAX_ARGS;
    for (size_t k = 0; fits && k < kernel->nparams; k++)
        fits = kernel->params[k].size_bytes <= sizeof(void *);
    if (fits)
        run(kept, &launch, args);
    else if (kernel)
        fprintf(stderr, "ptx_run: %s has %zu parameters, of 8 bytes at most; %d arguments are given\n",
                kernel->name, kernel->nparams, n_args);
    pthread_mutex_unlock(&lock);
}
