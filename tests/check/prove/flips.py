#!/usr/bin/env python3
"""Small damage to compiled samples: whatever `heddle prove` calls proved must run as the PTX does.

  flips.py HEDDLE SAMPLES HOSTS SCRATCH [--count N] [--seed S] [--jobs J] [--target T] [--kinds K,K] [--run proved|all]
           [--verbose]

HOSTS holds the samples' host programs (sample_NAME), which write input data. Kinds of damage:
  flip   one bit; 60 % of them in code, the rest in any other section but the kept PTX text: data, symbols, names,
         relocations, attribute records, the map
  swap   two instructions of a function, at most eight apart, change places
  copy   an instruction is replaced by another one of its function
  field  a byte of an instruction gets the value that another instruction of its function has there
The run is `heddle validate` under the sample's own launch; its verdict rests on executing both, the prover's on terms.
--run proved leaves out the run of what is not proved: three times as many a minute.
Exit status 1 if a binary is proved whose run differs or cannot be launched, or if a flip crashes or hangs a command.
SPDX-License-Identifier: MIT"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import struct
import subprocess
import sys

LARGE = {"nbody", "mandelbrot"}  # runs of seconds tell no more
STATUS = {0: "proved", 1: "unreadable", 4: "refuted", 5: "unknown"}
RUN = {0: "equal", 1: "unreadable", 4: "differs", 5: "nothing"}
SHT_NOBITS = 8
BUDGET = 4_000_000  # instructions; a flipped loop need not end


def sections(image):
    """(name, offset, size) of every section that has bytes."""
    (start,) = struct.unpack_from("<Q", image, 40)
    count, strings = struct.unpack_from("<HH", image, 60)
    rows = [struct.unpack_from("<IIQQQQIIQQ", image, start + 64 * i) for i in range(count)]
    for row in rows:
        at = rows[strings][4] + row[0]
        if row[5] and row[1] != SHT_NOBITS:
            yield image[at : image.index(b"\0", at)].decode(), row[4], row[5]


def choose(rng, images, kinds):
    """(name, section, text, new image)"""
    name, kind = rng.choice(sorted(images)), rng.choice(kinds)
    image = bytearray(images[name])
    found = [s for s in sections(image) if s[0] != ".heddle.ptx"]
    code = kind != "flip" or rng.random() < 0.6
    section, offset, size = rng.choice([s for s in found if s[0].startswith(".text") == code])
    if kind == "flip":
        byte, bit = offset + rng.randrange(size), rng.randrange(8)
        image[byte] ^= 1 << bit
        return name, section, f"byte {byte} bit {bit}", image
    words = [offset + at for at in range(0, size - 15, 16)]
    first, other = rng.choice(words), rng.choice(words)
    if kind == "swap":
        other = rng.choice([w for w in words if abs(w - first) <= 128])
    a, b, byte = bytes(image[first : first + 16]), bytes(image[other : other + 16]), rng.randrange(16)
    if kind == "field":
        image[first + byte] = b[byte]
    else:
        image[first : first + 16] = b
    if kind == "swap":
        image[other : other + 16] = a
    return name, section, f"{kind} /*{first - offset:04x}*/ /*{other - offset:04x}*/ {byte if kind == 'field' else ''}", image


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600)  # messages quote names of a broken file
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", "no end within 600 s")


def main():
    parser = argparse.ArgumentParser()
    for name in ("heddle", "samples", "hosts", "scratch"):
        parser.add_argument(name)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--target", default="bru1")
    parser.add_argument("--kinds", default="flip")
    parser.add_argument("--run", choices=("proved", "all"), default="all")
    parser.add_argument("--verbose", action="store_true")
    opt = parser.parse_args()
    samples, scratch, images = pathlib.Path(opt.samples), pathlib.Path(opt.scratch), {}
    for ptx in sorted(samples.glob("*.ptx")):
        name, data = ptx.stem, scratch / ptx.stem
        host = pathlib.Path(opt.hosts) / f"sample_{name}"
        if name in LARGE or not host.exists():
            continue
        data.mkdir(parents=True, exist_ok=True)
        subprocess.run([host, data], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([opt.heddle, "compile", "-t", opt.target, ptx, "-o", data / "good.cubin"], check=True)
        images[name] = (data / "good.cubin").read_bytes()

    def judge(index):
        name, section, text, image = choose(random.Random(f"{opt.seed}.{index}"), images, opt.kinds.split(","))
        ptx, file = samples / f"{name}.ptx", scratch / f"flip.{index}.cubin"
        file.write_bytes(image)
        proof = run([opt.heddle, "prove", "--query-time", "1", ptx, file])
        proof, trial = STATUS.get(proof.returncode, "crashed"), "not asked"
        if proof == "proved" or opt.run == "all":
            launch = samples / f"{name}.json"
            trial = run([opt.heddle, "validate", ptx, file, "--launch", launch, "--data-dir", scratch / name,
                         "--budget", str(BUDGET)])
            trial = RUN.get(trial.returncode, "crashed")
        os.unlink(file)
        return (name, section, text), proof, trial

    table, errors = collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        for flip, proof, trial in pool.map(judge, range(opt.count)):
            table[proof, trial] += 1
            wrong = proof == "proved" and trial != "equal" or "crashed" in (proof, trial)
            errors += wrong
            if wrong or opt.verbose:
                print(f"{'WRONG: ' if wrong else ''}{flip[0]} {flip[1]} {flip[2]}: {proof}, run {trial}", flush=True)
    for (proof, trial), n in sorted(table.items()):
        print(f"{n:7} {proof}, run {trial}")
    sys.exit(errors != 0)


main()
