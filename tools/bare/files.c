/* Files without a C library: see bare.h. A stream is a file that is read to its end, nothing of it is kept;
 * what is written to one is heddle-full's, but for the line that says that this cannot be started.
 * SPDX-License-Identifier: MIT */
#include "tools/bare/bare.h"
#include "tools/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- the system's own ---- */

#define SYSTEM(result, name, parameters, ...)                                                                \
    result name parameters { return (result)bare_call(SYS_##name, __VA_ARGS__); }
SYSTEM(ssize_t, read, (int fd, void *data, size_t n), (long)fd, data, n, 0L)
SYSTEM(ssize_t, write, (int fd, const void *data, size_t n), (long)fd, data, n, 0L)
SYSTEM(int, close, (int fd), (long)fd, 0L, 0L, 0L)
SYSTEM(int, stat, (const char *restrict path, struct stat *restrict out), path, out, 0L, 0L)
SYSTEM(int, fstat, (int fd, struct stat *out), (long)fd, out, 0L, 0L)
SYSTEM(int, access, (const char *path, int how), path, (long)how, 0L, 0L)
SYSTEM(ssize_t, readlink, (const char *restrict path, char *restrict text, size_t room), path, text, room, 0L)
SYSTEM(int, rename, (const char *from, const char *to), from, to, 0L, 0L)
SYSTEM(int, unlink, (const char *path), path, 0L, 0L, 0L)
SYSTEM(int, fchmod, (int fd, mode_t mode), (long)fd, (long)mode, 0L, 0L)
SYSTEM(int, fchown, (int fd, uid_t user, gid_t group), (long)fd, (long)user, (long)group, 0L)

ssize_t pread(int fd, void *data, size_t n, off_t at) {
    return bare_call(SYS_pread64, (long)fd, data, n, (long)at);
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    long mode = flags & O_CREAT ? (long)va_arg(list, unsigned) : 0;
    va_end(list);
    return (int)bare_call(SYS_open, path, (long)flags, mode, 0L);
}

int isatty(int fd) {
    char settings[64]; /* the system's struct termios is shorter */
    return bare_call(SYS_ioctl, (long)fd, (long)TCGETS, settings, 0L) == 0;
}

int setitimer(__itimer_which_t which, const struct itimerval *restrict value,
              struct itimerval *restrict old) {
    return (int)bare_call(SYS_setitimer, (long)which, value, old, 0L);
}

/* The way back from a handler is a call of the system, too. */
__asm__(".type bare_from_handler, @function\n"
        "bare_from_handler:\n"
        "    mov $15, %eax\n" /* rt_sigreturn */
        "    syscall\n");
void bare_from_handler(void);

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old) {
    enum { RESTORER = 0x04000000 };
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } now = {action->sa_handler, (unsigned long)action->sa_flags | RESTORER, bare_from_handler, 0};
    if (old)
        cli_full_program();
    return (int)bare_call(SYS_rt_sigaction, (long)number, &now, 0L, (long)sizeof now.mask);
}

/* signal(SIGABRT, ...): here abort() is heddle-full's, which says what there is to say. */
__sighandler_t signal(int number, __sighandler_t handler) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    return sigaction(number, &action, NULL) == 0 ? SIG_DFL : SIG_ERR;
}

/* ---- streams ---- */

typedef struct {
    int fd, failed;
} Stream;
static Stream streams[] = {{STDIN_FILENO, 0}, {STDOUT_FILENO, 0}, {STDERR_FILENO, 0}};
FILE *stdin = (FILE *)(void *)&streams[0], *stdout = (FILE *)(void *)&streams[1],
     *stderr = (FILE *)(void *)&streams[2];

static Stream *stream_of(FILE *file) { return (Stream *)(void *)file; }

FILE *fopen(const char *restrict path, const char *restrict how) {
    if (strcmp(how, "rb") != 0)
        cli_full_program();
    int fd = open(path, O_RDONLY);
    Stream *stream = fd < 0 ? NULL : malloc(sizeof *stream);
    if (stream)
        *stream = (Stream){.fd = fd};
    return (FILE *)(void *)stream;
}

size_t fread(void *restrict data, size_t elem_bytes, size_t count, FILE *restrict file) {
    size_t got = 0;
    if (elem_bytes != 1)
        cli_full_program();
    while (got < count) {
        ssize_t n = read(stream_of(file)->fd, (char *)data + got, count - got);
        if (n < 0 && errno == EINTR)
            continue;
        stream_of(file)->failed |= n < 0;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

int fclose(FILE *file) {
    int result = close(stream_of(file)->fd);
    free(file);
    return result;
}
int fileno(FILE *file) { return stream_of(file)->fd; }
int ferror(FILE *file) { return stream_of(file)->failed; }
int fflush(FILE *file) {
    (void)file;
    return 0;
}

/* ---- what is said when nothing else can be done ---- */

char *strerror(int number) {
    static char text[32];
    static const struct {
        int number;
        const char *text;
    } known[] = {
        {ENOENT, "No such file or directory"}, {EACCES, "Permission denied"}, {ENOEXEC, "Exec format error"}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (known[k].number == number)
            return (char *)(uintptr_t)known[k].text;
    snprintf(text, sizeof text, "Unknown error %d", number);
    return text;
}

static int say(FILE *file, const char *format, va_list list) {
    char text[8192]; /* longer than two paths */
    if (!cli_leaves)
        cli_full_program();
    int n = vsnprintf(text, sizeof text, format, list);
    return (int)write(stream_of(file)->fd, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

int fprintf(FILE *restrict file, const char *restrict format, ...) {
    va_list list;
    va_start(list, format);
    int n = say(file, format, list);
    va_end(list);
    return n;
}
int __fprintf_chk(FILE *file, int flag, const char *format, ...);
int __fprintf_chk(FILE *file, int flag, const char *format, ...) {
    va_list list;
    (void)flag;
    va_start(list, format);
    int n = say(file, format, list);
    va_end(list);
    return n;
}
