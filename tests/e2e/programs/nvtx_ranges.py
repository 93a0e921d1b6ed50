# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches kernels in NVTX ranges of every form: nvtx_ranges.py LIBRARY (nvtx_ranges.c, built).

A kernel's name is the ranges in which it is launched, joined by dots; the test checks by it.
"""

import ctypes
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402


def load(path):
    nvtx = ctypes.CDLL(path)
    nvtx.start.restype = ctypes.c_uint64
    nvtx.end.argtypes = [ctypes.c_uint64]
    nvtx.domain.restype = ctypes.c_void_p
    for name in ("domain_push", "domain_push_registered"):
        getattr(nvtx, name).argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    nvtx.domain_pop.argtypes = [ctypes.c_void_p]
    nvtx.push_wide.argtypes = [ctypes.c_wchar_p]
    return nvtx


def launch(*ranges):
    make = ctypes.CDLL("libcuda.so.1").sim_kernel
    make.argtypes, make.restype = [ctypes.c_char_p], ctypes.c_void_p
    gpu.check(gpu.launch(make((".".join(ranges) + "_20us").encode()), *gpu.SHAPE, None))


def on_another_thread(nvtx, started):
    """Has ranges of its own, and ends one that the main thread started."""
    nvtx.push(b"other")
    launch("other")
    nvtx.end(started)
    nvtx.pop()
    launch("none")


def main():
    nvtx = load(sys.argv[1])
    early = nvtx.push(b"early")  # before CUDA
    gpu.setup()
    layers = nvtx.domain(b"layers")
    launch("early")
    for _ in range(3):
        nvtx.push(b"step")
        launch("early", "step")
        nvtx.domain_push(layers, b"conv")
        launch("early", "step", "conv")
        nvtx.push_wide("größe €")
        launch("early", "step", "conv", "wide")
        # a range may end before a later one of another domain
        nvtx.domain_pop(layers)
        launch("early", "step", "wide")
        nvtx.pop()
        nvtx.domain_push_registered(nvtx.domain(b"layers"), b"relu")
        launch("early", "step", "relu")
        nvtx.domain_pop(layers)
        nvtx.push(b"step")  # within itself: counts once
        launch("early", "step")
        nvtx.pop()
        nvtx.pop()
    nvtx.mark(b"middle")
    started = nvtx.start(b"started")
    launch("early", "started")
    other = threading.Thread(target=on_another_thread, args=(nvtx, started))
    other.start()
    other.join()
    launch("early")
    answers = {early, nvtx.pop()}
    nvtx.pop()  # of nothing
    launch("none")
    nvtx.push(b"x" * 300)
    nvtx.push(b"never ended")
    launch("cut", "never ended")
    gpu.check(gpu.device_sync())
    print("answers", *sorted(answers), flush=True)


if __name__ == "__main__":
    main()
