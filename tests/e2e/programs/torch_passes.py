# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Backward passes of PyTorch on the GPU: from two threads, nested, and with exceptions, also while torch.profiler
records; usage: torch_passes.py bpf | agent FILE.  Prints `ready` and begins once a tracer follows passes: by BPF it has
a probe in PyTorch's engine; by the agent, FILE is there.
"""

import ctypes
import pathlib
import sys
import threading
import time

import torch

torch.zeros(8, device="cuda").sum()
torch.cuda.synchronize()
WAY, FILE = sys.argv[1:]
NODE = ("_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferE"
        "RKS2_INS0_10ReadyQueueEE")
BYTES = 256  # of its code, in which a probe is


def code_in_file(address):
    """The code at an address as it is in the file that is mapped there."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        span, _, offset, _, _, *path = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in span.split("-"))
        if start <= address < end:
            with open(path[0], "rb") as file:
                file.seek(address - start + int(offset, 16))
                return file.read(BYTES)


def wait_for_tracer():
    library = ctypes.CDLL(f"{torch.__path__[0]}/lib/libtorch_cpu.so")
    address = ctypes.cast(getattr(library, NODE), ctypes.c_void_p).value
    code = code_in_file(address)
    while ctypes.string_at(address, BYTES) == code if WAY == "bpf" else not pathlib.Path(FILE).exists():
        time.sleep(0.01)


print("ready", flush=True)
wait_for_tracer()
begun = [torch.ones(64, 64, device="cuda", requires_grad=True) for _ in range(4)]


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("on purpose")


class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        inner = grad.detach().requires_grad_()
        with torch.enable_grad():
            (inner * inner).sum().backward()
        return inner.grad


def plain(x):
    for _ in range(20):
        (x @ x).relu().sum().backward()


def raising(x):
    for _ in range(5):
        try:
            Raises.apply((x * x).exp()).sum().backward()
            sys.exit("it did not raise")
        except ValueError as error:
            assert "on purpose" in str(error)


def nested(x):
    for _ in range(5):
        Nested.apply((x * x).cos()).sum().backward()


def recorded(x):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        raising(x)
        plain(x)
    assert any("backward" in event.name.lower() for event in profiler.events())


plain(begun[0])
raising(begun[0])
nested(begun[1])
recorded(begun[1])
threads = [threading.Thread(target=function, args=(x,)) for function, x in ((plain, begun[2]), (nested, begun[3]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
torch.cuda.synchronize()
print("done", flush=True)
