/* The first and the last of a process without a C library: see bare.h. The system leaves on the stack the
 * number of arguments, the arguments, NULL, the environment, NULL, and pairs about the process, of which the
 * segment of thread-local variables is one: they are to lie before where FS points, and that is to hold its
 * own address (the ABI's second form). SPDX-License-Identifier: MIT */
#include "tools/bare/bare.h"
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv);
_Noreturn void bare_main(uintptr_t *stack);

enum { ARCH_SETS_FS = 0x1002, THREAD_BYTES = 704, GUARD_AT = 0x28 };

char **bare_environment;
static ElfW(auxv_t) * about;
static int last_error; /* errno: there is one thread */

__asm__(".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov %rsp, %rdi\n"
        "    and $-16, %rsp\n"
        "    call bare_main\n"
        "    hlt\n");

/* A function finds its stack's guard changed. */
_Noreturn void __stack_chk_fail(void);
void __stack_chk_fail(void) { __builtin_trap(); }

int *__errno_location(void) { return &last_error; }

long bare_call(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), result;
    register long d __asm__("r10") = va_arg(list, long);
    va_end(list);
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d)
                     : "rcx", "r11", "memory");
    if (result >= 0 || result < -4095)
        return result;
    last_error = (int)-result;
    return -1;
}

unsigned long getauxval(unsigned long type) {
    for (const ElfW(auxv_t) *pair = about; pair->a_type != AT_NULL; pair++)
        if (pair->a_type == type)
            return pair->a_un.a_val;
    return 0;
}

/* The canary of functions that guard their stack is random, as for others. */
static void make_thread(void) {
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)getauxval(AT_PHDR), *end = segment + getauxval(AT_PHNUM);
    while (segment < end && segment->p_type != PT_TLS)
        segment++;
    size_t size = segment < end ? segment->p_memsz : 0, align = segment < end ? segment->p_align : 16;
    size_t whole = (size + align - 1) & ~(align - 1);
    char *room = bare_more((whole + align + THREAD_BYTES + 15) & ~(size_t)15);
    if (!room)
        _exit(127);
    uintptr_t thread = ((uintptr_t)room + whole + align - 1) & ~(uintptr_t)(align - 1);
    if (size)
        memcpy((char *)thread - whole, (const void *)segment->p_vaddr, segment->p_filesz);
    *(uintptr_t *)thread = thread;
    memcpy((char *)thread + GUARD_AT + 1, (const char *)getauxval(AT_RANDOM),
           7); /* its first byte ends texts */
    bare_call(SYS_arch_prctl, ARCH_SETS_FS, thread, 0L, 0L);
}

_Noreturn void bare_main(uintptr_t *stack) {
    int argc = (int)stack[0];
    char **argv = (char **)(stack + 1), **at = argv + argc + 1;
    bare_environment = at;
    while (*at)
        at++;
    about = (ElfW(auxv_t) *)(at + 1);
    make_thread();
    exit(main(argc, argv));
}

void _exit(int status) {
    for (;;)
        bare_call(SYS_exit_group, (long)status, 0L, 0L, 0L);
}

/* Nothing is left to write: what is written is written at once (files.c). */
void exit(int status) { _exit(status); }

char *getenv(const char *name) {
    size_t size = strlen(name);
    for (char **at = bare_environment; *at; at++)
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=')
            return *at + size + 1;
    return NULL;
}

pid_t getpid(void) { return (pid_t)bare_call(SYS_getpid, 0L, 0L, 0L, 0L); }

int clock_gettime(clockid_t clock, struct timespec *time) {
    return (int)bare_call(SYS_clock_gettime, (long)clock, time, 0L, 0L);
}

int execv(const char *path, char *const argv[]) {
    return (int)bare_call(SYS_execve, path, argv, bare_environment, 0L);
}

/* What setjmp keeps: the registers that a function keeps, the stack and the way back. */
__asm__(".globl _setjmp\n"
        ".type _setjmp, @function\n"
        "_setjmp:\n"
        "    mov %rbx, (%rdi)\n"
        "    mov %rbp, 8(%rdi)\n"
        "    mov %r12, 16(%rdi)\n"
        "    mov %r13, 24(%rdi)\n"
        "    mov %r14, 32(%rdi)\n"
        "    mov %r15, 40(%rdi)\n"
        "    lea 8(%rsp), %rdx\n"
        "    mov %rdx, 48(%rdi)\n"
        "    mov (%rsp), %rdx\n"
        "    mov %rdx, 56(%rdi)\n"
        "    xor %eax, %eax\n"
        "    ret\n"
        ".globl longjmp, __longjmp_chk\n"
        ".type longjmp, @function\n"
        "longjmp:\n"
        "__longjmp_chk:\n"
        "    mov %esi, %eax\n"
        "    cmp $1, %eax\n"
        "    adc $0, %eax\n"
        "    mov (%rdi), %rbx\n"
        "    mov 8(%rdi), %rbp\n"
        "    mov 16(%rdi), %r12\n"
        "    mov 24(%rdi), %r13\n"
        "    mov 32(%rdi), %r14\n"
        "    mov 40(%rdi), %r15\n"
        "    mov 48(%rdi), %rsp\n"
        "    jmp *56(%rdi)\n"
        ".section .note.GNU-stack, \"\", @progbits\n"
        ".text\n");
