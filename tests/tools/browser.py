#!/usr/bin/env python3
"""browser.py HEDDLE SAMPLES KERNELS DIR: pages as a browser shows them, where there is a Chromium (else status 77): texts lie in
their boxes and titles in their frames, boxes lie not on each other, a line under the pointer lights up with what belongs to
it, nothing is fetched, nothing is logged, in light and dark, and it takes little to open. SPDX-License-Identifier: MIT"""
import pathlib
import shutil
import subprocess
import sys

import large_kernels
from devtools import Chromium

heddle, samples, kernels, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
if not browser:
    print("skipped: there is no chromium")
    sys.exit(77)
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
PROBE = """(function () {
  var bad = [], boxes = [], lit = 0;
  function inside(t, r, what) {
    if (t.x < r.x || t.x + t.width > r.x + r.width + 1 || t.y < r.y - 1 || t.y + t.height > r.y + r.height + 1) bad.push(what);
  }
  document.querySelectorAll(".cfg").forEach(function (svg) {
    var own = [];
    svg.querySelectorAll(".box").forEach(function (b) {
      var r = b.querySelector("rect").getBBox();
      b.querySelectorAll("text").forEach(function (t) { inside(t.getBBox(), r, "text: " + t.textContent); });
      var head = b.querySelector(".head"), count = b.querySelector(".count");
      if (count && head.getBBox().x + head.getBBox().width > count.getBBox().x) bad.push("count: " + head.textContent);
      own.forEach(function (o) {
        if (r.x < o.x + o.width && o.x < r.x + r.width && r.y < o.y + o.height && o.y < r.y + r.height) bad.push("boxes overlap");
      });
      own.push(r);
    });
    svg.querySelectorAll(".frame").forEach(function (f) {
      var title = f.querySelector("text").getBBox();
      inside(title, f.querySelector("rect").getBBox(), "title");
      own.forEach(function (o) {
        if (title.x < o.x + o.width && o.x < title.x + title.width && title.y + 2 < o.y + o.height && o.y < title.y + title.height - 2) bad.push("a box on a title");
      });
    });
    boxes = boxes.concat(own);
  });
  var row = document.querySelector(".sass tr[data-p]");
  if (row) row.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
  lit = document.querySelectorAll("tr.on").length;
  if (row && row.dataset.p && !document.querySelector("#p" + row.dataset.p + ".on")) bad.push("the PTX line is not lit");
  var shown = performance.getEntriesByType("resource").length;
  return {bad: bad.slice(0, 9), boxes: boxes.length, lit: lit, fetched: shown, wide: document.documentElement.scrollWidth > window.innerWidth + 1};
})()"""
MOST_SECONDS = 2  # of the processor, to open a page; the largest take 0.7
failed = pages = boxes = slowest = 0
cases = [(samples / f"{name}.ptx", None, ()) for name in
         ("mandelbrot", "nqueens", "bitonic", "nbody", "bfs", "calls", "tokens", "irreducible")]
cases += [(kernels / "divergent.ptx", name, ()) for name in ("interpreter", "nested_switch", "short_circuit", "three_deep")]
cases += [(samples / "nqueens.ptx", None, ("--block", "8", "--arg", "out:c:u32[64]", "--arg", "u32:6"))]
cases += [(path, None, ("--grid", "4", "--block", "256", "--arg", "buf:u32[1024]=iota")) for path in large_kernels.write(folder)]
with Chromium(browser, folder / "profile") as chromium:
    for path, kernel, extra in cases:
        out = folder / "page"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        subprocess.run([heddle, "report", path, *(["--kernel", kernel] if kernel else []), "--html", f"{out}/", *extra], check=True, timeout=100)
        for page in sorted(out.glob("*.html")):
            for dark in (False, True)[: 2 if pages < 2 else 1]:
                told, seconds, logged = chromium.open(page.as_uri(), PROBE, dark)
                if not told or told["bad"] or told["fetched"] or told["wide"] or not told["boxes"] or not told["lit"] or logged or seconds > MOST_SECONDS:
                    print(path.stem, page.stem, told, f"{seconds:.2f} s", logged[:3])
                    failed = 1
                boxes += told["boxes"] if told else 0
                slowest = max(slowest, seconds)
                pages += 1
print(f"{pages} pages, {boxes} boxes, the slowest in {slowest:.2f} s of the processor")
sys.exit(failed or pages < 12)
