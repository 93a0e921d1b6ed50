# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One rank of a job that torchrun starts, on the simulated NCCL; usage: torch_from_moment.py FOLDER MOMENT END [pause].
Each step is a record_function "iteration" with one all-reduce, until END (seconds since 1970) has come for one of the
ranks.  With pause no step begins while MOMENT comes.  FOLDER/RANK.json: CLOCK_MONOTONIC before and after each step."""

import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.profiler import record_function

AROUND_S = 1  # from the last step before the moment to the first after it


def one_says(group, said):
    """Whether any rank says so; ranks leave it together."""
    answer = torch.tensor(float(said))
    dist.all_reduce(answer, dist.ReduceOp.MAX, group)
    return bool(answer)


def main(folder, moment, end, *options):
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    group = dist.new_group(backend="gloo")
    x, steps, has_paused = torch.ones(64, device="cuda"), [], not options
    while not one_says(group, time.time() > end):
        if not has_paused and one_says(group, time.time() > moment - AROUND_S):
            time.sleep(max(0, moment + AROUND_S - time.time()))
            has_paused = True
            continue
        before = time.monotonic_ns()
        with record_function("iteration"):
            dist.all_reduce(x)
            torch.cuda.synchronize()
        steps.append((before, time.monotonic_ns()))
        time.sleep(0.002)  # leaves the processors to what else runs
    (pathlib.Path(folder) / f"{dist.get_rank()}.json").write_text(json.dumps({"pid": os.getpid(), "steps": steps}))
    dist.destroy_process_group()


main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:])
