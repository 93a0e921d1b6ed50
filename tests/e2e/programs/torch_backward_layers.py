# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A model that trains on the GPU, two of its blocks with activation checkpointing, and records in which module each node of
the backward pass was made (module_truth.py); usage: torch_backward_layers.py FOLDER.

A chain of work that a node does begins with BACKWARD, and then has the modules that were called as its forward op ran; of
work that modules do while a node runs it begins with RECOMPUTED.  A node's work lasts until the next one of its thread begins.

At first a module WarmUp launches until FOLDER/go is there, after all others Last until FOLDER/end is there.
"""

import os
import pathlib
import sys
import time

import torch
from torch import nn
from torch.utils import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import module_truth  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
BACKWARD, RECOMPUTED = ("<backward>", ""), ("<recomputed>", "")
torch.manual_seed(0)


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in tensors_in(item)] if isinstance(value, (tuple, list)) else []


class Truth(module_truth.Truth):
    """Watches nodes, too.  What a thread is in is a list of lists: modules, in a node, in modules that it calls."""

    def __init__(self, library):
        super().__init__(library)
        self.nodes = {}

    def lists(self):
        if not hasattr(self.thread, "lists"):
            self.thread.lists = [[]]
        return self.thread.lists

    def stack(self):
        return self.lists()[-1]

    def modules(self):
        return [link for link in self.stack() if link not in (BACKWARD, RECOMPUTED)]

    def enter(self, module, args):
        self.watch(args, [BACKWARD, *self.modules()])  # made since, by the caller itself
        if self.stack()[:1] == [BACKWARD]:
            self.lists().append([RECOMPUTED])
        super().enter(module, args)

    def leave(self, module, args, output):
        self.watch(output, [BACKWARD, *self.modules()])
        super().leave(module, args, output)
        if self.stack() == [RECOMPUTED]:
            self.lists().pop()
            self.label()

    def watch(self, output, chain):
        """Nodes that no module inside this one has made are of this one."""
        waiting = [tensor.grad_fn for tensor in tensors_in(output)]
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in self.nodes:
                continue
            self.nodes[id(node)] = node
            self.hook(node, chain if type(node).__name__ != "AccumulateGrad" else [])
            waiting += [before for before, _ in node.next_functions]

    def hook(self, node, chain):
        def begin(*_):
            self.lists()[-1] = list(chain)
            self.label()
        node.register_prehook(begin)
        node.register_hook(begin)  # after another pass inside it


class Marker(nn.Module):
    def forward(self, x):
        return x + 1


class WarmUp(Marker):
    pass


class Last(Marker):
    pass


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


def until(name, module):
    x = torch.ones(4, device="cuda")
    while not (FOLDER / name).exists():
        with torch.no_grad():
            module(x)
        time.sleep(0.02)
    torch.cuda.synchronize()


def main():
    truth = Truth(nn.modules.module)
    warm_up, last, net = WarmUp(), Last(), Net().cuda()
    for module in (warm_up, last, net):
        truth.name_tree(module)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.ones(4, 8, device="cuda")
    print("ready", flush=True)
    until("go", warm_up)
    with checkpoint.set_checkpoint_early_stop(False):  # else modules end by an exception
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            truth.watch(loss, [])  # in no module
            loss.backward()
            optimizer.step()
            torch.cuda.synchronize()
    until("end", last)
    truth.write(FOLDER / "chains.json")
    print("pid %d done" % os.getpid(), flush=True)


main()
