# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that allocate as fast as they can and check their blocks, and one that launches; until standard input ends.

busy.py THREADS TRUTH: prints "ready PID", and at the end "right" if every block had its data.  TRUTH has the
launches.  CPython 3.8 to 3.13.
"""

import ctypes
import os
import pathlib
import random
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402
import model  # noqa: E402

libc = ctypes.CDLL(None)  # releases the interpreter's lock: threads are really inside malloc at the same time
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.realloc.restype = ctypes.c_void_p
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

stopping = threading.Event()
wrong = []


def allocate(number):
    mix, kept = random.Random(number), {}
    while not stopping.is_set():
        size = mix.choice((24, 100, 1000, 5000, 200000))
        block = libc.malloc(size)
        ctypes.memset(block, number, size)
        kept[block] = size
        if len(kept) > 50:
            block, size = kept.popitem()
            block = libc.realloc(block, size + 64)
            if ctypes.string_at(block, size) != bytes([number]) * size:
                wrong.append((number, size))
            libc.free(block)
        lists = [[number] * mix.randrange(100) for _ in range(20)]
        if any(item != number for items in lists for item in items):
            wrong.append((number, "list"))


def launch():
    work = model.Block(None)
    while not stopping.is_set():
        work.forward()
        model.attention(None, 3)
        time.sleep(0.001)


def main():
    gpu.setup(record=True)
    threads = [threading.Thread(target=allocate, args=(number + 1,)) for number in range(int(sys.argv[1]))]
    threads.append(threading.Thread(target=launch))
    for thread in threads:
        thread.start()
    print("ready", os.getpid(), flush=True)
    sys.stdin.readline()
    stopping.set()
    for thread in threads:
        thread.join()
    gpu.check(gpu.device_sync())
    gpu.write_truth(sys.argv[2])
    print("wrong" if wrong else "right", wrong[:3], flush=True)


if __name__ == "__main__":
    main()
