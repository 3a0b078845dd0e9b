#!/usr/bin/env python3
"""The kernels of bench/kernels/divergent.ptx and rounds.ptx give what the PTX reference interpreter gives, and the joins that are chosen
are worth it: where post-dominators keep lanes apart, a share of what they issue; nowhere much more. What may be done beyond
joins loses nowhere, although nothing was counted. Nor with counts of the same
launch, which save instructions in all, and nowhere cost many.

    divergent_kernels.py HEDDLE BENCH ROUNDS.ptx
SPDX-License-Identifier: MIT
"""
import json, subprocess, sys

heddle, bench, rounds = sys.argv[1:]
out = subprocess.run([sys.executable, f"{bench}/reconvergence", "--heddle", heddle, "--json", "--modes", "ipdom,auto,auto+all,auto+profile,auto+all+profile",
                      f"{bench}/kernels/divergent.ptx", rounds],
                     capture_output=True, text=True)
if out.returncode:
    sys.exit(f"divergent_kernels: {out.stdout[:2000]}{out.stderr}")
good, measured = True, 1
# (the loops of rejection and of retries_in_turn are unrolled: of straight code post-dominators keep fewer lanes apart)
shares = {"while_three_ways": 0.1, "goto_out_of_two": 0.15, "inner_do_while": 0.2, "tree_walk": 0.5, "retry": 0.3, "interpreter": 0.25,
          "three_deep": 0.2, "validate": 0.4, "dispatch_return": 0.3, "queens": 0.6, "rejection": 0.95, "retries_in_turn": 0.45, "prefix_code": 0.33, "two_loops_one_head": 0.5, "lexer": 0.15, "wildcards": 0.25,
          "numbers": 0.6, "partition": 0.6, "words": 0.65, "conditions": 0.12, "stack_walk": 0.4, "markup": 0.65,
          "probe": 1, "two_level_break": 1}
for kernel, row in json.loads(out.stdout).items():
    kernel = kernel.split(":")[1]
    late, chosen, share = row["ipdom"]["warp"], row["auto"]["warp"], shares.pop(kernel, 1.03)
    if chosen > share * late:
        print(f"{kernel}: {chosen} warp instructions, {late} with post-dominators, more than {share} of it")
        good = False
    if row["auto+all"]["warp"] > 1.01 * chosen:
        print(f"{kernel}: {row['auto+all']['warp']} warp instructions with all that is done beyond joins, {chosen} without")
        good = False
    gain = row["auto+profile"]["warp"] / chosen
    measured *= gain
    if row["auto+all+profile"]["warp"] > 1.005 * row["auto+profile"]["warp"]:
        print(f"{kernel}: {row['auto+all+profile']['warp']} warp instructions with all that is done beyond joins where its branches were counted, "
              f"{row['auto+profile']['warp']} without")
        good = False
    if gain > 1.08: # two_loops_one_head 1.14 where counts alone were known
        print(f"{kernel}: {row['auto+profile']['warp']} warp instructions where its branches were counted, {chosen} where not")
        good = False
if measured >= 1:
    print(f"where branches were counted, the product of all kernels' warp instructions is {measured:.3f} of that where not")
    good = False
if shares:
    sys.exit(f"no kernel {', '.join(shares)}")
sys.exit(not good)
