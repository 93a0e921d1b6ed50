# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Holds memory with PyTorch in many ways, each with blocks of a size of its own: `torch_holds.py [cpu]`.  Says
`ready`; for a line on its input it fills them and says {"held": {place: [container, items, path, blocks, bytes]}, "lines":
{mark: line}, "graph": bytes, "steps": count}; then it waits for the next line, which ends it at once, with all that it holds."""

import json
import os
import pathlib
import sys

import torch

from torch_observed import wait_for_observer

STEPS = 20
DEVICE = sys.argv[1] if sys.argv[1:] else "cuda"
UNIT = 128  # floats: 512 bytes, to which PyTorch rounds up


class History:
    def __init__(self):
        self.losses = []


class Scale(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(size, device=DEVICE))

    def forward(self, x):
        return x * self.weight  # forward


def closing():
    inside = []

    def remember(x):
        inside.append(x)

    return remember


def total(tensors):
    return [len(tensors), sum(one.untyped_storage().nbytes() for one in tensors)]


history, cache, kept, graphs, stays, alone = History(), {}, [], [], [], None
model = Scale(7 * UNIT)
remember = closing()


def step(number):
    global alone
    x = torch.zeros(7 * UNIT, device=DEVICE)
    first = model(x)  # first
    second = model(x)  # second
    kept.append((first.detach(), second.detach()))
    history.losses.append(torch.zeros(2 * UNIT, device=DEVICE))
    cache[number] = torch.zeros(3 * UNIT, device=DEVICE)
    remember(torch.zeros(4 * UNIT, device=DEVICE))
    for _ in range(3):
        torch.nn.functional.relu(x)  # passing
    stays.append(torch.nn.functional.relu(x))  # staying
    alone = torch.zeros(5 * UNIT, device=DEVICE)
    graphs.append(model.weight.exp().grad_fn)  # saves the result, which no variable has
    with torch.profiler.record_function("Optimizer.step#SGD.step"):  # ends a step of training, without loading optimizers
        pass


def run():
    batches = {"now": None}
    print("ready", flush=True)
    sys.stdin.readline()
    wait_for_observer()
    for number in range(STEPS):
        step(number)
    model.weight.sum().backward()
    batches["now"] = torch.zeros(9 * UNIT, device=DEVICE)
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    text = pathlib.Path(__file__).read_text().splitlines()
    lines = {mark: next(i for i, line in enumerate(text, 1) if line.endswith("# " + mark)) for mark in ("first", "second", "forward", "staying")}
    (inside,) = (cell.cell_contents for cell in remember.__closure__)
    held = {
        "History.losses": ["list", len(history.losses), "__main__.history.losses", *total(history.losses)],
        "__main__.cache": ["dict", len(cache), "__main__.cache", *total(list(cache.values()))],
        "__main__.kept": ["list", len(kept), "__main__.kept", *total([one for pair in kept for one in pair])],
        "__main__.stays": ["list", len(stays), "__main__.stays", *total(stays)],
        "closure inside of closing.<locals>.remember":
            ["list", len(inside), "__main__.remember: closure inside of closing.<locals>.remember", *total(inside)],
        "__main__.alone": ["", None, "__main__.alone", *total([alone])],
        "Scale.weight.grad": ["", None, "__main__.model._parameters[weight].grad", *total([model.weight.grad])],
        "local batches of run": ["dict", 1, "local batches of run", *total([batches["now"]])],
    }
    del text, inside
    print(json.dumps({"held": held, "lines": lines, "graph": STEPS * 7 * UNIT * 4, "steps": STEPS}), flush=True)
    sys.stdin.readline()
    os._exit(0)


run()
