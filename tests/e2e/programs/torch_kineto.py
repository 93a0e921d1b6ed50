# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A small training under torch.profiler on the GPU: usage: torch_kineto.py TRACE AVERAGES.  Writes the profiler's own
trace, and the rows of its key_averages() with the lines of their stacks in this file."""

import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile

torch.backends.cudnn.enabled = False
TRACE, AVERAGES = sys.argv[1:3]


def forward(model):
    x = torch.randn(32, 64).to("cuda")
    return model(x).sum()  # the line of the sum


def train(model, optimizer):
    loss = forward(model)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def main():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, profile_memory=True,
                 with_stack=True) as profiler:
        for _ in range(3):
            train(model, optimizer)
            profiler.step()
    profiler.export_chrome_trace(TRACE)
    with open(AVERAGES, "w") as file:
        json.dump([{"name": row.key, "count": row.count, "cpu": row.cpu_time_total, "cpu_self": row.self_cpu_time_total,
                    "gpu": row.device_time_total, "gpu_self": row.self_device_time_total}
                   for row in profiler.key_averages()], file)


main()
