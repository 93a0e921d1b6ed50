# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Folded stacks by the own time of ops (--folded-by) against torch.profiler's export_stacks() of the same run.

torch.profiler has a function's first line where gputrace has the executing line.  It has paths relative to sys.path,
built-in functions as frames, and lines for the time of Python functions besides those of ops.  Both have the functions
that called an op, the outermost first, and its time on the GPU.
"""

import collections
import re

import machine
import pytest
import tracing

pytestmark = pytest.mark.torch

FRAME = re.compile(r"(?:.*/)?([^/]+\.py)\(\d+\):_(.+)")
BUILT_IN = "<built-in_"


def functions(line):
    """("file function" of each Python frame, microseconds, whether there is a frame of a built-in function)"""
    stack, _, number = line.rpartition(" ")
    frames = stack.split(";")
    python = [frame for frame in frames if not frame.startswith(BUILT_IN)]
    return tuple(" ".join(FRAME.fullmatch(frame).groups()) for frame in python), int(number), python != frames


def read(path):
    """Lines of the program's own work only: torch.profiler's start and end have ops, too."""
    return [functions(line) for line in path.read_text().splitlines() if ":_work;" in line]


class Run:
    def __init__(self, folder, device):
        self.folder, self.device = folder, device
        program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_export_stacks.py", device, folder / "cpu.txt",
                   folder / "cuda.txt"]
        command = tracing.on_simgpu(folder / "gpu.json", *program) if device == "cuda" else program
        tracing.trace(folder, command, "--forward-lines", names=("trace.gpt",))

    def traced(self, by):
        path = self.folder / f"{by}.folded"
        tracing.gputrace(self.folder, "export", self.folder / "trace.gpt", "-o", path, "--folded-by", by).must_be(0)
        return read(path)


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("stacks"), request.param)


def test_the_stacks_of_ops_by_their_own_cpu_time_are_those_of_torch_profiler(run):
    traced = {stack for stack, *_ in run.traced("self-cpu")}
    profiled = {stack for stack, _, of_op in read(run.folder / "cpu.txt") if of_op}
    assert {stack[-1] for stack in profiled} == {"torch_export_stacks.py multiply", "torch_export_stacks.py scale"}
    assert traced == profiled


def test_gpu_time_by_stack_is_that_of_torch_profiler(run):
    """torch.profiler writes the time twice: for the op and for its kernel."""
    if run.device == "cpu":
        return
    profiled, traced = collections.Counter(), collections.Counter()
    for stack, microseconds, _ in read(run.folder / "cuda.txt"):
        profiled[stack] += microseconds
    for stack, microseconds, _ in run.traced("self-cuda"):
        traced[stack] += 2 * microseconds
    assert len(profiled) >= 3
    assert traced == profiled
