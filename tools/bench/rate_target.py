# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches from THREADS threads, each below DEPTH Python frames, as fast as C can: the target of rate.py.

    rate_target.py HAMMER.so LIBCUDART THREADS DEPTH

Reads lines from standard input.  "run SECONDS": answers with the exact number of launches made.  "cost CALLS": answers
with the nanoseconds per launch of one thread.
"""
import ctypes
import sys
import threading
import time

CHUNK = 20000  # launches between two looks at the clock

hammer = ctypes.CDLL(sys.argv[1]).hammer  # CDLL releases the GIL, so the threads do not wait for each other
hammer.restype = ctypes.c_double
hammer.argtypes = [ctypes.c_void_p, ctypes.c_long]
launch = ctypes.cast(ctypes.CDLL(sys.argv[2]).cudaLaunchKernel, ctypes.c_void_p)
threads, depth = int(sys.argv[3]), int(sys.argv[4])


def descend(frames, work):
    if frames > 1:
        return descend(frames - 1, work)
    return work()


def run(seconds):
    counts = [0] * threads

    def work(index):
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            hammer(launch, CHUNK)
            counts[index] += CHUNK

    started = [threading.Thread(target=descend, args=(depth, lambda i=i: work(i))) for i in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return sum(counts)


def main():
    print("ready", flush=True)
    for line in sys.stdin:
        what, number = line.split()
        if what == "run":
            print(run(float(number)), flush=True)
        else:
            print("%.3f" % descend(depth, lambda: hammer(launch, int(number))), flush=True)


main()
