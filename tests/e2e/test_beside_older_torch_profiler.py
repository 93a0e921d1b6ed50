# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Beside the torch.profiler of PyTorch 2.11 to 2.14, which subscribes to CUPTI at its first use and never unsubscribes:
between its sessions the agent works without a subscriber."""

import collections
import json
import signal

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome, simulated

pytestmark = pytest.mark.torch

N = 300  # launches in a session of torch.profiler: with few, Kineto may drop what seems outside its window
ROUNDS = 40


def seen_by(path):
    """[(category, correlation id)] of the GPU work that torch.profiler saw, sorted."""
    events = json.loads(path.read_text())["traceEvents"]
    return sorted((e["cat"], e["args"]["correlation"]) for e in events
                  if e.get("ph") == "X" and e.get("cat") in chrome.GPU)


def events_of(path):
    """{(category, phase, thread): number of events that torch.profiler wrote}"""
    events = json.loads(path.read_text())["traceEvents"]
    return collections.Counter((e.get("cat"), e["ph"], e.get("tid") if e.get("cat") == "cuda_runtime" else None)
                               for e in events)


def recorded(path):
    """The same list, of the work that the simulated GPU did while CUPTI recorded."""
    done = [op for op in simulated.work(simulated.load(path)) if op["fate"] == "sent"]
    return sorted((category, corr) for category, corr, _ in reading.simulated_operations(done))


def test_it_works_on_the_simulated_gpu(tmp_path):
    command = [machine.older_torch(), machine.WORKLOADS / "torch_train.py", "--profile", tmp_path / "kineto.json",
               "--steps", "40"]
    tracing.command(tmp_path, *tracing.on_simgpu(tmp_path / "gpu.json", *command)).must_be(0)
    assert len(seen_by(tmp_path / "kineto.json")) > 400
    assert seen_by(tmp_path / "kineto.json") == recorded(tmp_path / "gpu.json")


class Holder(tracing.Running):
    """programs/profiles.py after one session of its torch.profiler, which has held CUPTI's subscriber since."""

    def __init__(self, folder, env=None, used=True, by=()):
        self.folder = folder
        program = [machine.older_torch(), machine.PROGRAMS / "profiles.py"]
        super().__init__([*by, *tracing.on_simgpu(folder / "gpu.json", *program)], folder, env)
        self.wait_line("ready")
        self.ask("work 1")  # the first call also makes the tensor
        self.ask("mix before 2")
        if used:
            self.session("once")

    def session(self, name):
        for command in ("start", f"work {N - 100}", "work 100", f"stop {self.folder}/{name}.json"):
            self.ask(command)

    def must_be_undisturbed(self, name):
        """The session has the same events as the first one, which ran before any gputrace, and no others."""
        expected, got = (events_of(self.folder / f"{session}.json") for session in ("once", name))
        assert expected["kernel", "X", None] == N
        got["overhead", "X", None] = expected["overhead", "X", None]  # CUPTI's own work; may precede the session
        assert got == expected

    def trace(self, *options):
        """Starts a gputrace and waits until its agent records."""
        for left in self.folder.glob("trace.gpt.part-*"):  # left by a gputrace that was killed
            left.unlink()
        tracer = tracing.Tracer(self.folder, "-p", self.pid, *options)

        def registered(log):
            self.ask("mix entry 2")  # the agent is not let in before the process's first call
            return logfile.registrations(log)[-1:] == [1]

        tracer.wait_logged(registered)
        return tracer

    def did(self, name):
        """{correlation id: GPU operation} of the work labelled with the name."""
        return {op["corr"]: op for op in simulated.work(simulated.load(self.folder / "gpu.json"))
                if op["label"].endswith("@" + name)}

    def wait_taken(self, name):
        """Waits until a trace has the work with that label: records that are pending when a session begins go to it."""
        did = set(self.did(name))
        tracing.until(lambda: any(did <= logfile.gpu_correlations(log) for log in self.folder.glob("trace.gpt.part-*")))

    def agent_has_gone(self):
        return "gputrace-agent" not in tracing.threads(self.pid)


@pytest.fixture
def holder(tmp_path):
    with Holder(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def steady_holder(tmp_path_factory):
    """One Holder for several tests, as its start takes five seconds; each test labels its work."""
    with Holder(tmp_path_factory.mktemp("steady")) as running:
        yield running


@pytest.fixture(scope="module")
def lasting_holder(lasting_cupti, tmp_path_factory):
    """The same, for each variant of CUPTI."""
    with Holder(tmp_path_factory.mktemp("lasting"), lasting_cupti) as running:
        yield running


def traced_in(folder):
    return reading.trace_of(folder / "trace.json")


def traced(holder):
    return traced_in(holder.folder)


def must_be_under_its_line(trace, did):
    """Each GPU operation is there once, with its duration and time, under the Python function that launched it."""
    found = {}
    for event in chrome.events(trace, *chrome.GPU):
        corr = event["args"]["correlation"]
        if corr in did:
            assert corr not in found
            found[corr] = event
    assert sorted(found) == sorted(did)
    calls = {corr: call for corr, (call, _) in chrome.correlations(trace).items()}
    offsets = []
    for corr, op in did.items():
        function = op["label"].partition("@")[0]
        assert reading.innermost(calls[corr])[0] == function
        # since Kineto gave CUPTI a clock, CUPTI converts times by a fitted line
        assert chrome.ns(found[corr]["dur"]) == pytest.approx(op["end"] - op["start"], rel=1e-3, abs=2)
        offsets.append(chrome.ns(found[corr]["ts"]) - op["start_mono"])
    assert max(offsets) - min(offsets) < 20000


def test_every_kernel_is_under_its_line_though_it_holds_the_subscriber(steady_holder):
    holder = steady_holder
    with holder.trace() as tracer:
        holder.ask(f"mix traced {ROUNDS}")
        done = tracer.interrupt().must_be(0)
    holder.ask("mix after 2")
    did = holder.did("traced")
    assert len(did) >= 2 * 6 * ROUNDS
    trace = traced(holder)
    must_be_under_its_line(trace, did)
    ids = {e["args"]["correlation"] for e in chrome.events(trace, *chrome.GPU)}
    assert not ids & (set(holder.did("before")) | set(holder.did("after")))
    receipt = reading.receipt(trace)
    assert receipt["gpu_operations"] == receipt["gpu_operations_joined"] == len(ids)
    assert receipt["launches_joined"] == receipt["launches_expected"] > 0
    assert receipt["lost"] == receipt["bad_records"] == receipt["early"] == receipt["gaps"] == 0
    assert "Another profiler had CUPTI's callbacks (torch.profiler keeps them before PyTorch 2.15)" in " ".join(done.stdout.split())


def test_a_second_trace_finds_it_as_the_first_did(steady_holder):
    holder = steady_holder
    for number in range(2):
        with holder.trace() as tracer:
            holder.ask(f"mix traced{number} 10")
            tracer.interrupt().must_be(0)
        must_be_under_its_line(traced(holder), holder.did(f"traced{number}"))
        tracing.until(holder.agent_has_gone)


def test_nothing_is_left_of_us(steady_holder):
    holder = steady_holder
    with holder.trace() as tracer:
        holder.ask("mix traced 2")
        tracer.interrupt().must_be(0)
    tracing.until(holder.agent_has_gone)
    holder.ask("mix after 2")
    holder.session("later")
    assert {op["fate"] for op in holder.did("after").values()} == {"unseen"}  # CUPTI records nothing
    holder.must_be_undisturbed("later")


def must_have_read_its_buffers(trace, profiled):
    """What torch.profiler recorded is in gputrace's trace, too, under the function that did it."""
    calls = {corr: call for corr, (call, _) in chrome.correlations(trace).items()}
    traced = collections.Counter(e["args"]["correlation"] for e in chrome.events(trace, *chrome.GPU))
    recorded_by_it = collections.Counter(corr for _, corr in seen_by(profiled))
    assert sum(recorded_by_it.values()) >= N
    assert {corr: traced[corr] for corr in recorded_by_it} == recorded_by_it
    assert {reading.innermost(calls[corr])[0] for corr in recorded_by_it} == {"work"}


def test_its_next_session_misses_nothing_and_ours_goes_on_after_it(lasting_holder):
    """This is the first trace of this holder, so the agent is let in now."""
    holder = lasting_holder
    assert "libgputrace-agent" not in tracing.Path(f"/proc/{holder.pid}/maps").read_text()
    with holder.trace() as tracer:
        holder.ask(f"mix first {ROUNDS}")
        holder.wait_taken("first")
        holder.session("second")
        tracer.wait_logged(lambda log: logfile.registrations(log) == [1, 0, 1])  # the agent's again
        holder.ask(f"mix third {ROUNDS}")
        done = tracer.interrupt().must_be(0)
    trace = traced(holder)
    for name in ("first", "third"):
        must_be_under_its_line(trace, holder.did(name))
    must_have_read_its_buffers(trace, holder.folder / "second.json")
    receipt = reading.receipt(trace)
    assert receipt["launches_joined"] + receipt["gap_launches"] == receipt["launches_expected"]
    assert receipt["lost"] == receipt["bad_records"] == 0
    assert "taken from the buffers of another profiler" in " ".join(done.stdout.split())
    tracing.until(holder.agent_has_gone)
    holder.session("fourth")
    holder.must_be_undisturbed("second")
    holder.must_be_undisturbed("fourth")


def test_a_session_that_goes_on_when_we_attach_is_in_both_traces(some_cupti, holder):
    holder.ask("start")
    holder.ask("work 100")
    with tracing.Tracer(holder.folder, "-p", holder.pid) as tracer:
        tracer.wait_logged(lambda log: logfile.BORROWING in logfile.agent_states(log))
        holder.ask(f"mix borrowed {ROUNDS}")
        assert 1 not in logfile.registrations(next(holder.folder.glob("trace.gpt.part-*")))
        holder.ask(f"stop {holder.folder}/second.json")
        tracer.wait_logged(lambda log: logfile.registrations(log)[-1:] == [1])
        holder.ask(f"mix third {ROUNDS}")
        tracer.interrupt().must_be(0)
    holder.ask("mix after 2")
    borrowed = holder.did("borrowed")
    assert {corr for _, corr in seen_by(holder.folder / "second.json")} >= borrowed.keys()
    trace = traced(holder)
    for name in ("borrowed", "third"):
        must_be_under_its_line(trace, holder.did(name))
    receipt = reading.receipt(trace)
    assert receipt["gpu_operations_ridden"] == len(borrowed) + 2  # each of the two threads makes a tensor first
    assert receipt["launches_joined"] == receipt["launches_expected"] > 0
    assert receipt["lost"] == receipt["bad_records"] == receipt["gaps"] == receipt["gap_launches"] == 0


@pytest.mark.parametrize("end_signal", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "recording"])
def test_our_end_takes_nothing_from_it(lasting_holder, end_signal, busy):
    holder = lasting_holder
    with holder.trace() as tracer:
        holder.ask("mix traced 5")
        if busy:
            holder.ask("start")
            holder.ask(f"work {N - 100}")
            tracer.wait_logged(lambda log: logfile.registrations(log) == [1, 0])  # the agent has noticed
        tracer.process.send_signal(end_signal)
        tracing.until(holder.agent_has_gone)
    if busy:
        holder.ask("work 100")
        holder.ask(f"stop {holder.folder}/now.json")
        holder.must_be_undisturbed("now")
    holder.ask("mix after 2")
    assert {op["fate"] for op in holder.did("after").values()} == {"unseen"}
    holder.session("later")
    holder.must_be_undisturbed("later")


def test_it_complains_of_nothing(lasting_holder):
    """Covers all earlier sessions of this holder, and one more."""
    holder = lasting_holder
    holder.session("last")
    said = holder.end().stderr
    assert "activity type" not in said and "WARN" not in said


def test_its_first_session_falls_into_our_trace(some_cupti, tmp_path):
    """torch.profiler subscribes then, and tries once only: the agent must have released the subscriber before."""
    with Holder(tmp_path, used=False) as holder:
        with holder.trace() as tracer:
            holder.ask(f"mix first {ROUNDS}")
            holder.wait_taken("first")
            holder.session("once")
            tracer.wait_logged(lambda log: logfile.registrations(log) == [1, 1, 0, 1])
            holder.ask(f"mix third {ROUNDS}")
            done = tracer.interrupt().must_be(0)
        tracing.until(holder.agent_has_gone)
        holder.session("later")
    states = logfile.agent_states(tmp_path / "trace.gpt")
    assert states.index(logfile.READY) < states.index(logfile.BORROWING)
    assert set(states[states.index(logfile.BORROWING):]) == {logfile.BORROWING, logfile.STOPPED}
    assert "Another profiler had CUPTI's callbacks" in " ".join(done.stdout.split())
    holder.must_be_undisturbed("later")
    for name in ("first", "third"):
        must_be_under_its_line(traced(holder), holder.did(name))


def test_without_its_profiler_the_agent_has_cupti_to_itself(tmp_path):
    with Holder(tmp_path, used=False) as holder:
        with holder.trace() as tracer:
            holder.ask(f"mix traced {ROUNDS}")
            done = tracer.interrupt().must_be(0)
    assert logfile.BORROWING not in logfile.agent_states(tmp_path / "trace.gpt")
    assert "CUPTI's callbacks" not in " ".join(done.stdout.split())
    must_be_under_its_line(traced(holder), holder.did("traced"))
    assert reading.losses(traced(holder)) == {}


def test_without_bpf_calls_are_seen_until_its_first_session(tmp_path):
    """Later calls are not seen, and the report says so."""
    with Holder(tmp_path, used=False, by=[machine.GPUTRACE, "--way", "agent", *tracing.outputs(tmp_path, "trace.json"), "--"]) as holder:
        holder.ask(f"mix first {ROUNDS}")
        holder.session("once")
        holder.session("later")
        done = holder.end().must_be(0)
    holder.must_be_undisturbed("later")
    trace = traced(holder)
    must_be_under_its_line(trace, holder.did("first"))
    assert any("calls are missing from when another profiler had CUPTI's callbacks" in note for note in trace["gputrace"]["notes"])
    receipt = reading.receipt(trace)
    assert (receipt["processes_unseen"], receipt["missed"]) == (1, 0)
    assert "1 process whose calls no one saw once another profiler had CUPTI's callbacks" in " ".join(done.stdout.split())


def test_its_first_session_falls_into_the_trace_of_a_command(some_cupti, tmp_path):
    outputs = tracing.outputs(tmp_path, "trace.gpt", "trace.json")
    with Holder(tmp_path, used=False, by=[machine.GPUTRACE, *outputs, "--"]) as holder:
        holder.ask(f"mix first {ROUNDS}")
        holder.wait_taken("first")
        holder.session("once")
        tracing.until(lambda: any(logfile.registrations(log) == [1, 1, 0, 1] for log in tmp_path.glob("trace.gpt.part-*")))
        holder.ask(f"mix third {ROUNDS}")
        holder.wait_taken("third")
        holder.session("later")
        holder.end().must_be(0)
    holder.must_be_undisturbed("later")
    for name in ("before", "first", "third"):
        must_be_under_its_line(traced(holder), holder.did(name))


def test_launches_under_capture_are_distinguished_from_lost_ones(tmp_path):
    """No callback reports a graph's nodes, but CUPTI's API activity records say when a capture begins and ends."""
    command = [machine.older_torch(), machine.WORKLOADS / "torch_graph.py", "--replays", "20"]
    tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *command))
    receipt = reading.receipt(traced_in(tmp_path))
    assert receipt["launches_captured"] > 10
    assert receipt["launches_joined"] == receipt["launches_expected"] > 20
    assert receipt["gpu_operations"] == receipt["gpu_operations_joined"] == len(recorded(tmp_path / "gpu.json"))


@pytest.mark.parametrize("file, source, named", [
    ("libToolsInjection64.so", "", "Nsight Systems, libToolsInjection64.so"),
    ("libsomebody.so", 'const char asks_for[] = "cuptiActivityRegisterCallbacks";', "libsomebody.so"),
], ids=["known", "unknown"])
def test_cupti_is_not_borrowed_where_another_tool_may_hold_it(tmp_path, file, source, named):
    """Nsight Systems is recognized by its library's name, other tools by the CUPTI functions that they name."""
    (tmp_path / "tool.c").write_text(source)
    library = machine.compile_library(tmp_path / "tool.c", tmp_path / file)
    with Holder(tmp_path, env={"LD_PRELOAD": library}) as holder:
        with tracing.Tracer(tmp_path, "-p", holder.pid) as tracer:
            holder.ask("mix traced 2")
            tracer.wait_logged(logfile.says_failed)
            holder.ask("mix traced 2")
            done = tracer.interrupt()
    log = tmp_path / "trace.gpt"
    assert logfile.registrations(log) == []  # the activity API was not used
    assert named in done.stdout
    receipt = reading.receipt(reading.trace_of(tmp_path / "trace.json"))
    assert receipt["launches"] > 0 and receipt["gpu_operations"] == 0
    assert {op["fate"] for op in holder.did("traced").values()} == {"unseen"}
