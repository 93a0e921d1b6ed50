# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches kernels until its standard input ends, with a short pause after each, and writes what it did.

moments.py FILE [PAUSE_US]: FILE gets two 64-bit numbers for each launch: CLOCK_MONOTONIC in ns before and after it.
A line on standard input has it wait for the GPU and stop, and "done" says that FILE is there.
"""

import array
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402

gpu.setup()
path, pause_s = sys.argv[1], int(sys.argv[2] if len(sys.argv) > 2 else "30") / 1e6
times = array.array("Q")
asked = threading.Event()


def wait_for_line():
    sys.stdin.readline()
    asked.set()


def launch():
    before = time.monotonic_ns()
    gpu.launch(gpu.at("tiny_1us"), *gpu.SHAPE, None)
    times.extend((before, time.monotonic_ns()))


threading.Thread(target=wait_for_line, daemon=True).start()
launch()
times = array.array("Q")
print("ready", flush=True)
while not asked.is_set():
    launch()
    time.sleep(pause_s)
gpu.stream_sync(None)
with open(path, "wb") as file:
    times.tofile(file)
print("done", flush=True)
sys.stdin.readline()
