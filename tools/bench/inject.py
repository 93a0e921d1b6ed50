#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost for a process when gputrace injects its agent, on the simulated GPU (root).

    inject.py BUILD HAMMER.so

Measured and compared with the project's numbers: how long the borrowed thread is stopped (median 0.25 ms) when the
agent is loaded and when it is woken; how long it is away from its own work, dlopen included; the cost of a launch
untraced, without the agent, with the agent recording little and much, and after the trace.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROCESSES, TRACES = 15, 4
COST_CALLS, COST_ROUNDS = 20000, 9

LAUNCH_ROUNDS = 3
TRACES_OF_LAUNCHES = {"launches only": ("--agent", "off"), "kernels only": ("--kernels-only",), "all kinds": ("--trace", "cuda,sync,memory"),
                      "default": ()}

# The project's number.
MOST_STOPPED_US = 250
# Rounds of an untraced loop differ by some per cent.
MOST_AFTER = 1.15

HELD = re.compile(r"stopped for (\d+) us and back after (\d+) us")


class Target:
    def __init__(self, build, *command):
        environment = dict(os.environ, BUILD=str(build))
        self.process = subprocess.Popen([ROOT / "tests/simgpu/simgpu-run", *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, universal_newlines=True, env=environment)
        if not self.answer().startswith("ready"):
            raise SystemExit("inject: the target did not start")

    def answer(self):
        return self.process.stdout.readline().strip()

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def cost(self):
        """Least nanoseconds per launch, as others share the machine."""
        rounds = []
        for _ in range(COST_ROUNDS):
            self.ask(f"cost {COST_CALLS}")
            rounds.append(float(self.answer()))
        return min(rounds)


def trace(build, pid, folder, seconds="0.05s"):
    """(stopped, away) in microseconds of one trace."""
    done = subprocess.run([build / "gputrace", "-v", "-p", str(pid), "-d", seconds, "-o", folder / "trace.json"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True, check=True)
    held = HELD.search(done.stderr)
    return tuple(map(int, held.groups())) if held else None


def show(what, samples):
    """Prints one line; returns the median time of the stop."""
    samples = [sample for sample in samples if sample]
    stopped, away = (sorted(values) for values in zip(*samples))
    print(f"{what:24} stopped: median {statistics.median(stopped):.0f} us, most {stopped[-1]};"
          f" back after: median {statistics.median(away):.0f} us, most {away[-1]} ({len(samples)} times)", flush=True)
    return statistics.median(stopped)


def bench_stop(build, folder):
    loaded, woken = [], []
    for _ in range(PROCESSES):
        target = Target(build, sys.executable, ROOT / "tests/e2e/programs/obedient.py")
        loaded.append(trace(build, target.process.pid, folder))
        woken += [trace(build, target.process.pid, folder) for _ in range(TRACES - 1)]
        target.end()
    return max(show("the agent is loaded", loaded), show("the agent is woken", woken))


def cost_traced(build, target, folder, options):
    tracer = subprocess.Popen([build / "gputrace", "-v", "-p", str(target.process.pid), "-o", folder / "trace.gpt", *options],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
    while "gputrace: tracing" not in tracer.stderr.readline():
        pass
    cost = target.cost()
    tracer.terminate()
    tracer.communicate()
    return cost


def bench_launch(build, folder, hammer):
    """In one process, with all kinds of trace in each round, so that conditions are equal; the least counts."""
    target = Target(build, sys.executable, HERE / "rate_target.py", hammer, "libcudart.so.13", "1", "16")
    before = target.cost()
    costs = {name: [] for name in (*TRACES_OF_LAUNCHES, "after")}
    for _ in range(LAUNCH_ROUNDS):
        for name, options in TRACES_OF_LAUNCHES.items():
            costs[name].append(cost_traced(build, target, folder, options))
        costs["after"].append(target.cost())
    target.end()
    print(f"a launch, 16 frames deep, {before:.0f} ns untraced:", flush=True)
    for name in costs:
        print(f"  {name:14} {min(costs[name]):6.0f} ns ({min(costs[name]) - before:+.0f}, {min(costs[name]) / before:.2f} times)")
    return min(costs["after"]) / before


def main():
    build, hammer = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        stopped = bench_stop(build, folder)
        after = bench_launch(build, folder, hammer)
    if stopped > MOST_STOPPED_US:
        missed.append(f"stopped for {stopped:.0f} us in the median (at most {MOST_STOPPED_US})")
    if after > MOST_AFTER:
        missed.append(f"a launch costs {after:.2f} times as much after the trace (at most {MOST_AFTER})")
    for text in missed:
        print("MISSED ", text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
