# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A model that trains on the GPU, two of its blocks with activation checkpointing, and records in which module each node of
the backward pass was made (torch_truth.py); usage: torch_backward_layers.py FOLDER.

At first a module WarmUp launches until FOLDER/go is there, after all others Last until FOLDER/end is there.
"""

import os
import pathlib
import sys

import torch
from torch import nn
from torch.utils import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_truth  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)

    def forward(self, x):
        return x + self.down(self.act(self.up(x)))


class Net(nn.Module):
    """Its first block runs once, the others again in the backward pass, by both kinds of checkpointing."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.head = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)
        again = nn.Sequential(nn.Linear(16, 16, bias=False), nn.GELU(), nn.Linear(16, 16, bias=False))
        self.blocks = nn.ModuleList([Block(), again, Block()])

    def forward(self, x):
        x = self.blocks[0](torch.relu(self.embed(x)))
        x = checkpoint.checkpoint(self.blocks[1], x, use_reentrant=True)
        x = checkpoint.checkpoint(self.blocks[2], x, use_reentrant=False)
        return self.head(self.norm(x))


def main():
    truth = torch_truth.NodeTruth()
    warm_up, last, net = torch_truth.WarmUp(), torch_truth.Last(), Net().cuda()
    for module in (warm_up, last, net):
        truth.name_tree(module)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.ones(4, 8, device="cuda")
    print("ready", flush=True)
    torch_truth.until(FOLDER / "go", warm_up)
    with checkpoint.set_checkpoint_early_stop(False):  # else modules end by an exception
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            truth.watch(loss, [])  # in no module
            loss.backward()
            optimizer.step()
            torch.cuda.synchronize()
    torch_truth.until(FOLDER / "end", last)
    truth.write(FOLDER / "chains.json")
    print("pid %d done" % os.getpid(), flush=True)


main()
