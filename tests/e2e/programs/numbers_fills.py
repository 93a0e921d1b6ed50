# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fills memory on the GPU and launches a kernel, again and again: fill number N is of N bytes.
usage: numbers_fills.py FILE [PAUSE_S]

FILE gets a line for each: N, CLOCK_MONOTONIC before the fill and after the launch.  A line `idle` of standard input makes it
do nothing for a second, a line `segv` makes it crash; at its end the program ends, with a wait for the GPU."""

import ctypes
import os
import pathlib
import select
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402

gpu.setup()
memory = ctypes.c_void_p()
gpu.check(gpu.malloc(ctypes.byref(memory), 16 << 20))
said = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
pause_s = float(sys.argv[2]) if len(sys.argv) > 2 else 0.002


def fill(number):
    before_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    gpu.check(gpu.fill(memory, 0, number, None))
    gpu.check(gpu.launch(gpu.at("tiny_1us"), *gpu.SHAPE, None))
    after_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    os.write(said, b"%d %.9f %.9f\n" % (number, before_s, after_s))


def obey(word):
    """Whether to go on."""
    if word == "segv":
        ctypes.string_at(0)
    if word == "idle":
        gpu.check(gpu.device_sync())
        time.sleep(1)
    return word == "idle"


print("ready", os.getpid(), flush=True)
number = 0
while not select.select([sys.stdin], [], [], 0)[0] or obey(sys.stdin.readline().strip()):
    number += 1
    fill(number)
    if number % 64 == 0:
        gpu.check(gpu.device_sync())
    time.sleep(pause_s)
gpu.check(gpu.device_sync())
print("through", flush=True)
