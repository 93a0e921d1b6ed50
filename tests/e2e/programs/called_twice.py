# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keeps the simulated GPU idle by a helper that two lines call, and by a library that a third one calls:
`called_twice.py TRUTH` writes {MARK: {"line", "ms", "wall_ms"}} for the lines that end in `# MARK`, by its own clock.

The library, decimal in Python, has an innermost line of its own; what calls it is one line of this program."""

import json
import pathlib
import sys
import time

from sim_cuda import KERNEL, cudart

sys.modules["_decimal"] = None  # the implementation in C has no lines
import decimal

THIS = pathlib.Path(__file__)
NUMBER = decimal.Decimal(7) ** 3000


def launch():
    cudart.cudaLaunchKernel(KERNEL, 1, 1, 1, 32, 1, 1, None, 0, None)


def busy(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds: pass  # busy


def first():
    busy(0.3)  # first


def second():
    busy(0.15)  # second


def divides():
    begin = time.thread_time()
    while time.thread_time() - begin < 0.2: NUMBER.sqrt(decimal.Context(prec=400))  # divides


def line_of(mark):
    lines = THIS.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("# " + mark))


def main():
    found = {"busy": {"line": line_of("busy")}}
    for loses in first, second, divides, first, second:
        launch()
        wall, own = time.monotonic(), time.thread_time()
        loses()
        wall, own = time.monotonic() - wall, time.thread_time() - own
        launch()
        cudart.cudaDeviceSynchronize()
        sums = found.setdefault(loses.__name__, {"line": line_of(loses.__name__), "ms": 0, "wall_ms": 0})
        sums["ms"] += own * 1e3
        sums["wall_ms"] += wall * 1e3
    pathlib.Path(sys.argv[1]).write_text(json.dumps(found))


main()
