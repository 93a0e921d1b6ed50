# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What of the GPU is recorded: waits with what they waited for, and the choice by --trace and --kernels-only."""

import collections

import machine
import pytest
import reading
import tracing

WAITS = {"cudaStreamSynchronize": "Stream Sync", "cudaDeviceSynchronize": "Context Sync", "cudaEventSynchronize": "Event Sync",
         "cudaStreamWaitEvent": "Stream Wait Event", "cuStreamSynchronize": "Stream Sync"}


def traced(folder, *options, program=("--steps", "20")):
    command = [machine.any_python(), machine.WORKLOADS / "train.py", *program]
    done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *command), *options)
    trace = reading.trace_of(folder / "trace.json")
    return done, trace, reading.simulated.load(folder / "gpu.json")


def categories(trace):
    return {event.get("cat") for event in trace["traceEvents"]}


def test_every_wait_is_drawn_once_inside_its_call(tmp_path):
    _, trace, truth = traced(tmp_path, "--trace", "cuda,sync")
    calls = {e["args"]["correlation"]: e for e in trace["traceEvents"] if e.get("cat") == "cuda_runtime"}
    waits = [e for e in trace["traceEvents"] if e.get("cat") == "cuda_sync"]
    expected = collections.Counter(WAITS[c["name"]] for c in reading.simulated.calls(truth) if c["name"] in WAITS)
    assert sum(expected.values()) >= 20
    made = [(calls[w["args"]["correlation"]], w) for w in waits]
    assert {call["name"] for call, _ in made} <= {*WAITS, "cudaFree"}  # which waits for the whole context
    assert collections.Counter(w["name"] for call, w in made if call["name"] in WAITS) == expected
    for call, wait in made:
        assert WAITS.get(call["name"], "Context Sync") == wait["name"]
        assert call["ts"] - 20 <= wait["ts"] and wait["ts"] + wait["dur"] <= call["ts"] + call["dur"] + 20


@pytest.mark.parametrize("options, waits_for", [((), "cudaMemcpyAsync"), (("--trace", "cuda,sync"), "all streams")],
                         ids=["default", "sync"])
def test_the_report_names_the_line_that_waits(tmp_path, options, waits_for):
    done, _, _ = traced(tmp_path, *options)
    section = done.stdout.split("CPU waiting for the GPU by Python line")[1].split("\n\n")[0]
    assert "train.py:" in section and waits_for in section


@pytest.mark.parametrize("options, there, missing", [
    (("--kernels-only",), {"kernel"}, {"gpu_memcpy", "cuda_sync"}),
    (("--trace", "sync"), {"kernel", "cuda_sync"}, {"gpu_memcpy"}),
    (("--trace", "cuda"), {"kernel", "gpu_memcpy"}, {"cuda_sync"}),
], ids=["kernels only", "sync", "cuda"])
def test_what_is_not_wanted_is_not_recorded_and_every_kernel_is(tmp_path, options, there, missing):
    done, trace, truth = traced(tmp_path, *options, "--min-complete", "100")
    assert there <= categories(trace)
    assert not missing & categories(trace)
    kernels = sum(e.get("cat") == "kernel" for e in trace["traceEvents"])
    assert kernels == len(reading.simulated.work(truth, "kernel"))
    assert "Not recorded besides kernels" in done.stdout


def test_two_traces_at_once_both_get_what_either_wants(tmp_path):
    """The counters add up: an agent records for all who listen."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with tracing.Running(["sleep", "60"], second) as idle, tracing.Tracer(second, "-p", idle.pid):
        _, trace, _ = traced(first, "--kernels-only")
    assert {"kernel", "gpu_memcpy"} <= categories(trace)
