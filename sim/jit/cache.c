/* The folder of compiled code. A file is a head and the bytes of an image; it is written beside its place and
 * renamed, so that whoever reads meanwhile sees a whole file or none. Anything unexpected in one makes it be
 * ignored: it is compiled again, and replaced. SPDX-License-Identifier: MIT */
#include "sim/jit/cache.h"
#include "base/scope.h"
#include <cpuid.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "hdlcode1"
#define HEAT_MAGIC "hdlheat1"
enum {
    MOST_BYTES = 64 << 20, /* in the folder; the oldest files go until three quarters of it are left */
    MOST_FILE_BYTES = 16 << 20,
    PAGE = 4096,          /* what a small file takes */
    STALE_SECONDS = 3600, /* a temporary file of a process that has died */
    PATH_BYTES = 4096
};

typedef struct { /* the file that libLLVM was loaded from */
    char path[224];
    int64_t size, seconds, nanoseconds; /* of its last change */
} Library;
typedef struct {
    char magic[8];
    XXH128_hash_t digest; /* of the key, what follows in the head, and the bytes */
    uint64_t size, entry;
    Library library;
} Head;

typedef struct { /* a whole file */
    char magic[8];
    uint64_t heat;
    XXH128_hash_t digest; /* of the key and the heat */
} Heat;

struct CodeCache {
    char *folder;
    XXH128_hash_t identity; /* of build and processor */
};

/* ---- who made it, and for what ---- */
typedef struct {
    XXH3_state_t state;
    bool found;
} Build;

static void take_notes(Build *build, const uint8_t *notes, size_t bytes) {
    while (bytes >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, notes, sizeof note);
        size_t name = (note.n_namesz + 3u) / 4 * 4, text = (note.n_descsz + 3u) / 4 * 4,
               whole = sizeof note + name + text;
        if (whole > bytes)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + sizeof note, ELF_NOTE_GNU, 4) == 0) {
            XXH3_128bits_update(&build->state, notes + sizeof note + name, note.n_descsz);
            build->found = true;
        }
        notes += whole;
        bytes -= whole;
    }
}

/* The build-id of the program or library that this function is in. */
static int take_build(struct dl_phdr_info *info, size_t bytes, void *user) {
    (void)bytes;
    uintptr_t here = (uintptr_t)take_build;
    bool ours = false;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        ours |= part->p_type == PT_LOAD && here - info->dlpi_addr - part->p_vaddr < part->p_memsz;
    }
    for (unsigned i = 0; ours && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            take_notes(user, (const uint8_t *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                       info->dlpi_phdr[i].p_memsz);
    return ours;
}

/* What LLVM makes code for: model and features. */
static void take_processor(XXH3_state_t *state) {
    static const unsigned leaves[][2] = {{0, 0},    {1, 0},    {7, 0},    {7, 1},         {0xd, 1},
                                         {0x14, 0}, {0x19, 0}, {0x24, 0}, {0x80000001, 0}};
    for (unsigned i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        unsigned r[4] = {0};
        __get_cpuid_count(leaves[i][0], leaves[i][1], &r[0], &r[1], &r[2], &r[3]);
        if (leaves[i][0] == 1)
            r[1] = 0; /* of this core */
        if (leaves[i][0] == 0xd)
            r[1] = 0; /* what the thread has enabled as yet */
        XXH3_128bits_update(state, r, sizeof r);
    }
}

static bool find_identity(XXH128_hash_t *identity) {
    Build build = {0};
    XXH3_128bits_reset(&build.state);
    dl_iterate_phdr(take_build, &build);
    take_processor(&build.state);
    *identity = XXH3_128bits_digest(&build.state);
    return build.found;
}

static bool describe_library(const char *path, Library *out) {
    struct stat status;
    memset(out, 0, sizeof *out);
    if (!path || strlen(path) >= sizeof out->path || stat(path, &status) != 0)
        return false;
    snprintf(out->path, sizeof out->path, "%s", path);
    out->size = status.st_size;
    out->seconds = status.st_mtim.tv_sec;
    out->nanoseconds = status.st_mtim.tv_nsec;
    return true;
}

/* ---- files ---- */
static XXH128_hash_t digest_of(XXH128_hash_t key, const Head *head, const uint8_t *bytes) {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, &key, sizeof key);
    XXH3_128bits_update(&state, &head->size, sizeof *head - offsetof(Head, size));
    XXH3_128bits_update(&state, bytes, head->size);
    return XXH3_128bits_digest(&state);
}

static XXH128_hash_t full_key(const CodeCache *cache, XXH128_hash_t key) {
    XXH128_hash_t both[2] = {key, cache->identity};
    return XXH3_128bits(both, sizeof both);
}

static bool file_path(const CodeCache *cache, XXH128_hash_t key, const char *ending, char path[PATH_BYTES]) {
    return snprintf(path, PATH_BYTES, "%s/%016" PRIx64 "%016" PRIx64 "%s", cache->folder,
                    (uint64_t)key.high64, (uint64_t)key.low64, ending) < PATH_BYTES;
}

static bool get_bytes(int fd, void *to, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(fd, (uint8_t *)to + done, bytes - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}
static bool put_bytes(int fd, const void *from, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, (const uint8_t *)from + done, bytes - done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* To be read; nobody waits at a pipe in its place. */
static int open_file(const char *path) { return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); }

/* A file that nobody else could have written; of code, a head and its bytes. */
static bool is_ours(int fd, struct stat *status) {
    return fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_uid == geteuid() &&
           !(status->st_mode & (S_IWGRP | S_IWOTH));
}
static bool read_head(int fd, Head *head) {
    struct stat status;
    if (!is_ours(fd, &status) || !get_bytes(fd, head, sizeof *head))
        return false;
    return memcmp(head->magic, MAGIC, sizeof head->magic) == 0 && head->size > 0 &&
           head->size <= MOST_FILE_BYTES && head->entry < head->size &&
           (uint64_t)status.st_size == sizeof *head + head->size;
}

static bool read_image(int fd, XXH128_hash_t key, ImageBytes *out) {
    Head head;
    Library now;
    if (!read_head(fd, &head))
        return false;
    *out = (ImageBytes){mem_alloc(head.size), head.size, head.entry};
    XXH128_hash_t digest = {0};
    bool good = get_bytes(fd, out->bytes, out->size);
    if (good)
        digest = digest_of(key, &head, out->bytes);
    head.library.path[sizeof head.library.path - 1] = '\0';
    good = good && XXH128_isEqual(digest, head.digest) && describe_library(head.library.path, &now) &&
           memcmp(&now, &head.library, sizeof now) == 0;
    if (!good)
        mem_free(out->bytes);
    return good;
}

bool jit_cache_find(const CodeCache *cache, XXH128_hash_t key, ImageBytes *out) {
    char path[PATH_BYTES];
    if (!cache || !file_path(cache, key = full_key(cache, key), ".code", path))
        return false;
    int fd = open_file(path);
    if (fd < 0)
        return false;
    bool good = read_image(fd, key, out);
    if (good)
        futimens(fd, NULL); /* it is of use */
    close(fd);
    return good;
}

/* ---- keeping ---- */
typedef struct {
    char name[64];
    int64_t seconds, bytes;
} Entry;

static int older_first(const void *x, const void *y) {
    const Entry *a = x, *b = y;
    return a->seconds < b->seconds ? -1 : a->seconds > b->seconds;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The files of this cache in the folder. */
static Entry *list_entries(DIR *folder, size_t *count, int64_t *bytes) {
    Entry *entries = NULL;
    struct dirent *item;
    int64_t now = (int64_t)time(NULL);
    *count = 0;
    *bytes = 0;
    while ((item = readdir(folder)) != NULL) {
        struct stat status;
        bool kept = ends_with(item->d_name, ".code") || ends_with(item->d_name, ".heat"),
             temporary = strncmp(item->d_name, "new-", 4) == 0;
        if ((!kept && !temporary) || strlen(item->d_name) >= sizeof entries->name ||
            fstatat(dirfd(folder), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (temporary && status.st_mtim.tv_sec < now - STALE_SECONDS)
            unlinkat(dirfd(folder), item->d_name, 0);
        if (temporary)
            continue;
        entries = mem_resize(entries, (*count + 1) * sizeof *entries);
        Entry *entry = &entries[(*count)++];
        *entry =
            (Entry){.seconds = status.st_mtim.tv_sec, .bytes = (status.st_size + PAGE - 1) / PAGE * PAGE};
        memcpy(entry->name, item->d_name, strlen(item->d_name) + 1); /* which fits, see above */
        *bytes += entry->bytes;
    }
    return entries;
}

static void trim(const CodeCache *cache) {
    DIR *folder = opendir(cache->folder);
    size_t count;
    int64_t bytes;
    if (!folder)
        return;
    Entry *entries = list_entries(folder, &count, &bytes);
    if (bytes > MOST_BYTES) {
        qsort(entries, count, sizeof *entries, older_first);
        for (size_t i = 0; i < count && bytes > MOST_BYTES / 4 * 3; i++) {
            unlinkat(dirfd(folder), entries[i].name, 0);
            bytes -= entries[i].bytes;
        }
    }
    mem_free(entries);
    closedir(folder);
}

static void make_folders(const char *path) {
    char part[PATH_BYTES];
    for (size_t i = 1; path[i - 1] && i < sizeof part; i++)
        if (path[i] == '/' || !path[i]) {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            mkdir(part, 0700);
        }
}

/* A file of two pieces, written beside its place and renamed. */
static void write_file(const CodeCache *cache, const char *path, const void *head, size_t head_bytes,
                       const void *rest, size_t rest_bytes) {
    char temporary[PATH_BYTES];
    if (snprintf(temporary, sizeof temporary, "%s/new-XXXXXX", cache->folder) >= (int)sizeof temporary)
        return;
    make_folders(cache->folder);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return;
    bool good = put_bytes(fd, head, head_bytes) && put_bytes(fd, rest, rest_bytes);
    good = close(fd) == 0 && good;
    if (!good || rename(temporary, path) != 0)
        unlink(temporary);
    trim(cache);
}

void jit_cache_keep(const CodeCache *cache, XXH128_hash_t key, const ImageBytes *bytes, const char *library) {
    char path[PATH_BYTES];
    Head head = {.magic = MAGIC, .size = bytes->size, .entry = bytes->entry};
    if (!cache || bytes->size > MOST_FILE_BYTES || !describe_library(library, &head.library))
        return;
    key = full_key(cache, key);
    head.digest = digest_of(key, &head, bytes->bytes);
    if (file_path(cache, key, ".code", path))
        write_file(cache, path, &head, sizeof head, bytes->bytes, bytes->size);
    if (file_path(cache, key, ".heat", path))
        unlink(path);
}

/* ---- heat ---- */
static XXH128_hash_t digest_of_heat(XXH128_hash_t key, uint64_t heat) {
    XXH128_hash_t both[2] = {key, {.low64 = heat}};
    return XXH3_128bits(both, sizeof both);
}

uint64_t jit_cache_heat(const CodeCache *cache, XXH128_hash_t key) {
    char path[PATH_BYTES];
    struct stat status;
    Heat heat;
    if (!cache || !file_path(cache, key = full_key(cache, key), ".heat", path))
        return 0;
    int fd = open_file(path);
    if (fd < 0)
        return 0;
    bool good = is_ours(fd, &status) && status.st_size == sizeof heat && get_bytes(fd, &heat, sizeof heat) &&
                memcmp(heat.magic, HEAT_MAGIC, sizeof heat.magic) == 0 &&
                XXH128_isEqual(heat.digest, digest_of_heat(key, heat.heat));
    close(fd);
    return good ? heat.heat : 0;
}

void jit_cache_keep_heat(const CodeCache *cache, XXH128_hash_t key, uint64_t heat) {
    char path[PATH_BYTES];
    Heat file = {.magic = HEAT_MAGIC, .heat = heat};
    if (!cache || !file_path(cache, key = full_key(cache, key), ".heat", path))
        return;
    file.digest = digest_of_heat(key, heat);
    write_file(cache, path, &file, sizeof file, NULL, 0);
}

CodeCache *jit_cache_open(const char *folder) {
    XXH128_hash_t identity;
    if (!folder || !find_identity(&identity))
        return NULL;
    CodeCache *cache = mem_zeroed(1, sizeof *cache);
    cache->folder = mem_text(folder);
    cache->identity = identity;
    scope_unguard(cache->folder); /* a thread may have it longer than the scope lasts */
    scope_unguard(cache);
    return cache;
}

void jit_cache_close(CodeCache *cache) {
    if (cache)
        mem_free(cache->folder);
    mem_free(cache);
}
