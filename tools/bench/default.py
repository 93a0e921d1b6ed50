#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of recording what runs and what waits by default, for programs that do not use a GPU (root).

    default.py GPUTRACE [--rounds N] [--torch PYTHON]

Rounds of the same work under a trace with the default and under one with --no-cpu --no-off-cpu alternate.  Printed are
the ratio of the program's CPU times; what the BPF programs took by the kernel's own statistics, as a part of the time of
the round times the CPUs; and what they took of a thread in any second by their own clocks, from which gputrace decides.
It fails where the second is over 1 %.
"""
import argparse
import glob
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import blame

HERE = pathlib.Path(__file__).resolve().parent
STATISTICS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
OFF = ("--no-cpu", "--no-off-cpu")
MOST = 1.0


class Target(blame.Target):
    def __init__(self, first, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.ask(first)


def programs_ns(pid):
    """What the BPF programs of that process have taken so far, in ns; proc(5), fdinfo."""
    sums = {}
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            fields = dict(line.split(":", 1) for line in pathlib.Path(path).read_text().splitlines() if ":" in line)
        except OSError:  # closed meanwhile
            continue
        if "run_time_ns" in fields:
            sums[fields["prog_id"]] = int(fields["run_time_ns"])
    return sum(sums.values())


def compare(options, target, text):
    """(CPU time with the default, as a multiple; percent of the CPUs; the most percent of a thread's second)"""
    times, taken, own = {True: [], False: []}, [], []
    cpus = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for by_default in (False, True):
                log = pathlib.Path(folder) / "default.gpt"
                log.unlink(missing_ok=True)
                command = [options.gputrace, "-v", "-p", str(target.process.pid), "--no-keep", "-o", log,
                           *(() if by_default else OFF)]
                tool = blame.Tool(command, "gputrace: tracing").process
                begin, before = time.monotonic(), programs_ns(tool.pid)
                times[by_default].append(target.ask(text))
                after, end = programs_ns(tool.pid), time.monotonic()
                tool.send_signal(signal.SIGINT)
                said = tool.communicate()[0]
                if by_default:
                    taken.append((after - before) / 1e7 / (end - begin) / cpus)
                    own.append(float(re.search(r"took at most ([\d.]+) % of a thread's second", said)[1]))
    return statistics.median(times[True]) / statistics.median(times[False]), statistics.median(taken), max(own)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gputrace")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--torch", help="a Python that has PyTorch")
    options = parser.parse_args()
    switches = HERE / "blame_target.py"
    works = {"computing": (("spin 1000", sys.executable, switches), "spin 20000000"),
             "switching as often as it can": (("spin 1000", sys.executable, switches), "switch 600000")}
    if options.torch:
        works["training with PyTorch and two workers"] = (("train 500", options.torch, HERE / "default_target.py"), "train 2000")
    missed = False
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        for name, (start, text) in works.items():
            target = Target(*start)
            ratio, percent, own = compare(options, target, text)
            target.end()
            missed |= percent > MOST
            print(f"{name}: {percent:.2f} % of the CPUs by the kernel's statistics (at most {MOST} %), {own:.2f} % of a thread's "
                  f"second at most; CPU time {ratio:.3f} times that without", flush=True)
    finally:
        STATISTICS.write_text(before)
    return missed


if __name__ == "__main__":
    if os.geteuid():
        raise SystemExit("default: run as root")
    sys.exit(main())
