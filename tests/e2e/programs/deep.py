# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Recursion: deep.py LIBCUDART TRUTH DEPTH...; launches under that many frames of recursion, in three ways.

CPython 3.6 and later, standard library only.
"""

import os
import sys
import threading

import recorded


def function(launch, depth):
    if depth:
        return function(launch, depth - 1)
    return launch(0)


def two(launch, depth):
    if not depth:
        return launch(0)
    return (lambda: two(
        launch, depth - 1))()


class Nested:
    def __init__(self, launch, depth):
        if depth > 1:
            self.inner = Nested(launch, depth - 1)
        else:
            launch(0)


def main():
    launch = recorded.launchers(sys.argv[1])[0]
    for depth in map(int, sys.argv[3:]):
        for way, share in ((function, 1), (two, 2), (Nested, 50)):
            # 3.12 allows some 500 nested calls through C; creating an instance is such a call there.
            recorded.label = "%s %d" % (way.__name__, depth)
            way(launch, depth // share)
    recorded.write(sys.argv[2])
    sys.stdout.flush()
    os._exit(0)  # freeing 20,000 frames takes a while


if __name__ == "__main__":
    sys.setrecursionlimit(100000)
    threading.stack_size(900 << 20)  # up to 3.10 each Python call is also a C call
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
