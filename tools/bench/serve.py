#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `gputrace serve` takes of a processor, by process, while a program launches at a given rate on the simulated GPU (root).

    serve.py BUILD [OTHER_BUILD] [--rate N] [--seconds N] [--way bpf|agent] [--sums-limit PERCENT]

After 20 s, in which a recording looks for more and sums up its first window, it measures for that long, with the builds in turn.  Children are the sums of
windows, which are chosen at random: a short measurement has too few or too many.  Then a file is asked for, which has to be
there after 2 s.  At the end: all of it, divided by that of the other build.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET_S = 20
FILE_S = 2  # the project's number
PROGRAM = """
import sys, time
from sim_cuda import KERNEL, cudart
rate, made, begin = int(sys.argv[1]), 0, time.monotonic()

def launch():
    cudart.cudaLaunchKernel(KERNEL, 1, 1, 1, 32, 1, 1, None, 0, None)

while True:
    for _ in range(int((time.monotonic() - begin) * rate) - made):
        launch()
        made += 1
    time.sleep(0.002)
"""


def family(pid):
    """The process and its descendants."""
    children = [int(child) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
    return [pid, *(one for child in children for one in family(child))]


def used(pid):
    """{name: seconds of a processor so far}; children that have ended stand beside their parent."""
    spent, ticks = {}, os.sysconf("SC_CLK_TCK")
    for one in family(pid):
        try:
            threads = list(pathlib.Path(f"/proc/{one}/task").iterdir())
            name = (threads[0] / "comm").read_text().strip()
            ns = sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
            ended = sum(int(word) for word in pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()[13:15])
        except (OSError, IndexError):
            continue
        spent[name] = spent.get(name, 0) + ns / 1e9
        spent[name + ", children"] = spent.get(name + ", children", 0) + ended / ticks
    return spent


def measure(build, options, folder):
    command = [ROOT / "tests/simgpu/simgpu-run", sys.executable, "-c", PROGRAM, str(options.rate)]
    environment = {**os.environ, "BUILD": str(options.build), "PYTHONPATH": str(ROOT / "tests/e2e/programs")}
    program = subprocess.Popen(command, env=environment)
    time.sleep(1)
    serve = subprocess.Popen([build / "gputrace", "serve", "--way", options.way, "-p", str(program.pid), "--port", str(options.port),
                              "--socket", folder / "serve.sock", "-o", folder / "all.gpt", *options.limit], stderr=subprocess.DEVNULL)
    try:
        time.sleep(QUIET_S)
        before = used(serve.pid)
        time.sleep(options.seconds)
        after = used(serve.pid)
        asked = time.monotonic()
        written = subprocess.run([build / "gputrace", "serve", "write", "--socket", folder / "serve.sock"], check=True,
                                 stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()
        took = time.monotonic() - asked
    finally:
        for one in (serve, program):
            one.terminate()
            one.wait()
    spent = {name: (seconds - before.get(name, 0)) / options.seconds * 100 for name, seconds in after.items()}
    for name, percent in spent.items():
        if percent >= 0.005:
            print(f"  {name:26}{percent:7.2f} %")
    print(f"  a file of {pathlib.Path(written).stat().st_size / 1e6:.1f} MB was there after {took:.2f} s: {'kept' if took <= FILE_S else 'MISSED'}")
    print(f"  {'all':26}{sum(spent.values()):7.2f} % of a processor, with {build}")
    return sum(spent.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("other", type=lambda path: pathlib.Path(path).resolve(), nargs="?")
    parser.add_argument("--rate", default=10000, type=int, help="launches a second (%(default)s)")
    parser.add_argument("--seconds", default=100, type=int, help="(%(default)s)")
    parser.add_argument("--sums-limit", help="as serve has it")
    parser.add_argument("--way", default="bpf")
    parser.add_argument("--port", default=19877, type=int)
    options = parser.parse_args()
    options.limit = ["--sums-limit", options.sums_limit] if options.sums_limit else []
    with tempfile.TemporaryDirectory() as name:
        taken = [measure(build, options, pathlib.Path(name)) for build in (options.build, options.other) if build]
    if options.other:
        print(f"divided by the other build's: {taken[0] / taken[1]:.2f}")


main()
