#!/usr/bin/env python3
"""One-bit flips of compiled samples: whatever `heddle prove` calls proved must run as the PTX does.

  flips.py HEDDLE SAMPLES HOSTS SCRATCH [--count N] [--seed S] [--jobs J] [--target T] [--verbose]

HOSTS holds the samples' host programs (sample_NAME), which write input data. 60 % of the flips hit code, the rest any other
section but the kept PTX text: data, symbols, names, relocations, attribute records, the map. The run is
`heddle validate` under the sample's own launch; its verdict rests on executing both, the prover's on terms.
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


def choose(rng, images):
    name = rng.choice(sorted(images))
    found = [s for s in sections(images[name]) if s[0] != ".heddle.ptx"]
    code = rng.random() < 0.6
    section, offset, size = rng.choice([s for s in found if s[0].startswith(".text") == code])
    return name, section, offset + rng.randrange(size), rng.randrange(8)


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=600)
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
    rng = random.Random(opt.seed)
    flips = [choose(rng, images) for _ in range(opt.count)]

    def judge(index):
        name, section, offset, bit = flips[index]
        image, ptx, file = bytearray(images[name]), samples / f"{name}.ptx", scratch / f"flip.{index}.cubin"
        image[offset] ^= 1 << bit
        file.write_bytes(image)
        proof = run([opt.heddle, "prove", "--query-time", "1", ptx, file])
        launch = samples / f"{name}.json"
        trial = run([opt.heddle, "validate", ptx, file, "--launch", launch, "--data-dir", scratch / name,
                     "--budget", str(BUDGET)])
        os.unlink(file)
        return STATUS.get(proof.returncode, "crashed"), RUN.get(trial.returncode, "crashed")

    table, errors = collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        for flip, (proof, trial) in zip(flips, pool.map(judge, range(opt.count))):
            table[proof, trial] += 1
            wrong = proof == "proved" and trial != "equal" or "crashed" in (proof, trial)
            errors += wrong
            if wrong or opt.verbose:
                print(f"{'WRONG: ' if wrong else ''}{flip[0]} {flip[1]} byte {flip[2]} bit {flip[3]}: {proof}, run {trial}")
    for (proof, trial), n in sorted(table.items()):
        print(f"{n:7} {proof}, run {trial}")
    sys.exit(errors != 0)


main()
