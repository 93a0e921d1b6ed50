# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Triton kernels of a program's own: usage: torch_triton.py FOLDER.  Writes two files there, each with a kernel of the
same name, at different lines; launches a third kernel within compiled code, and one in a CUDA graph.  A function is
compiled with CUDA graph trees.  Prints as JSON where each kernel's def is.  Lines that tests need have a comment."""

import importlib.util
import json
import pathlib
import sys

import torch
import triton
import triton.language as tl

KERNEL = """import triton
import triton.language as tl


@triton.jit
def twice(x):
    return x * {factor}


@triton.jit
def same_name(source, target, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    tl.store(target + places, twice(tl.load(source + places, mask=inside)), mask=inside)
"""


@triton.jit
def inside_compiled(source, target, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    tl.store(target + places, tl.load(source + places, mask=inside) + 5, mask=inside)


@triton.jit
def in_a_graph(source, target, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    tl.store(target + places, tl.load(source + places, mask=inside) - 1, mask=inside)


def kernels_of(folder, name, blank_lines, factor):
    path = folder / f"{name}.py"
    path.write_text("\n" * blank_lines + KERNEL.format(factor=factor))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def place(kernel):
    """The function's file and the line of its def, from Python itself; the def follows its decorators."""
    first = kernel.fn.__code__.co_firstlineno
    path = kernel.fn.__code__.co_filename
    lines = pathlib.Path(path).read_text().splitlines()
    return f"{path}:{next(n for n in range(first, len(lines) + 1) if lines[n - 1].startswith('def '))}"


@torch.compile
def compiled(x, y):
    inside_compiled[(1,)](x, y, x.numel(), BLOCK=64)
    return torch.sin(y) * 2


@torch.compile(mode="reduce-overhead")  # compiled with trees
def with_trees(x):
    return torch.cos(x) + 1


def call_with_trees(x):
    torch.compiler.cudagraph_mark_step_begin()
    return with_trees(x)  # replays


def launch(kernel, x, y):
    kernel[(1,)](x, y, x.numel(), BLOCK=64)  # launches


def main():
    folder = pathlib.Path(sys.argv[1])
    first, second = kernels_of(folder, "first_kernels", 0, 2), kernels_of(folder, "second_kernels", 7, 3)
    x, y = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
    for _ in range(3):
        launch(first.same_name, x, y)
        launch(second.same_name, x, y)
        compiled(x, y)
    launch(in_a_graph, x, y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(in_a_graph, x, y)
    for _ in range(4):
        graph.replay()
    for _ in range(20):
        call_with_trees(x)
    torch.cuda.synchronize()
    print(json.dumps({"first": place(first.same_name), "second": place(second.same_name),
                      "in_a_graph": place(in_a_graph), "inside_compiled": place(inside_compiled)}), flush=True)


main()
