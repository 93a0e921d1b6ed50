# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""For programs with PyTorch on the simulated GPU whose modules and backward nodes record what launches (module_truth.py).

A chain of work that a node does begins with BACKWARD, and then has the modules that were called as its forward op ran; of
work that modules do while a node runs it begins with RECOMPUTED.  A node's work lasts until the next one of its thread begins.
"""

import time

import module_truth
import torch
from torch import nn

BACKWARD, RECOMPUTED = ("<backward>", ""), ("<recomputed>", "")
# Of no forward op: the engine's own, and what PyTorch makes when a view that was changed in place is asked for its node.
NODES_OF_NO_OP = ("AccumulateGrad", "AsStridedBackward0")


class Marker(nn.Module):
    def forward(self, x):
        return x + 1


class WarmUp(Marker):
    pass


class Last(Marker):
    pass


def until(path, module):
    """Calls a Marker until a file is there."""
    x = torch.ones(4, device="cuda")
    while not path.exists():
        with torch.no_grad():
            module(x)
        time.sleep(0.02)
    torch.cuda.synchronize()


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [tensor for item in value for tensor in tensors_in(item)]


class NodeTruth(module_truth.Truth):
    """Watches nodes, too.  What a thread is in is a list of lists: modules, in a node, in modules that it calls."""

    def __init__(self, library=nn.modules.module):
        super().__init__(library)
        self.nodes = {}

    def name(self, module, name):
        super().name(module, name)
        module.register_forward_pre_hook(self.watch_keywords, with_kwargs=True)

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

    def watch_keywords(self, _module, _args, keywords):
        """As enter does, which does not get them."""
        self.watch(keywords, [BACKWARD, *self.modules()[:-1]])

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
            self.hook(node, chain if type(node).__name__ not in NODES_OF_NO_OP else [])
            waiting += [before for before, _ in node.next_functions]

    def hook(self, node, chain):
        def begin(*_):
            self.lists()[-1] = list(chain)
            self.label()
        node.register_prehook(begin)
        node.register_hook(begin)  # after another pass inside it
