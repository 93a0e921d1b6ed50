# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Trains a small net with PyTorch on the simulated GPU, with one fault or none: `torch_mended.py leak|slow|none TRUTH`.

leak: each step keeps LEAK bytes of the GPU.  slow: the DataLoader sleeps for each batch.  TRUTH is {"lines", "bytes"}:
the line of each mark in this file; by how much the memory of the allocator grew a step."""

import json
import pathlib
import sys
import time

import torch

from torch_observed import wait_for_observer

FAULT = sys.argv[1]
STEPS = 16
LEAK = 13_000_192  # a multiple of 512, to which PyTorch rounds up
kept = []


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        if FAULT == "slow":
            time.sleep(0.1)  # sleep
        return torch.ones(64)


def remember(x):
    large = x.new_empty(LEAK // 4)  # leak
    if FAULT == "leak":
        kept.append(large)


def step(model, optimizer, x):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    remember(x)


def main():
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
    wait_for_observer()
    optimizer = torch.optim.SGD(model.parameters())
    held = []
    for batch in torch.utils.data.DataLoader(Numbers(), batch_size=1):
        x = batch.cuda()
        step(model, optimizer, x)
        held.append(torch.cuda.memory_allocated())
    torch.cuda.synchronize()
    text = pathlib.Path(__file__).read_text().splitlines()
    lines = {mark: next(i for i, line in enumerate(text, 1) if line.endswith("# " + mark)) for mark in ("leak", "sleep")}
    pathlib.Path(sys.argv[2]).write_text(json.dumps({"lines": lines, "bytes": (held[-1] - held[0]) / (STEPS - 1)}))


main()
