/* Progress of commands that say nothing else meanwhile: on a terminal, once a second, a line that the next
 * output takes the place of. SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static char line[64];
static volatile sig_atomic_t seconds;

/* In a signal handler: no printf. */
static void on_second(int signal) {
    char number[16], *at = number + sizeof number;
    (void)signal;
    seconds = seconds + 1;
    for (int n = seconds; n; n /= 10)
        *--at = (char)('0' + n % 10);
    static const char tail[] = " s\033[K\r";
    char text[sizeof line + sizeof number + sizeof tail];
    size_t size = strlen(line), digits = (size_t)(number + sizeof number - at);
    memcpy(text, line, size);
    memcpy(text + size, at, digits);
    memcpy(text + size + digits, tail, sizeof tail - 1);
    if (write(STDERR_FILENO, text, size + digits + sizeof tail - 1) < 0)
        cli_ticker_stop();
}

void cli_ticker_start(const char *command) {
    if (!isatty(STDERR_FILENO))
        return;
    snprintf(line, sizeof line, "heddle %s: ", command);
    struct sigaction action = {.sa_handler = on_second, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{1, 0}, {1, 0}}, NULL);
}

void cli_ticker_stop(void) {
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    static const char clear[] = "\033[K";
    if (seconds && write(STDERR_FILENO, clear, sizeof clear - 1) < 0)
        return;
    seconds = 0;
}
