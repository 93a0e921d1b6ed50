# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two processes that sum up tensors of their GPUs over gloo; the second is late each time: usage: torch_gloo.py
FOLDER.  FOLDER/truth.json: how long the first one waited in its collectives, the pids, the line."""

import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing

from torch_observed import wait_for_observer

STEPS = 12
LATE_SECONDS = 0.03


def step(rank, x):
    y = x * 2
    if rank:
        time.sleep(LATE_SECONDS)
    y += 1
    begin = time.monotonic()
    dist.all_reduce(y)  # waits
    return time.monotonic() - begin


def work(rank, folder):
    torch.cuda.set_device(rank)
    dist.init_process_group("gloo", rank=rank, world_size=2, store=dist.FileStore(f"{folder}/store", 2))
    x = torch.ones(64, device="cuda")
    wait_for_observer()
    dist.barrier()
    waited = [step(rank, x) for _ in range(STEPS)]
    (folder / f"{rank}.json").write_text(json.dumps([os.getpid(), sum(waited) * 1e3]))
    dist.destroy_process_group()


if __name__ == "__main__":
    here = pathlib.Path(sys.argv[1])
    torch.multiprocessing.spawn(work, (here,), nprocs=2)
    (first, waited_ms), (second, _) = (json.loads((here / f"{rank}.json").read_text()) for rank in (0, 1))
    lines = enumerate(pathlib.Path(__file__).read_text().splitlines(), 1)
    line = next(number for number, text in lines if text.endswith("# waits"))
    truth = {"pids": [first, second], "waited_ms": waited_ms, "least_ms": STEPS * LATE_SECONDS * 1e3, "line": line}
    (here / "truth.json").write_text(json.dumps(truth))
