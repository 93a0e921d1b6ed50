# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Children of multiprocessing that launch, wait for the GPU and end without what a program does at its exit.

ends_at_once.py METHOD WAY CHILDREN LAUNCHES
METHOD: fork or forkserver, whose children end by os._exit. WAY: "returns", or the name of a signal by which each child
ends itself. Each child prints its pid before.
"""

import ctypes
import multiprocessing
import os
import signal
import sys


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


def work(way, launches):
    runtime, driver, one = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcuda.so.1"), Dim3(1, 1, 1)
    driver.sim_kernel.restype = ctypes.c_void_p
    assert runtime.cudaFree(None) == 0
    kernel = ctypes.c_void_p(driver.sim_kernel(b"work_20us"))
    for _ in range(launches):
        assert runtime.cudaLaunchKernel(kernel, one, one, None, ctypes.c_size_t(0), None) == 0
    assert runtime.cudaDeviceSynchronize() == 0
    os.write(1, b"%d\n" % os.getpid())
    if way != "returns":
        os.kill(os.getpid(), getattr(signal, way))


def main(method, way, children, launches):
    context = multiprocessing.get_context(method)
    for _ in range(int(children)):
        child = context.Process(target=work, args=(way, int(launches)))
        child.start()
        child.join()
        assert child.exitcode == (0 if way == "returns" else -getattr(signal, way))


if __name__ == "__main__":
    main(*sys.argv[1:])
