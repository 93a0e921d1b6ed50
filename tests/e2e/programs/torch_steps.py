# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Training under torch.profiler with a schedule: usage: torch_steps.py DEVICE FILE.  Waits until a gputrace observes
PyTorch (--ops).  Each iteration is a record_function named by its number; one has more work than the others.
FILE: the trace of torch.profiler's active steps."""

import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from torch_observed import wait_for_observer

torch.backends.cudnn.enabled = False
DEVICE, FILE = sys.argv[1:3]
STEPS, SLOW = 12, 8


def loss_of(model, x):
    return model(x).square().mean()


def iteration(model, optimizer, number):
    with record_function("iteration %d" % number):
        optimizer.zero_grad()
        x = torch.randn(64, 32).to(DEVICE)
        if number == SLOW:
            for _ in range(400):
                x = torch.sigmoid(x)
        loss_of(model, x).backward()
        optimizer.step()


def main():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 8)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    wait_for_observer()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (DEVICE == "cuda")
    with profile(activities=activities, schedule=schedule(wait=2, warmup=1, active=2, repeat=1),
                 on_trace_ready=lambda profiler: profiler.export_chrome_trace(FILE)) as profiler:
        for number in range(STEPS):
            iteration(model, optimizer, number)
            profiler.step()
    if DEVICE == "cuda":
        torch.cuda.synchronize()


main()
