# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compiled code on the GPU: usage: torch_compiles.py [workers].  A function that Inductor compiles to Triton, and a Triton
kernel of the program's own.  Lines for which the test looks have a comment.  Prints, as JSON, when PyTorch and Triton
said that they began to compile and had compiled (CLOCK_MONOTONIC).  With `workers` it waits for Inductor's worker
processes first, so that these compile its kernels."""

import json
import sys
import time

import torch
import torch._dynamo.callback
import torch._inductor.async_compile
import triton
import triton.language as tl


@triton.jit
def own_kernel(source, target, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    tl.store(target + places, tl.load(source + places, mask=inside) * 3, mask=inside)


@torch.compile  # compiled
def compiled(x, y):
    z = torch.sin(x) * 2
    return z + y


def launch(source, target):
    own_kernel[(1,)](source, target, source.numel(), BLOCK=64)  # own kernel


def note_compiling():
    """Returns where the times of torch.compile's and Triton's compilations will be, which each of them says itself."""
    times = {"torch": [], "triton": []}
    handler = torch._dynamo.callback.callback_handler

    def note_triton(src, times_us):
        times["triton"].append([src.fn.__name__, times_us.total * 1000])

    handler.register_start_callback(lambda *_: times["torch"].append([time.monotonic_ns()]))
    handler.register_end_callback(lambda *_: times["torch"][-1].append(time.monotonic_ns()))
    triton.knobs.compilation.listener = lambda src, times, **_: note_triton(src, times)
    return times


def main():
    if "workers" in sys.argv[1:]:
        torch._inductor.async_compile.AsyncCompile.wait_pool_ready()
    times = note_compiling()
    for size in (64, 64, 64, 64, 64, 128):  # the last one is compiled again
        x, y = torch.ones(size, device="cuda"), torch.zeros(size, device="cuda")
        compiled(x, y)  # calls
        launch(x, y)
    torch.cuda.synchronize()
    print(json.dumps(times), flush=True)
    print("worked", flush=True)


main()
