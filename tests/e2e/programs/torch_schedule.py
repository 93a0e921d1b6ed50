# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Training under torch.profiler with a schedule: usage: torch_schedule.py DEVICE FOLDER STEPS [NAME=NUMBER...].  Waits
until a gputrace observes PyTorch (--ops), with or without a schedule.  Each iteration has its own number of sigmoids,
so that no two steps look alike.  DEVICE behind: the GPU, which no iteration waits for.  FOLDER gets the trace of each cycle of torch.profiler: profiled.1.json ...; without
numbers for torch.profiler.schedule there is no torch.profiler."""

import contextlib
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from torch_observed import wait_for_observer

torch.backends.cudnn.enabled = False
DEVICE, FOLDER, STEPS = sys.argv[1].replace("behind", "cuda"), sys.argv[2], int(sys.argv[3])
WAITS = sys.argv[1] == "cuda"
NUMBERS = {name: int(number) for name, number in (word.split("=") for word in sys.argv[4:])}


def iteration(model, optimizer, number):
    with record_function("iteration"):
        optimizer.zero_grad()
        x = torch.randn(64, 32).to(DEVICE) if WAITS else torch.randn(64, 32, device=DEVICE)
        for _ in range(number + 1):
            x = torch.sigmoid(x)
        model(x).square().mean().backward()
        optimizer.step()
        if WAITS:
            torch.cuda.synchronize()


def profiler():
    cycles = iter(range(1, 1 + STEPS))

    def ready(done):
        done.export_chrome_trace("%s/profiled.%d.json" % (FOLDER, next(cycles)))

    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (DEVICE == "cuda")
    return profile(activities=activities, schedule=schedule(**NUMBERS), on_trace_ready=ready)


def main():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 8)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    wait_for_observer()
    with profiler() if NUMBERS else contextlib.nullcontext() as profiled:
        for number in range(STEPS):
            iteration(model, optimizer, number)
            if profiled:
                profiled.step()


main()
