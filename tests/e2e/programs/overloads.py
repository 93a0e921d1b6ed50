# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches as asked on standard input, and answers each line with `done`, the number of its launches so far, and how
many it made a second: `burst N`, N as fast as it can, each with a stack of 120 frames that no launch had before; `calm
N`, N of one line, one each 10 ms; `deep N`, N of one line below 120 frames, one each millisecond."""

import sys
import time

from sim_cuda import KERNEL, cudart

DEPTH = 118
AT_ONCE = 64  # lines that launch, below one path to them


def launch():
    cudart.cudaLaunchKernel(KERNEL, 1, 1, 1, 32, 1, 1, None, 0, None)


LINES = {"launch": launch}
exec("def launches():\n" + "    launch()\n" * AT_ONCE, LINES)


def down(path, left):
    if not left:
        LINES["launches"]()
    elif path & 1:
        down(path >> 1, left - 1)
    else:
        down(path >> 1, left - 1)


def deep(count, left):
    if left:
        deep(count, left - 1)
        return
    for _ in range(count):
        launch()
        time.sleep(0.001)


def main():
    launch()
    made, path = 1, 0
    sys.setrecursionlimit(1000)
    for line in sys.stdin:
        word, number = line.split()
        begin = time.monotonic()
        before = made
        if word == "burst":
            while made - before < int(number):
                down(path, DEPTH)
                path += 1
                made += AT_ONCE
        elif word == "deep":
            deep(int(number), DEPTH)
            made += int(number)
        else:
            for _ in range(int(number)):
                launch()
                made += 1
                time.sleep(0.01)
        print("done", made, round((made - before) / (time.monotonic() - begin)), flush=True)


main()
