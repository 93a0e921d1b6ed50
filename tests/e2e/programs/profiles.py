#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A PyTorch program that works and profiles itself on request: one command a line, it prints `done` after each.

    work N          N launches, and waits for the GPU
    mix NAME N      N rounds of every kind of work, on two threads at once; the label of each in the simulator's ground
                    truth is FUNCTION@NAME, with the submitting function
    start [waits]   begins a session of torch.profiler, with `waits` one that records waits, too
    stop FILE       ends the session and writes its trace
"""
import ctypes
import sys
import threading

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


def label(function, name):
    ctypes.CDLL("libcuda.so.1").sim_label(f"{function}@{name}".encode())


def scale(tensor, name):
    label("scale", name)
    tensor.mul_(2)


def upload(tensor, name):
    label("upload", name)
    tensor.copy_(torch.ones(tensor.shape))


def clear(tensor, name):
    label("clear", name)
    torch.zero_(tensor)


def product(tensor, name):
    label("product", name)
    return tensor.view(8, 8) @ tensor.view(8, 8)


def peek(tensor, name):
    label("peek", name)
    return tensor[0].item()


def rounds(count, name):
    tensor = torch.ones(64, device="cuda")
    for _ in range(count):
        for function in (scale, product, upload, scale, clear, product, peek):
            function(tensor, name)
    label("", "")


def mix(name, count):
    other = threading.Thread(target=rounds, args=(int(count), name))
    other.start()
    rounds(int(count), name)
    other.join()
    torch.cuda.synchronize()


def start(waits=""):
    global session
    config = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=bool(waits))
    session = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], experimental_config=config)
    session.__enter__()


def stop(path):
    session.__exit__(None, None, None)
    session.export_chrome_trace(path)


COMMANDS = {"work": work, "mix": mix, "start": start, "stop": stop}

print("ready", flush=True)
for line in sys.stdin:
    name, *arguments = line.split()
    COMMANDS[name](*arguments)
    print("done", flush=True)
print("end", flush=True)
