# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many iterations, no two alike: usage: torch_cycles.py FILE STEPS SIGMOIDS.  Waits until a gputrace observes PyTorch
(--ops).  Iteration N is a record_function "iteration" with SIGMOIDS + N sigmoids.  FILE gets a line for each, and a
last one for the end of all: CLOCK_MONOTONIC before its start and after its start."""

import sys
import time

import torch
from torch.profiler import record_function

from torch_observed import wait_for_observer


def main():
    path, steps, sigmoids = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    x, begun = torch.ones(4), []
    wait_for_observer()
    for number in range(steps):
        before = time.monotonic_ns()
        with record_function("iteration"):
            begun.append((before, time.monotonic_ns()))
            for _ in range(sigmoids + number):
                torch.sigmoid(x)
    begun.append((time.monotonic_ns(),) * 2)
    with open(path, "w") as file:
        file.writelines("%d %d\n" % times for times in begun)


main()
