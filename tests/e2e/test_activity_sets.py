# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which GPU records are kept: waits with what they wait for, and the selection by --trace and --kernels-only."""

import collections
import re
import shutil

import machine
import pytest
import reading
import tracing

WAITS = {"cudaStreamSynchronize": "Stream Sync", "cudaDeviceSynchronize": "Context Sync", "cudaEventSynchronize": "Event Sync",
         "cudaStreamWaitEvent": "Stream Wait Event", "cuStreamSynchronize": "Stream Sync"}


def own_agent(folder):
    """A copy of the agent: traces that share an agent file also get the records that other traces ask for."""
    agent = folder / "libgputrace-agent.so"
    if not agent.exists():
        shutil.copy(machine.AGENT, agent)
    return {"GPUTRACE_AGENT": agent}


def traced(folder, *options, env=None):
    command = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "20"]
    done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *command), *options, env=env or own_agent(folder))
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
    assert {call["name"] for call, _ in made} <= {*WAITS, "cudaFree"}  # cudaFree waits for the whole context
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


def test_what_the_trace_of_another_program_wants_is_not_recorded(tmp_path):
    """Requests of two traces of one program add up (test_two_traces_at_once.py); other programs are not affected."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    env = own_agent(tmp_path)
    with tracing.Running(["sleep", "60"], second) as idle, tracing.Tracer(second, "-p", idle.pid, env=env):
        _, trace, _ = traced(first, "--kernels-only", env=env)
    assert "kernel" in categories(trace) and "gpu_memcpy" not in categories(trace)


@pytest.fixture
def compiling(tmp_path):
    def run(*options):
        command = [machine.any_python(), machine.PROGRAMS / "compiles.py"]
        done = tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *command), *options,
                             env=own_agent(tmp_path))
        return done, reading.trace_of(tmp_path / "trace.json")
    return run


def test_compilations_are_drawn_inside_the_calls_that_needed_them(compiling):
    _, trace = compiling()
    calls = {e["args"]["correlation"]: e for e in reading.chrome.events(trace, *reading.chrome.API)}
    made = [e for e in trace["traceEvents"] if e.get("cat") == "jit"]
    assert collections.Counter(e["name"] for e in made) == {"PTX compiled": 4, "stored in the cache": 3,
                                                            "loaded from the cache": 1}
    for event in made:
        call = calls[event["args"]["of call"]]
        assert call["name"] in ("cudaLaunchKernel", "cuModuleLoadData")
        assert call["ts"] - 20 <= event["ts"] and event["ts"] + event["dur"] <= call["ts"] + call["dur"] + 20
    (row,) = {e["tid"] for e in made}
    (name,) = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name" and e["tid"] == row]
    assert name == f"thread {made[0]['pid']} JIT"


def test_the_report_names_the_line_that_compiles(compiling):
    done, _ = compiling()
    section = done.stdout.split("JIT compilation by Python line")[1].split("\n\n")[0].splitlines()[2:]
    rows = [line.split(maxsplit=1)[1] for line in section]
    assert {re.sub(" {2,}", "  ", row) for row in rows} == {  # the order of rows, by time, varies
        "3  PTX compiled  compiles.py:21 compiles",
        "1  PTX compiled  compiles.py:30 loads",
        "3  stored in the cache  compiles.py:21 compiles",
        "1  loaded from the cache  compiles.py:25 is_in_the_cache",
    }
    assert len(rows) == 4


def test_kernels_only_has_no_compilations(compiling):
    done, trace = compiling("--kernels-only")
    assert "JIT" not in done.stdout
    assert "jit" not in categories(trace)
