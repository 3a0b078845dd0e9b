/* The static checker: rules R-01 ... on convergence and H-01 ... on control codes, on decoded machine code.
 * It shares no code with the compiler; rules are in rules.def, their reading for each target in
 * docs/check.md.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_STATIC_CHECK_H
#define HEDDLE_CHECK_STATIC_CHECK_H
#include "check/flow/binflow.h"
#include "check/flow/verdict.h"

typedef enum {
#define RULE(id, name, severity, title, harm, fix, text, bad, good) CR_##id,
#include "check/static/rules.def"
    CR_COUNT
} CheckRule;

typedef struct {
    const char *id; /* "R-01" */
    Severity severity;
    const char *title, *harm, *fix, *text, *bad, *good;
} CheckRuleInfo;
const CheckRuleInfo *check_rule(CheckRule r);
Severity check_rule_severity(CheckRule r,
                             bool native); /* some errors of bru1 are warnings on native targets */
/* "R-07=note,H-01=off" (error, warning, note, off) into `severity`; NULL, or the first item that is none (*n
 * characters). */
const char *check_severity_list(const char *text, uint8_t severity[CR_COUNT], size_t *n);
/* The rules of a list "R-01,H-02" as bits of BinCheckOptions.rules; NULL, or the first name that is none (*n
 * characters). */
const char *check_rule_list(const char *text, uint64_t *rules, size_t *n);
CheckRule check_rule_find(const char *text, size_t n); /* "R-07", "r7", "H-01"; CR_COUNT if unknown */

enum { CHECK_SEVERITY_OFF = 255 };
typedef struct {
    uint64_t rules;             /* bit 1 << CheckRule; 0: all */
    bool no_hazards;            /* leave the H- rules out */
    uint8_t severity[CR_COUNT]; /* by rule: 0 as rules.def says, 1 + the Severity of its findings, or
                                   CHECK_SEVERITY_OFF */
    /* by instruction, or NULL: loads that watch memory which others change, although their words do not say
     * so */
    const bool *watching;
    bool file_only; /* M-01 to M-04 and M-06 alone: nothing else is looked at, and of the report only findings
                     * are set
                     */
    bool no_text; /* do not assemble each instruction's text again: as long as all the rest together */
} BinCheckOptions;

typedef enum { MEND_BSSY, MEND_BREAK, MEND_BSYNC } MendKind;
typedef struct { /* an instruction that would mend it, in the order in which they go in */
    MendKind what;
    uint8_t reg;
    uint32_t before;   /* instruction in front of which it goes; what branches there comes to it. NONE: */
    uint32_t from, to; /* it goes on the edge from the block that ends with `from` to the one at `to` */
    uint32_t target;   /* where its BSYNC goes: in front of this instruction */
} BinMend;

typedef struct {
    CheckRule rule;
    Severity severity;
    uint32_t func, inst;  /* in Binary.funcs; instruction, numbered as in BinFlow */
    const uint32_t *path; /* instructions that lead to it, the first the cause, the last `inst` */
    uint32_t npath;
    uint32_t ptx_line;   /* 0 unknown */
    const BinLoc *loc;   /* NULL unknown */
    const char *text;    /* one line: what is wrong, with addresses */
    const BinMend *mend; /* [nmend] */
    uint32_t nmend;
} BinFinding;

typedef struct {
    Arena arena;
    BinFinding *findings; /* ascending by instruction, then rule; each (rule, instruction) once */
    uint32_t n, nerrors, nwarnings, nnotes;
    uint32_t nknown;         /* findings that check_leave_known took out */
    uint32_t ninsts, nfuncs; /* looked at */
    uint64_t steps;          /* of the walks and data flows, in units of their own; for tests */
    const bool *parts;       /* [instruction] a branch, BRX, EXIT, RET or indirect CALL on which lanes may go
                                different ways */
    const bool *apart;       /* [instruction] not all lanes of the warp need to come here */
    const bool *masks_vary; /* [instruction] a WARPSYNC or R2UR whose source, a register, or a BAR whose guard
                               need not be one value for all lanes */
    const bool *entered;    /* [instruction] a WARPSYNC of lanes that were asked together in a call, where
                               nobody waits for ever, or the vote for its mask (check/static/entered.c) */
} BinCheckReport;

/* Check the whole binary. Never fails: what cannot be known is left out. Free the report with
 * check_report_free. */
void check_binary(const BinFlow *flow, const BinCheckOptions *opt, BinCheckReport *out);
void check_report_free(BinCheckReport *report);

/* What the file says beside its code, of a kernel and of functions that are none (NULL: of all), by M-01 to
 * M-04 and M-06: what is wrong in the text "M-01: ...". WRONG: a launch reserves too few registers or too
 * small a stack; ODD: loaders may take the file for something else than it was taken for here. */
bool check_reserves_too_little(CheckRule r); /* M-01, M-03: a fact of the file, whatever is run */
typedef enum { CHECK_FILE_KEPT, CHECK_FILE_ODD, CHECK_FILE_WRONG } CheckFile;
CheckFile check_beside_code(const Binary *binary, const char *kernel, char *out, size_t out_bytes);

/* [instruction] as BinCheckReport.entered, and the votes that make those WARPSYNCs' masks; alone, for who
 * needs no more. */
bool *check_entered_lanes(const BinFlow *flow, Arena *a);

/* Take out the findings that a report of earlier (check_report_json, or that with the model's) has: by rule,
 * function and instruction, as often as it has each. False: it is no such report. */
bool check_leave_known(BinCheckReport *report, const BinFlow *flow, const char *earlier);

/* VERDICT_KEPT or VERDICT_BROKEN of one function of the binary, what belongs to none included; BINFLOW_NONE:
 * of all. */
Verdict check_verdict(const BinCheckReport *report, uint32_t func);

/* The report as text, one block a finding with instruction and path; as JSON; as SARIF 2.1.0. malloc'ed. */
char *check_report_text(const BinFlow *flow, const BinCheckReport *report);
char *check_report_json(const BinFlow *flow, const BinCheckReport *report);
char *check_report_sarif(const BinFlow *flow, const BinCheckReport *report);
/* What `heddle explain` prints for a rule, or for a check of the machine at run time ("E-BAR-PARTIAL"); NULL
 * if `name` is neither. malloc'ed. */
char *check_explain(const char *name);
#endif
