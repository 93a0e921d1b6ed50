# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every CPython: launches by line and stack, compared with the traced program's own counts."""

import machine
import pytest
import reading
import tracing
from reading import simulated

pytestmark = pytest.mark.kernels

SIMULATED_RUN = ("--steps", "40", "--threads", "2", "--graph", "--blocks", "1")


class Traced:
    def __init__(self, folder):
        self.folder = folder
        self.trace = reading.trace_of(folder / "trace.json")
        self.truth = reading.program(folder / "program.json")


@pytest.fixture(scope="session")
def real(every_python, tmp_path_factory):
    """A trace of real_cudart.py, whose calls go to NVIDIA's own libcudart and fail."""
    folder = tmp_path_factory.mktemp("real")
    program = [every_python, machine.WORKLOADS / "real_cudart.py", machine.cudart(), "--steps", "20", "--depth", "40",
               "--truth", folder / "program.json"]
    tracing.trace(folder, program, *tracing.CALLS_ALONE, "--metric", "launches")
    return Traced(folder)


@pytest.fixture(scope="session")
def on_gpu(every_python, tmp_path_factory):
    """A trace of train.py on the simulated GPU: two trainers, two backward threads, a graph."""
    folder = tmp_path_factory.mktemp("simulated")
    program = [every_python, machine.WORKLOADS / "train.py", *SIMULATED_RUN, "--truth", folder / "program.json"]
    tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *program))
    traced = Traced(folder)
    traced.simulated = simulated.load(folder / "gpu.json")
    return traced


def test_every_call_is_counted_under_its_whole_python_stack(real):
    expected = reading.truth_stacks(real.truth)
    assert sum(expected.values()) > 500
    assert reading.trace_stacks(real.trace, reading.truth_calls(real.truth)) == expected


def test_every_call_is_counted_under_its_function_file_and_executing_line(real):
    calls = reading.truth_calls(real.truth)
    assert reading.trace_lines(real.trace, calls) == reading.truth_lines(real.truth)


def test_folded_launches_are_counted_under_their_whole_stacks(real):
    counts = reading.folded(real.folder / "trace.folded")
    assert counts == reading.truth_folded(real.truth, "python3")


def test_no_stack_of_forty_frames_is_truncated(real):
    deepest = max(len(reading.stack_of(e).split(";")) for e in reading.chrome.events(real.trace, "cuda_runtime"))
    assert deepest >= 42  # 40 of deep(), main, <module>
    assert real.trace["gputrace"]["receipt"]["calls_with_stack"] == real.trace["gputrace"]["receipt"]["calls"]


def test_gpu_time_of_every_line_is_what_the_simulated_gpu_took(on_gpu):
    expected = reading.simulated_line_ns(on_gpu.simulated)
    assert len(expected) > 15
    assert reading.trace_line_ns(on_gpu.trace) == expected


def test_gpu_time_of_every_line_is_what_the_program_asked_for(on_gpu):
    assert reading.trace_line_ns(on_gpu.trace) == reading.truth_line_ns(on_gpu.truth)


def test_folded_gpu_time_of_every_line_is_what_the_simulated_gpu_took(on_gpu):
    assert reading.folded_line_ns(on_gpu.folder / "trace.folded") == reading.simulated_line_ns(on_gpu.simulated)


def test_folded_gpu_time_of_graphs_names_the_lines_that_were_captured(on_gpu):
    truth = reading.truth_home_ns(on_gpu.truth)
    captured = reading.captured_lines(on_gpu.folder / "trace.folded")
    assert len(captured) == 2 and captured == {line: truth[line] for line in captured}


def test_every_operation_is_there_once_under_its_own_call(on_gpu):
    assert reading.trace_operations(on_gpu.trace) == reading.simulated_operations(on_gpu.simulated)


def test_calls_with_the_agent_are_counted_under_their_whole_python_stack(on_gpu):
    calls = reading.truth_calls(on_gpu.truth)
    assert reading.trace_stacks(on_gpu.trace, calls) == reading.truth_stacks(on_gpu.truth)


def test_every_launch_that_did_work_is_joined(on_gpu):
    worked = {op["corr"] for op in simulated.work(on_gpu.simulated)}
    launches = [e for e in reading.simulated_launches(on_gpu.simulated) if e["corr"] in worked]
    receipt = reading.receipt(on_gpu.trace)
    assert receipt["launches_joined"] == len(launches)
    assert receipt["gpu_operations_joined"] == receipt["gpu_operations"] == len(simulated.work(on_gpu.simulated))
    assert reading.losses(on_gpu.trace) == {}


def test_other_processes_that_begin_and_end_take_nothing_from_a_trace(tmp_path):
    """Linux 7.2 does not report each of these processes (recursion_misses); gputrace would find a traced one again."""
    other = ["sh", "-c", "while :; do /bin/true; done"]
    program = [machine.any_python(), machine.WORKLOADS / "train.py", *SIMULATED_RUN, "--truth", tmp_path / "program.json"]
    with tracing.Running(other, tmp_path), tracing.Running(other, tmp_path):
        tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *program))
    traced = Traced(tmp_path)
    assert reading.losses(traced.trace) == {}
    assert reading.trace_line_ns(traced.trace) == reading.truth_line_ns(traced.truth)


@pytest.fixture(scope="session")
def shapes(every_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    program = [every_python, machine.PROGRAMS / "shapes.py", machine.cudart(), folder / "program.json"]
    tracing.trace(folder, program, *tracing.CALLS_ALONE)
    return Traced(folder)


def test_frames_of_every_kind_stand_in_the_stack_as_in_a_traceback(shapes):
    expected = reading.truth_stacks(shapes.truth)
    assert len(expected) > 40
    assert reading.trace_stacks(shapes.trace, {"cudaLaunchKernel"}) == expected


def test_functions_that_share_an_address_one_after_the_other_keep_their_names(every_python, tmp_path):
    program = [every_python, machine.PROGRAMS / "short_lived.py", machine.cudart(), tmp_path / "program.json", "300"]
    tracing.trace(tmp_path, program, *tracing.CALLS_ALONE)
    truth, trace = reading.program(tmp_path / "program.json"), reading.trace_of(tmp_path / "trace.json")
    assert truth["addresses"] < truth["names"] / 2, "no address was used again, so nothing was tested"
    launches = reading.trace_lines(trace, {"cudaLaunchKernel"})
    expected = {("cudaLaunchKernel", f"made_{i}", f"made_{i}.py", 3 + i % 7): 1 for i in range(truth["names"])}
    assert launches == expected
