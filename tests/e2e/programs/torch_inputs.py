# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ops with all kinds of inputs, also seen by torch.profiler: usage: torch_inputs.py DEVICE FILE.  Waits until a
gputrace observes PyTorch (--ops), then works under torch.profiler, whose trace goes to FILE."""

import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from torch_observed import wait_for_observer

torch.backends.cudnn.enabled = False
DEVICE, FILE = sys.argv[1:3]
FLOAT8 = [getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]  # from 2.1 on


def train(model, optimizer):
    for step in range(3):
        optimizer.zero_grad()
        loss = model(torch.randn(2, 3, 8, 8, device=DEVICE)).sum() * (step + 0.5)
        loss.backward()
        optimizer.step()


def numbers(a):
    torch.add(a, a, alpha=2.5)
    for number in (True, 3, -7, 3.0, -0.0, 0.1, 1e20, 1e10, -9223372036854775808.0, 9.3e18, 1e-320, float("inf"), float("-inf"), float("nan")):
        torch.full((2,), number, dtype=torch.float64)
        a * number
    torch.full((2,), 1 - 2j)


def layouts(a):
    """Views, more dimensions than a tensor stores inline, all dtypes, tensors of other layouts."""
    a.view(2, 2).t().sum((0, 1), keepdim=True)
    torch.randn(1, 2, 1, 2, 1, 2, 3).permute(6, 5, 4, 3, 2, 1, 0).contiguous()
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
                  torch.float64, torch.complex64, torch.complex128, torch.bool, *FLOAT8):
        a.to(dtype).clone()
    sparse = torch.eye(3).to_sparse()
    torch.sparse.mm(sparse + sparse, torch.eye(3))
    sparse.to_sparse_csr().to_dense()
    torch.quantize_per_tensor(a, 0.1, 0, torch.qint8).dequantize()
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    nested + nested
    a.to("meta") + 1
    torch.empty(0)
    a[()]


def lists(a):
    torch.cat([a, a.view(4), a])
    torch.stack([a] * 30)
    torch.stack([a] * 31)
    torch._foreach_add([a] * 40, [a] * 40)
    a[torch.tensor([1, 2])]
    torch.zeros([1] * 30)
    torch.zeros([1] * 31)
    torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2), scale_factor=(1.5, 2.5))
    torch.einsum("ij,jk->ik", torch.eye(2), torch.eye(2))


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * 3, y

    @staticmethod
    def backward(ctx, gradient, other):
        return gradient * 3, None


def work(model, optimizer):
    train(model, optimizer)
    x = torch.ones(3, device=DEVICE, requires_grad=True)
    Own.apply(x, torch.ones(2, device=DEVICE))[0].sum().backward()  # an undefined gradient
    with record_function("named"):
        torch.full((2,), 3, dtype=torch.int8, device=DEVICE)
    if DEVICE == "cpu":
        a = torch.randn(4)
        numbers(a)
        layouts(a)
        lists(a)


def main():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 4))
    model.to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    work(model, optimizer)
    wait_for_observer()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (DEVICE == "cuda")
    with profile(activities=activities, record_shapes=True) as profiler:
        with record_function("section"):
            work(model, optimizer)
    profiler.export_chrome_trace(FILE)


main()
