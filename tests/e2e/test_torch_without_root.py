# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""PyTorch recorded by the agent alone: its backward passes have the same lines as with BPF."""

import collections

import chrome_invariants as chrome
import logfile
import machine
import pytest
import reading
import tracing

pytestmark = pytest.mark.torch


def has_looked_for_torch(log):
    """The agent, which starts after PyTorch was loaded, looks for it between its first two reports of totals."""
    return logfile.totals_reported(log) >= 2


def stacks(folder, way, *options):
    """{stack: number of launches}"""
    folder = folder / way
    folder.mkdir()
    program = tracing.on_simgpu(folder / "gpu.json", machine.tool("get-torch"), machine.PROGRAMS / "torch_passes.py", way, folder / "go")
    with tracing.Tracer(folder, "--way", way, *options, "--", *program) as tracer:
        tracer.wait_line("ready")
        if way == "agent":
            tracer.wait_logged(logfile.says_observing if options else has_looked_for_torch)
        (folder / "go").touch()
        done = tracer.end().must_be(0)
    assert "done" in done.stdout
    events = chrome.events(chrome.load(folder / "trace.json"), "cuda_runtime", "cuda_driver")
    return collections.Counter(reading.stack_of(event) for event in events if "Launch" in event["name"])


@pytest.mark.parametrize("options", [(), ("--ops",)], ids=("launches", "ops"))
def test_passes_have_the_lines_that_they_have_by_bpf(tmp_path, options):
    """Passes from two threads, nested ones and ones that raise, while torch.profiler records, too."""
    by_bpf = stacks(tmp_path, "bpf", *options)
    assert sum(by_bpf.values()) > 500 and not any(stack.startswith("none: ") for stack in by_bpf)
    assert stacks(tmp_path, "agent", *options) == by_bpf
