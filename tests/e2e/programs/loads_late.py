# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Has work for the GPU all the time, and loads code before the first and when a line comes: usage: loads_late.py.  Says
when it loaded, in s of CLOCK_MONOTONIC.  It ends with its input."""

import ctypes
import pathlib
import select
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402


def load():
    module = ctypes.c_void_p()
    gpu.check(ctypes.CDLL("libcuda.so.1").cuModuleLoadData(ctypes.byref(module), b"//jit"))


def main():
    gpu.setup()  # loads code
    load()
    for number in range(10**9):
        gpu.check(gpu.launch(gpu.at("loss_20us"), *gpu.SHAPE, None))
        if number == 100:
            print("ready", flush=True)
        if select.select([sys.stdin], [], [], 0.01)[0]:
            if not sys.stdin.readline():
                return
            begun = time.clock_gettime(time.CLOCK_MONOTONIC)
            load()
            print("loaded", begun, time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)


if __name__ == "__main__":
    main()
