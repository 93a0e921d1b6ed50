# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Backward passes of PyTorch on the GPU: from two threads, nested, and with exceptions, also while torch.profiler
records.
"""

import sys
import threading
import time

import torch

torch.zeros(8, device="cuda").sum()
torch.cuda.synchronize()
time.sleep(1)  # a tracer that follows passes has found PyTorch by now
begun = [torch.ones(64, 64, device="cuda", requires_grad=True) for _ in range(4)]


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("on purpose")


class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        inner = grad.detach().requires_grad_()
        with torch.enable_grad():
            (inner * inner).sum().backward()
        return inner.grad


def plain(x):
    for _ in range(20):
        (x @ x).relu().sum().backward()


def raising(x):
    for _ in range(5):
        try:
            Raises.apply((x * x).exp()).sum().backward()
            sys.exit("it did not raise")
        except ValueError as error:
            assert "on purpose" in str(error)


def nested(x):
    for _ in range(5):
        Nested.apply((x * x).cos()).sum().backward()


def recorded(x):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        raising(x)
        plain(x)
    assert any("backward" in event.name.lower() for event in profiler.events())


plain(begun[0])
raising(begun[0])
nested(begun[1])
recorded(begun[1])
threads = [threading.Thread(target=function, args=(x,)) for function, x in ((plain, begun[2]), (nested, begun[3]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
torch.cuda.synchronize()
print("done", flush=True)
