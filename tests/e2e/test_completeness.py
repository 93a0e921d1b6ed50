# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is missing is counted, by cause, and nothing else is: dropped, untimed and late records, versions of CUPTI, a
CUPTI that is taken."""

import machine
import pytest
import reading
import tracing
from reading import simulated

STEPS = ("--steps", "30")


class Run:
    def __init__(self, folder, *options, env=None, program=STEPS, python=None):
        command = [python or machine.any_python(), machine.WORKLOADS / "train.py", *program, "--truth", folder / "program.json"]
        on_gpu = tracing.on_simgpu(folder / "gpu.json", *command)
        names = tracing.outputs(folder, "trace.gpt", "trace.json", "trace.folded")
        self.done = tracing.gputrace(folder, *names, *options, "--", *on_gpu, env=env)
        self.trace = reading.trace_of(folder / "trace.json")
        self.receipt = reading.receipt(self.trace)
        self.simulated = simulated.load(folder / "gpu.json")
        self.truth = reading.program(folder / "program.json")  # its last act: the program ended right

    def launches(self):
        return reading.simulated_launches(self.simulated)

    def operations(self, *fates):
        return [op for op in simulated.work(self.simulated) if not fates or op["fate"] in fates]


def test_a_whole_trace_is_complete(tmp_path):
    run = Run(tmp_path, "--min-complete", "100")
    run.done.must_be(0)
    assert run.receipt["launches_joined"] == run.receipt["launches_expected"] == len(run.launches())
    assert run.receipt["complete_percent"] == 100


@pytest.mark.parametrize("again", range(3))
def test_a_program_of_which_all_is_known_gets_no_note(tmp_path, again):
    """Also not while its interpreter starts, which is looked at whenever one of many libraries is mapped."""
    run = Run(tmp_path, python="python3", program=("--steps", "300", "--threads", "2"))
    run.done.must_be(0)
    assert run.trace["gputrace"]["notes"] == []


def test_launches_under_capture_do_not_count_as_missing(tmp_path):
    """They put nodes into a graph and nothing on the GPU."""
    run = Run(tmp_path, "--min-complete", "100", program=("--steps", "10", "--threads", "2", "--graph"))
    run.done.must_be(0)
    worked = {op["corr"] for op in run.operations()}
    assert len([call for call in run.launches() if call["corr"] not in worked]) == 4
    assert run.receipt["launches_joined"] == run.receipt["launches_expected"] == len(run.launches()) - 4


@pytest.fixture(scope="module")
def dropped(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("dropped"), env={"SIMGPU_DROP": 7})


def test_dropped_records_leave_exactly_their_launches_unjoined(dropped):
    lost = {op["corr"] for op in dropped.operations("dropped")}
    unjoined = [call for call in dropped.launches() if call["corr"] in lost]
    assert len(unjoined) > 50
    assert dropped.receipt["launches_expected"] == len(dropped.launches())
    assert dropped.receipt["launches_joined"] == len(dropped.launches()) - len(unjoined)


def test_dropped_records_are_counted_as_lost(dropped):
    count = len(dropped.operations("dropped"))
    assert dropped.receipt["lost"] == count
    assert f"{count} GPU records dropped by CUPTI" in dropped.done.stdout


def test_what_was_not_dropped_is_all_there(dropped):
    assert reading.trace_operations(dropped.trace) == reading.simulated_operations(dropped.operations("sent"))


def test_without_a_threshold_an_incomplete_trace_is_no_failure(dropped):
    dropped.done.must_be(0)


def test_a_trace_below_min_complete_exits_with_3_and_is_still_written(tmp_path):
    run = Run(tmp_path, "--min-complete", "99", env={"SIMGPU_DROP": 7})
    run.done.must_be(3)
    expected = 100 * run.receipt["launches_joined"] / run.receipt["launches_expected"]
    assert f"the trace is {expected:.2f} % complete, below the 99 % asked for" in run.done.stderr
    assert run.receipt["complete_percent"] == pytest.approx(expected, abs=1e-5)


def test_min_complete_holds_for_the_log_too(tmp_path):
    Run(tmp_path, "--min-complete", "99", env={"SIMGPU_DROP": 7})
    tracing.gputrace(tmp_path, "report", tmp_path / "trace.gpt").must_be(3)
    tracing.gputrace(tmp_path, "report", tmp_path / "trace.gpt", "--min-complete", "0").must_be(0)


def test_kernels_without_times_are_counted_and_not_plotted(tmp_path):
    run = Run(tmp_path, env={"SIMGPU_ZERO": 5})
    untimed = run.operations("zeroed")
    assert len(untimed) > 50
    assert run.receipt["gpu_operations_untimed"] == run.receipt["file_untimed"] == len(untimed)
    assert run.receipt["launches_joined"] == len(run.launches())
    assert reading.trace_operations(run.trace) == reading.simulated_operations(run.operations("sent"))


@pytest.mark.parametrize("delay_ms", [50, 400])
def test_late_delivery_loses_nothing(tmp_path, delay_ms):
    run = Run(tmp_path, "--min-complete", "100", env={"SIMGPU_DELAY_MS": delay_ms})
    run.done.must_be(0)
    assert reading.trace_operations(run.trace) == reading.simulated_operations(run.operations())


@pytest.mark.parametrize("version", ["11.8", "12.4", "13.0", "13.2", "13.4"])
def test_every_cupti_gives_the_same_kernel_times(tmp_path, version):
    run = Run(tmp_path, env={"SIMGPU_CUPTI_VERSION": version})
    run.done.must_be(0)
    assert reading.trace_kernel_ns(run.trace) == reading.simulated_kernel_ns(run.simulated)
    assert reading.trace_kernel_ns(run.trace) == reading.kernel_truth(run.truth)
    assert f"CUPTI {version}" in run.done.stdout


def test_two_gpu_threads_with_graphs_join_by_identity_whatever_the_order(tmp_path):
    run = Run(tmp_path, program=("--steps", "20", "--threads", "3", "--graph"), env={"SIMGPU_LATENCY_US": 200})
    calls = {e["args"]["correlation"]: e for e in reading.chrome.events(run.trace, *reading.chrome.API)}
    labels = {op["corr"]: op["label"] for op in run.operations()}
    for event in reading.chrome.events(run.trace, *reading.chrome.GPU):
        corr = event["args"]["correlation"]
        function, file, line = reading.innermost(calls[corr])
        assert labels[corr] == f"{file.rpartition('/')[2]}:{line} {function.rpartition('.')[2]}"


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """Another tool holds CUPTI's only subscriber."""
    folder = tmp_path_factory.mktemp("held")
    holder = machine.compile_library(machine.PROGRAMS / "holder.c", folder / "libholder.so")
    return Run(folder, env={"CUDA_INJECTION64_PATH": holder})


def test_a_cupti_that_another_tool_holds_stays_with_that_tool(held):
    assert "holder: cuptiSubscribe 0" in held.done.stderr


def test_launches_are_exact_when_another_tool_holds_cupti(held):
    held.done.must_be(0)
    calls = reading.truth_calls(held.truth)
    assert reading.trace_stacks(held.trace, calls) == reading.truth_stacks(held.truth)
    assert not reading.chrome.events(held.trace, *reading.chrome.GPU)


def test_the_report_says_that_another_tool_holds_cupti(held):
    assert "another tool holds CUPTI" in held.done.stdout


def test_agent_require_fails_when_another_tool_holds_cupti(tmp_path):
    holder = machine.compile_library(machine.PROGRAMS / "holder.c", tmp_path / "libholder.so")
    run = Run(tmp_path, "--agent", "require", env={"CUDA_INJECTION64_PATH": holder})
    run.done.must_be(1)
    assert "--agent require: no agent at work in python3" in run.done.stderr
    assert "another tool holds CUPTI" in run.done.stderr


def test_the_users_own_injection_library_is_loaded_too(tmp_path):
    run = Run(tmp_path, env={"CUDA_INJECTION64_PATH": machine.SIMGPU / "libinjected.so"})
    assert run.done.stdout.count("injected\n") == 1
    assert run.receipt["launches_joined"] == len(run.launches())


def test_agent_off_records_launches_only_and_leaves_the_users_injection_alone(tmp_path):
    run = Run(tmp_path, "--agent", "off", env={"CUDA_INJECTION64_PATH": machine.SIMGPU / "libinjected.so"})
    assert run.done.stdout.count("injected\n") == 1
    assert {op["fate"] for op in run.operations()} == {"unseen"}
    assert reading.trace_stacks(run.trace, {"cudaLaunchKernel"}) == reading.of_call(
        reading.truth_stacks(run.truth), "cudaLaunchKernel")
