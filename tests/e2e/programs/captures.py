# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fills memory between calls of cudaProfilerStart and cudaProfilerStop and outside of them, by ctypes: usage:
captures.py WORD...  A word is `start`, `stop`, `elsewhere` (starts on another thread), `wait` (prints "ready" and waits
for a line of standard input), or a number N: N fills, then a wait for the GPU."""

import ctypes
import sys
import threading

runtime = ctypes.CDLL("libcudart.so.13")
memory = ctypes.c_void_p()


def fill(count):
    if not memory:
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
    for _ in range(count):
        assert runtime.cudaMemsetAsync(memory, 0, ctypes.c_size_t(4096), None) == 0
    assert runtime.cudaDeviceSynchronize() == 0


def elsewhere():
    thread = threading.Thread(target=runtime.cudaProfilerStart)
    thread.start()
    thread.join()


def wait():
    print("ready", flush=True)
    sys.stdin.readline()


for word in sys.argv[1:]:
    if word.isdigit():
        fill(int(word))
    else:
        {"start": runtime.cudaProfilerStart, "stop": runtime.cudaProfilerStop, "elsewhere": elsewhere, "wait": wait}[word]()
print("through", flush=True)
