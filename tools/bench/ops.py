#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of recording PyTorch's ops (root), compared with torch.profiler in the same process.

    ops.py GPUTRACE HAMMER.so LIBCUDART PYTHON...

Measured for each Python that has a PyTorch: a torch.add of 4 elements and a step of training; bare, under
torch.profiler plain and with shapes, stacks and memory, and under gputrace with more and more options.  Each is the
least of ROUNDS interleaved rounds.  Compared with the project's numbers: the cost of --ops as a part of
torch.profiler's cost, plain (0.5) and full (0.2), and with shapes and memory of full (0.4); the cost of
--forward-lines, over --ops, for an op with an autograd number as a part of the cost of a launch after each such op (1).
Then ops from several threads at full speed: recorded and lost ops must add up to the ops of the program.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 4
# Repetitions and rounds, of which the least counts: a round is as short as a time slice, to exclude other work.
WORKS = {"add": "500 600", "number": "500 160", "train": "2 250", "launch": "200 100"}
PROFILED = ("add", "train")
PROFILERS = ("plain", "full")
TRACES = {"--ops": ["--ops"], "--shapes": ["--ops", "--shapes"], "--memory": ["--ops", "--shapes", "--memory"],
          "--forward-lines": ["--ops", "--forward-lines"]}
STORM = (2, 400, 2500)  # threads, calls, ops

# The project's numbers: {(gputrace's option, torch.profiler): the most that the former adds, as a part of the latter}.
MOST = {("--ops", "plain"): 0.5, ("--ops", "full"): 0.2, ("--shapes", "full"): 0.4, ("--memory", "full"): 0.4}
MOST_OF_LAUNCH = 1.0


class Target:
    def __init__(self, python, options):
        self.process = subprocess.Popen([python, HERE / "ops_target.py", options.hammer, options.cudart], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
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
    """gputrace on the working target, with its observer in place.  Ops before the recording's start are not in it."""

    def __init__(self, gputrace, target, name, log):
        said = log.with_suffix(".said")
        with open(said, "w") as file:
            self.process = subprocess.Popen([gputrace, "-v", "-p", str(target.process.pid), *TRACES[name], "-o", log],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file)
        while "gputrace: tracing" not in said.read_text():
            if self.process.poll() is not None:
                raise SystemExit(f"ops: gputrace ended: {said.read_text()}")
            time.sleep(0.01)
        if target.ask("observed") != "observed":
            raise SystemExit("ops: the observer did not come")

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.terminate()
        self.process.wait()


def measure(gputrace, target, folder):
    """({(work, how): added nanoseconds}, {(work, how): least nanoseconds})"""
    least = {}

    def keep(work, how, value):
        least[work, how] = min(float(value), least.get((work, how), float("inf")))

    for _ in range(ROUNDS):
        for work, numbers in WORKS.items():
            for profiler in ("none", *PROFILERS) if work in PROFILED else ("none",):
                keep(work, profiler, target.ask(f"{work} {numbers} {profiler}"))
        for name in TRACES:
            with Trace(gputrace, target, name, folder / "cost.gpt"):
                for work, numbers in WORKS.items():
                    keep(work, name, target.ask(f"{work} {numbers} none"))
    return {(work, how): ns - least[work, "none"] for (work, how), ns in least.items() if how != "none"}, least


def judge(what, part, most):
    print(f"  {what}: {part:.2f} (at most {most})")
    if part <= most:
        return 0
    print(f"MISSED  {what}: {part:.2f} (at most {most})")
    return 1


def judge_costs(added, least):
    missed = 0
    for work in PROFILED:
        print(f"  {work:5}  bare {least[work, 'none']:8,.0f} ns; adds: " +
              ", ".join(f"{how} {added[work, how]:,.0f}" for how in (*PROFILERS, *TRACES)))
    for (name, profiler), most in MOST.items():
        missed += judge(f"{' '.join(TRACES[name])} of torch.profiler {profiler}", added["add", name] / added["add", profiler],
                        most)
    print("  train: " + ", ".join(f"{' '.join(TRACES[name])} of {profiler} {added['train', name] / added['train', profiler]:.2f}"
                                  for name, profiler in MOST))
    return missed


def judge_lines(added):
    """Compares among the same ops: in a loop of launches alone a launch costs less, as nothing else uses the caches."""
    line = added["number", "--forward-lines"] - added["number", "--ops"]
    launch = added["launch", "--ops"] - added["number", "--ops"]
    print(f"  a forward line {line:,.0f} ns, a launch {launch:,.0f} ns")
    return judge("a forward line of a launch", line / launch, MOST_OF_LAUNCH)


def recorded_and_lost(gputrace, log, folder):
    """(recorded ops, lost ops, ops with lost inputs) of the log, from its export."""
    out = folder / "storm.json"
    subprocess.run([gputrace, "export", log, "-o", out], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    recorded = lost = inputs = 0
    with open(out) as file:
        for line in file:
            recorded += '"cat":"cpu_op"' in line
            found = re.search(r'"ops_lost": ([0-9]+)', line)
            lost = int(found.group(1)) if found else lost
            found = re.search(r'"op_inputs_lost": ([0-9]+)', line)
            inputs = int(found.group(1)) if found else inputs
    return recorded, lost, inputs


def judge_storm(gputrace, target, folder, flag):
    log = folder / "storm.gpt"
    with Trace(gputrace, target, flag, log):
        done, seconds = target.ask("storm {} {} {}".format(*STORM)).split()
    recorded, lost, inputs = recorded_and_lost(gputrace, log, folder)
    print(f"  {' '.join(TRACES[flag])}: {int(done):,} ops of {STORM[0]} threads, {int(done) / float(seconds) / 1e6:.2f} million a second: "
          f"{recorded:,} recorded, {lost:,} lost ({100 * lost / int(done):.1f} %), inputs of {inputs:,} lost")
    if recorded + lost == int(done):
        return 0
    print(f"MISSED  recorded and lost are {recorded + lost:,} of {int(done):,}")
    return 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gputrace", type=pathlib.Path)
    parser.add_argument("hammer", type=pathlib.Path)
    parser.add_argument("cudart", type=pathlib.Path)
    parser.add_argument("python", nargs="+")
    options = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for python in options.python:
            target = Target(python, options)
            print(python)
            added, least = measure(options.gputrace, target, pathlib.Path(folder))
            missed += judge_costs(added, least) + judge_lines(added)
            for flag in ("--ops", "--shapes"):
                missed += judge_storm(options.gputrace, target, pathlib.Path(folder), flag)
            target.end()
    sys.exit(missed > 0)


main()
