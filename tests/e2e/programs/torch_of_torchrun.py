# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One rank of a job that torchrun starts, on the simulated NCCL; usage: torch_of_torchrun.py FOLDER.  FOLDER/RANK.json:
its pid."""

import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch_observed import wait_for_observer

STEPS = 5

torch.cuda.set_device(0)
dist.init_process_group("nccl")
x = torch.ones(64, device="cuda")
wait_for_observer()
for _ in range(STEPS):
    dist.all_reduce(x)
torch.cuda.synchronize()
rank = dist.get_rank()
(pathlib.Path(sys.argv[1]) / f"{rank}.json").write_text(json.dumps({"pid": os.getpid()}))
dist.destroy_process_group()
