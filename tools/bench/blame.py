#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What --cpu and --off-cpu cost a program, as ratios in one run (root, no GPU).

    blame.py GPUTRACE [--rounds N]

The program says itself how long each round took: rounds with and without the trace alternate, so that what else the
machine does is in both.  Held against the project's numbers: --cpu -F 99 at most 1 % of the program's time, -F 19 0.2 %;
a switch of a thread that is recorded at most 1.5 us dearer, one of a thread that is not followed 0.3 us.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SPIN, SWITCHES = 3000000, 40000


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


class Trace:
    def __init__(self, gputrace, pid, folder, *options):
        self.log = pathlib.Path(folder) / "blame.gpt"
        self.process = subprocess.Popen([gputrace, "-v", "-p", str(pid), "--agent", "off", "-o", self.log, *options],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        universal_newlines=True)
        for line in self.process.stderr:
            if "gputrace: tracing" in line:
                return
        raise SystemExit("blame: gputrace did not begin")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.send_signal(2)
        self.process.communicate()
        self.log.unlink()


def compare(options, traced, asked, text, *flags):
    """Medians without and with a trace of the process `traced`, of what `asked` says to the text."""
    without, within = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            without.append(asked.ask(text))
            with Trace(options.gputrace, traced.process.pid, folder, *flags):
                within.append(asked.ask(text))
    return statistics.median(without), statistics.median(within)


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
    target.end()
    other.end()
    return missed


if __name__ == "__main__":
    if os.geteuid():
        raise SystemExit("blame: run as root")
    sys.exit(main())
