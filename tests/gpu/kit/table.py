# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every check, in the order in which they run: the most important first, as time may run out."""

import importlib
from typing import NamedTuple


class Check(NamedTuple):
    name: str
    where: str  # module:function, below checks/
    about: str
    budget_s: int  # on a real machine, with PyTorch's start; then it is killed
    beside: bool = False  # runs beside the others, from the start
    alone: bool = False  # measures costs: nothing else runs at the same time
    silicon_only: str = ""  # why the check cannot run on the simulated GPU

    def function(self):
        module, _, function = self.where.partition(":")
        return getattr(importlib.import_module(f"checks.{module}"), function)


CHECKS = (
    Check("clocks", "clocks:drift", "no kernel before its launch, none after its wait; drift over two minutes", 170,
          beside=True),
    Check("command", "same:command", "gputrace -- COMMAND sees what torch.profiler sees", 80),
    Check("attach", "same:attach", "gputrace -p PID sees what torch.profiler sees", 80),
    Check("agent", "same:by_the_agent", "gputrace -p PID without BPF sees what torch.profiler sees", 80),
    Check("cudnn", "same:convolutions", "the same with cuDNN", 60, silicon_only="cuDNN runs on a GPU only"),
    Check("triton", "same:compiled", "the same with what torch.compile makes", 110,
          silicon_only="Triton compiles for a GPU only"),
    Check("pools", "same:driver_pools", "the same with the driver's own memory pools", 60),
    Check("lines", "lines:ground_truth", "every launch and its GPU time under its line, as the program knows it", 40),
    Check("events", "events:gpu_time", "GPU time between two CUDA events is what the trace sums to", 60),
    Check("graphs", "graphs:attach_while_replaying", "attach while a CUDA graph replays", 50),
    Check("recording", "neighbours:recording", "torch.profiler records when we come", 60),
    Check("starting", "neighbours:starting", "torch.profiler starts while we trace", 60),
    Check("first", "neighbours:first_use", "torch.profiler is used for the first time while we trace", 60),
    Check("idle", "neighbours:idle", "torch.profiler ran before we came and may hold CUPTI", 60),
    Check("holder", "neighbours:holder", "another subscriber of CUPTI", 40),
    Check("second", "neighbours:second", "two gputraces on one process", 60),
    Check("cupti", "questions:cupti", "the open questions about CUPTI", 90),
    Check("driver", "questions:driver_entry", "how the driver's functions begin", 30),
    Check("counters", "counters:counters", "NVML's clocks are of the GPU that works; what NVML costs", 60),
    Check("mps", "questions:mps", "a client of MPS is attached", 60,
          silicon_only="the simulated GPU has no MPS"),
    Check("safety", "safety:training", "attached, left and killed again and again; losses and GPU memory after it", 150),
    Check("cost", "cost:interleaved", "what tracing costs, and torch.profiler", 130, alone=True),
    Check("launch", "cost:parts", "nanoseconds a launch, by the parts of the agent", 60, alone=True),
)


def of_name(name):
    return next(check for check in CHECKS if check.name == name)
