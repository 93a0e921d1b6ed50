# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keeps the simulated GPU idle while a native pool works for a line: `native_pools.py TRUTH`, with OMP_NUM_THREADS and
OPENBLAS_NUM_THREADS of more than one.  PyTorch's ops on the CPU (OpenMP) and NumPy's BLAS (threads of OpenBLAS) share
one CPU, so that threads of the pools also lack one.  TRUTH is {POOL: {"line", "ms"}}: the line, and its time by this
program's clock."""

import json
import os
import pathlib
import sys
import time

from sim_cuda import KERNEL, cudart

LINES = pathlib.Path(__file__).read_text().splitlines()


def launch():
    cudart.cudaLaunchKernel(KERNEL, 1, 1, 1, 32, 1, 1, None, 0, None)


def openmp(torch):
    values = torch.rand(4000000)
    return lambda: torch.erfinv(values)  # openmp


def blas(numpy):
    values = numpy.random.rand(700, 700)
    return lambda: values @ values  # blas


def measure(name, work):
    work()
    took_s = 0
    for _ in range(10):
        launch()
        begin = time.monotonic()
        kept = work()
        took_s += time.monotonic() - begin
        launch()
        del kept
    return {"line": next(number for number, line in enumerate(LINES, 1) if line.endswith("# " + name)), "ms": took_s * 1e3}


def main():
    launch()  # the simulated GPU's threads start on all CPUs
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # of this thread, and of those that it starts
    import numpy
    import torch
    found = {"openmp": measure("openmp", openmp(torch)), "blas": measure("blas", blas(numpy))}
    pathlib.Path(sys.argv[1]).write_text(json.dumps(found))


main()
