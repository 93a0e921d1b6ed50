# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One of two ranks on the simulated NCCL, one of which is sometimes late; usage: torch_rank.py FOLDER RANK.  Once both
are observed (--ops) each makes STEPS collectives and reads its clock around the launch of every one: FOLDER/readings-RANK.json, with
the wall clock's lead before each of them and at the end, and before and after the start and the end of each step."""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch_observed import wait_for_observer

RANKS = 2
STEPS = 12
LATE_RANK = 1
LATE_EVERY = 4
LATE_SECONDS = 0.3


def together(store, rank, what):
    store.set(f"{what} {rank}", "here")
    store.wait([f"{what} {other}" for other in range(RANKS)])


def wall_ahead_ns():
    """CLOCK_REALTIME less CLOCK_MONOTONIC, from the least disturbed of several readings."""
    looks = []
    for _ in range(20):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        looks.append((after - before, wall - (before + after) // 2))
    return min(looks)[1]


def step(rank, number, x):
    y = x * 2
    if rank == LATE_RANK and number % LATE_EVERY == 1:
        time.sleep(LATE_SECONDS)
    y += 1
    torch.cuda.synchronize()  # the collective's kernel begins when it is launched
    before = time.monotonic_ns()
    dist.all_reduce(y)
    launched = time.monotonic_ns()
    torch.cuda.synchronize()
    return before, launched


def main(folder, rank):
    torch.cuda.set_device(0)
    store = dist.FileStore(f"{folder}/store", RANKS)
    dist.init_process_group("nccl", rank=rank, world_size=RANKS, store=store)
    x = torch.ones(64, device="cuda")
    wait_for_observer()
    together(store, rank, "observed")
    readings, ahead, steps = [], [], []
    for number in range(STEPS):
        together(store, rank, number)
        ahead.append(wall_ahead_ns())
        marks = [time.monotonic_ns()]
        with torch.profiler.record_function(f"ProfilerStep#{number + 5 * rank}"):  # a rank may count from elsewhere
            marks.append(time.monotonic_ns())
            readings.append(step(rank, number, x))
            marks.append(time.monotonic_ns())
        steps.append([*marks, time.monotonic_ns()])
    with open(f"{folder}/readings-{rank}.json", "w") as file:
        json.dump({"pid": os.getpid(), "readings": readings, "steps": steps, "ahead": [*ahead, wall_ahead_ns()]}, file)
    dist.destroy_process_group()


main(sys.argv[1], int(sys.argv[2]))
