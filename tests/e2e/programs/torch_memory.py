# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Memory that PyTorch's allocators allocate, free and cannot allocate: usage: torch_memory.py DEVICE FILE.  Waits until
a gputrace observes PyTorch (--memory), then works under torch.profiler, whose trace goes to FILE; its own account of
its memory goes to FILE.truth."""

import ctypes
import json
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile, record_function

DEVICE, FILE = sys.argv[1:3]


def wait_for_observer():
    observed = ctypes.CDLL(f"{torch.__path__[0]}/lib/libtorch_cpu.so")._ZN2at18hasGlobalCallbacksEv
    observed.restype = ctypes.c_bool
    while not observed():
        time.sleep(0.01)


def leak():
    kept = torch.empty(3_000_000, device=DEVICE)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # one reference too many: never freed


def peak():
    large = torch.empty(20_000_000, device=DEVICE)
    return large.numel()


def ask_too_much():
    try:
        torch.empty(1 << 45, device=DEVICE)
    except RuntimeError as error:
        return type(error).__name__
    return "there was enough"


def train(model, optimizer):
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, 64).to(DEVICE)).square().mean().backward()
        optimizer.step()


def share():
    torch.ones(1000).share_memory_()


def main():
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 4)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    train(model, optimizer)
    wait_for_observer()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (DEVICE == "cuda")
    with profile(activities=activities, profile_memory=True) as profiler:
        with record_function("section"):
            train(model, optimizer)
            leak()
            peak()
            share()
            error = ask_too_much()
            if DEVICE == "cuda":
                torch.cuda.synchronize()
    profiler.export_chrome_trace(FILE)
    truth = {"error": error, "lines": {f.__name__: f.__code__.co_firstlineno + 1 for f in (leak, peak)}}
    truth["lines"]["ask_too_much"] = ask_too_much.__code__.co_firstlineno + 2
    if DEVICE == "cuda":
        truth["peak"] = torch.cuda.max_memory_allocated()
        truth["segments"] = torch.cuda.memory._snapshot()["segments"]
    with open(FILE + ".truth", "w") as file:
        json.dump(truth, file)
    print("worked", flush=True)


main()
