#!/usr/bin/env python3
"""sarif.py HEDDLE SAMPLE DIR: heddle check --sarif as code hosts take it: each result has a message, a level, a rule of the
list, and a place: a relative URI without a scheme and a line. With PTX known that is the line that disasm shows of the
instruction, otherwise line 1 of the binary. SPDX-License-Identifier: MIT"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

heddle, sample, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
shutil.rmtree(folder, ignore_errors=True)
work = folder / "a b%"
work.mkdir(parents=True)
failed = 0


def run(*words, status=0):
    done = subprocess.run([heddle, *words], capture_output=True, text=True, cwd=folder, timeout=60)
    if done.returncode != status:
        sys.exit(f"{words}: status {done.returncode}: {done.stderr[:300]}")
    return done.stdout


def expect(true, text):
    global failed
    if not true:
        print(text)
        failed = 1


def check(binary, line, ptx):
    log = json.loads(run("check", "--sarif", binary, status=4))
    rules = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    results = log["runs"][0]["results"]
    expect(log["version"] == "2.1.0" and results, "no results")
    prints = set()
    for result in results:
        expect(rules[result["ruleIndex"]] == result["ruleId"] and result["message"]["text"], f"{result}: no rule or text")
        expect(result["level"] in ("error", "warning", "note"), f"{result}: level")
        prints.add(json.dumps(result["partialFingerprints"]))
        places = result["locations"] + result.get("relatedLocations", [])
        places += [step["location"] for flow in result.get("codeFlows", []) for thread in flow["threadFlows"] for step in thread["locations"]]
        for place in places:
            physical = place["physicalLocation"]
            uri = urllib.parse.unquote(physical["artifactLocation"]["uri"])
            expect(not urllib.parse.urlparse(physical["artifactLocation"]["uri"]).scheme and (folder / uri).exists() and not uri.startswith("/"),
                   f"no file {uri}")
            expect(physical["artifactLocation"]["uriBaseId"] == "%SRCROOT%" and physical["region"]["startLine"] >= 1, "no region")
    expect(len(prints) == len(results), "two results with one fingerprint")
    first = results[0]["locations"][0]["physicalLocation"]
    expect(urllib.parse.unquote(first["artifactLocation"]["uri"]) == ptx and first["region"]["startLine"] == line, f"{first}: not {ptx}:{line}")
    where = results[0].get("relatedLocations", results[0]["locations"])[0]["physicalLocation"]["address"]
    expect(re.search(r"\+0x[0-9a-f]+$", where["fullyQualifiedName"]), "no address")


shutil.copy(sample, work / "k.ptx")
run("compile", "a b%/k.ptx", "-o", "good.cubin")
bssy = next(line for line in run("disasm", "good.cubin").splitlines() if "BSSY B0" in line)
line = int(re.search(r"// line (\d+)", bssy)[1])
run("mutate", "good.cubin", "--apply", "drop-bsync:0", "-o", "bad.cubin")
check("bad.cubin", line, "a b%/k.ptx")
check(str(folder / "bad.cubin"), line, "a b%/k.ptx")
# PTX made of another language: beside it its line, and that alone where the PTX lies nowhere
(work / "k.cu").write_text("\n" * 9)
made = sample.read_text().replace("\n.visible .entry", f'\n.file 1 "{work}/k.cu"\n.visible .entry', 1).replace("\n{\n", "\n{\n.loc 1 7 3\n", 1)
(work / "made.ptx").write_text(made)
run("compile", "a b%/made.ptx", "-o", "made.cubin")
run("mutate", "made.cubin", "--apply", "drop-bsync:0", "-o", "made bad.cubin")
check("made bad.cubin", line + 2, "a b%/made.ptx")
expect("(k.cu:7)" in run("check", "made bad.cubin", status=4), "check does not name k.cu")
expect(json.loads(run("check", "--json", "made bad.cubin", status=4))["findings"][0]["source"] == "k.cu:7", "no source in JSON")
(work / "made.ptx").unlink()
check("made bad.cubin", 7, "a b%/k.cu")
run("compile", "a b%/k.ptx", "--no-map", "--no-ptx", "-o", "bare.cubin")
run("mutate", "bare.cubin", "--apply", "drop-bsync:0", "-o", "a b%/bare bad.cubin")
check(str(work / "bare bad.cubin"), 1, "a b%/bare bad.cubin")
sys.exit(failed)
