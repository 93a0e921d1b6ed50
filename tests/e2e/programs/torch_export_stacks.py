# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ops at known Python lines under torch.profiler with stacks; writes its export_stacks() to files: usage:
torch_export_stacks.py DEVICE CPU_FILE CUDA_FILE."""

import sys

import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile
from torch_observed import wait_for_observer

DEVICE, CPU_FILE, CUDA_FILE = sys.argv[1:4]
SIZE = 200  # so that each op takes whole microseconds


def multiply(a, b):
    return torch.mm(a, b)


def scale(a):
    return torch.mul(a, a)


def step(a, b):
    return multiply(scale(a), b)


def work(a, b):
    for _ in range(20):
        step(a, b)
    multiply(a, b)


def main():
    a = torch.ones(SIZE, SIZE, device=DEVICE, requires_grad=True)
    b = torch.ones(SIZE, SIZE, device=DEVICE)
    wait_for_observer()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (DEVICE == "cuda")
    with profile(activities=activities, with_stack=True, experimental_config=_ExperimentalConfig(verbose=True)) as profiler:
        work(a, b)
    profiler.export_stacks(CPU_FILE, "self_cpu_time_total")
    if DEVICE == "cuda":
        profiler.export_stacks(CUDA_FILE, "self_cuda_time_total")


main()
