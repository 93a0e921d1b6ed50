# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Has work for the GPU all the time, and at a line of its input does what makes a flight recorder write: usage:
triggers.py.  It says what it did, and from when to when in s of CLOCK_MONOTONIC.  It ends with its input."""

import ctypes
import pathlib
import select
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402

GAP_S = 1
HANG_US = 6_000_000


def pause():
    time.sleep(GAP_S)  # gap


def other_pause():
    time.sleep(GAP_S)  # other


def hang():
    """The GPU takes its time, and the program waits for it."""
    driver = ctypes.CDLL("libcuda.so.1")
    driver.sim_kernel.restype = ctypes.c_void_p
    gpu.check(gpu.launch(driver.sim_kernel(b"stuck_%dus" % HANG_US), *gpu.SHAPE, None))
    gpu.check(gpu.device_sync())  # hang


def work():
    """What a recording that has just begun has of the time before a gap."""
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        gpu.check(gpu.launch(gpu.at("loss_20us"), *gpu.SHAPE, None))
        gpu.check(gpu.device_sync())


def rest():
    """Nothing is to be done, as in a server without requests: no call of CUDA's waits."""
    time.sleep(HANG_US / 1e6)


WORDS = {"work": work, "gap": pause, "other": other_pause, "hang": hang, "rest": rest}


def obey(word):
    gpu.check(gpu.device_sync())
    begun = time.clock_gettime(time.CLOCK_MONOTONIC)
    WORDS[word]()
    print("did", word, begun, time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)


def main():
    gpu.setup()
    for number in range(10**9):
        gpu.check(gpu.launch(gpu.at("loss_20us"), *gpu.SHAPE, None))  # launch
        if number == 100:
            print("ready", flush=True)
        if select.select([sys.stdin], [], [], 0.002)[0]:
            word = sys.stdin.readline().strip()
            if not word:
                return
            obey(word)


if __name__ == "__main__":
    main()
