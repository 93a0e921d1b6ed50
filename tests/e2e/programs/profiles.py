#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A PyTorch program that works and profiles itself when it is told to: a command a line, `done` after each.

    work N          N launches, and waits for the GPU
    start           begins a session of torch.profiler
    stop FILE       ends it and writes what it saw
"""
import sys

import torch
from torch.profiler import ProfilerActivity, profile

values = None
session = None


def work(count):
    global values
    if values is None:
        values = torch.ones(64, device="cuda")
    for _ in range(int(count)):
        values.mul_(1)
    torch.cuda.synchronize()


def start():
    global session
    session = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    session.__enter__()


def stop(path):
    session.__exit__(None, None, None)
    session.export_chrome_trace(path)


COMMANDS = {"work": work, "start": start, "stop": stop}

print("ready", flush=True)
for line in sys.stdin:
    name, *arguments = line.split()
    COMMANDS[name](*arguments)
    print("done", flush=True)
print("end", flush=True)
