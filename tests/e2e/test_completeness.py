# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is missing is counted by cause, and nothing else is: dropped, untimed and late records, versions of CUPTI, a
CUPTI whose subscriber another tool holds."""

import json
import time

import gptlog
import logfile
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
        self.truth = reading.program(folder / "program.json")  # the program writes it last: it has ended normally

    def launches(self):
        return reading.simulated_launches(self.simulated)

    def operations(self, *fates):
        return [op for op in simulated.work(self.simulated) if not fates or op["fate"] in fates]


def test_a_whole_trace_is_complete(tmp_path):
    run = Run(tmp_path, "--min-complete", "100")
    run.done.must_be(0)
    assert run.receipt["launches_joined"] == run.receipt["launches_expected"] == len(run.launches())
    assert run.receipt["complete_percent"] == 100


def test_a_launch_in_which_cuda_and_the_agent_start_is_one_launch(tmp_path):
    """The program's first call: the symbol probe sees it some milliseconds before CUPTI reports it."""
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "hangs.py", "cuda", "once_100us")
    tracing.gputrace(tmp_path, "-o", "trace.json", "--min-complete", "100", "--", *program).must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    (launch,) = [event for event in trace["traceEvents"] if event.get("name") == "cudaLaunchKernel"]
    assert launch["args"]["correlation"] and launch["dur"] > 0
    assert reading.receipt(trace)["launches_expected"] == reading.receipt(trace)["launches_joined"] == 1


@pytest.mark.parametrize("again", range(3))
def test_a_program_of_which_all_is_known_gets_no_note(tmp_path, again):
    """Nor while its interpreter starts, when gputrace examines it at each of many library mappings."""
    run = Run(tmp_path, python="python3", program=("--steps", "30", "--threads", "2"))
    run.done.must_be(0)
    assert run.trace["gputrace"]["notes"] == []


def test_launches_under_capture_do_not_count_as_missing(tmp_path):
    """They add nodes to a graph; nothing runs on the GPU."""
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


def percent(part, whole):
    """A percentage as gputrace prints it: rounded down to thousandths."""
    return 100_000 * part // whole / 1000


def test_a_trace_below_min_complete_exits_with_3_and_is_still_written(tmp_path):
    run = Run(tmp_path, "--min-complete", "99", env={"SIMGPU_DROP": 7})
    run.done.must_be(3)
    expected = percent(run.receipt["launches_joined"], run.receipt["launches_expected"])
    assert f"the trace is {expected:g} % complete, below the 99 % asked for" in run.done.stderr
    assert run.receipt["complete_percent"] == expected


def test_min_complete_takes_fractions(tmp_path):
    run = Run(tmp_path, "--min-complete", "97.25", env={"SIMGPU_DROP": 200})
    run.done.must_be(0)
    complete = run.receipt["complete_percent"]
    assert run.receipt["lost"] > 0 and 97.25 <= complete < 100
    for command in ("report", "why"):
        for asked, code in ((complete, 0), (complete + 0.001, 3)):
            done = tracing.gputrace(tmp_path, command, tmp_path / "trace.gpt", "--min-complete", f"{asked:.3f}").must_be(code)
        assert f"the trace is {complete:g} % complete, below the {asked:g} % asked for" in done.stderr


def test_graph_launches_with_operations_missing_count_as_incomplete(tmp_path):
    run = Run(tmp_path, "--min-complete", "100", program=("--steps", "40", "--graph"), env={"SIMGPU_DROP": 5})
    run.done.must_be(3)
    dropped = {op["corr"] for op in run.operations("dropped")}
    sent = {op["corr"] for op in run.operations("sent")}
    graphs = {op["corr"] for op in run.operations() if op["graph"]}
    short = graphs & dropped & sent
    assert short and run.receipt["launches_short"] == len(short)
    whole = [call for call in run.launches() if call["corr"] in sent - dropped]
    assert run.receipt["launches_whole"] == len(whole)
    assert f"{len(short)} graph launches of which operations are missing" in run.done.stdout


def rows(report, title):
    """[(launches, the other words)] of a table of the report; the line about rows left out is one more row."""
    lines = report.partition(f"\n{title}")[2].partition("\n\n")[0].splitlines()
    words = [line.replace(",", "").split() for line in lines[2:]]
    return [(int(row[5]), []) if row[0] == "..." else (int(row[0]), row[1:]) for row in words]


NO_TIMES = "Launches without GPU times by Python line"
DEBUGGER = """import ctypes, sys
trace, of = ctypes.CDLL(None).ptrace, int(sys.argv[1])
print("seized", trace(0x4206, of, None, None), flush=True)  # PTRACE_SEIZE; it ends with us
sys.stdin.readline()
if sys.argv[2:]:
    print("holds", trace(0x4207, of, None, None), flush=True)  # PTRACE_INTERRUPT
    sys.stdin.readline()
"""


def test_launches_of_a_process_that_refused_the_agent_count_as_incomplete(tmp_path):
    """A debugger traces one of two processes, whose launches are reported with their lines."""
    truths = tmp_path / "a.json", tmp_path / "b.json"
    with tracing.target(tmp_path, truth=truths[0]) as first, tracing.target(tmp_path, truth=truths[1]) as second, \
         tracing.Running(["python3", "-c", DEBUGGER, second.pid], tmp_path) as debugger:
        debugger.wait_line("seized 0")
        options = ("--min-complete", "100")
        with tracing.Tracer(tmp_path, "-p", f"{first.pid},{second.pid}", *options) as tracer:
            tracer.wait_logged(logfile.says_ready)
            for target in (first, second):
                target.ask("steps 5")
                target.ask("finish")
            done = tracer.interrupt().must_be(3)
        pid = second.pid
    counts = [len(reading.simulated_launches(simulated.load(truth))) for truth in truths]
    receipt = reading.receipt(reading.trace_of(tmp_path / "trace.json"))
    assert counts[0] == counts[1] > 10
    assert (receipt["launches_joined"], receipt["launches_no_agent"]) == (counts[0], counts[1])
    assert receipt["complete_percent"] == 50
    assert f"Incomplete: {counts[0]} of {sum(counts)} launches joined, 0 lost" in done.stdout
    assert f"{counts[1]} launches without GPU times: no agent in their process" in done.stdout
    assert f"No GPU times for pid {pid}: " in done.stdout
    table = rows(done.stdout, NO_TIMES)
    assert sum(launches for launches, _ in table) == counts[1] and all(row[-1] == str(pid) for _, row in table if row)
    assert any(row[1].startswith("model.py:") for _, row in table if row)


@pytest.mark.parametrize("agent", ("auto", "off"))
def test_a_recording_ends_when_it_says_so(tmp_path, agent):
    """The program goes on while probes are removed: its calls in that time are in no table, and are not missing."""
    options = ("-d", "400ms", "--agent", agent, "--format", "json", "-o", tmp_path / "trace.gpt")
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        target.process.stdin.write("threads 2 1000000\n")
        target.process.stdin.flush()
        truth = tmp_path / "gpu.json"
        tracing.until(lambda: truth.exists() and simulated.calls(simulated.load(truth), "launch"))
        report = json.loads(tracing.gputrace(tmp_path, "-p", target.pid, *options).must_be(0).stdout)
    log, tables = tmp_path / "trace.gpt", {table["id"]: table["rows"] for table in report["tables"]}
    (end,) = [record.values["time_ns"] for record in logfile.records(log, logfile.END)]
    calls = [call.values["time_ns"] for call in logfile.records(log, logfile.CALL, logfile.CALL_ARGS)]
    (recording,), (receipt,) = tables["recording"], tables["receipt"]
    assert recording["start_ns"] + recording["duration_ns"] == end > max(calls)
    assert recording["calls"] == len([time for time in calls if time >= recording["start_ns"]])
    assert receipt["launches"] > 100 and receipt["launches_joined"] == (receipt["launches"] if agent == "auto" else None)


def has_probes_on(log, name):
    return logfile.says(log, logfile.PROBES, name)


def thread_named(pid, name):
    """The tid of a thread whose name begins so, or None."""
    return next((tid for found, tid in tracing.named_threads(pid) if found.startswith(name)), None)


def test_launches_before_the_agent_records_are_reported_and_count_as_incomplete(tmp_path):
    """The agent waits until the program starts CUDA; launches before it notices have no GPU times.  Here the agent's
    thread is held, so that it notices late."""
    with tracing.target(tmp_path, "late", truth=tmp_path / "gpu.json") as target:
        with tracing.Tracer(tmp_path, "-p", target.pid, "--min-complete", "99.9") as tracer:
            target.ask("started")  # libcuda is mapped now, and the agent is let in
            tracing.until(lambda: thread_named(target.pid, "gputrace"))
            thread = thread_named(target.pid, "gputrace")
            with tracing.Running(["python3", "-c", DEBUGGER, thread, "hold"], tmp_path) as debugger:
                debugger.wait_line("seized 0")
                debugger.process.stdin.write("\n")
                debugger.process.stdin.flush()
                debugger.wait_line("holds 0")
                target.ask("load_simulated")
                tracer.wait_logged(has_probes_on, b"libcudart")
                target.ask("steps 5")
            tracer.wait_logged(logfile.says_ready)
            target.ask("steps 5")
            target.ask("finish")
            done = tracer.interrupt().must_be(3)
    made = len(reading.simulated_launches(simulated.load(tmp_path / "gpu.json")))
    trace = reading.trace_of(tmp_path / "trace.json")
    seen = sum(reading.trace_stacks(trace, {"cudaLaunchKernel"}).values())
    receipt = reading.receipt(trace)
    before = receipt["launches_agent_away"]
    assert seen == made
    assert before == made // 2 and receipt["launches_joined"] == receipt["launches_expected"] == seen - before
    assert receipt["complete_percent"] == percent(seen - before, seen)
    assert f"Incomplete: {seen - before} of {seen} launches joined, 0 lost" in done.stdout
    assert f"{before} launches without GPU times: the agent did not record yet, or had left" in done.stdout
    assert sum(launches for launches, _ in rows(done.stdout, NO_TIMES)) == before


def test_without_gpu_times_asked_for_nothing_is_missing(tmp_path):
    run = Run(tmp_path, "--agent", "off", "--min-complete", "100")
    run.done.must_be(0)
    assert run.receipt["complete_percent"] == 100
    again = tmp_path / "again"
    again.mkdir()
    holder = machine.compile_library(machine.PROGRAMS / "subscriber_owner.c", again / "libholder.so")
    run = Run(again, "--min-complete", "1", env={"CUDA_INJECTION64_PATH": holder})
    run.done.must_be(3)
    assert run.receipt["complete_percent"] == 0


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


def test_a_gpu_whose_last_kernel_has_not_ended_may_have_been_busy(tmp_path):
    """CUPTI has no times of a kernel before it has ended."""
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            tracer.wait_logged(logfile.says_ready)
            for line in ("steps 2", "finish", "launch stuck_600000000us"):
                target.ask(line)
            time.sleep(1)  # more than 1 % of the recording
            stdout = tracer.interrupt().must_be(0).stdout
    said = " ".join(stdout.split())
    assert "the GPU may have been busy, not idle: 1 launch lacks GPU times (obedient.py:" in said
    assert "Work.launch)" in said.partition("may have been busy")[2]


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
    holder = machine.compile_library(machine.PROGRAMS / "subscriber_owner.c", folder / "libholder.so")
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
    holder = machine.compile_library(machine.PROGRAMS / "subscriber_owner.c", tmp_path / "libholder.so")
    run = Run(tmp_path, "--agent", "require", env={"CUDA_INJECTION64_PATH": holder})
    run.done.must_be(tracing.OWN_FAILURE)
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
