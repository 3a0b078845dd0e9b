#!/usr/bin/env python3
"""library_examples.py LIBRARY.md INCLUDE CC: the C of the library's documentation compiles against the header, without a warning. What an
example does not declare itself is declared around it.
SPDX-License-Identifier: MIT"""
import pathlib
import re
import subprocess
import sys

page, include, cc = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
AROUND = """#include <heddle.h>
#include <stdio.h>
#include <string.h>
extern HdContext *context;
extern HdModule *ptx, *binary;
extern unsigned char data[1024];
extern size_t bytes;
extern uint64_t p;
extern unsigned n;
extern HdArg args[2];
extern HdLaunch launch;
extern const char *text, *more;
extern HdTraceFn on_instruction;
void example(void);
void example(void) {
"""
examples = [AROUND + part + "}\n" for part in re.findall(r"(?ms)^```c\n(.*?)^```", page.read_text())]
programs = re.findall(r"(?ms)^```c main\n(.*?)^```", page.read_text())  # these are whole
failed = int(not programs)
for example in examples + programs:
    done = subprocess.run([cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", include, "-fsyntax-only", "-x", "c", "-"], input=example,
                          capture_output=True, text=True)
    if done.returncode:
        failed += 1
        print(example, done.stderr)
print(f"{len(examples)} examples, {failed} do not compile")
sys.exit(1 if failed or len(examples) < 4 else 0)
