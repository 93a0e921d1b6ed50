# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A small training under torch.profiler with profile_memory: usage: torch_key_memory.py DEVICE FILE.  Writes the memory
of the rows of key_averages() to FILE.  It holds no memory before and after the training."""

import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch_observed import wait_for_observer

DEVICE, FILE = sys.argv[1:3]


def work():
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.GELU(), torch.nn.Linear(512, 8)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        with record_function("step"):
            optimizer.zero_grad()
            model(torch.ones(32, 64).to(DEVICE)).square().mean().backward()
            optimizer.step()
    held = torch.ones(300, 1000)
    del held  # not within an op


def main():
    wait_for_observer()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (DEVICE == "cuda")
    with profile(activities=activities, profile_memory=True) as profiler:
        work()
    device = "device" if hasattr(profiler.key_averages()[0], "device_memory_usage") else "cuda"
    with open(FILE, "w") as file:
        json.dump([{"name": row.key, "cpu": row.cpu_memory_usage, "cpu_self": row.self_cpu_memory_usage,
                    "gpu": getattr(row, f"{device}_memory_usage"),
                    "gpu_self": getattr(row, f"self_{device}_memory_usage")}
                   for row in profiler.key_averages() if row.device_type == torch.autograd.DeviceType.CPU], file)


main()
