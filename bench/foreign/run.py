#!/usr/bin/env python3
"""How many kernels of ptxas's code `heddle prove` shows: run.py HEDDLE DIRECTORY LEVEL

DIRECTORY has PTX that nvcc 13.0 makes for sm_80 of HeCBench (hec_src_PROGRAM_FILE) and CUDA samples (cuda-samples_PATH). Of what list.txt names with its
SHA-256 each file is compiled by ptxas (tests/find_nvidia.sh) at -OLEVEL and proved; what stopped a kernel is counted by the first obligation.
SPDX-License-Identifier: MIT"""
import collections
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

heddle, directory, level = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
find = pathlib.Path(__file__).resolve().parents[2] / "tests" / "find_nvidia.sh"
ptxas = subprocess.run([find, "ptxas"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
shown, kernels, absent, stopped = collections.Counter(), 0, 0, collections.Counter()
with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
    for line in (pathlib.Path(__file__).parent / "list.txt").read_text().splitlines():
        digest, name = line.split()
        file = directory / name
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            absent += 1
            continue
        subprocess.run([ptxas, "-arch=sm_80", "-O" + level, file, "-o", cubin.name], check=True)
        options = ["--no-launches", "--time", "10", "--query-time", "2", "--json"]
        report = json.loads(subprocess.run([heddle, "prove", *options, file, cubin.name], capture_output=True, check=False).stdout)
        for function in report["functions"]:
            kernels += 1
            shown[function["verdict"]] += 1
            bad = [region["reason"] for region in function["regions"] if region["status"] in ("unknown", "refuted")]
            if bad:
                stopped[bad[0].removesuffix(", but no launch that was tried shows it")] += 1
print(kernels, "kernels,", dict(shown), absent, "files are not there or others")
for why, n in stopped.most_common():
    print(n, why)
