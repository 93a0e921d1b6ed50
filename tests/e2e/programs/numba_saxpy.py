# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernels of Numba, launched by two lines; numba_saxpy.py PACKAGES ROUNDS: PACKAGES is used as site-packages."""

import site
import sys

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
    x, out = cuda.to_device(np.arange(SIZE, dtype=np.float32)), cuda.device_array(SIZE, dtype=np.float32)
    for number in range(rounds):
        saxpy[64, 256](2.0, x, x, out)
        for _ in range(2):
            scale[64, 256](out, 0.5)
        if number % 10 == 9:
            out.copy_to_host()
    cuda.synchronize()


main(int(sys.argv[2]))
