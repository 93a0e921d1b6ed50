#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of --cpu and --off-cpu for a program, as ratios within one run (root, no GPU).

    blame.py GPUTRACE [--rounds N]

The program measures each round itself.  Rounds with and without the trace alternate, so that other load of the machine
affects both.  Compared with the project's numbers: --cpu -F 99 costs at most 1 % of the program's time, -F 19 0.2 %; a
context switch costs at most 1.5 us more for a recorded thread, 0.3 us for one that is not followed; the program is
stopped for at most a tenth of the time for which py-spy stops it at the same rate, and both name the same line.
"""
import argparse
import collections
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GET_PYPI = HERE.parent / "get-pypi"
SPIN, SWITCHES = 3000000, 40000
PAUSES_S, RATE = 2, 99


class Target:
    """blame_target.py, ready for its orders."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, HERE / "blame_target.py"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, universal_newlines=True)
        self.ask("spin 1000")

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Tool:
    """Runs beside the target until the `with` block is left."""

    def __init__(self, command, begins):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        universal_newlines=True)
        for line in self.process.stdout:
            if begins in line:
                return
        raise SystemExit(f"blame: {command[0]} did not begin")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()


def trace(gputrace, pid, folder, *options):
    log = pathlib.Path(folder) / "blame.gpt"
    log.unlink(missing_ok=True)
    return Tool([gputrace, "-v", "-p", str(pid), "--agent", "off", "-o", log, *options], "gputrace: tracing")


def compare(options, traced, asked, text, *flags):
    """Medians of the answers of `asked` to the text, without and with a trace of the process `traced`."""
    without, within = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            without.append(asked.ask(text))
            with trace(options.gputrace, traced.process.pid, folder, *flags):
                within.append(asked.ask(text))
    return statistics.median(without), statistics.median(within)


def culprit(folded):
    """The innermost Python function with most samples, and its line."""
    counts = collections.Counter()
    for line in folded.read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        counts[next((frame for frame in reversed(stack.split(";")) if ".py:" in frame), "none")] += int(count)
    return counts.most_common(1)[0][0]


def stopped_times(options, target):
    """Medians of stopped milliseconds per second: alone, sampled by gputrace, by py-spy; and each tool's culprit."""
    found = subprocess.run([GET_PYPI, sys.executable, "py-spy<1"], check=True, stdout=subprocess.PIPE, universal_newlines=True)
    spy = pathlib.Path(found.stdout.strip()) / "bin/py-spy"
    stopped = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        cpu, by_spy = pathlib.Path(folder) / "cpu.folded", pathlib.Path(folder) / "spy.folded"
        sample = [spy, "record", "--rate", str(RATE), "--format", "raw", "--output", by_spy, "--duration", "unlimited", "--pid",
                  str(target.process.pid)]
        for _ in range(options.rounds):
            stopped["alone"].append(target.ask(f"pauses {PAUSES_S}"))
            with trace(options.gputrace, target.process.pid, folder, "-F", str(RATE), "--metric", "cpu", "-o", cpu):
                stopped["gputrace"].append(target.ask(f"pauses {PAUSES_S}"))
            with Tool(sample, "Sampling process"):
                stopped["py-spy"].append(target.ask(f"pauses {PAUSES_S}"))
        named = culprit(cpu), culprit(by_spy)
    return {name: statistics.median(seconds) * 1000 / PAUSES_S for name, seconds in stopped.items()}, named


def judge_stops(options, target):
    stopped, named = stopped_times(options, target)
    print(f"stopped, ms a second: {stopped['alone']:.3f} alone, {stopped['gputrace']:.3f} under --cpu -F {RATE} (at most a tenth of the "
          f"next), {stopped['py-spy']:.3f} under py-spy at {RATE} Hz")
    print(f"most samples: {named[0]}; py-spy: {named[1]}")
    return named[0] != named[1] or stopped["gputrace"] - stopped["alone"] > (stopped["py-spy"] - stopped["alone"]) / 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gputrace")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    target, other = Target(), Target()
    missed = False

    for frequency, most in ((99, 1.0), (19, 0.2)):
        without, within = compare(options, target, target, f"spin {SPIN}", "-F", str(frequency))
        percent = (within / without - 1) * 100
        missed |= percent > most
        print(f"--cpu -F {frequency}: {percent:+.2f} % of the program's time (at most {most} %)", flush=True)
    for name, traced, most, flags in (("recorded", target, 1.5, ("--off-cpu=1us",)),
                                      ("of a followed thread, shorter than the least", target, None, ("--off-cpu=10s",)),
                                      ("of a thread that is not followed", other, 0.3, ("--off-cpu",))):
        without, within = compare(options, traced, target, f"switch {SWITCHES}", *flags)
        cost_us = (within - without) * 1e6 / (2 * SWITCHES)
        missed |= most is not None and cost_us > most
        print(f"--off-cpu, a switch {name}: {cost_us:+.2f} us, {within / without:.2f} times"
              + (f" (at most {most} us)" if most else ""), flush=True)
    missed |= judge_stops(options, target)
    target.end()
    other.end()
    return missed


if __name__ == "__main__":
    if os.geteuid():
        raise SystemExit("blame: run as root")
    sys.exit(main())
