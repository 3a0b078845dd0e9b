#!/usr/bin/env python3
"""progress.py HEDDLE DIR: a command that takes more than a second says so on a terminal, and only there. The kernel runs for longer than
anybody waits; it is ended when the second line has come. SPDX-License-Identifier: MIT"""
import os
import pathlib
import pty
import subprocess
import sys

heddle, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
(folder / "long.ptx").write_text(""".version 7.0
.target sm_80
.address_size 64
.entry k(.param .u64 p) {
    .reg .b64 %d<3>;
    .reg .pred %q;
    mov.u64 %d1, 0;
LOOP:
    add.u64 %d1, %d1, 1;
    setp.lt.u64 %q, %d1, 0x100000000000;
    @%q bra LOOP;
    ld.param.u64 %d2, [p];
    st.global.u64 [%d2], %d1;
    ret;
}
""")
command = [heddle, "run", str(folder / "long.ptx"), "--arg", "out:c:u64[1]", "--budget", "1000000000000"]
ours, theirs = pty.openpty()
child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
said = b""
while b"heddle run: 2 s" not in said:
    try:
        part = os.read(ours, 1000)
    except OSError:  # it has ended
        break
    said += part
child.kill()
child.wait()
assert b"heddle run: 1 s\x1b[K\r" in said and b"heddle run: 2 s" in said, said
# into a file or a pipe it says nothing, however long it takes
quiet = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
try:
    quiet.wait(3)
except subprocess.TimeoutExpired:
    quiet.kill()
said = quiet.communicate()[1]
assert "heddle run:" not in said, said
