/* Commands and options: the one table. See cli.h.
 * SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"
#include "tools/options/check_options.h"
#include "tools/commands/learn_options.h"
#include "tools/cli/option_keys.h"
#include "tools/options/option_values.h"
#include "tools/commands/makers.h"
#include "tools/jobs/report.h"
#include "sim/machine/policy.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The row that ends a table may have a heading for --help; tables of one heading are shown as one. */
static const struct argp_option output_options[] = {
    {"output", 'o', "FILE", 0, "Write FILE instead of standard output (compile: instead of INPUT.cubin)", 0},
    {0}};
static const struct argp_option json_options[] = {{"json", KEY_JSON, NULL, 0, "Report as JSON", 0}, {0}};
static const struct argp_option compile_options[] = {
    {"target", 't', "NAME", 0, "Machine, by default the first of: ", 0},
    {"optimize", 'O', "LEVEL", 0, "Optimisation level 0 to 3 (default 2)", 0},
    {"reconverge", KEY_RECONVERGE, "WHERE", 0,
     "Bring lanes together where that is expected to save most instructions (auto, default), at "
     "post-dominators (ipdom), earlier too where it pays (frontier), wherever paths meet (frontier-all), or "
     "nowhere (none)",
     0},
    {"predicate", KEY_PREDICATE, "WHICH", 0,
     "Make guarded code of short branches where it pays (auto, default), wherever it is allowed (max), or "
     "nowhere (off)",
     0},
    {"reconverge-opt", KEY_RECONVERGE_OPT, "WHICH", 0,
     "Beyond joins, a list of: meld (similar sides of a branch run together), speculate (lanes of "
     "several rounds of a loop wait for each other within it), gather-rounds (lanes done with an inner loop "
     "go on to their next round of it at once); or all (joins of several rounds only where --profile has "
     "counts), or none (default)",
     0},
    {"yield", KEY_YIELD, "HOW", 0,
     "YIELD alone (plain, default) or after leaving all convergence barriers (break)", 0},
    {"mcpu", KEY_MCPU, "sm_NN", 0,
     "LLVM IR: what LLVM makes PTX for (default: the target's, the module's, or sm_80)", 0},
    {"libdevice", KEY_LIBDEVICE, "F.bc", 0,
     "LLVM IR: link what is used of this bitcode first (libdevice, libclc); may be given several times", 0},
    {"llvm-passes", KEY_LLVM_PASSES, "PASSES", 0,
     "LLVM IR: passes as of opt -passes, or none (default: default<O1> to default<O3>, as --optimize)", 0},
    {"llvm", KEY_LLVM, "LIBRARY", 0, "LLVM IR: this libLLVM (default: the newest installed)", 0},
    {"time-passes", KEY_TIME_PASSES, NULL, 0, "Report the time of every pass", 0},
    {"verbose", 'v', NULL, 0, "Say more; verify machine IR after every pass", 0},
    {.doc = "Compiling:"}};
static const struct argp_option whole_options[] = {
    {"no-map", KEY_NO_MAP, NULL, 0, "Leave the map to PTX positions and registers out of the file", 0},
    {"keep-going", KEY_KEEP_GOING, NULL, 0,
     "Leave out kernels and functions that do not compile, and write the others; the status is 1 all the "
     "same",
     0},
    {.doc = "Compiling:"}};
static const struct argp_option file_options[] = {
    {"no-ptx", KEY_NO_PTX, NULL, 0, "Leave the PTX text out of the file", 0},
    {"old-form", KEY_OLD_FORM, NULL, 0, "Native targets: a file as of CUDA before 12.8, not of CUDA 13", 0},
    {.doc = "The file that is written:"}};
static const struct argp_option profile_options[] = {
    {"profile", KEY_PROFILE, "FILE", 0,
     "Branches go as FILE, which heddle run --profile wrote, says; counts of several files add up", 0},
    {.doc = "Compiling:"}};
static const struct argp_option against_options[] = {
    {"against", KEY_AGAINST, "F.cubin", 0,
     "Compare with the same kernels of another binary, for whose target K.ptx is compiled: what of it is "
     "barriers, branches and guarded code, and the regions in which lanes wait",
     0},
    {.doc = "Pictures and comparisons:"}};
static const struct argp_option picture_options[] = {
    {"html", KEY_HTML, "FILE", 0,
     "Write a page with the control flow and its nested barrier regions, source, PTX and machine code side "
     "by side, and with a launch what the lanes did; FILE that ends with /: a page for each kernel in that "
     "folder, which is made",
     0},
    {"emit", KEY_EMIT, "KIND", 0, "text (default), or the control flow of a kernel as svg or dot", 0},
    {"kernel", KEY_KERNEL, "NAME", 0,
     "Only this kernel and what it calls; pictures are of one, so they need it where there are several", 0},
    {.doc = "Pictures and comparisons:"}};
static const struct argp_option emit_options[] = {
    {"emit", KEY_EMIT, "KIND", 0, "elf (default), asm, mir (machine IR) or ptx (the parsed module)", 0},
    {"object", 'c', NULL, 0, "Write INPUT.o for heddle link or nvlink; names may be defined elsewhere", 0},
    {"dump", KEY_DUMP, "PASS", 0, "Print machine IR after PASS, or after every pass (all), to standard error",
     0},
    {"stop-after", KEY_STOP_AFTER, "PASS", 0, "Stop after PASS; with --emit=mir prints what it made", 0},
    {"without", KEY_WITHOUT, "PASS", 0, "Leave PASS out, one of those that -O0 does not run", 0},
    {.doc = "The file that is written:"}};
static const struct argp_option launch_kernel_options[] = {
    {"kernel", KEY_KERNEL, "NAME", 0, "Kernel; not needed if there is only one", 0}, {0}};
static const struct argp_option launch_options[] = {
    {"grid", KEY_GRID, "X,Y,Z", 0, "Blocks of the grid (default 1,1,1)", 0},
    {"block", KEY_BLOCK, "X,Y,Z", 0, "Threads of a block (default 1,1,1)", 0},
    {"cluster", KEY_CLUSTER, "X,Y,Z", 0, "Blocks of a cluster (default: what the kernel requires)", 0},
    {"cooperative", KEY_COOPERATIVE, NULL, 0, "All blocks at once, which may wait for each other", 0},
    {"shared", KEY_SHARED, "BYTES", 0, "Dynamic shared memory", 0},
    {"arg", KEY_ARG, "ARG", 0,
     "Next argument: TYPE:VALUE, TYPE[N]:V,V..., buf:TYPE[N]=INIT or out:NAME:TYPE[N]=INIT; INIT is zero, "
     "ones, iota, random:SEED, @FILE or V,V...",
     0},
    {"expect", KEY_EXPECT, "NAME=@FILE", 0,
     "Buffer NAME must hold the bytes of FILE afterwards (or NAME=V,V...)", 0},
    {"launch", KEY_LAUNCH, "FILE", 0,
     "Launch file (JSON) instead of the options above; or auto, to infer them (not run)", 0},
    {"data-dir", KEY_DATA_DIR, "DIR", 0, "Where the launch file's @FILEs are (default: beside it)", 0},
    {.doc = "The launch:"}};
static const struct argp_option machine_options[] = {
    {"check-control", KEY_CHECK_CONTROL, NULL, 0,
     "Machine: report registers read before stall count or scoreboard allow", 0},
    {"undefined", KEY_UNDEFINED, NULL, 0,
     "Report undefined values that matter, and .uni that is not uniform (PTX)", 0},
    {"policy", KEY_POLICY, "NAME=VALUE,...", 0,
     "Machine, how the specification is read (first values are the defaults; random:SEED): "
#define POLICY(type, field, name, alias, values, ...) name "=" values " "
#include "sim/machine/policy.def"
#undef POLICY
     ,
     0},
    {"seed", KEY_SEED, "N", 0, "Order of threads (PTX interpreter) and random lane choice", 0},
    {"budget", KEY_BUDGET, "N", 0,
     "Trap after N instructions (default 4e9: of threads with --engine=ptx, else of warps; validate: 4e8 of "
     "the PTX)",
     0},
    {.doc = "How it is executed:"}};
static const struct argp_option run_options[] = {
    {"engine", KEY_ENGINE, "NAME", 0,
     "auto (the machine, default; what runs long enough compiled by LLVM, in another thread), interp "
     "(never), stencil (copies of prepared code, without LLVM), "
     "jit (waiting for it), ptx (the PTX reference interpreter), gpu (a card, through the CUDA driver), "
     "gpu-ptx (a card, the PTX compiled by the driver)",
     0},
    {"jit-after", KEY_JIT_AFTER, "N", 0,
     "auto, stencil, jit: compile what has run N instructions (default: it pays)", 0},
    {"jit-cache", KEY_JIT_CACHE, "DIR", 0,
     "auto, jit: keep compiled code in DIR for later runs; none: nowhere (default: heddle in $XDG_CACHE_HOME "
     "or "
     "~/.cache; with --jit-after none)",
     0},
    {"host-level", KEY_HOST_LEVEL, "NAME", 0,
     "Machine: what of the host it uses: base, v2 (SSE 4.2), v3 (AVX2), v4 (AVX-512) (default: all it has)",
     0},
    {"time-limit", KEY_TIME_LIMIT, "SECONDS", 0, "A card: for one launch (default 20)", 0},
    {"trace", KEY_TRACE, "FILE", 0, "Write every executed instruction to FILE (- is standard output)", 0},
    {"trace-perfetto", KEY_PERFETTO, "FILE", 0,
     "Machine: write which lanes of each warp run when, as a trace for ui.perfetto.dev or chrome://tracing",
     0},
    {"replay", KEY_REPLAY, "SCHEDULE", 0,
     "Follow a schedule of heddle check --model --schedule instead of data", 0},
    {"stats", KEY_STATS, NULL, 0, "Print instruction counts and SIMT efficiency", 0},
    {"jobs", KEY_JOBS, "N", 0,
     "Machine: threads for the blocks of a grid (default 1). With --trace, checked modes, host calls, random "
     "lane choices, functions of the driver or surfaces it stays one",
     0},
    {"host-calls", KEY_HOST_CALLS, NULL, 0, "Machine: print every TRAP, RTT and SYSCALL and go on behind it",
     0},
    {"races", KEY_RACES, NULL, 0, "With --engine=ptx: report accesses to the same bytes that nothing orders",
     0},
    {"profile", KEY_PROFILE_OUT, "FILE", 0,
     "Count in the PTX reference interpreter how lanes go at each branch, and write that to FILE for heddle "
     "compile --profile",
     0},
    {"print", KEY_PRINT, "NAME", 0, "Print the buffer afterwards", 0},
    {"save", KEY_SAVE, "NAME=FILE", 0, "Write the buffer to FILE afterwards", 0},
    {.doc = "How it is executed:"}};
static const struct argp_option validate_options[] = {
    {"no-trace", KEY_NO_TRACE, NULL, 0, "Do not run again to find where the executions part", 0},
    {"tolerance", KEY_TOLERANCE, "ulp:N,abs:X,rel:X", 0,
     "Floating-point results may differ by N units in the last place, by X, or by X times their size", 0},
    {"races", KEY_RACES, NULL, 0,
     "Look for data races and coverage under a given launch too; --launch auto always does", 0},
    {"with-ptxas", KEY_WITH_PTXAS, "OPTIONS,...", OPTION_ARG_OPTIONAL,
     "Compile with NVIDIA's ptxas too, once with each list of options (default -O3), and validate all the "
     "code under the same launches; the target is by default the first native one that can run the PTX",
     0},
    {"ptxas", KEY_PTXAS, "PROGRAM", 0, "That ptxas (default: $PTXAS, in $PATH, in /usr/local/cuda/bin)", 0},
    {"bundles", KEY_BUNDLES, "DIR", 0,
     "With --with-ptxas or directories: for what differs, write a folder with the PTX made smaller, the "
     "launch, both binaries and a report",
     0},
    {"show-launch", KEY_SHOW_LAUNCH, "FILE", 0, "With --launch auto: write the launches as a launch file", 0},
    {"jobs", KEY_JOBS, "N", 0, "Directories: files at a time (default: one for each processor)", 0},
    {"state", KEY_STATE, "FILE", 0, "Directories: keep results in FILE; files that it has are not run again",
     0},
    {"engine", KEY_ENGINE, "NAME", 0,
     "What is compared with the PTX: interp (the machine, default), stencil (the same, as copies of prepared "
     "code), gpu (the binary on a card), gpu-ptx (a card, the PTX compiled by the CUDA driver)",
     0},
    {"time-limit", KEY_TIME_LIMIT, "SECONDS", 0,
     "Directories: CPU time for one kernel (default 60); a card: for one launch (default 20)", 0},
    {"memory-limit", KEY_MEMORY_LIMIT, "MIB", 0, "Directories: of one process (default 4096)", 0},
    {.doc = "What is compared:"}};
static const struct argp_option fuzz_options[] = {
    {"kind", KEY_KIND, "LIST", 0, "Kinds of programs, with commas between them (default: all), of", 0},
    {"count", KEY_COUNT, "N", 0, "Programs of each kind (default 1000)", 0},
    {"seed", KEY_SEED, "N", 0, "The programs follow from it", 0},
    {"first", KEY_FIRST, "N", 0, "Number of the first program (default 0)", 0},
    {"resume", KEY_RESUME, "FILE", 0, "Write the state to FILE; go on from there if it exists", 0},
    {"keep", KEY_KEEP, "DIR", 0, "Save failing programs in this folder, as made and reduced", 0},
    {"policies", KEY_POLICIES, "WHICH", 0,
     "Machine policies: sampled (default; four of 128), one drawn at random, all 128, default, or literal: "
     "report how often they hang",
     0},
    {"target", 't', "NAME", 0, "Machine, by default the first of: ", 0},
    {"optimize", 'O', "LEVEL", 0, "Optimisation level 0 to 3, or all (default): sampled", 0},
    {"reduce", KEY_REDUCE, "SECONDS", 0, "--keep: CPU time to reduce one failure (default 20)", 0},
    {"max-failures", KEY_MAX_FAILURES, "N", 0, "Stop after N failures (default 0: never)", 0},
    {"jobs", KEY_FUZZ_JOBS, "N", 0, "Processes (default: one for each core)", 0},
    {"check-only", KEY_CHECK_ONLY, NULL, 0, "Compile and check the machine code, run nothing", 0},
    {"engine", KEY_ENGINE, "NAME", 0,
     "stencil, jit, auto: the machine's compiled code too, which must do the same; interp (default): only "
     "the "
     "interpreter",
     0},
    {"jit-after", KEY_JIT_AFTER, "N", 0,
     "--engine=jit (which it stands for), stencil or auto: compile what has run N instructions (default 1)",
     0},
    {"jit-cache", KEY_JIT_CACHE, "DIR", 0,
     "jit, auto: keep compiled code in DIR, and run it from there once more", 0},
    {"host-level", KEY_HOST_LEVEL, "NAME", 0,
     "What of the host it uses: base, v2 (SSE 4.2), v3 (AVX2), v4 (AVX-512) (default: all it has)", 0},
    {"metrics", KEY_METRICS, NULL, 0,
     "Measure SIMT efficiency and block issues of cfg programs in every reconvergence mode", 0},
    {0}};

static const struct argp_option model_options[] = {
    {"model", KEY_MODEL, NULL, 0,
     "Explore all branch outcomes with few lanes: can every reachable state finish?", 0},
    {"lanes", KEY_LANES, "N", 0, "--model: lanes, 2 to 4 (default 3)", 0},
    {"states", KEY_STATES, "N", 0, "--model: states of a kernel (default 200000)", 0},
    {"time", KEY_TIME, "SECONDS", 0, "--model: CPU time for a kernel (default 10)", 0},
    {"policy", KEY_POLICY, "NAME=VALUE,...", 0,
     "--model: policies as in heddle run --policy, or all that code must survive", 0},
    {"schedule", KEY_SCHEDULE, "FILE", 0,
     "--model: write the way to the first finding, for heddle run --replay", 0},
    {.doc = "Exploring all outcomes (--model):"}};
static const struct argp_option mutate_options[] = {
    {"list", KEY_LIST, NULL, 0, "List all sites (default)", 0},
    {"apply", KEY_APPLY, "CLASS:NUMBER", 0, "Write the mutant of one site to --output", 0},
    {"campaign", KEY_CAMPAIGN, NULL, 0,
     "Measure which mutants behave differently and which checkers object: of PTX files with a launch (K.json "
     "beside K.ptx, or "
     "one launch for all), and of random programs",
     0},
    {"class", KEY_CLASS, "LIST", 0, "Only these classes or groups, as drop-bsync,control (default: all)", 0},
    {"count", KEY_COUNT, "N", 0, "--campaign: mutants of each class (default 200)", 0},
    {"kind", KEY_KIND, "LIST", 0, "--campaign: kinds of random programs (default: all), of", 0},
    {"programs", KEY_PROGRAMS, "N", 0, "--campaign: random programs of each kind (default 20)", 0},
    {"prove-time", KEY_PROVE_SECONDS, "SECONDS", 0,
     "--campaign: CPU time to prove one mutant (default 20, 0: do not)", 0},
    {"states", KEY_STATES, "N", 0, "--campaign: states of the model checker (default 20000)", 0},
    {"with-ptxas", KEY_WITH_PTXAS, "OPTIONS,...", OPTION_ARG_OPTIONAL,
     "--campaign: mutants of ptxas's code in place of Heddle's, with each list of options (default -O3)", 0},
    {"ptxas", KEY_PTXAS, "PROGRAM", 0, "That ptxas (default: $PTXAS, in $PATH, in /usr/local/cuda/bin)", 0},
    {"seed", KEY_SEED, "N", 0, "--campaign: programs and sites follow from it", 0},
    {0}};
static const struct argp_option no_options[] = {{0}};

static const struct argp_option prove_options[] = {
    {"kernel", KEY_KERNEL, "NAME", 0, "Only this function and what it calls", 0},
    {"budget", KEY_BUDGET, "N", 0, "Terms that one function may make (default 4,000,000)", 0},
    {"memory-limit", KEY_MEMORY_LIMIT, "MIB", 0,
     "Memory of the process, of which a function may take half (default 1024)", 0},
    {"certificate", KEY_CERTIFICATE, "FILE", 0, "Write what the proofs found to FILE, for --check", 0},
    {"check", KEY_CERTIFICATE_CHECK, "FILE", 0, "Search for nothing: check the certificate of FILE", 0},
    {"no-launches", KEY_NO_LAUNCHES, NULL, 0,
     "Look for no launch that shows a difference: faster, and what a run would refute is unknown", 0},
    {"jobs", KEY_JOBS, "N", 0, "Directories: files at a time (default: one for each processor)", 0},
    {"state", KEY_STATE, "FILE", 0,
     "Directories: keep results in FILE; files that it has are not proved again", 0},
    {"time-limit", KEY_TIME_LIMIT, "SECONDS", 0, "Directories: CPU time for one kernel (default 60)", 0},
    {"query-time", KEY_QUERY_TIME, "SECONDS", 0, "CPU time of one query to Z3 (default 9)", 0},
    {"search-time", KEY_SEARCH_TIME, "SECONDS", 0,
     "CPU time of the search for a launch that shows a difference, for each kernel (default 8)", 0},
    {"time", KEY_TIME, "SECONDS", 0, "CPU time of everything; what is left counts as unknown", 0},
    {0}};
static const struct argp_option coverage_options[] = {
    {"own-target", KEY_OWN_TARGET, NULL, 0,
     "Compile each module for the first native machine that has all of its .target, not for --target", 0},
    {"jobs", KEY_JOBS, "N", 0, "Files at a time (default: one for each processor)", 0},
    {"state", KEY_STATE, "FILE", 0, "Keep results in FILE; files that it has are not compiled again", 0},
    {"time-limit", KEY_TIME_LIMIT, "SECONDS", 0, "CPU time for one kernel (default 60)", 0},
    {"memory-limit", KEY_MEMORY_LIMIT, "MIB", 0, "Of one process (default 4096)", 0},
    {0}};
static const struct argp_option disasm_options[] = {
    {"sections", KEY_SECTIONS, NULL, 0,
     "Every header field, section and byte: what asm makes the same file of", 0},
    {"kernel", KEY_KERNEL, "NAME", 0, "Print the code of this function only; also by its name in C++", 0},
    {"code-only", 'c', NULL, 0, "Names and instructions, and nothing of the file", 0},
    {"demangle", KEY_DEMANGLE, NULL, 0, "Names of C++ as a source has them", 0},
    {"cfg", KEY_CFG, NULL, 0, "Control flow as a graph, for dot(1)", 0},
    {"live-registers", KEY_LIVE, NULL, 0, "At each instruction, how many registers of each kind are live", 0},
    {"plr", KEY_LIVE, NULL, 0, "The same, as nvdisasm calls it", 0},
    {0}};
static const struct argp_option *const prove_groups[] = {prove_options, compile_options, whole_options,
                                                         json_options, NULL};
static const struct argp_option *const compile_groups[] = {
    output_options,  compile_options, whole_options, file_options,
    profile_options, emit_options,    json_options,  NULL};
static const struct argp_option *const link_groups[] = {
    output_options, compile_options, whole_options, file_options, profile_options, json_options, NULL};
static const struct argp_option machine_name_options[] = {
    {"target", 't', "NAME", 0,
     "The machine, where the file has code for several or its text names none: one of ", 0},
    {0}};
static const struct argp_option *const asm_groups[] = {output_options, machine_name_options, json_options,
                                                       NULL};
static const struct argp_option *const disasm_groups[] = {output_options, disasm_options,
                                                          machine_name_options, json_options, NULL};
static const struct argp_option *const run_groups[] = {
    launch_kernel_options, launch_options, run_options,  machine_options,
    compile_options,       whole_options,  json_options, NULL};
static const struct argp_option *const validate_groups[] = {
    launch_kernel_options, launch_options, validate_options, machine_options,
    compile_options,       whole_options,  json_options,     NULL};

static const struct argp_option *const report_groups[] = {output_options,  picture_options, against_options,
                                                          launch_options,  compile_options, whole_options,
                                                          profile_options, json_options,    NULL};
static const struct argp_option *const fuzz_groups[] = {fuzz_options, json_options, NULL};

static const struct argp_option *const check_groups[] = {cli_check_options, model_options, json_options,
                                                         compile_options,   whole_options, NULL};
static const struct argp_option *const mutate_groups[] = {
    mutate_options, launch_kernel_options, launch_options,
    output_options, json_options,          compile_options,
    whole_options,  file_options,          NULL};
static const struct argp_option *const coverage_groups[] = {coverage_options, compile_options, json_options,
                                                            NULL};
static const struct argp_option *const learn_groups[] = {cli_learn_options, output_options, json_options,
                                                         NULL};
static const struct argp_option *const explain_groups[] = {json_options, NULL};
static const struct argp_option *const no_groups[] = {no_options, NULL};

const Command cli_commands[] = {
    {"compile", "K.ptx|K.cu|K.ll|K.bc", "Compile PTX, CUDA C++ or LLVM IR to an ELF binary",
     "Writes K.cubin, or what --output and --emit say. A file is written whole or not at all. Of LLVM IR and "
     "bitcode for nvptx64, here and wherever PTX is read, LLVM makes the PTX first, of K.cu nvcc or clang.",
     1, 1, compile_groups, cmd_compile},
    {"nvcc", "[OPTION|FILE...]", "Run nvcc with Heddle for its ptxas",
     "Arguments are nvcc's; it is looked for as $NVCC, in $PATH and in /usr/local/cuda/bin.", 0, MAX_INPUTS,
     no_groups, cmd_nvcc},
    {"link", "A.o B.o...", "Link objects and PTX files to an ELF binary",
     "Binds .extern names to .visible, .weak and .common definitions of the other files, then compiles the "
     "whole, so "
     "that register counts, stack sizes and convergence barriers are right across files.",
     1, MAX_INPUTS, link_groups, cmd_link},
    {"asm", "F.sass", "Assemble machine code text to an ELF binary",
     "Takes what disasm --sections prints, which gives back the same file, also with changes to it, and a "
     "short form for hand-written kernels.",
     1, 1, asm_groups, cmd_asm},
    {"disasm", "F.cubin", "Print an ELF binary as text",
     "The functions and their instructions, with source lines where the file has them; with --sections the "
     "whole file, as asm takes it. Reads bru1 binaries, NVIDIA's cubins, and what holds such: fat "
     "binaries, host programs, libraries, objects and archives.",
     1, 1, disasm_groups, cmd_disasm},
    {"run", "[F.cubin|F.ptx...]", "Run kernels without a GPU",
     "A binary runs on the SIMT machine; PTX is compiled first, or interpreted with --engine=ptx. "
     "Several PTX files are linked. With --engine=gpu it does run on a GPU, where there is one.",
     0, MAX_INPUTS, run_groups, cmd_run},
    {"validate", "[F.ptx... [F.cubin]|DIR...]", "Compare PTX and machine code on the same inputs",
     "Runs the PTX reference interpreter and the machine on identical memory and compares memory and traps. "
     "Without F.cubin the PTX is compiled; F.cubin alone is held against the PTX that it was made of. "
     "Several PTX files or objects are linked. With --launch auto launches are inferred from the kernels. "
     "Of directories all .ptx, .ll and .bc files are validated, with the launch file K.json beside K.ptx "
     "where there is one, with inferred launches elsewhere and with --launch auto.",
     0, MAX_INPUTS, validate_groups, cmd_validate},
    {"report", "K.ptx|F.cubin", "Tell where lanes come together",
     "For each branch: the convergence barrier and the PTX line where its paths join, or why there is none. "
     "Of a "
     "binary, also another compiler's: what its code has of barriers, branches and guards, and the regions "
     "in which lanes wait; decisions only where its PTX compiles to the same code. --html shows both, with "
     "pictures.",
     1, 1, report_groups, cmd_report},
    {"check", "F.cubin|F.ptx", "Check machine code without running it",
     "Looks at the decoded binary: convergence barriers paired, ordered and never bypassed, collectives "
     "covered, nothing "
     "uniform read where lanes are apart, registers read only when their results are there. PTX is compiled "
     "first. Exit status 4 if there are errors.",
     1, 1, check_groups, cmd_check},
    {"mutate", "[F.cubin|F.ptx...]", "Make wrong binaries and measure the checkers with them",
     "Lists or applies single mutations of a compiled binary. A campaign decides by running which mutants "
     "behave differently, "
     "and reports for each class how many of these check, check --model, prove and validate find.",
     0, MAX_INPUTS, mutate_groups, cmd_mutate},
    {"coverage", "F.ptx|DIR...", "Tell which kernels of many files compile, and what the others would need",
     "Compiles every .ptx, .ll and .bc file of the directories, and where a file does not compile as a whole "
     "each of its kernels with what it calls; then lists what is missing by the kernels that need it.",
     1, MAX_INPUTS, coverage_groups, cmd_coverage},
    {"explain", "[RULE|CODE|OPERATION|LIST]",
     "Explain a rule of check, the code of a message or an operation",
     "R-07: what it demands, with an example; E-BAR-PARTIAL: a check of the machine; E0104: a message; BSSY: "
     "an operation. "
     "Lists: errors (all codes), ptx (forms of PTX and what is done with them), isa (operations by target).",
     0, 1, explain_groups, cmd_explain},
    {"prove", "K.ptx [K.cubin]|K.cubin|DIR", "Prove that machine code means what its PTX means",
     "Executes PTX and decoded machine code symbolically, for one lane, region by region, and compares "
     "exits, memory "
     "events and live values; what is not equal as it stands is asked of Z3, and differences are shown as "
     "concrete values. Without K.cubin the PTX is compiled; K.cubin alone is held against the PTX that it "
     "was made "
     "of. --verbose lists all regions. In a directory all .ptx, .ll "
     "and .bc "
     "files are compiled and their kernels proved. Ends with status 4 if something is refuted, 5 if "
     "something is "
     "unknown.",
     1, 2, prove_groups, cmd_prove},
    {"fuzz", "[F.ptx...]", "Test with random programs",
     "Makes PTX programs, compiles them at all levels, and compares the PTX reference interpreter with the "
     "machine under "
     "its policies. Files that it saved it checks as they failed, then under everything.",
     0, MAX_INPUTS, fuzz_groups, cmd_fuzz},
    {"learn", "[DUMP|F.cubin...]", "Learn encodings from dumps, and assemble from what was learned",
     cli_learn_details, 0, MAX_INPUTS, learn_groups, cmd_learn},
    {0}};

/* ---- values ---- */
/* Machines whose code is read and written only, behind the others. */
static const char *names_read_only(Arena *a) {
    const char *names = "";
    for (const Target *const *target = isa_all_targets; *target; target++)
        if (!isa_target_info(*target)->is_made)
            names = arena_printf(a, "%s, %s", names, isa_target_name(*target));
    return names;
}

static bool compile_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    static const char *const kinds[] = {"elf", "asm", "mir", "ptx", NULL}, *const yields[] = {"plain",
                                                                                              "break", NULL};
    switch (key) {
    case 'o': settings->output = arg; return true;
    case 't':
        settings->target = settings->any_machine ? isa_any_target(arg) : isa_target(arg);
        if (!settings->target)
            argp_error(state, "--target: there is no machine '%s', there are %s%s", arg, isa_target_names,
                       settings->any_machine ? names_read_only(&settings->arena) : "");
        return true;
    case 'O': settings->opt_level = (unsigned)cli_number(state, arg, "-O", 3); return true;
    case 'v': settings->verbose = true; return true;
    case 'c': settings->object = true; return true;
    case KEY_EMIT:
        cli_one_of(state, "--emit", arg, kinds);
        settings->emit = arg;
        return true;
    case KEY_DUMP: settings->dump = arg; return true;
    case KEY_STOP_AFTER: settings->stop_after = arg; return true;
    case KEY_WITHOUT: settings->without = arg; return true;
    case KEY_RECONVERGE:
        if (!ir_reconv_mode(arg, &settings->reconverge))
            argp_error(state, "--reconverge=%s: it is auto, ipdom, frontier, frontier-all or none", arg);
        return true;
    case KEY_PREDICATE:
        if (!ir_predicate_mode(arg, &settings->predicate))
            argp_error(state, "--predicate=%s: it is auto, off or max", arg);
        return true;
    case KEY_RECONVERGE_OPT:
        if (!ir_reconv_opts(arg, &settings->reconv_opts))
            argp_error(state,
                       "--reconverge-opt=%s: it is a list of meld, speculate and gather-rounds, all or none",
                       arg);
        return true;
    case KEY_PROFILE:
        VEC_ADD(&settings->arena, &settings->profiles, ((ProfileInput){.name = arg}));
        return true;
    case KEY_YIELD:
        cli_one_of(state, "--yield", arg, yields);
        settings->yield_breaks = strcmp(arg, "break") == 0;
        return true;
    case KEY_MCPU: settings->llvm.cpu = arg; return true;
    case KEY_LIBDEVICE: VEC_ADD(&settings->arena, &settings->bitcode, arg); return true;
    case KEY_LLVM_PASSES: settings->llvm.passes = arg; return true;
    case KEY_LLVM: settings->llvm.library = arg; return true;
    case KEY_TIME_PASSES: settings->time_passes = true; return true;
    case KEY_NO_MAP: settings->no_map = true; return true;
    case KEY_KEEP_GOING: settings->keep_going = true; return true;
    case KEY_NO_PTX: settings->no_ptx = true; return true;
    case KEY_OLD_FORM: settings->old_form = true; return true;
    case KEY_JSON: settings->json = true; return true;
    default: return false;
    }
}

static bool launch_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    switch (key) {
    case KEY_KERNEL: settings->launch.kernel = arg; break;
    case KEY_SECTIONS: settings->whole_file = true; break;
    case KEY_DEMANGLE: settings->disasm.demangle = true; break;
    case KEY_CFG: settings->disasm.form = DISASM_GRAPH; break;
    case KEY_LIVE: settings->disasm.live = true; break;
    case KEY_GRID: cli_extent(state, arg, "--grid", settings->launch.grid); break;
    case KEY_BLOCK: cli_extent(state, arg, "--block", settings->launch.block); break;
    case KEY_CLUSTER: cli_extent(state, arg, "--cluster", settings->launch.cluster); break;
    case KEY_COOPERATIVE: settings->launch.cooperative = true; break;
    case KEY_SHARED:
        settings->launch.shared_bytes = (uint32_t)cli_number(state, arg, "--shared", SIM_MAX_SHARED_BYTES);
        break;
    case KEY_ARG: VEC_ADD(&settings->arena, &settings->args, arg); break;
    case KEY_EXPECT: VEC_ADD(&settings->arena, &settings->expects, arg); return true;
    case KEY_LAUNCH:
        settings->launch_auto = strcmp(arg, "auto") == 0;
        settings->launch_file = settings->launch_auto ? NULL : arg;
        return true;
    case KEY_DATA_DIR: settings->data_dir = arg; return true;
    default: return false;
    }
    settings->has_shape = true;
    return true;
}

static bool run_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    switch (key) {
    case KEY_PRINT: VEC_ADD(&settings->arena, &settings->prints, arg); return true;
    case KEY_SAVE: VEC_ADD(&settings->arena, &settings->saves, arg); return true;
    case KEY_ENGINE: cli_engine(state, settings, arg); return true;
    case KEY_TRACE: settings->trace = arg; return true;
    case KEY_PERFETTO: settings->perfetto = arg; return true;
    case KEY_PROFILE_OUT: settings->profile_out = arg; return true;
    case KEY_AGAINST: settings->against = arg; return true;
    case KEY_REPLAY: settings->replay = arg; return true;
    case KEY_STATS: settings->stats = true; return true;
    case KEY_HOST_CALLS: settings->host_calls = true; return true;
    case KEY_HOST_LEVEL: settings->machine.host_level = arg; return true;
    case KEY_CHECK_CONTROL: settings->machine.check_control = true; return true;
    case KEY_UNDEFINED: settings->machine.report_undefined = true; return true;
    case KEY_POLICY: cli_policy(state, &settings->machine, arg); return true;
    case KEY_SEED:
        settings->seed = settings->machine.seed = cli_number(state, arg, "--seed", ULONG_MAX);
        return true;
    case KEY_BUDGET:
        settings->budget = settings->machine.max_issues = cli_number(state, arg, "--budget", ULONG_MAX);
        return true;
    case KEY_SHOW_LAUNCH: settings->show_launch = arg; return true;
    case KEY_WITH_PTXAS:
        settings->with_ptxas = arg ? arg : "-O3";
        if (maker_count(settings->with_ptxas) > MAX_MAKERS)
            argp_error(state, "--with-ptxas: %u lists of options at most", MAX_MAKERS - 1);
        return true;
    case KEY_PTXAS: settings->ptxas = arg; return true;
    case KEY_BUNDLES: settings->bundles = arg; return true;
    case KEY_OWN_TARGET: settings->own_target = true; return true;
    case KEY_JOBS: settings->jobs = (unsigned)cli_number(state, arg, "--jobs", 64); return true;
    case KEY_STATE: settings->state_file = arg; return true;
    case KEY_TIME_LIMIT:
        settings->time_limit_seconds = (unsigned)cli_number(state, arg, "--time-limit", 86400);
        settings->other.time_limit_seconds = settings->time_limit_seconds;
        return true;
    case KEY_MEMORY_LIMIT:
        settings->memory_limit_mib = (unsigned)cli_number(state, arg, "--memory-limit", 1ul << 20);
        return true;
    case KEY_JIT_AFTER: settings->jit_after = (unsigned)cli_number(state, arg, "jit-after", ~0u); return true;
    case KEY_JIT_CACHE: settings->jit_cache = arg; return true;
    case KEY_RACES: settings->races = true; return true;
    case KEY_TOLERANCE:
        if (!rounding_parse(arg, &settings->tolerance))
            argp_error(state, "--tolerance: '%s' is not a list of ulp:N, abs:X and rel:X", arg);
        return true;
    case KEY_NO_TRACE: settings->no_trace = true; return true;
    default: return false;
    }
}

static bool fuzz_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    switch (key) {
    case KEY_KIND: settings->fuzz.kinds = arg; return true;
    case KEY_COUNT: settings->fuzz.count = cli_number(state, arg, "--count", 1ul << 40); return true;
    case KEY_FIRST: settings->fuzz.first = cli_number(state, arg, "--first", 1ul << 40); return true;
    case KEY_RESUME: settings->fuzz.state_file = arg; return true;
    case KEY_KEEP: settings->fuzz.keep_dir = arg; return true;
    case KEY_POLICIES: settings->fuzz.policies = cli_fuzz_policies(state, arg); return true;
    case 'O':
        settings->has_opt_level = strcmp(arg, "all") != 0;
        if (settings->has_opt_level)
            settings->opt_level = (unsigned)cli_number(state, arg, "-O", 3);
        return true;
    case KEY_REDUCE:
        settings->fuzz.reduce_seconds = (double)cli_number(state, arg, "--reduce", 100000);
        return true;
    case KEY_FUZZ_JOBS: settings->fuzz.jobs = (unsigned)cli_number(state, arg, "--jobs", 64); return true;
    case KEY_CHECK_ONLY: settings->fuzz.check_only = true; return true;
    case KEY_METRICS: settings->fuzz.metrics = true; return true;
    case KEY_MAX_FAILURES:
        settings->fuzz.max_failures = (unsigned)cli_number(state, arg, "--max-failures", 1000000);
        return true;
    default: return false;
    }
}

static bool model_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    switch (key) {
    case KEY_MODEL: settings->model.on = true; return true;
    case KEY_LANES:
        settings->model.options.lanes = (unsigned)cli_number(state, arg, "--lanes", 4);
        if (settings->model.options.lanes < 2)
            argp_error(state, "--lanes: it is 2, 3 or 4");
        return true;
    case KEY_STATES:
        settings->model.options.max_states = cli_number(state, arg, "--states", 50000000);
        return true;
    case KEY_TIME:
        settings->model.options.seconds = (double)cli_number(state, arg, "--time", 1000000);
        return true;
    case KEY_SCHEDULE: settings->model.schedule = arg; return true;
    case KEY_POLICY:
        settings->model.all_policies = strcmp(arg, "all") == 0;
        return settings->model.all_policies;
    default: return false;
    }
}

static bool mutate_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    switch (key) {
    case KEY_LIST: return true;
    case KEY_APPLY: settings->mutate.apply = arg; return true;
    case KEY_CAMPAIGN: settings->mutate.campaign = true; return true;
    case KEY_CLASS: settings->mutate.classes = arg; return true;
    case KEY_COUNT:
        settings->mutate.count = (uint32_t)cli_number(state, arg, "--count", 1000000);
        return true;
    case KEY_KIND: settings->mutate.kinds = arg; return true;
    case KEY_PROVE_SECONDS:
        settings->mutate.prove_seconds = (double)cli_number(state, arg, "--prove-time", 1000000);
        return true;
    case KEY_PROGRAMS: settings->mutate.programs = cli_number(state, arg, "--programs", 1000000); return true;
    case KEY_STATES:
        settings->model.options.max_states = cli_number(state, arg, "--states", 50000000);
        return true;
    case 'O': settings->has_opt_level = true; return false;
    default: return false;
    }
}

static bool report_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    static const char *const kinds[] = {"text", "svg", "dot", NULL};
    switch (key) {
    case KEY_EMIT:
        cli_one_of(state, "--emit", arg, kinds);
        settings->report.emit = arg;
        return true;
    case KEY_HTML: settings->report.html = arg; return true;
    case KEY_KERNEL: settings->report.kernel = arg; return true;
    default: return false;
    }
}

static bool prove_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    if (key == KEY_NO_LAUNCHES)
        return settings->no_launches = true;
    if (key == KEY_CERTIFICATE || key == KEY_CERTIFICATE_CHECK) {
        *(key == KEY_CERTIFICATE ? &settings->certificate : &settings->check_certificate) = arg;
        return true;
    }
    const struct {
        int key;
        const char *name;
        double *seconds;
    } times[] = {{KEY_TIME, "--time", &settings->total_time},
                 {KEY_QUERY_TIME, "--query-time", &settings->query_time},
                 {KEY_SEARCH_TIME, "--search-time", &settings->search_time}};
    for (unsigned k = 0; k < sizeof times / sizeof *times; k++)
        if (times[k].key == key) {
            *times[k].seconds = (double)cli_number(state, arg, times[k].name, 1000000);
            return true;
        }
    return false;
}

typedef struct {
    const Command *command;
    Settings *settings;
    uint8_t given[LAST_KEY];
} ParseInput;

/* All options of the table but these may change what is said of a kernel, or written for it; a new one does
 * unless it is listed. */
static bool changes_no_verdict(int key) { return key == KEY_JOBS || key == KEY_STATE || key == KEY_JSON; }

static void hash_option(Settings *settings, int key, const char *arg) {
    bool is_option = key > 0 && key < LAST_KEY;
    if (!is_option || changes_no_verdict(key))
        return;
    settings->options_hash = XXH64(&key, sizeof key, settings->options_hash);
    if (arg)
        settings->options_hash = XXH64(arg, strlen(arg), settings->options_hash);
}

static error_t parse_key(int key, char *arg, struct argp_state *state) {
    ParseInput *in = state->input;
    Settings *s = in->settings;
    hash_option(s, key, arg);
    s->any_machine = in->command->run == cmd_disasm;
    if (key > 0 && key < LAST_KEY)
        in->given[key] = 1;
    if (in->command->run == cmd_fuzz && fuzz_key(key, arg, state, s))
        return 0;
    if (in->command->run == cmd_mutate && mutate_key(key, arg, state, s))
        return 0;
    if (in->command->run == cmd_check && (cli_check_key(key, arg, state, s) || model_key(key, arg, state, s)))
        return 0;
    if (in->command->run == cmd_report && report_key(key, arg, state, s))
        return 0;
    if (in->command->run == cmd_prove && prove_key(key, arg, state, s))
        return 0;
    if (in->command->run == cmd_learn && cli_learn_key(key, arg, state, s))
        return 0;
    if (compile_key(key, arg, state, s) || launch_key(key, arg, state, s) || run_key(key, arg, state, s))
        return 0;
    if (key == ARGP_KEY_ARG) {
        if (s->ninputs == in->command->max_inputs)
            argp_error(state, "too many files: '%s'", arg);
        else
            s->inputs[s->ninputs++] = arg;
        return 0;
    }
    if (key == ARGP_KEY_END) {
        if (s->ninputs < in->command->min_inputs)
            argp_error(state, "no input file");
        if (s->launch_file && s->has_shape)
            argp_error(state, "--launch and options that it replaces exclude each other");
        const char *missing, *option;
        if (!cli_options_act(in->command, s, in->given, &option, &missing))
            argp_error(state, "--%s needs %s", option, missing);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

const char *cli_names_listed(const struct argp_option *o) {
    return o->key == 't' ? isa_target_names : o->key == KEY_KIND ? gen_kind_names : "";
}

typedef VEC(struct argp_option) Options;

static const char *heading_of(const struct argp_option *group) {
    while (group->name)
        group++;
    return group->doc;
}

/* The number of the tables with the heading of table `of`; those without one are all shown first. */
static int group_number(const Command *command, int of) {
    const char *heading = heading_of(command->groups[of]);
    int g = 0;
    while (heading && (!heading_of(command->groups[g]) || strcmp(heading_of(command->groups[g]), heading)))
        g++;
    return heading ? g + 2 : 1;
}

/* All options as argp takes them, headings behind them, and a row that ends them. */
static void describe(Arena *a, const Command *command, Options *all) {
    for (int g = 0; command->groups[g]; g++) {
        const int number = group_number(command, g);
        for (const struct argp_option *o = command->groups[g]; o->name; o++) {
            struct argp_option *full = VEC_PUSH(a, all);
            *full = *o;
            full->group = number;
            const char *names = cli_names_listed(o);
            full->doc = *names ? arena_join(a, o->doc, names) : o->doc;
        }
    }
    for (int g = 0; all->n && command->groups[g]; g++)
        if (group_number(command, g) == g + 2)
            *VEC_PUSH(a, all) = (struct argp_option){.doc = heading_of(command->groups[g]), .group = g + 2};
    VEC_PUSH(a, all);
}

void cli_parse(const Command *command, Settings *settings, int argc, char **argv) {
    Options all = {0};
    Arena *a = &settings->arena;
    describe(a, command, &all);
    cli_reject_unknown(command, all.at, argc, argv);
    all.n = cli_named_options(all.at, all.n, argc, argv);
    struct argp argp = {.options =
                            all.n > 1 ? all.at : NULL, /* glibc loses what it allocates for no option */
                        .parser = parse_key,
                        .args_doc = command->args,
                        .doc = arena_join(a, arena_join(a, command->summary, ".\v"), command->details)};
    ParseInput in = {.command = command, .settings = settings};
    argp_err_exit_status = STATUS_USAGE;
    settings->launch = (PlanLaunch){.grid = {1, 1, 1}, .block = {1, 1, 1}, .repeat = 1};
    settings->opt_level = 2;
    settings->fuzz.count = 1000;
    settings->mutate.count = 200;
    settings->mutate.programs = 20;
    settings->mutate.prove_seconds = 20;
    settings->fuzz.reduce_seconds = 20;
    settings->emit = "elf";
    argv[0] = arena_join(a, "heddle ", command->name);
    argp_parse(&argp, argc, argv, 0, NULL, &in);
}
