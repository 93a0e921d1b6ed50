# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keeps the simulated GPU idle for 3 ms at a time: `short_gaps.py TRUTH SECONDS [PROGRAM]` launches, and computes for 3 ms
of its own CPU time on one line, until that line has had that many seconds.  TRUTH is {"line", "cpu_ms"}: the line, and
its CPU time by the thread's clock.  PROGRAM (tools/bench/blame_target.py) switches beside it, from half of that time on,
as often as it can.  With "inf" SECONDS it begins once it has read a line, and goes on until it is killed."""

import json
import pathlib
import subprocess
import sys
import time

from sim_cuda import KERNEL, cudart

THIS = pathlib.Path(__file__)


def launch():
    cudart.cudaLaunchKernel(KERNEL, 1, 1, 1, 32, 1, 1, None, 0, None)


def computes(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass  # computes


def line_of(mark):
    return next(number for number, line in enumerate(THIS.read_text().splitlines(), 1) if line.endswith("# " + mark))


def main():
    seconds, beside = float(sys.argv[2]), None
    if len(sys.argv) > 3:
        beside = subprocess.Popen([sys.executable, sys.argv[3]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    if seconds == float("inf"):
        sys.stdin.readline()
    launch()
    begin, asked = time.thread_time(), False
    while time.thread_time() - begin < seconds:
        computes(0.003)
        launch()
        if beside and not asked and time.thread_time() - begin >= seconds / 2:
            beside.stdin.write(b"switch 1000000000\n")
            beside.stdin.flush()
            asked = True
    cpu_ms = (time.thread_time() - begin) * 1e3
    if beside:
        beside.kill()
        beside.wait()
    pathlib.Path(sys.argv[1]).write_text(json.dumps({"line": line_of("computes"), "cpu_ms": cpu_ms}))


main()
