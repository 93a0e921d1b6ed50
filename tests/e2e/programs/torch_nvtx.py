# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""PyTorch in NVTX ranges.  Launches of the main thread have their range's name as label.  Launches of backward() from
the engine's thread have no label, and are in no other range."""

import contextlib
import ctypes

import torch

sim_label = ctypes.CDLL("libcuda.so.1").sim_label


@contextlib.contextmanager
def named(name):
    sim_label(name.encode())
    with torch.cuda.nvtx.range(name):
        yield
    sim_label(b"none")


sim_label(b"none")
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batch = torch.randn(32, 64, device="cuda")
for _ in range(5):
    with named("forward"):
        loss = net(batch).sum()
    with named("backward"):
        loss.backward()
    with named("optimizer"):
        optimizer.step()
        optimizer.zero_grad()
torch.cuda.synchronize()
