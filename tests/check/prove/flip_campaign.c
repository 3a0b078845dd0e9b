/* A campaign of random one-bit flips of compiled samples: what the prover calls proved must run as the PTX
 * does.
 *
 *   flip_campaign SAMPLES HOSTS SCRATCH [--more DIR,DIR] [--count N] [--seed S] [--seconds CPU] [--state
 * FILE]
 * [--targets T,T] [--ptxas] [--level N] [--verbose]
 *
 * The same flips as flips.py's, asked in one process and only whether all is proved, the function of the
 * flipped instruction first: some hundred a second instead of two. Samples are compiled for each target once;
 * HOSTS holds their host programs (sample_NAME), which write the data of their launches; --more names
 * directories of programs whose launch files need none. The code is our own at -ON (--level, default 2); with
 * --ptxas it is that of $PTXAS (default 3), of the programs of which it is proved as it stands. A pair of
 * program and target that does not run as its PTX does is left out with a message. 60 % of the flips are in
 * code, the others in any other section but the kept PTX text, or in the file's headers. Each flip follows
 * from the seed and its number alone, so a campaign that was ended (--seconds, a signal) goes on where it was
 * with the same --state; a flip that crashes the prover or takes longer than a minute is counted and the
 * campaign goes on behind it. Exit status 1 if a binary was proved whose run differs or cannot be made, or if
 * something crashed. SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "check/prove/prove.h"
#include "check/validate/compare/diff.h"
#include "frontend/gates.h"
#include "tools/jobs/driver.h"
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_SUBJECTS = 1024, MAX_WRONG = 64, FLIP_SECONDS = 60 };

typedef struct { /* a sample, compiled */
    char name[64], data[256];
    const char *target;
    PtxModule *module;
    Source launch;
    uint8_t *image;
    size_t image_bytes;
    /* As it is, it must run equal: with what nobody wrote zero where it reads that. */
    MachineUnwritten unwritten;
} Subject;

typedef enum { F_UNREADABLE, F_NOT_PROVED, F_REFUTED, F_EQUAL, F_WRONG, F_CRASHED, F_KINDS } Outcome;
static const char *const outcome_names[F_KINDS] = {"unreadable",
                                                   "not proved",
                                                   "refuted by a fact of the file",
                                                   "proved, run equal",
                                                   "WRONG: proved, run is not equal",
                                                   "crashed, or no end within a minute"};

typedef struct { /* shared by parent and worker, and what --state keeps */
    uint64_t seed, subjects, next, count[2][F_KINDS]; /* not in code, in code */
    uint64_t wrong[MAX_WRONG], nwrong;                /* numbers of flips that are wrong or crashed */
} State;

static const double QUERY_SECONDS =
    0.1; /* what is proved by a longer one, or in more steps, stays unknown here */
enum { MAX_STEPS = 200000 };
static struct ProveKept *proofs; /* what one leaves for the next */
static Subject subjects[MAX_SUBJECTS];
static unsigned nsubjects;
static const char *ptxas, *level; /* NULL: 2 of ours, 3 of ptxas's */
static const char *folder_for_cubins;
static bool verbose; /* tell of every flip that is proved */
static Arena arena;

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

/* ---- samples ---- */
static bool is_proved(const Subject *subject) {
    Diags d = {.sink = silent};
    Binary *binary = binary_read("ptxas", subject->image, subject->image_bytes, &d);
    ProveReport report = {0};
    ProveOptions options = {.query_seconds = QUERY_SECONDS, .max_steps = MAX_STEPS, .only_whether = true};
    bool done = binary && prove_module(subject->module, binary, &options, &report, &d);
    Verdict verdict = done ? prove_verdict(&report) : VERDICT_UNKNOWN;
    prove_report_free(&report);
    binary_free(binary);
    return verdict == VERDICT_PROVED || verdict == VERDICT_ASSUMING;
}

static bool runs_equal(const Subject *subject, const Binary *binary) {
    Diags d = {.sink = silent};
    Plan plan = {.data_dir = subject->data};
    DiffOptions options = {.no_trace = true, .machine = {.unwritten = subject->unwritten}};
    DiffReport report;
    bool equal = plan_read_json(&plan, &subject->launch, &d) &&
                 diff_validate(&plan, subject->module, binary, &options, &report, &d) &&
                 verdict_status(diff_verdict(&report)) == 0;
    plan_free(&plan);
    return equal;
}

/* False: it does not run equal. */
static bool settle_unwritten(Subject *subject) {
    Diags d = {.sink = silent};
    Binary *binary = binary_read("unflipped", subject->image, subject->image_bytes, &d);
    bool equal = binary && runs_equal(subject, binary);
    if (binary && !equal) {
        subject->unwritten = MACHINE_UNWRITTEN_ZERO;
        equal = runs_equal(subject, binary);
    }
    binary_free(binary);
    return equal;
}

/* The image is ptxas's; false: there is none, or it is not proved. */
static bool made_by_ptxas(Subject *subject, const char *folder) {
    Diags d = {.sink = silent};
    const char *out =
        arena_printf(&arena, "%s/%s.%s.cubin", folder_for_cubins, subject->name, subject->target);
    const char *command =
        arena_printf(&arena, "'%s' -arch=%s -O%s '%s/%s.ptx' -o '%s' > '%s.log' 2>&1", ptxas, subject->target,
                     level ? level : "3", folder, subject->name, out, out);
    char *image;
    size_t bytes;
    if (system(command) != 0 || !file_read(&arena, out, &d, &image, &bytes))
        return false;
    subject->image = (uint8_t *)image;
    subject->image_bytes = bytes;
    return is_proved(subject);
}

static void drop_last_subject(void) {
    Subject *last = &subjects[--nsubjects];
    if (last->module)
        ptx_free(last->module);
    *last = (Subject){0};
}

/* A program compiled for every target that its .target allows; `dir` holds what its launch file reads. */
static bool add_subject(const char *folder, const char *name, const char *dir, const char *targets) {
    char *text, *json;
    size_t bytes, json_bytes;
    Diags d = {.sink = silent};
    if (!file_read(&arena, arena_printf(&arena, "%s/%s.ptx", folder, name), &d, &text, &bytes) ||
        !file_read(&arena, arena_printf(&arena, "%s/%s.json", folder, name), &d, &json, &json_bytes))
        return false;
    char *list = arena_printf(&arena, "%s", targets), *rest = NULL;
    for (char *t = strtok_r(list, ",", &rest); t && nsubjects < MAX_SUBJECTS;
         t = strtok_r(NULL, ",", &rest)) {
        Subject *s = &subjects[nsubjects++];
        Compilation compiled;
        s->module = ptx_parse(arena_printf(&arena, "%s.ptx", name), text, bytes, &d);
        DriverOptions options = {.target = isa_target(t),
                                 .opt_level = level ? (unsigned)(*level - '0') : 2,
                                 .predicate = PREDICATE_AUTO};
        if (s->module && options.target && !gate_machine(s->module, t, &d)) { /* not of this target */
            drop_last_subject();
            continue;
        }
        if (!s->module || !options.target || !driver_compile(&compiled, s->module, &options, &d))
            return false;
        snprintf(s->name, sizeof s->name, "%s", name);
        snprintf(s->data, sizeof s->data, "%s", dir);
        s->target = t;
        s->launch = (Source){.name = "launch.json", .text = json, .size_bytes = json_bytes};
        s->image = arena_copy(&arena, compiled.image, compiled.image_bytes);
        s->image_bytes = compiled.image_bytes;
        driver_free(&compiled);
        if (ptxas && !made_by_ptxas(s, folder))
            drop_last_subject();
        else if (!settle_unwritten(s)) { /* it asks for more than this target has, or does not end */
            fprintf(stderr, "left out: %s for %s does not run as its PTX does\n", name, t);
            drop_last_subject();
        }
    }
    return true;
}

/* A sample whose host program, if it has one, writes the data of its launch first. */
static bool add_sample(const char *samples, const char *hosts, const char *scratch, const char *name,
                       const char *targets) {
    static const char *const large[] = {"nbody", "mandelbrot"}; /* runs of seconds tell no more */
    for (unsigned k = 0; k < 2; k++)
        if (strcmp(name, large[k]) == 0)
            return true;
    const char *host = arena_printf(&arena, "%s/sample_%s", hosts, name),
               *dir = arena_printf(&arena, "%s/%s", scratch, name);
    if (access(host, X_OK) != 0)
        return true;
    if ((mkdir(dir, 0777) != 0 && errno != EEXIST) ||
        system(arena_printf(&arena, "'%s' '%s' > '%s/host.log'", host, dir, dir)) != 0)
        return false;
    return add_subject(samples, name, dir, targets);
}

static int is_sample(const struct dirent *entry) {
    size_t n = strlen(entry->d_name);
    return n > 4 && strcmp(entry->d_name + n - 4, ".ptx") == 0;
}
/* All programs of a folder; without `hosts` those that have a launch file. */
static bool add_folder(const char *folder, const char *hosts, const char *scratch, const char *targets) {
    struct dirent **list = NULL;
    int n = scandir(folder, &list, is_sample, alphasort);
    bool good = n > 0;
    for (int i = 0; i < n; i++) {
        char *name = list[i]->d_name;
        name[strlen(name) - 4] = 0;
        if (good && (hosts ? !add_sample(folder, hosts, scratch, name, targets)
                           : access(arena_printf(&arena, "%s/%s.json", folder, name), R_OK) == 0 &&
                                 !add_subject(folder, name, folder, targets))) {
            fprintf(stderr, "cannot prepare %s\n", name);
            good = false;
        }
        free(list[i]);
    }
    free(list);
    return good;
}

/* ---- a flip ---- */
typedef struct {
    const Subject *subject;
    const char *section;
    uint64_t byte;
    unsigned bit;
} Flip;

static bool may_be_hit(const Elf64_Shdr *row, const char *name, bool code) {
    return row->sh_size && row->sh_type != SHT_NOBITS && row->sh_type != SHT_NULL &&
           strcmp(name, ".heddle.ptx") != 0 && (strncmp(name, ".text", 5) == 0) == code;
}

/* A byte of the file's header, its section headers or its program headers. */
static uint64_t byte_of_headers(const Elf64_Ehdr *head, uint64_t random) {
    uint64_t sections = (uint64_t)head->e_shnum * sizeof(Elf64_Shdr),
             segments = (uint64_t)head->e_phnum * sizeof(Elf64_Phdr),
             at = random % (sizeof *head + sections + segments);
    if (at < sizeof *head)
        return at;
    at -= sizeof *head;
    return at < sections ? head->e_shoff + at : head->e_phoff + (at - sections);
}

static Flip choose(uint64_t seed, uint64_t number) {
    uint64_t random = rng_mix(seed * RNG_STEP + number);
    Flip flip = {.subject = &subjects[rng_next(&random) % nsubjects]};
    const uint8_t *image = flip.subject->image;
    Elf64_Ehdr head;
    memcpy(&head, image, sizeof head);
    const Elf64_Shdr *rows = (const void *)(image + head.e_shoff);
    const char *names = (const char *)image + rows[head.e_shstrndx].sh_offset;
    bool code = rng_next(&random) % 10 < 6;
    unsigned n = 0, at = 0;
    for (unsigned k = 0; k < head.e_shnum; k++)
        n += may_be_hit(&rows[k], names + rows[k].sh_name, code);
    unsigned left = (unsigned)(rng_next(&random) % (n + !code)) + 1;
    if (left > n) {
        flip.section = "headers";
        flip.byte = byte_of_headers(&head, rng_next(&random));
        flip.bit = (unsigned)(rng_next(&random) & 7);
        return flip;
    }
    for (unsigned k = 0; left; k++) {
        at = k;
        left -= may_be_hit(&rows[k], names + rows[k].sh_name, code);
    }
    flip.section = names + rows[at].sh_name;
    flip.byte = rows[at].sh_offset + rng_next(&random) % rows[at].sh_size;
    flip.bit = (unsigned)(rng_next(&random) & 7);
    return flip;
}

static Outcome judge(const Flip *flip) {
    const Subject *subject = flip->subject;
    Diags d = {.sink = silent};
    subject->image[flip->byte] ^= (uint8_t)(1u << flip->bit);
    Binary *binary = binary_read("flipped", subject->image, subject->image_bytes, &d);
    subject->image[flip->byte] ^= (uint8_t)(1u << flip->bit);
    if (!binary)
        return F_UNREADABLE;
    ProveReport report;
    ProveOptions options = {.query_seconds = QUERY_SECONDS,
                            .max_steps = MAX_STEPS,
                            .only_whether = true,
                            .kept = proofs,
                            .first = strncmp(flip->section, ".text.", 6) == 0 ? flip->section + 6 : NULL};
    bool done = prove_module(subject->module, binary, &options, &report, &d);
    Verdict verdict = done ? prove_verdict(&report) : VERDICT_UNKNOWN;
    prove_report_free(&report);
    bool proved = verdict == VERDICT_PROVED || verdict == VERDICT_ASSUMING;
    Outcome outcome = verdict == VERDICT_REFUTED    ? F_REFUTED
                      : !proved                     ? F_NOT_PROVED
                      : runs_equal(subject, binary) ? F_EQUAL
                                                    : F_WRONG;
    binary_free(binary);
    return outcome;
}

/* ---- the campaign ---- */
static void tell(State *state, uint64_t number, Outcome outcome) {
    Flip flip = choose(state->seed, number);
    printf("flip %llu: %s for %s, %s byte %llu bit %u: %s\n", (unsigned long long)number, flip.subject->name,
           flip.subject->target, flip.section, (unsigned long long)flip.byte, flip.bit,
           outcome_names[outcome]);
    fflush(stdout);
}

static bool in_code(const Flip *flip) { return strncmp(flip->section, ".text", 5) == 0; }

static void note(State *state, Outcome outcome) {
    Flip flip = choose(state->seed, state->next);
    state->count[in_code(&flip)][outcome]++;
    if (outcome >= F_WRONG && state->nwrong < MAX_WRONG)
        state->wrong[state->nwrong++] = state->next;
    if (outcome >= F_WRONG || (verbose && outcome == F_EQUAL))
        tell(state, state->next, outcome);
    state->next++;
}

static void save(const State *state, const char *path) {
    Diags d = {.sink = silent};
    if (path)
        file_write(path, state, sizeof *state, &d);
}

static volatile sig_atomic_t interrupted;
static void interrupt(int number) {
    (void)number;
    interrupted = 1;
}

/* In a process of its own, which a flip may end. */
static void work(State *state, uint64_t count, double deadline, const char *path) {
    enum { SAVE_EVERY = 200 };
    proofs = prove_kept_new();
    while (state->next < count && !interrupted && clock_cpu_seconds() < deadline) {
        struct itimerval limit = {.it_value = {.tv_sec = FLIP_SECONDS}};
        setitimer(ITIMER_PROF, &limit, NULL);
        Flip flip = choose(state->seed, state->next);
        note(state, judge(&flip));
        if (state->next % SAVE_EVERY == 0)
            save(state, path);
    }
    exit(0);
}

/* Workers until all is done; what ends one by accident is the flip that it was at. */
static void campaign(State *state, uint64_t count, double seconds, const char *path) {
    double deadline = clock_cpu_seconds() + seconds;
    while (state->next < count && !interrupted && clock_cpu_seconds() < deadline) {
        double left = deadline - clock_cpu_seconds();
        pid_t worker = fork();
        if (worker == 0)
            work(state, count, clock_cpu_seconds() + left, path);
        int status = 0;
        while (worker > 0 && waitpid(worker, &status, 0) < 0 && errno == EINTR)
            kill(worker, SIGTERM);
        if (worker < 0 || WIFEXITED(status))
            break;
        note(state, F_CRASHED);
        save(state, path);
    }
    save(state, path);
}

int main(int argc, char **argv) {
    uint64_t count = 1000, seed = 1;
    double seconds = 1e9;
    const char *path = NULL, *targets = "bru1", *more = "", *place[3] = {NULL, NULL, NULL};
    unsigned nplaces = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        bool option = argv[i][0] == '-';
        if (strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
            continue;
        }
        if (strcmp(argv[i], "--ptxas") == 0) {
            ptxas = getenv("PTXAS");
            if (!ptxas)
                return 2;
            continue;
        }
        if (strcmp(argv[i], "--count") == 0)
            count = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--seconds") == 0)
            seconds = strtod(value, NULL);
        else if (strcmp(argv[i], "--state") == 0)
            path = value;
        else if (strcmp(argv[i], "--targets") == 0)
            targets = value;
        else if (strcmp(argv[i], "--level") == 0)
            level = value;
        else if (strcmp(argv[i], "--more") == 0)
            more = value;
        else if (!option && nplaces < 3)
            place[nplaces++] = argv[i];
        else
            return 2;
        i += option;
    }
    folder_for_cubins = place[2];
    if (nplaces != 3 || !add_folder(place[0], place[1], place[2], targets))
        return 2;
    char *list = arena_printf(&arena, "%s", more), *rest = NULL;
    for (char *folder = strtok_r(list, ",", &rest); folder; folder = strtok_r(NULL, ",", &rest))
        if (!add_folder(folder, NULL, NULL, targets))
            return 2;
    State *state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED)
        return 2;
    char *kept;
    size_t bytes;
    Diags quiet = {.sink = silent};
    if (path && access(path, R_OK) == 0 && file_read(&arena, path, &quiet, &kept, &bytes) &&
        bytes == sizeof *state)
        memcpy(state, kept, sizeof *state);
    if (state->seed != seed || state->subjects != nsubjects)
        *state = (State){.seed = seed, .subjects = nsubjects};
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    campaign(state, count, seconds, path);
    printf("%llu flips of %u binaries, seed %llu\n", (unsigned long long)state->next, nsubjects,
           (unsigned long long)seed);
    for (unsigned k = 0; k < F_KINDS; k++)
        printf("%8llu in code, %8llu elsewhere: %s\n", (unsigned long long)state->count[1][k],
               (unsigned long long)state->count[0][k], outcome_names[k]);
    return state->nwrong != 0;
}
