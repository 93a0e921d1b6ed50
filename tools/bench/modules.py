#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What modules of PyTorch cost a launch, by BPF and by the agent alone, as root on the simulated GPU: a launch below 4 or
20 calls of modules (12 or 60 frames and 3 more) against one below the same frames that are no modules.

modules.py BUILD PYTHON...
"""

import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEPTHS, MOST_NS = (4, 20), 100


def measure(build, python, way, depth):
    """ns of a launch with and without modules."""
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log.gpt"
        command = [build / "gputrace", "-q", "--no-keep", "--way", way, "-o", log, "--", ROOT / "tests/simgpu/simgpu-run", python,
                   HERE / "modules_target.py", build / "simgpu/libcudart.so.13", depth]
        said = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, universal_newlines=True, check=True,
                              env={"BUILD": str(build), "PATH": "/usr/bin:/bin"}).stdout
    return [int(ns) for ns in re.search(r"^ns (\d+) (\d+)$", said, re.M).groups()]


def main():
    build, missed = pathlib.Path(sys.argv[1]).resolve(), False
    print("| CPython | by | modules | a launch, ns | the same frames without modules, ns | ratio | a module, ns |")
    print("|---|---|---|---|---|---|---|")
    for python in sys.argv[2:]:
        version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], stdout=subprocess.PIPE,
                                 universal_newlines=True, check=True).stdout.strip()
        for way in ("bpf", "agent"):
            for depth in DEPTHS:
                with_modules, without = measure(build, python, way, depth)
                print(f"| {version} | {way} | {depth} | {with_modules:,} | {without:,} | {with_modules / without:.2f} "
                      f"| {(with_modules - without) / depth:.0f} |", flush=True)
                missed |= depth == DEPTHS[0] and with_modules - without > MOST_NS
    if missed:
        print(f"MISSED  at most {MOST_NS} ns more for {DEPTHS[0]} modules")
    sys.exit(missed)


main()
