#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The time until `gputrace view` of a long log shows the first slices, and to answer a zoom (root, to record).

    view.py BUILD HAMMER.so LIBCUDART [--launches N]

The log is one of scale.py's, of launches with their kernels and returns on the simulated GPU, kept in BUILD/scale.  The
requests are a browser's: the first slices are of the whole span, from places spread over it; a zoom is a part of the
span at the resolution of a screen, at ten places for each length, and the slowest answer counts.  Compared with the
project's numbers for a log of 10 million slices: 2 s to the first ones, 100 ms for a zoom.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import urllib.request

import scale

FIRST_MOST_S = 2
ZOOM_MOST_MS = 100
WIDTH = 1500
LENGTHS = (1, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5)  # parts of the span
PLACES = 10
PAUSE_S = 0.05


class View:
    def __init__(self, gputrace, log):
        self.begun = time.monotonic()
        self.process = subprocess.Popen([gputrace, "view", log], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        universal_newlines=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit("view: gputrace view did not begin")

    def ask(self, path):
        """(answer, milliseconds)"""
        begun = time.monotonic()
        with urllib.request.urlopen(self.address + path) as answer:
            body = answer.read()
        return body, (time.monotonic() - begun) * 1e3

    def slices(self, begin, end):
        return self.ask(f"slices?from={int(begin)}&to={int(end)}&width={WIDTH}")

    def since(self):
        return time.monotonic() - self.begun

    def read(self):
        """(time until the first slices, from how many places of the log, time until all, the last answer of tracks, the
        slowest answer meanwhile)"""
        first, slowest, places = None, 0, 0
        while True:
            body, ms = self.ask("tracks")
            said = json.loads(body)
            slowest = max(slowest, ms)
            if said["tracks"]:
                drawn, ms = self.slices(0, said["span"])
                slowest = max(slowest, ms)
                if first is None and json.loads(drawn)["rows"]:
                    first, places = self.since(), said.get("places", 0)
                part = random.choice(LENGTHS)
                start = random.random() * said["span"] * (1 - part)
                slowest = max(slowest, self.slices(start, start + said["span"] * part)[1])
            if said["done"]:
                return first, places, self.since(), said, slowest
            time.sleep(PAUSE_S)

    def slowest_zoom(self, span, part):
        starts = [random.random() * span * (1 - part) for _ in range(PLACES)]
        return max(self.slices(start, start + span * part)[1] for start in starts)

    def end(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            most = next(int(line.split()[1]) / 1000 for line in status if line.startswith("VmHWM"))
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        return most


def judged(value, most, text):
    return ("" if value <= most else "MISSED ") + text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("hammer")
    parser.add_argument("cudart")
    parser.add_argument("--launches", type=int, default=4500000)
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.gputrace = options.build / "gputrace"
    log = scale.log_of(options, "kernels", options.launches)
    random.seed(1)
    view = View(options.gputrace, log)
    first, places, everything, said, meanwhile = view.read()
    zooms = {part: view.slowest_zoom(said["span"], part) for part in LENGTHS}
    most_mb = view.end()
    slowest = max(meanwhile, *zooms.values())
    print(f"view of {options.launches:,} launches, {said['slices']:,} slices ({os.path.getsize(log) / 1e6:.0f} MB), {most_mb:.0f} MB of memory")
    print(judged(first, FIRST_MOST_S, f"first slices after {first:.2f} s (at most {FIRST_MOST_S}), of {places} places, all after {everything:.2f} s"))
    for part, ms in zooms.items():
        print(f"  a zoom to {part:8g} of the span: {ms:6.1f} ms")
    print(judged(slowest, ZOOM_MOST_MS, f"slowest answer {slowest:.1f} ms (at most {ZOOM_MOST_MS}); while it was being read {meanwhile:.1f} ms"))
    return first > FIRST_MOST_S or slowest > ZOOM_MOST_MS


if __name__ == "__main__":
    sys.exit(main())
