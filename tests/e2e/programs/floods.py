# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""As asked on standard input: `flood N` launches N times as fast as it can, each time from code that is new, below a
stack that no launch had before, and every 64 of them in a thread of their own; `calm N` launches N times from one line,
once each 10 ms. It answers each line with `done` and the number of its launches so far."""

import sys
import threading
import time

from sim_cuda import KERNEL, cudart

DEPTH = 60
AT_ONCE = 64  # launches of one thread


def launch():
    cudart.cudaLaunchKernel(KERNEL, 1, 1, 1, 32, 1, 1, None, 0, None)


SOURCE = """
def down(path, left):
    if not left:
        launch()
    elif path & 1:
        down(path >> 1, left - 1)
    else:
        down(path >> 1, left - 1)

def run():
    for number in range(first, first + count):
        down(number, depth)
"""


def make_run(number):
    names = {"launch": launch, "first": number, "count": AT_ONCE, "depth": DEPTH}
    exec(compile(SOURCE, f"/generated/module_{number}.py", "exec"), names)
    return names["run"]


def main():
    launch()
    made = 1
    for line in sys.stdin:
        word, number = line.split()
        before = made
        while made - before < int(number):
            if word == "flood":
                thread = threading.Thread(target=make_run(made))
                thread.start()
                thread.join()
                made += AT_ONCE
            else:
                launch()
                made += 1
                time.sleep(0.01)
        print("done", made, flush=True)


main()
