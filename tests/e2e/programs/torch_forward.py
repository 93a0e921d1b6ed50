# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Backward passes of all kinds on a GPU, also seen by torch.profiler: usage: torch_forward.py FILE.  Waits until a
gputrace observes PyTorch (--ops), replays a CUDA graph, then works under torch.profiler, whose trace goes to FILE, and
writes to FILE.lines the line that made each node of autograd: [[node, number, line]]."""

import json
import sys
import threading

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.checkpoint import checkpoint
from torch_observed import wait_for_observer

FILE = sys.argv[1]
STEPS = 30  # with few steps Kineto's clock fit is new, and it may drop work as outside its window
nodes = {}  # (name, number): line


def made(tensor):
    """Notes the calling line as the one that made the tensor's node."""
    node = tensor.grad_fn
    if node is not None:
        nodes.setdefault((node.name(), node._sequence_nr()), sys._getframe(1).f_lineno)
    return tensor


def made_below(tensors):
    """The same for all nodes that lead to the first tensor's and have no line yet."""
    wanted = [tensors[0].grad_fn]
    while wanted:
        node = wanted.pop()
        if node is None or (node.name(), node._sequence_nr()) in nodes or "AccumulateGrad" in node.name():
            continue
        nodes[node.name(), node._sequence_nr()] = sys._getframe(1).f_lineno
        wanted.extend(other for other, _ in node.next_functions)
    return tensors


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3


def layers(x, weight):
    x = made(x @ weight)
    x = made(torch.erf(x))
    x = made(torch.exp(x))
    x = made(torch.nn.functional.layer_norm(x, (8,)))
    x = made(Own.apply(x))
    return made(x.sum())


def block(x):
    x = made(torch.sigmoid(x))
    return made(torch.relu(x))


def other_block(x):
    x = made(torch.atan(x))
    return made(torch.softmax(x, 0))


def other_thread(weight):
    """An autograd graph of its own, with sequence numbers that the first thread also uses."""
    for _ in range(STEPS):
        x = made(torch.tanh(weight))
        x = made(torch.sinh(x))
        made(x.mean()).backward()


def work(weight):
    for _ in range(STEPS):
        x = torch.ones(8, 8, device="cuda")
        loss = layers(x, weight)
        loss.backward(retain_graph=True)
        loss.backward()
        y = made(torch.cos(weight))
        (gradient,) = made_below(torch.autograd.grad(y.sum(), weight, create_graph=True))
        made(gradient.square()).sum().backward()
        y = checkpoint(block, weight, use_reentrant=False)
        y = checkpoint(other_block, y, use_reentrant=True)
        made(y.prod()).backward()
        weight.grad = None


def captured_layers(weight):
    x = made(torch.log1p(weight))
    x = made(torch.expm1(x))
    return made(x.amax())


def capture(weight):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured_layers(weight).backward()
    return graph


def replay(graph):
    for _ in range(STEPS):
        graph.replay()
    torch.cuda.synchronize()


def main():
    weight = torch.ones(8, 8, device="cuda", requires_grad=True)
    wait_for_observer()
    replay(capture(weight))
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        with record_function("section"):
            other = threading.Thread(target=other_thread, args=(weight.detach().clone().requires_grad_(),))
            other.start()
            work(weight)
            other.join()
            torch.cuda.synchronize()
    profiler.export_chrome_trace(FILE)
    with open(FILE + ".lines", "w") as file:
        json.dump([[name, number, line] for (name, number), line in nodes.items()], file)
    print("worked", flush=True)


main()
