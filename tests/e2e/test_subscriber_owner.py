# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A profiler other than torch.profiler holds CUPTI: the agent does not use CUPTI, and only launches are recorded."""

import re

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome

N = 200


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    return machine.compile_program(
        machine.PROGRAMS / "recorder.c", tmp_path_factory.mktemp("recorder") / "recorder",
        *(f"-Wl,-rpath,{machine.SIMGPU}", f"-L{machine.SIMGPU}", "-Wl,--no-as-needed"),
        *(f"{machine.SIMGPU}/{name}" for name in ("libcuda.so.1", "libcudart.so.13", "libcupti.so.13")))


@pytest.mark.parametrize("name", ["someone's recorder", ""])
def test_it_is_left_alone_and_named_if_it_gave_a_name(recorder, tmp_path, name):
    with tracing.Running([recorder, name], tmp_path) as running:
        running.wait_line("ready")
        running.ask(f"work {N}")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            tracer.wait_logged(logfile.says_failed)
            running.ask(f"work {N}")
            done = tracer.interrupt().must_be(0)
        running.ask(f"work {N}")
        recorded = running.end()
    assert f"received {3 * N} calls, {3 * N} kernels" in recorded.stdout
    assert logfile.registrations(tmp_path / "trace.gpt") == []  # neither client registered during the trace
    assert "No GPU times" in done.stdout
    assert "another tool holds CUPTI (" + (name or "recorder") in " ".join(done.stdout.split())
    trace = reading.trace_of(tmp_path / "trace.json")
    assert len([e for e in chrome.events(trace, *chrome.API) if e["name"] == "cudaLaunchKernel"]) == N
    assert reading.receipt(trace)["gpu_operations"] == 0


@pytest.mark.parametrize("ends", ["0", "1"], ids=["records-go-on", "unsubscribing-ends-them"])
def test_one_that_subscribes_meanwhile_finds_it_free_and_kernels_go_on(recorder, tmp_path, monkeypatch, ends):
    monkeypatch.setenv("SIMGPU_UNSUBSCRIBE_ENDS", ends)
    with tracing.Running([recorder, "later"], tmp_path) as running:
        running.wait_line("ready")
        running.ask(f"work {N}")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:

            def ready(log):
                running.ask("work 1")  # the agent is not let in before the process's first call
                return logfile.says_ready(log)

            tracer.wait_logged(ready)
            running.ask(f"work {N}")
            running.ask("subscribe")
            running.ask(f"work {N}")
            tracer.interrupt().must_be(0)
        recorded = running.end()
    assert f"received {N} calls, 0 kernels" in recorded.stdout
    states = logfile.agent_states(tmp_path / "trace.gpt")
    assert states.index(logfile.READY) < states.index(logfile.BORROWING)
    trace = reading.trace_of(tmp_path / "trace.json")
    receipt = reading.receipt(trace)
    assert reading.losses(trace) == {}
    assert receipt["launches_joined"] == receipt["gpu_operations"] == receipt["gpu_operations_joined"] > 2 * N
    assert receipt["launches"] - receipt["launches_joined"] <= receipt["launches_agent_away"]


def test_without_root_it_is_said_since_when_another_has_the_records(recorder, tmp_path):
    with tracing.Running([recorder, "later"], tmp_path) as running:
        running.wait_line("ready")
        running.ask("work 1")
        with tracing.Tracer(tmp_path, "--way", "agent", "-p", running.pid) as tracer:
            tracer.wait_logged(logfile.says_ready)
            running.ask(f"work {N}")
            running.ask("record")
            running.ask(f"work {N}")
            done = tracer.interrupt().must_be(0)
        recorded = running.end()
    assert f"received 0 calls, {N} kernels" in recorded.stdout
    assert reading.receipt(reading.trace_of(tmp_path / "trace.json"))["launches_joined"] == N
    said = " ".join(done.stdout.split())
    assert re.search(rf"Note: pid {running.pid}: another profiler had CUPTI's records for the last \d+\.\d s: launches", said), said
