#!/usr/bin/env python3
"""The kernels of bench/kernels/melding.ptx give what the PTX reference interpreter gives with each thing done beyond
joins, and what it is for gains. The bounds are shares of what plain joins issue, counted on the same machine.

    melded_kernels.py HEDDLE BENCH
SPDX-License-Identifier: MIT
"""
import json, subprocess, sys

heddle, bench = sys.argv[1:]
modes = ["auto", "auto+meld", "auto+speculate", "auto+all", "auto+profile", "auto+all+profile"]
out = subprocess.run([sys.executable, f"{bench}/reconvergence", "--heddle", heddle, "--json", "--modes", ",".join(modes),
                      f"{bench}/kernels/melding.ptx"], capture_output=True, text=True)
if out.returncode:
    sys.exit(f"melded_kernels: {out.stdout[:2000]}{out.stderr}")
rows = json.loads(out.stdout)
good = True
for kernel, less, base, share in [("merge_path", "auto+meld", "auto", 0.9), ("bitonic", "auto+meld", "auto", 0.95),
                                  ("bitonic", "auto+all+profile", "auto+profile", 0.95),
                                  ("mandelbrots", "auto+all+profile", "auto+profile", 0.9),
                                  ("monte_carlo", "auto+all+profile", "auto+profile", 0.75)]:
    a, b = rows[kernel][less]["warp"], rows[kernel][base]["warp"]
    print(f"{kernel}: {b} with {base}, {a} with {less}")
    if a > share * b:
        print(f"{kernel}: more than {share} of it")
        good = False
for kernel, row in rows.items():
    if row["auto+meld"]["warp"] > row["auto"]["warp"]:
        print(f"{kernel}: melding loses")
        good = False
    if row["auto+all"]["warp"] > row["auto"]["warp"]:
        print(f"{kernel}: all loses where nothing was counted")
        good = False
    if row["auto+all+profile"]["warp"] > row["auto+profile"]["warp"]: # of bfs counts alone do not say how long its rows are
        print(f"{kernel}: all loses where its lanes' ways are known")
        good = False
sys.exit(not good)
