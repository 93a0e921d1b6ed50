#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program's cost of a launch with 16 frames: not traced, by BPF, by the agent alone; on the simulated GPU, as root.

ways.py BUILD PYTHON...
"""

import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FRAMES, RUNS = "16", 3


def least(build, python, way, thread):
    with tempfile.TemporaryDirectory() as folder:
        traced = [build / "gputrace", "-q", "--way", way, "-o", f"{folder}/log.gpt", "--"] if way else []
        command = [*traced, ROOT / "tests/simgpu/simgpu-run", python, HERE / "ways_target.py",
                   build / "simgpu/libcudart.so.13", FRAMES, thread]
        said = [subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, universal_newlines=True, check=True,
                               env={"BUILD": str(build), "PATH": "/usr/bin:/bin"}).stdout for _ in range(RUNS)]
    return min(int(re.search(r"^ns (\d+)$", text, re.M).group(1)) for text in said)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    print("| CPython | not traced | first thread, by BPF | by the agent | another thread, by BPF | by the agent |")
    print("|---|---|---|---|---|---|")
    for python in sys.argv[2:]:
        version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], stdout=subprocess.PIPE,
                                 universal_newlines=True, check=True).stdout.strip()
        cells = [least(build, python, *what) for what in
                 ((None, "first"), ("bpf", "first"), ("agent", "first"), ("bpf", "other"), ("agent", "other"))]
        print(f"| {version} |", *(f"{ns:,} |" for ns in cells), flush=True)


main()
