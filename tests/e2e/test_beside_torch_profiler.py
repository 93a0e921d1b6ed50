# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Beside torch.profiler in the same process: torch.profiler gets every record that it would get without gputrace, and
gputrace reads the records that it misses from torch.profiler's buffers."""

import collections
import json
import signal

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome

pytestmark = pytest.mark.torch

N = 300  # launches in a phase


class Traced(tracing.Running):
    """gputrace -- programs/profiles.py on the simulated GPU, ready for requests."""

    def __init__(self, folder, *options, env=None):
        self.folder = folder
        program = [machine.tool("get-torch"), machine.PROGRAMS / "profiles.py"]
        outputs = tracing.outputs(folder, "trace.gpt", "trace.json")
        super().__init__([machine.GPUTRACE, *outputs, *options, "--", *tracing.DEAF,
                          *tracing.on_simgpu(folder / "gpu.json", *program)],
                         folder, env)
        self.wait_line("ready")

    def session(self, path):
        for command in ("start", f"work {N}", f"stop {path}"):
            self.ask(command)

    def wait_registrations(self, *expected):
        """Waits until the log has these registrations in this order: 1 the agent, 0 another client."""
        tracing.until(lambda: any(logfile.registrations(log) == list(expected)
                                  for log in self.folder.glob("trace.gpt.part-*")))


SEEN = (*chrome.GPU, *chrome.API)


def seen_in(path):
    """{(category, name): count} of the GPU work and the CUDA calls that torch.profiler saw."""
    events = json.loads(path.read_text())["traceEvents"]
    return collections.Counter((e["cat"], e["name"]) for e in events if e.get("ph") == "X" and e.get("cat") in SEEN)


def in_parts(seen, parts):
    """The expected count if the work is done in `parts` parts, each of which waits for the GPU."""
    return seen + collections.Counter({("cuda_runtime", "cudaDeviceSynchronize"): parts - 1})


def kernels(seen):
    return sum(count for (category, _), count in seen.items() if category == "kernel")


def wait_ours(tracer):
    """Waits until the agent's own buffers are registered."""
    tracer.wait_logged(lambda log: logfile.registrations(log)[-1:] == [1])


def wait_looks(folder):
    """Waits for four more reports of the agent's totals: a second of the agent's time, however busy the machine is."""
    (log,) = folder.glob("trace.gpt.part-*")
    before = logfile.totals_reported(log)
    tracing.until(lambda: logfile.totals_reported(log) >= before + 4)


def truth_of(folder):
    return {op["corr"]: op for op in reading.simulated.work(reading.simulated.load(folder / "gpu.json"))}


def operations(trace):
    """{correlation id: GPU operation}; each id is there once."""
    found = {}
    for event in chrome.events(trace, *chrome.GPU):
        corr = event["args"]["correlation"]
        assert corr not in found, f"twice: {corr}"
        found[corr] = event
    return found


def assert_true(trace, truth):
    """Each operation has the duration and time that the simulated GPU gave it."""
    offsets = []
    for corr, event in operations(trace).items():
        op = truth[corr]
        length = op["end"] - op["start"]
        # The simulated CUPTI converts by a fitted line once it has been given a clock, as the real one does.
        assert abs(chrome.ns(event["dur"]) - length) < 2000 + length / 1000
        offsets.append(chrome.ns(event["ts"]) - op["start_mono"])
    assert max(offsets) - min(offsets) < 20000


def alone(folder):
    """The same session without gputrace."""
    folder.mkdir()
    program = [machine.tool("get-torch"), machine.PROGRAMS / "profiles.py"]
    with tracing.Running(tracing.on_simgpu(folder / "gpu.json", *program), folder) as running:
        running.wait_line("ready")
        for command in (f"work {N}", "start", f"work {N}", f"stop {folder}/kineto.json"):
            running.ask(command)
        running.end()
    return seen_in(folder / "kineto.json")


@pytest.fixture(scope="module")
def lasting(lasting_some_cupti, tmp_path_factory):
    """One programs/profiles.py for several tests, as its start takes five seconds."""
    folder = tmp_path_factory.mktemp("lasting")
    program = [machine.tool("get-torch"), machine.PROGRAMS / "profiles.py"]
    with tracing.Running(tracing.on_simgpu(folder / "gpu.json", *program), folder, lasting_some_cupti) as running:
        running.folder = folder
        running.wait_line("ready")
        running.ask(f"work {N}")
        yield running


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    seen = alone(tmp_path_factory.mktemp("alone") / "run")
    assert kernels(seen) == N
    return seen


def test_torch_profiler_starts_while_we_trace_and_no_one_misses_anything(tmp_path, undisturbed, any_cupti):
    with Traced(tmp_path) as traced:
        traced.ask(f"work {N}")
        for number in range(2):
            traced.session(tmp_path / f"kineto{number}.json")
            traced.wait_registrations(*[1, 0] * (number + 1), 1)  # the agent's again
            traced.ask(f"work {N}")
        done = traced.end().must_be(0)
    assert [seen_in(tmp_path / f"kineto{number}.json") for number in range(2)] == [undisturbed] * 2
    assert "activity type" not in done.stderr and "WARN" not in done.stderr
    trace, truth = reading.trace_of(tmp_path / "trace.json"), truth_of(tmp_path)
    assert operations(trace).keys() == truth.keys()
    assert_true(trace, truth)
    receipt = reading.receipt(trace)
    assert receipt["launches_joined"] == receipt["launches_expected"] == 5 * N + 1
    # two sessions, and the records that were pending when each began
    assert 2 * N <= receipt["gpu_operations_ridden"] < 4 * N
    assert receipt["gaps"] == receipt["gap_launches"] == receipt["gap_ns"] == 0
    assert receipt["lost"] == receipt["bad_records"] == receipt["gpu_operations_untimed"] == receipt["early"] == 0
    assert receipt["complete_percent"] == 100
    assert "GPU operations were taken from the buffers of another profiler (torch.profiler)" in done.stdout


def test_records_whose_clock_cupti_has_lost_have_their_times(tmp_path):
    """Each session of torch.profiler registers its clock again, after which more records have times of another clock
    (PyTorch issue 192021)."""
    with Traced(tmp_path, env={"SIMGPU_CLOCK_FALLS": "1"}) as traced:
        for number in range(4):
            traced.session(tmp_path / f"kineto{number}.json")
            traced.wait_registrations(1, *[0, 1] * (number + 1))
            traced.ask(f"work {N}")
        traced.end().must_be(0)
    trace, truth = reading.trace_of(tmp_path / "trace.json"), truth_of(tmp_path)
    assert_true(trace, truth)
    receipt = reading.receipt(trace)
    assert receipt["launches_expected"] == 8 * N + 1
    assert receipt["launches_joined"] + receipt["gap_launches"] == receipt["launches_expected"]
    assert receipt["lost"] == receipt["bad_records"] == receipt["gpu_operations_untimed"] == receipt["early"] == 0


def test_a_session_of_many_megabytes_is_read_as_well(tmp_path):
    """Larger buffers are not copied on the spot: the collector reads them while Kineto does."""
    many = 10000  # 6 MB of records, in buffers of 4 MB
    with Traced(tmp_path) as traced:
        for command in ("start", f"work {many}", f"stop {tmp_path}/kineto.json"):
            traced.ask(command)
        traced.wait_registrations(1, 0, 1)
        traced.ask(f"work {N}")
        traced.end().must_be(0)
    assert kernels(seen_in(tmp_path / "kineto.json")) == many + 1
    trace, truth = reading.trace_of(tmp_path / "trace.json"), truth_of(tmp_path)
    assert operations(trace).keys() == truth.keys()
    receipt = reading.receipt(trace)
    assert receipt["gpu_operations_ridden"] >= many
    assert receipt["gaps"] == receipt["gap_launches"] == receipt["lost"] == receipt["bad_records"] == 0


def test_torch_profiler_that_records_when_we_attach_misses_nothing_and_neither_do_we(lasting, tmp_path, undisturbed):
    """This is the first trace of this program, so the agent is let in now."""
    assert "libgputrace-agent" not in tracing.Path(f"/proc/{lasting.pid}/maps").read_text()
    lasting.ask("start")
    lasting.ask("work 100")
    before = len(truth_of(lasting.folder))
    with tracing.Tracer(tmp_path, "-p", lasting.pid) as tracer:
        tracer.wait_logged(logfile.says_ready)
        lasting.ask(f"work {N - 100}")
        wait_looks(tmp_path)  # by then an agent that does not check would record
        assert 1 not in logfile.registrations(next(tmp_path.glob("trace.gpt.part-*")))
        lasting.ask(f"stop {tmp_path}/kineto.json")
        wait_ours(tracer)
        lasting.ask(f"work {N}")
        done = tracer.interrupt()
    assert seen_in(tmp_path / "kineto.json") == in_parts(undisturbed, 2)
    assert "was recording; GPU times come from its buffers until it has finished" in " ".join(done.stdout.split())
    trace, truth = reading.trace_of(tmp_path / "trace.json"), truth_of(lasting.folder)
    assert operations(trace).keys() == set(list(truth)[before:])
    assert_true(trace, truth)
    receipt = reading.receipt(trace)
    assert receipt["launches_joined"] == receipt["launches_expected"] == 2 * N - 100
    assert receipt["gpu_operations_ridden"] == N - 100
    assert receipt["gaps"] == receipt["gap_launches"] == receipt["lost"] == receipt["bad_records"] == 0


def test_what_its_buffers_hold_when_we_end_is_counted(tmp_path):
    """CUPTI gives a buffer back when it is full, or at the end of the session."""
    program = [machine.tool("get-torch"), machine.PROGRAMS / "profiles.py"]
    with tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", *program), tmp_path) as running:
        running.wait_line("ready")
        running.ask("work 1")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            running.ask("work 1")  # gputrace learns nothing of a process that makes no call
            wait_ours(tracer)
            running.ask("start")
            running.ask(f"work {N}")
            done = tracer.interrupt()
        running.ask(f"stop {tmp_path}/kineto.json")
        running.end()
    receipt = reading.receipt(reading.trace_of(tmp_path / "trace.json"))
    # The agent may flush once more before it notices.
    assert receipt["gaps"] == 1 and 0 < receipt["gap_launches"] <= N
    assert receipt["launches_expected"] - receipt["launches_joined"] == receipt["gap_launches"]
    assert f"{receipt['gap_launches']} launches whose GPU records went to another profiler" in done.stdout
    assert "torch.profiler) had CUPTI 1 times" in done.stdout


def test_one_that_does_not_record_is_not_waited_for(tmp_path):
    """torch.profiler's memory shows that it does not record, so the agent begins in a process that makes no call."""
    program = [machine.tool("get-torch"), machine.PROGRAMS / "profiles.py"]
    with tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", *program), tmp_path) as running:
        running.wait_line("ready")
        running.ask("work 1")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            wait_ours(tracer)
            running.ask(f"work {N}")
            tracer.interrupt()
        running.end()
    receipt = reading.receipt(reading.trace_of(tmp_path / "trace.json"))
    assert receipt["launches_joined"] == receipt["launches_expected"] == receipt["launches"] == N
    assert receipt["gaps"] == receipt["gap_launches"] == receipt["lost"] == receipt["launches_agent_away"] == 0


@pytest.mark.parametrize("end_signal", [signal.SIGKILL, signal.SIGTERM])
def test_our_end_in_the_middle_of_its_session_takes_nothing_from_it(tmp_path, undisturbed, some_cupti, end_signal):
    with Traced(tmp_path) as traced:
        traced.ask(f"work {N}")
        traced.ask("start")
        traced.ask(f"work {N - 100}")
        traced.wait_registrations(1, 0)  # the agent has noticed
        target = [pid for pid in tracing.marked(traced.mark) if "gputrace-agent" in tracing.threads(pid)]
        traced.end_trace(end_signal)
        tracing.wait_agent_gone(target[0])
        traced.ask("work 100")
        traced.ask(f"stop {tmp_path}/kineto.json")
    assert seen_in(tmp_path / "kineto.json") == in_parts(undisturbed, 2)


def traced_with_waits(lasting, folder):
    """A gputrace that also records waits, of a program whose agent already records."""
    tracer = tracing.Tracer(folder, "-p", lasting.pid, "--trace", "cuda,sync")
    lasting.ask(f"work {N}")
    wait_ours(tracer)
    return tracer


def test_records_that_only_we_wanted_do_not_stay_on_for_it(lasting, tmp_path):
    """Waits: CUPTI records them for --trace sync, and for torch.profiler only if it asks for them."""
    with traced_with_waits(lasting, tmp_path) as tracer:
        lasting.ask("start")
        tracer.wait_logged(lambda log: logfile.registrations(log) == [1, 0])
        tracer.process.send_signal(signal.SIGTERM)
        tracing.wait_agent_gone(lasting.pid)
        lasting.ask(f"work {N}")
        lasting.ask(f"stop {tmp_path}/kineto0.json")
    for command in ("start", f"work {N}", f"stop {tmp_path}/kineto1.json"):
        lasting.ask(command)
    traces = [json.loads((tmp_path / f"kineto{number}.json").read_text())["traceEvents"] for number in range(2)]
    assert [sum(e.get("cat") == "kernel" for e in events) for events in traces] == [N] * 2
    assert not [e["name"] for events in traces for e in events if e.get("cat") == "cuda_sync"]


def waits(path):
    events = json.loads(path.read_text())["traceEvents"]
    return collections.Counter(e["name"] for e in events if e.get("cat") == "cuda_sync")


def test_records_that_it_wants_too_stay_on_for_it(lasting, tmp_path):
    with traced_with_waits(lasting, tmp_path) as tracer:
        lasting.ask("start waits")
        tracer.wait_logged(lambda log: logfile.registrations(log) == [1, 0])
        lasting.ask(f"work {N}")
        wait_looks(tmp_path)  # by then an agent that does not know would have disabled them
        lasting.ask(f"work {N}")
        lasting.ask(f"stop {tmp_path}/kineto.json")
        tracer.interrupt().must_be(0)
    assert waits(tmp_path / "kineto.json")["Context Sync"] == 3  # one for each `work`, one by torch.profiler itself
