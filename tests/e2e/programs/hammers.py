# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches as fast as it can: hammers.py LIBCUDART.  Prints "ready"; a line of input starts the launches, the next one
ends them and it prints "made N".  CPython 3.6 to 3.15."""

import ctypes
import sys
import threading

cudart = ctypes.CDLL(sys.argv[1])
stopping = threading.Event()


def launch(made):
    count = 0
    while not stopping.is_set():
        for _ in range(1000):
            cudart.cudaLaunchKernel()
        count += 1000
    made.append(count)


print("ready", flush=True)
while sys.stdin.readline():
    stopping.clear()
    counts = []
    thread = threading.Thread(target=launch, args=(counts,))
    thread.start()
    sys.stdin.readline()
    stopping.set()
    thread.join()
    print("made", counts[0], flush=True)
