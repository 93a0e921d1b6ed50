# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Run by embedded.c: launches from the program's main thread and from a thread of its own.

embedded.py LIBCUDART TRUTH.  CPython 3.6 to 3.15, standard library only.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "../../workloads"))

import gpu  # noqa: E402


def deep(levels):
    if levels:
        return deep(levels - 1)
    return gpu.launch(gpu.at("gelu_25us"), *gpu.SHAPE, None)


def launches(count):
    for level in range(count):
        gpu.launch(gpu.at("norm_12us"), *gpu.SHAPE, None)
        deep(level)


def worker():
    launches(7)
    # Depth 5 again: the new thread's state may have the address of an earlier one.
    thread = threading.Thread(target=launches, args=(5,))
    thread.start()
    launches(3)
    thread.join()


def finish():
    launches(2)
    gpu.write_truth(sys.argv[2])


gpu.setup(sys.argv[1], record=True, fake_kernels=True)
launches(11)
