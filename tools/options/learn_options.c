/* Options of heddle learn: see cli.h, options.c. SPDX-License-Identifier: MIT */
#include "tools/commands/learn_options.h"
#include "tools/cli/option_keys.h"
#include "learn/learn.h"
#include <string.h>

const struct argp_option cli_learn_options[] = {
    {"repository", 'r', "REPO", 0, "Begin with what this repository has; several are merged", 0},
    {"arch", KEY_ARCH, "sm_NN", 0,
     "The architecture, where a dump says none or has several (default: the repository's, or the dump's "
     "first)",
     0},
    {"transfer", KEY_TRANSFER, "REPO", 0,
     "Take over from another architecture's repository the keys that agree with what was seen of this one",
     0},
    {"verify", KEY_VERIFY, NULL, 0,
     "Learn nothing: assemble the text of every instruction from the repository, and compare the words", 0},
    {"assemble", KEY_ASSEMBLE, NULL, 0,
     "Learn nothing: assemble texts, and print them with their words as a dump has them", 0},
    {"show", KEY_SHOW, NULL, 0, "Print each instruction's key, values and modifiers", 0},
    {"against-isa", KEY_AGAINST_ISA, NULL, 0,
     "Compare the dump with Heddle's own tables: which words they do not decode, which texts they do not "
     "read, read as "
     "another word, or print otherwise; status 4 if there is one of the first three; then rows of isa/ for "
     "what they "
     "lack, to --output",
     0},
    {"forms", KEY_FORMS, "DIR", 0,
     "Read nothing: write PTX modules for --arch into this folder that have every form in every spelling, a "
     "kernel a "
     "line, to compile and learn from",
     0},
    {"keys", KEY_KEYS, NULL, 0,
     "Print a line for each key: instructions, unknowns, how many are not determined", 0},
    {"keep-going", KEY_LEARN_GOING, NULL, 0,
     "Leave out instructions whose text has two words and the rest of damaged dumps, and write what is left; "
     "the status is 1 all the same",
     0},
    {"verbose", 'v', NULL, 0,
     "Give every message, not only the first 20 errors; --verify: name each text that is refused, and why",
     0},
    {0}};

const char cli_learn_details[] = "Reads dumps of cuobjdump -sass or nvdisasm -hex, and cubins, and finds for "
                                 "each kind of instruction what its "
                                 "modifiers, registers and numbers add to the word. What was found is "
                                 "written to --output and assembles any text that "
                                 "is a combination of those seen; others are refused. With --verify the "
                                 "status is 4 if a word differs, and 5 if a text "
                                 "is refused.";

static void choose_action(struct argp_state *state, Settings *settings, LearnAction action) {
    if (settings->learn.action && settings->learn.action != (unsigned)action)
        argp_error(state, "--verify, --assemble, --show, --against-isa and --forms exclude each other");
    settings->learn.action = (unsigned)action;
}

bool cli_learn_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    switch (key) {
    case 'r': VEC_ADD(&settings->arena, &settings->learn.repositories, arg); return true;
    case KEY_ARCH:
        if (!learn_arch_size(arg) || arg[learn_arch_size(arg)])
            argp_error(state, "--arch: '%s' is no architecture as sm_80", arg);
        settings->learn.arch = arg;
        return true;
    case KEY_TRANSFER: settings->learn.transfer = arg; return true;
    case KEY_VERIFY: choose_action(state, settings, LEARN_DO_VERIFY); return true;
    case KEY_ASSEMBLE: choose_action(state, settings, LEARN_DO_ASSEMBLE); return true;
    case KEY_SHOW: choose_action(state, settings, LEARN_DO_SHOW); return true;
    case KEY_AGAINST_ISA: choose_action(state, settings, LEARN_DO_AGAINST); return true;
    case KEY_FORMS:
        choose_action(state, settings, LEARN_DO_FORMS);
        settings->learn.forms_dir = arg;
        return true;
    case KEY_KEYS: settings->learn.keys = true; return true;
    case KEY_LEARN_GOING: settings->keep_going = true; return true;
    case ARGP_KEY_END:
        if ((settings->learn.action == LEARN_DO_VERIFY || settings->learn.action == LEARN_DO_ASSEMBLE) &&
            !settings->learn.repositories.n)
            argp_error(state, "--verify and --assemble need a --repository");
        if (settings->learn.action == LEARN_DO_FORMS) {
            if (!settings->learn.arch || settings->ninputs)
                argp_error(state, "--forms needs --arch, and reads no file");
            return false;
        }
        if (!settings->ninputs && (settings->learn.action || !settings->learn.repositories.n))
            argp_error(state, "no input file");
        return false;
    default: return false;
    }
}
