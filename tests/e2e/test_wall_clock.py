# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""GPU times when the wall clock, in which CUPTI reports them, is set during a trace."""

import pathlib
import time

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome

STEPS = 20
OPERATIONS = 20 * STEPS  # GPU operations of these steps
SECOND_NS = 10**9


def logged(folder):
    """Number of GPU operations in the log."""
    return sum(logfile.gpu_operations(log) for log in folder.glob("trace.gpt.part-*"))


def sampled(folder, ahead):
    """Whether the agent's last sample is of a clock `ahead` seconds ahead of this machine's."""
    now = time.time_ns() - time.monotonic_ns()
    offsets = [offset for log in folder.glob("trace.gpt.part-*") for offset in logfile.agent_wall_offsets(log)]
    return bool(offsets) and abs(offsets[-1] - now - ahead * SECOND_NS) < SECOND_NS


def distances(folder, trace):
    """Start of each operation in the trace minus its start on the simulated GPU, in ns."""
    work = {(op["corr"], op["node"]): op for op in reading.simulated.work(reading.simulated.load(folder / "gpu.json"))}
    events = chrome.events(trace, *chrome.GPU)
    assert len(events) == len(work)
    return [chrome.ns(e["ts"]) - work[e["args"]["correlation"], e["args"].get("graph node id", 0)]["start_mono"] for e in events]


@pytest.mark.parametrize("seconds", [3600, -3600, 2])
def test_a_wall_clock_that_is_set_moves_no_gpu_operation(tmp_path, seconds):
    library = machine.compile_library(machine.PROGRAMS / "set_clock.c", tmp_path / "set_clock.so")
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "obedient.py")
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.gpt", "trace.json"), "--", *program]
    clock = tmp_path / "ahead"
    clock.write_bytes(bytes(8))
    with tracing.Running(command, tmp_path, env={"LD_PRELOAD": library, "SET_CLOCK_FILE": clock}) as running:
        running.wait_line("ready")
        for phase, ahead in enumerate((0, seconds, 0), 1):
            running.ask(f"set_clock {library} {ahead}")
            tracing.until(lambda: sampled(tmp_path, ahead))  # the agent must sample the clock before it is set back
            running.ask(f"steps {STEPS}")
            running.ask("finish")
            # the simulated GPU takes the wall clock when it reports an operation
            tracing.until(lambda: logged(tmp_path) == phase * OPERATIONS)
        running.end().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    receipt = reading.receipt(trace)
    assert receipt["clock_steps"] == 2
    assert receipt["early"] == receipt["bad_records"] == receipt["gpu_operations_untimed"] == 0
    offsets = distances(tmp_path, trace)
    assert len(offsets) == 3 * OPERATIONS
    assert max(offsets) - min(offsets) <= 2 * receipt["clock_error_ns"] + 1000  # and rounding at both ends


def set_clock(folder, seconds):
    library = machine.compile_library(machine.PROGRAMS / "set_clock.c", folder / "set_clock.so")
    return f"LD_PRELOAD={library}", f"SET_CLOCK_ALL={seconds}"


def faketime(seconds):
    """Environment for the real libfaketime, from Debian's package faketime."""
    libraries = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not libraries:
        pytest.skip("there is no libfaketime (tools/deps test)")
    return f"LD_PRELOAD={libraries[0]}", f"FAKETIME=+{seconds}"


@pytest.mark.parametrize("seconds", [86400, -600, "libfaketime"])
def test_a_process_whose_clocks_are_not_the_machines_has_its_gpu_times(tmp_path, seconds):
    """E.g. under libfaketime, which also fakes CLOCK_MONOTONIC: the probes use the kernel's clock."""
    variables = faketime(86400) if seconds == "libfaketime" else set_clock(tmp_path, seconds)
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "obedient.py")
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.gpt", "trace.json"), "--", "env", *variables, *program]
    with tracing.Running(command, tmp_path) as running:
        running.wait_line("ready")
        running.process.stdin.write("clock\n")
        assert abs(float(running.wait_line("clock").split()[1]) - time.time()) > 500
        running.ask(f"steps {STEPS}")
        running.ask("finish")
        running.end().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    receipt = reading.receipt(trace)
    assert receipt["gpu_operations_joined"] == OPERATIONS and receipt["early"] == receipt["gpu_operations_untimed"] == 0
    offsets = distances(tmp_path, trace)
    assert max(offsets) - min(offsets) <= 2 * receipt["clock_error_ns"] + 1000
    calls = chrome.events(trace, "cuda_runtime", "cuda_driver")
    slack_us = receipt["clock_error_ns"] / 1000
    first, end = min(call["ts"] for call in calls), max(call["ts"] + call["dur"] for call in calls)  # the last waits
    assert all(first - slack_us <= event["ts"] <= end + slack_us for event in chrome.events(trace, *chrome.GPU))
