#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What PyTorch's ops cost when they are recorded (root), beside torch.profiler in the same process.

    ops.py GPUTRACE PYTHON...

Measured for each Python that has a PyTorch: a torch.add of 4 elements and a step of training, bare, under torch.profiler
plain and with shapes, stacks and memory, and under gputrace --ops and --shapes; each the least of ROUNDS times with the
others between.  Held against the project's numbers: what --ops adds as a part of what torch.profiler adds, plain
(0.5) and full (0.2), and --shapes of full (0.4).  Then ops from several threads as fast as they can: what was told and what
was lost have to be what the program did.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3
WORKS = {"add": "20000 4", "train": "200 4"}  # so many times, least of
STORM = (2, 400, 2500)  # threads, calls, ops

# The project's numbers: (what gputrace is asked for, torch.profiler): at most such a part of what that adds.
MOST = {("--ops", "plain"): 0.5, ("--ops", "full"): 0.2, ("--shapes", "full"): 0.4}


class Target:
    def __init__(self, python):
        self.process = subprocess.Popen([python, HERE / "ops_target.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, universal_newlines=True)
        self.expect("ready")

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            raise SystemExit("ops: the target ended")
        return line

    def expect(self, word):
        if self.answer() != word:
            raise SystemExit(f"ops: the target did not say {word}")

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Trace:
    """gputrace on the target while it works, its observer in place."""

    def __init__(self, gputrace, target, flag, log):
        self.process = subprocess.Popen([gputrace, "-q", "-p", str(target.process.pid), flag, "-o", log],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if target.ask("observed") != "observed":
            raise SystemExit("ops: the observer did not come")

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.terminate()
        self.process.wait()


def measure(gputrace, target, folder):
    """{(work, how): least nanoseconds}"""
    least = {}

    def keep(work, how, value):
        least[work, how] = min(float(value), least.get((work, how), float("inf")))

    for _ in range(ROUNDS):
        for work, numbers in WORKS.items():
            for profiler in ("none", "plain", "full"):
                keep(work, profiler, target.ask(f"{work} {numbers} {profiler}"))
        for flag in ("--ops", "--shapes"):
            with Trace(gputrace, target, flag, folder / "cost.gpt"):
                for work, numbers in WORKS.items():
                    keep(work, flag, target.ask(f"{work} {numbers} none"))
    return least


def judge_costs(least):
    missed = 0
    for work in WORKS:
        bare = least[work, "none"]
        added = {how: least[work, how] - bare for how in ("plain", "full", "--ops", "--shapes")}
        print(f"  {work:5}  bare {bare:8,.0f} ns; adds: " + ", ".join(f"{how} {ns:,.0f}" for how, ns in added.items()))
        for (flag, profiler), most in MOST.items():
            part = added[flag] / added[profiler] if added[profiler] > 0 else float("inf")
            print(f"         {flag} is {part:.2f} of torch.profiler {profiler} (at most {most})")
            if work == "add" and part > most:
                print(f"MISSED  {flag} of torch.profiler {profiler}: {part:.2f} (at most {most})")
                missed += 1
    return missed


def told_and_lost(gputrace, log, folder):
    """Of the log, by its export."""
    out = folder / "storm.json"
    subprocess.run([gputrace, "export", log, "-o", out], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told = lost = inputs = 0
    with open(out) as file:
        for line in file:
            told += '"cat":"cpu_op"' in line
            found = re.search(r'"ops_lost": ([0-9]+)', line)
            lost = int(found.group(1)) if found else lost
            found = re.search(r'"op_inputs_lost": ([0-9]+)', line)
            inputs = int(found.group(1)) if found else inputs
    return told, lost, inputs


def judge_storm(gputrace, target, folder, flag):
    log = folder / "storm.gpt"
    with Trace(gputrace, target, flag, log):
        done, seconds = target.ask("storm {} {} {}".format(*STORM)).split()
    told, lost, inputs = told_and_lost(gputrace, log, folder)
    print(f"  {flag}: {int(done):,} ops of {STORM[0]} threads, {int(done) / float(seconds) / 1e6:.2f} million a second: "
          f"{told:,} told, {lost:,} lost ({100 * lost / int(done):.1f} %), inputs of {inputs:,} lost")
    if told + lost == int(done):
        return 0
    print(f"MISSED  told and lost are {told + lost:,} of {int(done):,}")
    return 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gputrace", type=pathlib.Path)
    parser.add_argument("python", nargs="+")
    options = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for python in options.python:
            target = Target(python)
            print(python)
            missed += judge_costs(measure(options.gputrace, target, pathlib.Path(folder)))
            for flag in ("--ops", "--shapes"):
                missed += judge_storm(options.gputrace, target, pathlib.Path(folder), flag)
            target.end()
    sys.exit(missed > 0)


main()
