/* Completion for shells, from the tables of options.c: commands, then of the command given its options and
 * files. SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include <string.h>

typedef void EachFn(FILE *out, const Command *command, const struct argp_option *option);

static void each_option(FILE *out, const Command *command, EachFn *each) {
    for (int g = 0; command->groups[g]; g++)
        for (const struct argp_option *option = command->groups[g]; option->name; option++)
            each(out, command, option);
}

/* ---- bash ---- */

static void bash_option(FILE *out, const Command *command, const struct argp_option *option) {
    (void)command;
    fprintf(out, " --%s%s", option->name, option->arg && !(option->flags & OPTION_ARG_OPTIONAL) ? "=" : "");
}

static void bash_targets(FILE *out) {
    for (const Target *const *t = isa_targets; *t; t++)
        fprintf(out, " %s", isa_target_name(*t));
}

static void bash(FILE *out) {
    fputs("# heddle --completion bash\n_heddle() {\n    local word=${COMP_WORDS[COMP_CWORD]} "
          "before=${COMP_WORDS[COMP_CWORD-1]} "
          "words\n    COMPREPLY=()\n    [ \"$word\" != = ] || word=\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"",
          out);
    for (const Command *command = cli_commands; command->name; command++)
        fprintf(out, "%s ", command->name);
    fputs("help --help --version\" -- \"$word\"))\n        return\n    fi\n"
          "    [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    case $before in\n    -t|--target) COMPREPLY=($(compgen -W \"",
          out);
    bash_targets(out);
    fputs("\" -- \"$word\")); return ;;\n    esac\n    case $word in -*) ;; *) COMPREPLY=($(compgen -f -- "
          "\"$word\")); return ;; "
          "esac\n    case ${COMP_WORDS[1]} in\n",
          out);
    for (const Command *command = cli_commands; command->name; command++) {
        fprintf(out, "    %s) words=\"--help", command->name);
        each_option(out, command, bash_option);
        fputs("\" ;;\n", out);
    }
    fputs("    *) return ;;\n    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    case ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac\n}\n"
          "complete -o filenames -F _heddle heddle\n",
          out);
}

/* ---- zsh ---- */

/* Within single quotes of a specification, where brackets and colons mean something too. */
static void zsh_text(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", out);
        else if (strchr("[]:\\", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void zsh_option(FILE *out, const Command *command, const struct argp_option *option) {
    (void)command;
    fprintf(out, " \\\n            '*--%s%s[", option->name, option->arg ? "=" : "");
    zsh_text(out, option->doc);
    fputc(']', out);
    if (option->key == 't') {
        fputs(":target:(", out);
        bash_targets(out);
        fputc(')', out);
    } else if (option->arg) {
        fputc(':', out);
        zsh_text(out, option->arg);
        fputs(":_files", out);
    }
    fputc('\'', out);
}

static void zsh(FILE *out) {
    fputs("#compdef heddle\n# heddle --completion zsh\n_heddle() {\n    local -a commands\n    commands=(\n",
          out);
    for (const Command *command = cli_commands; command->name; command++) {
        fprintf(out, "        '%s:", command->name);
        zsh_text(out, command->summary);
        fputs("'\n", out);
    }
    fputs(
        "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
        "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n",
        out);
    for (const Command *command = cli_commands; command->name; command++) {
        fprintf(out, "        %s) _arguments '--help'", command->name);
        each_option(out, command, zsh_option);
        fputs(" \\\n            '*:file:_files' ;;\n", out);
    }
    fputs("    esac\n}\n_heddle \"$@\"\n", out);
}

/* ---- fish ---- */

static void fish_text(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void fish_option(FILE *out, const Command *command, const struct argp_option *option) {
    fprintf(out, "complete -c heddle -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
    if (option->key < 0x100)
        fprintf(out, " -s %c", option->key);
    if (option->key == 't') {
        fputs(" -x -a '", out);
        bash_targets(out);
        fputc('\'', out);
    } else if (option->arg)
        fputs(" -r", out);
    fputs(" -d '", out);
    fish_text(out, option->doc);
    fputs("'\n", out);
}

static void fish(FILE *out) {
    fputs("# heddle --completion fish\n", out);
    for (const Command *command = cli_commands; command->name; command++) {
        fprintf(out, "complete -c heddle -n __fish_use_subcommand -f -a %s -d '", command->name);
        fish_text(out, command->summary);
        fputs("'\n", out);
    }
    for (const Command *command = cli_commands; command->name; command++)
        each_option(out, command, fish_option);
}

bool cli_completion(FILE *out, const char *shell) {
    static const struct {
        const char *name;
        void (*print)(FILE *out);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (unsigned k = 0; k < sizeof shells / sizeof *shells; k++)
        if (strcmp(shells[k].name, shell) == 0) {
            shells[k].print(out);
            return true;
        }
    return false;
}
