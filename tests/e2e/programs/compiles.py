# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches kernels that the driver must compile first; the simulated driver decides by name (core/jit.c)."""

import ctypes
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402


def make(name):
    maker = ctypes.CDLL("libcuda.so.1").sim_kernel
    maker.argtypes, maker.restype = [ctypes.c_char_p], ctypes.c_void_p
    return maker(name.encode())


def compiles(kernels):
    for kernel in kernels:
        gpu.check(gpu.launch(kernel, *gpu.SHAPE, None))


def is_in_the_cache(kernel):
    gpu.check(gpu.launch(kernel, *gpu.SHAPE, None))


def loads(driver):
    module = ctypes.c_void_p()
    gpu.check(driver.cuModuleLoadData(ctypes.byref(module), b"//jit"))


def main():
    gpu.setup()
    loads(ctypes.CDLL("libcuda.so.1"))
    first = [make("jit_%s_20us" % letter) for letter in "abc"]
    for _ in range(3):  # once is enough
        compiles(first)
        is_in_the_cache(make("jit_cached_20us"))
    gpu.check(gpu.device_sync())


if __name__ == "__main__":
    main()
