# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kinds of PyTorch work of the checks: each is a function that prepares the work and returns one step of it.

A step does the same each time, so that two tools can record different steps of one program.  A trace must show the
kernels under the functions of this file.  A kind that this machine cannot do raises Unavailable.
"""

import contextlib

import torch
from torch.nn import functional

WIDTH, BATCH, CLASSES = 256, 64, 10


class Unavailable(Exception):
    """Its text is the reason, for the user."""


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.down = torch.nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x))))


def make_training():
    """A training loop of small ops: cuBLAS, layer norms, autograd's threads, multi-tensor AdamW, one wait per step."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(Block(), Block(), torch.nn.Linear(WIDTH, CLASSES)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    batches = torch.randn(8, BATCH, WIDTH)
    labels = torch.randint(0, CLASSES, (8, BATCH))
    number = 0

    def load_batch():
        nonlocal number
        number += 1
        return batches[number % 8].to("cuda"), labels[number % 8].to("cuda")

    def loss_of(x, y):
        return functional.cross_entropy(model(x), y)

    def training_step():
        x, y = load_batch()
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return training_step


def make_copies():
    """Pageable and pinned copies in both directions; copies within GPU memory; fills."""
    pageable, pinned = torch.ones(1 << 16), torch.ones(1 << 16).pin_memory()
    device, other = torch.empty(1 << 16, device="cuda"), torch.empty(1 << 16, device="cuda")

    def copies_in():
        device.copy_(pageable)
        device.copy_(pinned, non_blocking=True)

    def copies_out():
        pinned.copy_(device, non_blocking=True)
        return device.cpu()

    def copies_step():
        copies_in()
        other.copy_(device)
        other.zero_()
        copies_out()
        torch.cuda.synchronize()

    return copies_step


def make_streams():
    """Three streams that wait for each other's events."""
    streams = [torch.cuda.Stream() for _ in range(3)]
    values = [torch.ones(1 << 14, device="cuda") for _ in streams]

    def one_stream(stream, value):
        with torch.cuda.stream(stream):
            for _ in range(4):
                value.mul_(1.0)

    def streams_step():
        for stream, value in zip(streams, values):
            stream.wait_stream(torch.cuda.current_stream())
            one_stream(stream, value)
        for stream in streams:
            torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()

    return streams_step


def make_graph():
    """Forward and backward as a CUDA graph, replayed."""
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH), torch.nn.GELU(),
                                torch.nn.Linear(WIDTH, 1)).to("cuda")
    x = torch.zeros(BATCH, WIDTH, device="cuda")

    def pass_once():
        model.zero_grad(set_to_none=True)
        model(x).mean().backward()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            pass_once()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        pass_once()

    def graph_step():
        for _ in range(4):
            graph.replay()
        torch.cuda.synchronize()

    return graph_step


def make_pools():
    """Memory of the driver's stream-ordered pools, by PyTorch's allocator for them, beside its default allocator."""
    if not hasattr(torch.cuda, "MemPool"):
        raise Unavailable("this PyTorch has no torch.cuda.MemPool")
    pool = torch.cuda.MemPool()
    use = getattr(torch.cuda, "use_mem_pool", None) or contextlib.nullcontext

    def pools_step():
        with use(pool):
            x = torch.zeros(1 << 16, device="cuda")
            x = x + 1
        del x
        torch.cuda.synchronize()

    return pools_step


def make_convolutions():
    """cuDNN, which chooses by heuristics, not by benchmarks: a benchmark would launch more kernels."""
    torch.backends.cudnn.enabled = True
    if not torch.backends.cudnn.is_available():
        raise Unavailable("this PyTorch has no cuDNN")
    model = torch.nn.Sequential(torch.nn.Conv2d(8, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(),
                                torch.nn.Conv2d(32, 8, 3, padding=1)).to("cuda")
    x = torch.randn(8, 8, 32, 32, device="cuda")

    def convolution_step():
        model.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        torch.cuda.synchronize()

    return convolution_step


def make_compiled():
    """Triton's kernels, which code of torch.compile launches through the driver."""
    try:
        import triton  # noqa: F401
    except ImportError as error:
        raise Unavailable(f"no Triton: {error}") from error

    @torch.compile
    def fused(x, y):
        return (torch.sin(x) * torch.cos(y)).relu().sum(dim=1)

    x, y = torch.randn(256, 512, device="cuda"), torch.randn(256, 512, device="cuda")

    def compiled_step():
        fused(x, y)
        fused(y, x)
        torch.cuda.synchronize()

    return compiled_step


def make_small():
    """Launches of very short kernels only: the cost of tracing shows most."""
    value = torch.ones(64, device="cuda")

    def small_step():
        for _ in range(200):
            value.mul_(1.0)
        torch.cuda.synchronize()

    return small_step


def make_large():
    """Kernels that each keep the GPU busy for a while, back to back."""
    x = torch.randn(2048, 2048, device="cuda")
    out = torch.empty_like(x)

    def large_step():
        for _ in range(20):
            torch.mm(x, x, out=out)

    return large_step


KINDS = {
    "training": make_training,
    "copies": make_copies,
    "streams": make_streams,
    "graph": make_graph,
    "pools": make_pools,
    "convolutions": make_convolutions,
    "compiled": make_compiled,
    "small": make_small,
    "large": make_large,
}
