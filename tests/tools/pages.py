#!/usr/bin/env python3
"""pages.py HEDDLE SAMPLES KERNELS DIR: the pages of heddle report --html, its graphs, and traces for Perfetto. Pages are
well-formed, name nothing outside themselves, link what is there, and say what the other reports say: the instructions
of disasm, the counts and regions of report --against, the decisions of report --json, the instructions that run counts.
SPDX-License-Identifier: MIT"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import large_kernels

heddle, samples, kernels, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
errors = []
VOID = {"meta", "br"}


def call(*words, status=0):
    done = subprocess.run([heddle, *map(str, words)], capture_output=True, text=True, timeout=200, cwd=folder)
    if done.returncode != status:
        sys.exit(f"heddle {' '.join(map(str, words))}: status {done.returncode}: {done.stderr[:500]}")
    return done.stdout


class Page(html.parser.HTMLParser):
    """Elements with their attributes and text; what is not closed or closed twice is an error."""

    def __init__(self, name, text):
        super().__init__(convert_charrefs=True)
        self.name, self.open, self.all, self.tags, self.data = name, [], [], {}, []
        self.feed(text)
        self.close()
        for tag, *_ in self.open:
            errors.append(f"{name}: <{tag}> is not closed")
        for element in self.open:
            element[2] = "".join(self.data[element[4] :])

    def add(self, tag, attributes):
        element = [tag, dict(attributes), "", [e[0] for e in self.open], len(self.data)]  # where its text begins
        self.all.append(element)
        self.tags.setdefault(tag, []).append(element)
        return element

    def handle_starttag(self, tag, attributes):
        element = self.add(tag, attributes)
        if len(element[1]) != len(attributes):
            errors.append(f"{self.name}: <{tag}> has an attribute twice")
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.add(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            errors.append(f"{self.name}: </{tag}> closes {self.open[-1][0] if self.open else 'nothing'}")
        else:
            element = self.open.pop()
            element[2] = "".join(self.data[element[4] :])
        if tag in ("td", "th"):
            self.handle_data(" ")

    def handle_data(self, data):
        self.data.append(data)

    def of(self, tag, **attributes):
        return [e for e in self.tags.get(tag, []) if all((v in (e[1].get(k.rstrip("_")) or "").split()) for k, v in attributes.items())]


def expect(true, text):
    if not true:
        errors.append(text)


def check_links(name, text, page):
    ids = [e[1]["id"] for e in page.all if "id" in e[1]]
    expect(len(ids) == len(set(ids)), f"{name}: an id stands twice")
    expect(len(text.encode()) < 2_000_000, f"{name}: {len(text)} bytes")
    for tag, attributes, *_ in page.all:
        expect(tag not in ("link", "img", "iframe", "object", "base"), f"{name}: <{tag}>")
        for key, value in attributes.items():
            expect(key not in ("src", "action") and not key.startswith("on"), f"{name}: {key}={value}")
            if key == "href":
                expect(value.startswith("#") and value[1:] in ids, f"{name}: a link to {value}")
            if key == "data-i":
                expect(value in ids, f"{name}: data-i={value} is no row")
    css = "".join(e[2] for e in page.of("style"))
    expect("@import" not in css and all(u.startswith("#") and u[1:] in ids or "lanes" not in ids for u in re.findall(r"url\(([^)]*)\)", css)),
           f"{name}: the style names something outside")
    for row in page.of("tr"):
        # lines of the PTX text that instructions name are shown, but those of the built-in library's own text
        line = row[1].get("data-p")
        if line and (row[1].get("id") or "").startswith("a") and "-" not in row[1]["id"] and page.of("div", class_="ptx"):
            expect("p" + line in ids, f"{name}: row {row[1]['id']} names PTX line {line}")


def check_code(name, page, kernel, cubin):
    listed = json.loads(call("disasm", "--json", "--kernel", kernel, cubin))
    code = next(s["instructions"] for s in listed["sections"] if s["name"] == ".text." + kernel)
    rows = [e for e in page.of("tr") if re.fullmatch("a[0-9a-f]{4,}", e[1].get("id") or "")]
    expect(len(rows) == len(code), f"{name}: {len(rows)} rows of {len(code)} instructions")
    for row, instruction in zip(rows, code):
        word = re.sub(r"^@\S+ ", "", instruction["text"]).split()[0]
        expect(re.search(r"(^|[\s\d])" + re.escape(word) + r"(\s|$|B\d)", row[2]), f"{name}: {row[1]['id']} is {word}, the page says {row[2]!r}")


def frames_of(page):
    return [(int(e[1]["data-barrier"]), int(e[1]["data-bssy"]), int(e[1]["data-parent"])) for e in page.of("g", class_="frame")]


def check_regions(name, page, regions, callees):
    """Frames are regions of the report and nest as these do: of the depth that the report gives."""
    frames = frames_of(page)
    known = {(r["barrier"], r["bssy"]): r for r in regions}
    parents = {bssy: parent for _, bssy, parent in frames}
    for barrier, bssy, parent in frames:
        if callees:
            continue  # frames of functions that it calls are on the page, too
        expect((barrier, bssy) in known, f"{name}: frame B{barrier} at {bssy:04x} is no region")
        depth, at = 0, parent
        while at != -1:
            depth, at = depth + 1, parents[at]
        if len(frames) == len(regions):
            expect(depth == known[barrier, bssy]["depth"], f"{name}: B{barrier} at {bssy:04x} is drawn at depth {depth}")
    return len(frames), len(regions)


def check_page(path, kernel, name, launch=(), extra=()):
    out = folder / f"{name}.html"
    call("report", path, "--kernel", kernel, "--html", out, *launch, *extra)
    text = out.read_text()
    call("report", path, "--kernel", kernel, "--html", folder / "again.html", *launch, *extra)
    expect(text == (folder / "again.html").read_text(), f"{name}: two pages of the same differ")
    page = Page(name, text)
    check_links(name, text, page)
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        xml.etree.ElementTree.fromstring(svg)
    cubin = folder / "k.cubin"
    call("compile", path, "-o", cubin, *(x for x in extra if not x.startswith(("--against", str(folder)))))
    check_code(name, page, kernel, cubin)
    beside = next(k for k in json.loads(call("report", cubin, "--json", "--against", cubin))["kernels"] if k["kernel"] == kernel)
    counts = {e[1]["data-count"]: e[2] for e in page.of("tr") if "data-count" in e[1]}
    for key, value in beside["ours"].items():
        if key != "regions":
            expect(counts[key].split()[-1] == str(value) or "--against" in extra, f"{name}: {key} is {value}, the page says {counts[key]}")
    told = json.loads(call("report", path, "--json"))
    callees = len(page.of("table", class_="code")) > 1
    table = [e for e in page.of("table", class_="data") if e[2].startswith("Divergent branches")]
    rows = sum(b["function"] == kernel for b in told["branches"])
    expect(callees or bool(rows) == bool(table), f"{name}: the table of branches")
    expect(callees or not rows or table[0][2].count("\n") >= rows, f"{name}: {rows} branches, fewer on the page")
    return page, check_regions(name, page, beside["ours"]["regions"], callees)


framed = regions = pages = 0
part = int(os.environ.get("HEDDLE_PART", "1"))  # of the kernels, which walk the same code, every so manieth
for ptx in (sorted(samples.glob("*.ptx")) + [kernels / "divergent.ptx"])[::part]:
    every = 4 if ptx.parent == kernels else 1
    for kernel in re.findall(r"\.entry\s+([\w$]+)", ptx.read_text())[::every]:
        _, (some, all_of) = check_page(ptx, kernel, f"{ptx.stem}-{kernel}")
        framed, regions, pages = framed + some, regions + all_of, pages + 1

# What a run counts is what heddle run counts; a trace has all of it, and no two groups of a warp at a time.
shutil.copy(samples / "mandelbrot.ptx", folder)
launch = json.loads((samples / "mandelbrot.json").read_text())
launch.pop("checks")
(folder / "m.json").write_text(json.dumps(launch))
page, _ = check_page(folder / "mandelbrot.ptx", "mandelbrot", "run", ("--launch", folder / "m.json"))
ran = json.loads(call("run", "mandelbrot.ptx", "--launch", "m.json", "--json", "--trace-perfetto", "t.json"))
call("run", "mandelbrot.ptx", "--launch", "m.json", "--trace", "one.json", "--trace-perfetto", "one.json", status=2)
expect(not (folder / "one.json").exists(), "two traces in one file")
expect(json.loads(call("mutate", "mandelbrot.ptx", "--json")), "mutants as JSON")
cells = re.findall(r'<tr id="a\w+".*?</tr>', (folder / "run.html").read_text(), re.S)
issued = sum(int((re.findall(r'class="n"[^>]*>(\d*)<', row) or ["0"])[0] or 0) for row in cells)
expect(issued == ran["warp_instructions"], f"the page counts {issued} issues, run {ran['warp_instructions']}")
expect(len(page.of("svg", class_="lanes")) > 4 and page.of("rect", class_="runs") and page.of("rect", class_="bsync"), "lanes over time")
trace = json.loads((folder / "t.json").read_text())
groups = [e for e in trace["traceEvents"] if e["ph"] == "X"]
expect(sum(e["args"]["instructions"] for e in groups) == ran["warp_instructions"], "the trace does not have all instructions")
ends = {}
for event in groups:
    track = event["pid"], event["tid"]
    expect(event["ts"] >= ends.get(track, 0), f"two groups of {track} at {event['ts']}")
    ends[track] = event["ts"] + event["dur"]
tracks = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
expect(set(ends) == tracks and len(tracks) > 40, "tracks without names")

# Beside another binary, and a binary without PTX; names that are markup.
call("compile", samples / "nqueens.ptx", "-o", folder / "n.cubin", "--reconverge=none", "--no-ptx", "--no-map")
page, _ = check_page(samples / "nqueens.ptx", "nqueens", "beside", (), ("--against", str(folder / "n.cubin")))
expect(any(e[1].get("id", "").startswith("b0") for e in page.of("tr")), "the other binary's rows")
call("report", folder / "n.cubin", "--html", folder / "bare.html")
bare = (folder / "bare.html").read_text()
check_links("bare", bare, Page("bare", bare))
expect("Divergent branches" not in bare, "decisions that nobody knows")
odd = folder / "a <b>&amp;\"c'.ptx"
shutil.copy(samples / "mandelbrot.ptx", odd)
call("report", odd, "--html", folder / "odd.html")
text = (folder / "odd.html").read_text()
expect(odd.name in Page("odd", text).of("p")[0][2] and "<b>&amp;" not in text, "a file name became markup")
call("report", kernels / "divergent.ptx", "--html", str(folder / "none" / "all") + "/", status=1)
call("report", kernels / "divergent.ptx", "--html", str(folder / "all") + "/")
expect(len(list((folder / "all").glob("*.html"))) == len(re.findall(r"\.entry", (kernels / "divergent.ptx").read_text())), "a page for each kernel")
# Names that are cut stay apart, and lines of any number are found.
head = ".version 8.0\n.target sm_80\n.address_size 64\n"
body = "{ .reg .b64 %d; .reg .b32 %r;\n.loc 1 4294967295 1\nld.param.u64 %d,[o];\n.loc 1 7 1\nmov.u32 %r,%tid.x; st.global.u32 [%d],%r; ret; }\n"
long = "k" * 220
(folder / "long.ptx").write_text(head + "".join(f".visible .entry {name}(.param .u64 o)\n{body}" for name in (long + "1", long + "2", "k"))
                                 + '.file 1 "nowhere.cu"\n')
(folder / "long").mkdir()
call("report", folder / "long.ptx", "-t", "sm_80", "--html", str(folder / "long") + "/")
made = {path.name: path.read_text() for path in (folder / "long").glob("*.html")}
expect(set(made) == {"k" * 200 + "-1.html", "k" * 200 + "-2.html", "k.html"}, f"pages of long names: {sorted(made)}")
lines = [a["id"] for _, a, *_ in Page("long", made.get("k.html", "")).all if a.get("id", "").startswith("s1-")]
expect(lines == ["s1-7", "s1-4294967295"], f"lines of a source that is not there: {lines}")

# Large pages stay below 2 MB (check_links), with all their lanes.
for ptx, least in zip(large_kernels.write(folder), (700, 1700)):
    page, (some, all_of) = check_page(ptx, ptx.stem, ptx.stem, ("--grid", "4", "--block", "256", "--arg", "buf:u32[1024]=iota"), ("-t", "sm_80", "--reconverge=ipdom"))
    expect(len([e for e in page.of("tr") if re.fullmatch("a[0-9a-f]{4,}", e[1].get("id") or "")]) > least and all_of >= 20, f"{ptx.stem} is small")
    expect(len(page.of("svg", class_="lanes")) >= 8, f"{ptx.stem}: too few warps are shown")

# Inferred launches: the page of each kernel shows what its lanes did; a binary without PTX has nothing to infer from.
call("report", samples / "bitonic.ptx", "--html", folder / "auto.html", "--launch", "auto")
text = (folder / "auto.html").read_text()
check_links("auto", text, Page("auto", text))
expect("Lanes over time" in text and "inferred launch" in text, "--launch auto shows no lanes")
call("report", folder / "n.cubin", "--html", folder / "no.html", "--launch", "auto", status=1)
call("report", samples / "bitonic.ptx", "--html", folder / "no.html", "--launch", "auto", "--block", "32", status=2)
call("report", samples / "bitonic.ptx", "--launch", "auto", status=2)

# Graphs alone.
for ptx in ("mandelbrot", "bitonic", "nqueens"):
    picture = xml.etree.ElementTree.fromstring(call("report", samples / f"{ptx}.ptx", "--emit=svg"))
    space = "{http://www.w3.org/2000/svg}"
    boxes = [g for g in picture.iter(space + "g") if g.get("class") == "box"]
    dot = call("report", samples / f"{ptx}.ptx", "--emit=dot")
    expect(len(boxes) == len(re.findall(r"^ *n\d+ \[", dot, re.M)) > 3, f"{ptx}: boxes of svg and dot")
    if shutil.which("dot"):
        drawn = subprocess.run(["dot", "-Tplain"], input=dot, capture_output=True, text=True)
        expect(drawn.returncode == 0 and drawn.stdout.count("\nnode ") == len(boxes), f"{ptx}: dot says {drawn.stderr[:200]}")
for wrong in (("--emit=svg", "--json"), ("--html", "x.html", "--json"), ("--block", "32"), ("--emit=elf",), ("-o", "x")):
    call("report", folder / "mandelbrot.ptx", *wrong, status=2)
call("report", folder / "mandelbrot.ptx", "--emit=svg", "--kernel", "nobody", status=1)
call("report", kernels / "divergent.ptx", "--emit=svg", status=1)
print("\n".join(errors[:40]))
print(f"{pages} pages, {framed} frames of {regions} regions, {len(errors)} errors")
sys.exit(bool(errors) or pages < 30 // part or framed < regions * 9 // 10)
