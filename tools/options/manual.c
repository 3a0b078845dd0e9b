/* --help of the program, and the manual pages: made from the tables of options.c.
 * SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const status_texts[STATUS_COUNT] = {[STATUS_DONE] = "done, or shown",
                                                       [STATUS_INPUT] = "the input is wrong",
                                                       [STATUS_USAGE] = "usage",
                                                       [STATUS_INTERNAL] = "internal error",
                                                       [STATUS_DIFFERS] = "a difference was found",
                                                       [STATUS_NOTHING] = "nothing was shown"};

void cli_help(FILE *out) {
    fputs("Usage: heddle COMMAND [OPTION...] FILE...\n\n", out);
    for (const Command *command = cli_commands; command->name; command++)
        fprintf(out, "  %-10s %-20s %s\n", command->name, command->args, command->summary);
    fputs("\n  heddle COMMAND --help    options of a command\n  heddle --man [COMMAND]   manual page (roff)\n"
          "  heddle --completion bash|zsh|fish\n"
          "  heddle --version\n\nExit status, of several kernels the first that occurs of 3, 4, 1, 5, 0:\n",
          out);
    for (unsigned i = 0; i < STATUS_COUNT; i++) {
        char verdicts[300];
        verdict_names((ExitStatus)i, verdicts, sizeof verdicts);
        fprintf(out, "  %u  %s%s%s\n", i, status_texts[i], *verdicts ? ": " : "", verdicts);
    }
}

static void roff(FILE *out, const char *s) {
    if (*s == '.' || *s == '\'')
        fputs("\\&", out);
    for (; *s; s++)
        fputs(*s == '-' ? "\\-" : *s == '\\' ? "\\e" : (char[]){*s, 0}, out);
}

static void roff_option(FILE *out, const struct argp_option *option) {
    fputs(".TP\n\\fB", out);
    if (option->key < 0x100)
        fprintf(out, "\\-%c%s%s%s, ", option->key, option->arg ? " \\fI" : "", option->arg ? option->arg : "",
                option->arg ? "\\fB" : "");
    fputs("\\-\\-", out);
    roff(out, option->name);
    if (option->arg)
        fprintf(out, "\\fR=\\fI%s", option->arg);
    fputs("\\fR\n", out);
    roff(out, option->doc);
    roff(out, cli_names_listed(option));
    fputs(".\n", out);
}

static void command_manual(FILE *out, const Command *command) {
    fprintf(out, ".SH SYNOPSIS\n.B heddle %s\n[\\fIOPTION\\fR...] ", command->name);
    roff(out, command->args);
    fputs("\n.SH DESCRIPTION\n", out);
    roff(out, command->summary);
    fputs(". ", out);
    roff(out, command->details);
    fputs("\n.SH OPTIONS\n", out);
    for (int g = 0; command->groups[g]; g++)
        for (const struct argp_option *option = command->groups[g]; option->name; option++)
            roff_option(out, option);
}

void cli_manual(FILE *out, const Command *command) {
    char upper[32];
    snprintf(upper, sizeof upper, "HEDDLE%s%s", command ? "-" : "", command ? command->name : "");
    for (char *s = upper; *s; s++)
        *s = (char)toupper((unsigned char)*s);
    fprintf(out, ".TH %s 1 \"\" \"Heddle " HEDDLE_VERSION "\" \"Heddle\"\n.SH NAME\n", upper);
    fprintf(out, "heddle%s%s \\- ", command ? "\\-" : "", command ? command->name : "");
    roff(out, command ? command->summary : "PTX to machine code, assembler, simulator and validation");
    fputc('\n', out);
    if (command)
        command_manual(out, command);
    else {
        fputs(".SH SYNOPSIS\n.B heddle\n\\fICOMMAND\\fR [\\fIOPTION\\fR...] \\fIFILE\\fR...\n.SH COMMANDS\n",
              out);
        for (const Command *cmd = cli_commands; cmd->name; cmd++) {
            fprintf(out, ".TP\n\\fB%s\\fR ", cmd->name);
            roff(out, cmd->args);
            fprintf(out, "\n%s (\\fBheddle\\-%s\\fR(1)).\n", cmd->summary, cmd->name);
        }
        fputs(".SH FILES\n.TP\n\\fBheddle\\-full\\fR, \\fBheddle\\-learn\\fR\nBeside \\fBheddle\\fR, which "
              "starts "
              "them for all but compilations of PTX files (where it was built to be linked with archives "
              "alone) and for what is learned. A symbolic link to \\fBheddle\\fR finds them; a copy needs "
              "copies of them.\n",
              out);
    }
    fputs(".SH EXIT STATUS\nOf several kernels the first that occurs of 3, 4, 1, 5, 0.\n", out);
    for (unsigned i = 0; i < STATUS_COUNT; i++) {
        char verdicts[300];
        verdict_names((ExitStatus)i, verdicts, sizeof verdicts);
        fprintf(out, ".TP\n%u\n%s%s%s.\n", i, status_texts[i], *verdicts ? ": " : "", verdicts);
    }
}
