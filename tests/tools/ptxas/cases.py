#!/usr/bin/env python3
"""cases.py CASES PROGRAM DIR [--real]: runs every case of cases.txt with PROGRAM in DIR, and compares what it prints and its
exit status with what stands there. --real: the program is NVIDIA's; cases where it differs are left out.
SPDX-License-Identifier: MIT"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

cases, program, folder, real = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), "--real" in sys.argv
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
failed = ran = 0
text = [line for line in pathlib.Path(cases).read_text().split("\n") if not line.startswith("#")]
for block in re.split(r"(?m)^== ", "\n".join(text))[1:]:
    arguments, rest = block.split("\n", 1)
    ptx, expected = re.split(r"(?m)^--\n", rest)
    if ptx:
        (folder / "k.ptx").write_text(ptx)
    differs = arguments.startswith("differs ")
    if real and differs:
        continue
    words = shlex.split(arguments.removeprefix("differs "))
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=60)
    said = re.sub(r"ptxas info +: Compile time = [0-9.]+ ms\n", "", done.stdout + done.stderr)
    said = re.sub(r"Used \d+ registers", "Used N registers", said)
    said = re.sub(r", \d+ bytes cmem\[4\]", "", said)
    said = re.sub(r"current version is '\d+\.\d+'", "current version is 'N.N'", said)
    said = re.sub(r"[1-9]\d* bytes (spill stores|spill loads)", r"N bytes \1", said)
    said += f"status {done.returncode}\n"
    ran += 1
    if said != expected:
        failed += 1
        print(f"{program} {arguments}\n--- expected\n{expected}--- printed\n{said}")
print(f"{ran} cases, {failed} differ")
sys.exit(1 if failed or ran < 40 else 0)
