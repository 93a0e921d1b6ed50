# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Backward passes on the engine of engine.c: engine.py LIBTORCH LIBCUDART [LIBCUDA]; each line of input continues it.

Maps the driver as a program that uses it does, but does not load it, as libcudart would find it.
"""

import ctypes
import mmap
import sys

lib = ctypes.CDLL(sys.argv[1])


def here(task, what, first):
    lib.backward(task, what, 1, ctypes.c_uint64(first))


def first_pass():
    lib.backward(0, b"ld|d", 0, ctypes.c_uint64(1))


def second_pass():
    lib.backward(1, b"l|", 0, ctypes.c_uint64(4))


def third_pass():  # runs a node of this task and one of the second pass inside a node
    lib.backward(0, b"lald|", 0, ctypes.c_uint64(5))
    lib.backward(0, b"lbld|d", 0, ctypes.c_uint64(9))


def fourth_pass():  # on the calling thread
    here(2, b"ld|d", 14)


def main():
    lib.setup(sys.argv[2].encode())
    drivers = []
    for path in sys.argv[3:]:
        with open(path, "rb") as file:
            drivers.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    print("ready", flush=True)
    sys.stdin.readline()
    first_pass()
    second_pass()
    third_pass()
    lib.on_a_foreign_thread(ctypes.CFUNCTYPE(None)(fourth_pass))
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
