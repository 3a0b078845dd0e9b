#!/usr/bin/env python3
"""A wrong word of a register in the map is noticed: every row of .heddle.map that `heddle prove` can compare gets another
component, one at a time, and no file with such a row is called proved.

    map_rows.py HEDDLE SAMPLES SCRATCH
SPDX-License-Identifier: MIT
"""
import os, shutil, struct, subprocess, sys

HEDDLE, SAMPLES, SCRATCH = sys.argv[1:4]
MAP_HEADER, MAP_FUNC, MAP_ROW = 32, 28, 16  # emit/elf/map.c
PROGRAMS = [("matmul", "bru1"), ("spmv", "sm_80"), ("bfs", "sm_90")]
LEAST = 0.5  # of the rows of 64-bit registers: others begin behind moved or merged instructions


def section(image, name):
    shoff, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3a)
    rows = [struct.unpack_from("<IIQQQQ", image, shoff + k * size) for k in range(count)]
    for row in rows:
        at = rows[names][4] + row[0]
        if image[at:image.index(b"\0", at)] == name:
            return row[4], row[5]
    sys.exit(f"no section {name}")


def wide_rows(image):
    """Places of the component of each row whose register has two words in the map."""
    base, _ = section(image, b".heddle.map")
    _, functions, files, _, texts = struct.unpack_from("<5I", image, base + 4)
    for k in range(functions):
        head = base + MAP_HEADER + files * 4 + k * MAP_FUNC
        _, _, _, nrows, rows = struct.unpack_from("<5I", image, head)
        names = [struct.unpack_from("<I", image, base + rows + r * MAP_ROW + 8)[0] for r in range(nrows)]
        parts = [image[base + rows + r * MAP_ROW + 12] for r in range(nrows)]
        wide = {name for name, part in zip(names, parts) if part}
        yield from (base + rows + r * MAP_ROW + 12 for r in range(nrows) if names[r] in wide)


def proved(path):
    done = subprocess.run([HEDDLE, "prove", "--no-launches", path], capture_output=True, text=True)
    return done.returncode == 0, done.stdout


shutil.rmtree(SCRATCH, ignore_errors=True)
os.makedirs(SCRATCH)
failed = False
for name, target in PROGRAMS:
    good, bad = f"{SCRATCH}/{name}.cubin", f"{SCRATCH}/wrong.cubin"
    subprocess.run([HEDDLE, "compile", f"{SAMPLES}/{name}.ptx", "-t", target, "-o", good], check=True)
    with open(good, "rb") as f:
        image = f.read()
    if not proved(good)[0]:
        print(f"{name} for {target}: not proved as it is")
        failed = True
    places, noticed = list(wide_rows(image)), []

    def objects(at, component, text):
        wrong = bytearray(image)
        wrong[at] = component
        with open(bad, "wb") as f:
            f.write(wrong)
        is_proved, told = proved(bad)
        return not is_proved and text in told

    noticed = [at for at in places if objects(at, image[at] ^ 1, "the map names another word")]
    print(f"{name} for {target}: {len(noticed)} of {len(places)} wrong words noticed")
    failed |= not noticed or len(noticed) < LEAST * len(places)
    if noticed and not objects(noticed[0], 3, "the map names a word that"):
        print("a third word of a register of two is not noticed")
        failed = True
sys.exit(failed)
