# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""PyTorch recorded by the agent alone: its backward passes have the same lines as with BPF."""

import collections

import chrome_invariants as chrome
import machine
import pytest
import reading
import tracing

pytestmark = pytest.mark.torch


def stacks(folder, way, *options):
    """{stack: number of launches}"""
    program = tracing.on_simgpu(folder / "gpu.json", machine.tool("get-torch"), machine.PROGRAMS / "torch_passes.py")
    done = tracing.trace(folder, program, "--way", way, *options, names=("trace.json",))
    assert "done" in done.stdout
    events = chrome.events(chrome.load(folder / "trace.json"), "cuda_runtime", "cuda_driver")
    return collections.Counter(reading.stack_of(event) for event in events if "Launch" in event["name"])


@pytest.mark.parametrize("options", [(), ("--ops",)], ids=("launches", "ops"))
def test_passes_have_the_lines_that_they_have_by_bpf(tmp_path, options):
    """Passes from two threads, nested ones and ones that raise, while torch.profiler records, too."""
    by_bpf = stacks(tmp_path, "bpf", *options)
    assert sum(by_bpf.values()) > 500 and not any(stack.startswith("none: ") for stack in by_bpf)
    assert stacks(tmp_path, "agent", *options) == by_bpf
