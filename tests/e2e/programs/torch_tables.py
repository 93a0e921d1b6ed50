# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A small training that torch.profiler and gputrace both record whole: usage: torch_tables.py DEVICE FILE.  Waits until
a gputrace observes PyTorch (--ops), and only then runs its first op, under torch.profiler, whose rows of
key_averages() go to FILE."""

import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch_observed import wait_for_observer

torch.backends.cudnn.enabled = False
DEVICE, FILE = sys.argv[1:3]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))

    def forward(self, x):
        with record_function("forward"):
            return self.layers(x * 2)  # twice


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.contiguous().to(torch.float64).to(torch.float32)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def work():
    model = Model().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        with record_function("step"):
            optimizer.zero_grad()
            x = torch.ones(8, 16).to(DEVICE)
            loss = Outer.apply(model(x)).square().mean()
            loss.backward()
            optimizer.step()
    torch.bmm(torch.ones(2, 3, 4, device=DEVICE), torch.ones(2, 4, 5, device=DEVICE))
    torch.add(torch.ones(6, device=DEVICE), 1)
    torch.nn.functional.conv2d(torch.ones(2, 3, 8, 9, device=DEVICE), torch.ones(4, 3, 3, 2, device=DEVICE), stride=2,
                               padding=1)


def rows(averages):
    return [{"name": row.key, "count": row.count, "on_cpu": row.device_type == torch.autograd.DeviceType.CPU,
             "annotation": row.is_user_annotation, "inside": row.cpu_parent is not None,
             "cpu": row.cpu_time_total, "cpu_self": row.self_cpu_time_total,
             "gpu": row.device_time_total, "gpu_self": row.self_device_time_total, "flops": row.flops,
             "shapes": str(row.input_shapes)} for row in averages]


def main():
    wait_for_observer()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (DEVICE == "cuda")
    with profile(activities=activities, record_shapes=True, with_flops=True) as profiler:
        work()
    with open(FILE, "w") as file:
        json.dump({"by name": rows(profiler.key_averages()),
                   "by shape": rows(profiler.key_averages(group_by_input_shape=True)),
                   "table": profiler.key_averages().table(row_limit=1000)}, file)
    print("worked", flush=True)


main()
