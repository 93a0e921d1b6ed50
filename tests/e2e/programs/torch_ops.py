# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ops of all kinds, also seen by torch.profiler: usage: torch_ops.py DEVICE FILE.  Waits until a gputrace observes
PyTorch (--ops), then works under torch.profiler, whose trace goes to FILE, and its table to FILE.table."""

import sys

import torch
import torch.utils.checkpoint
from torch.profiler import ProfilerActivity, profile, record_function

from torch_observed import wait_for_observer, wait_for_other_threads

torch.backends.cudnn.enabled = False
DEVICE, FILE = sys.argv[1:3]
STEPS = 3
VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
NAME = 'attention "and" more' if VERSION >= (2, 14) else "attention"  # before, torch.profiler did not escape quotes


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) / 8, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention(32, 2)
        self.norm = torch.nn.LayerNorm(32)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 32))
        self.head = torch.nn.Linear(32, 4)

    def forward(self, x):
        with record_function(NAME):
            x = x + self.attention(x)
        with record_function("mlp"):
            x = x + torch.utils.checkpoint.checkpoint(self.mlp, self.norm(x), use_reentrant=False)
        return self.head(x.mean(1))


@torch.jit.script
def scripted(x):
    future = torch.jit.fork(torch.relu, x)
    y = torch.sigmoid(x) * 2
    return torch.jit.wait(future) + y


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3


def work(model, optimizer):
    for _ in range(STEPS):
        with record_function("step"):
            optimizer.zero_grad()
            x = torch.randn(2, 5, 32).to(DEVICE).requires_grad_()
            loss = Own.apply(model(x)).square().mean()
            (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
            (loss + gradient.square().sum()).backward()
            optimizer.step()
    with torch.inference_mode(), record_function("inference"):
        model(torch.ones(1, 3, 32, device=DEVICE))
        scripted(torch.ones(4, device=DEVICE))
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def main():
    model = Model().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    work(model, optimizer)
    wait_for_observer()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (DEVICE == "cuda")
    with profile(activities=activities) as profiler:
        with record_function("section"):
            work(model, optimizer)
        wait_for_other_threads()  # `scripted` may end on another thread
    profiler.export_chrome_trace(FILE)
    with open(FILE + ".table", "w") as file:
        file.write(profiler.key_averages().table(row_limit=1000))
    print("worked", flush=True)


main()
