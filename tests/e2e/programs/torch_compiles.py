# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compiled code on the GPU: usage: torch_compiles.py.  A function that Inductor compiles to Triton, and a Triton kernel
of the program's own.  Lines for which the test looks have a comment."""

import torch
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


def main():
    x, y = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
    for _ in range(5):
        compiled(x, y)
        launch(x, y)
    torch.cuda.synchronize()
    print("worked", flush=True)


main()
