# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernels of Numba, launched by two lines; numba_saxpy.py PACKAGES ROUNDS: PACKAGES is used as site-packages.  Prints
how long the first call of either, which compiles it, took, in ns."""

import json
import site
import sys
import time

site.addsitedir(sys.argv[1])
site.getsitepackages = lambda *_: [sys.argv[1]]  # NVIDIA's finder seeks libnvvm here; else only a CUDA toolkit has it

import numpy as np
from numba import cuda

SIZE = 1 << 14


@cuda.jit
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


def main(rounds):
    took = {"saxpy": [], "scale": []}
    x, out = cuda.to_device(np.arange(SIZE, dtype=np.float32)), cuda.device_array(SIZE, dtype=np.float32)
    for number in range(rounds):
        times = [time.monotonic_ns()]
        saxpy[64, 256](2.0, x, x, out)
        times.append(time.monotonic_ns())
        for _ in range(2):
            scale[64, 256](out, 0.5)
            times.append(time.monotonic_ns())
        took["saxpy"].append(times[1] - times[0])
        took["scale"].append(times[2] - times[1])
        if number % 10 == 9:
            out.copy_to_host()
    cuda.synchronize()
    print(json.dumps({name: all_ns[0] for name, all_ns in took.items()}), flush=True)


main(int(sys.argv[2]))
