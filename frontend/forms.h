/* Legal forms of instructions: which modifiers an opcode takes, and of what kind and type its operands
 * are. One row of ptx_forms.def is one form; the language of its two patterns is described there.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_FORMS_H
#define HEDDLE_FRONTEND_FORMS_H
#include "frontend/ast.h"
#include "frontend/gates.h"

typedef struct {
    char kind; /* letter of the operand pattern; '.' is "anything from here on" */
    bool is_optional, is_piped /* written behind `|` */, is_relaxed /* size may exceed the type's */;
    bool is_exact;                /* the register has just the type, not one that agrees with it */
    bool is_vector;               /* as many elements as the .vN modifier says */
    bool has_selector, has_minus; /* behind the register, before it */
    uint8_t type_index;           /* 1..4: insn->type[n - 1]; 5: twice as wide as type[0]; 0: `type` */
    uint8_t type;                 /* PtxType, TY_NONE if the operand has no type of its own */
    uint8_t nvec;                 /* a vector of exactly this many elements, 0 = no vector */
    bool is_tile; /* a vector: what a lane of a warp group has of D, 64 rows and the columns of the shape */
} OperandSpec;

typedef struct {
    OperandSpec at[PTX_MAX_OPERANDS];
    uint8_t n, nrequired;
    bool is_open; /* ends with "...": operands are not checked */
} OperandSpecs;

/* Decode the modifiers of `text` (an opcode with its modifiers) into a template: op, type, enumerations,
 * flags, form. Reports E0105 to E0107 at `loc`. */
bool form_decode(const char *text, size_t size_bytes, SrcLoc loc, Diags *diags, StrTab *strings,
                 PtxInsn *out);
/* Operand pattern of a form, decoded. */
void form_operands(unsigned form, OperandSpecs *out);
/* The next form after `form` of the same opcode that takes these modifiers (".rn.f32"); 0 if none does. */
unsigned form_next(unsigned form, const char *mods_text);
/* Columns of a form, 1 .. form_count() - 1. */
unsigned form_count(void);
PtxOp form_op(unsigned form);
const char *form_mods(unsigned form), *form_operand_text(unsigned form), *form_section(unsigned form);
PtxNeed form_need(unsigned form); /* its lowest .version and .target */

/* An element of the pattern of modifiers. */
enum { FORM_MAX_ELEMENTS = 16, FORM_MAX_MODS = 32 };
typedef struct {
    char cls;
    bool is_optional;
    bool is_name;     /* a part of the opcode's name, before all other modifiers */
    const char *list; /* text between the parentheses, NULL if absent: all words of the class */
    uint32_t list_size;
} FormElement;
/* out[FORM_MAX_ELEMENTS]; open: the form takes any further modifiers. Returns how many. */
unsigned form_elements(unsigned form, FormElement *out, bool *open);
/* The next listed word; *at is NULL at first. False behind the last, and for an element without a list. */
bool form_element_word(const FormElement *element, const char **at, const char **word, size_t *size_bytes);
/* How many bytes of the modifiers are a part of the opcode's name: 3 of ".lo.u32" behind "mul". */
size_t form_name_bytes(const char *opcode, const char *modifiers);
/* Is there a form of the opcode that takes a modifier of that class? */
bool form_takes_class(const char *opcode, char cls);
/* Type of that name ("u32"), TY_NONE if there is none. */
PtxType ptx_type_by_name(const char *name, size_t size_bytes);
#endif
