# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two gputraces at the same time.  On one process, with one agent, each records the time of its own trace, whichever
ends first.  On two processes, each agent gets its own gputrace's requests, and an untraced process has no cost."""

import collections
import shutil
import signal

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome

STEPS = 20


def pid_with_agent(mark):
    """The process with that mark in which the agent is, once the agent's thread has its name."""
    found = []

    def has_it():
        found.extend(pid for pid in tracing.marked(mark) if "gputrace-agent" in tracing.threads(pid))
        return bool(found)

    tracing.until(has_it)
    return found[0]


class Pair:
    """gputrace -- COMMAND on the simulated GPU, and a second gputrace that attached later by -p."""

    def __init__(self, folder):
        self.folders = [folder / "first", folder / "second"]
        for path in self.folders:
            path.mkdir()
        self.truth = folder / "gpu.json"
        program = [machine.any_python(), machine.PROGRAMS / "obedient.py"]
        outputs = tracing.outputs(self.folders[0], "trace.json", "trace.gpt")
        self.first = tracing.Running(
            [machine.GPUTRACE, *outputs, "--", *tracing.DEAF, *tracing.on_simgpu(self.truth, *program)], self.folders[0])

    def __enter__(self):
        self.first.__enter__()
        self.first.wait_line("ready")
        self.work()
        self.pid = pid_with_agent(self.first.mark)
        self.second = tracing.Tracer(self.folders[1], "-p", self.pid)
        return self

    def __exit__(self, *error):
        self.second.__exit__()
        self.first.__exit__()

    def work(self):
        self.first.ask(f"steps {STEPS}")
        self.first.ask("finish")

    def wait_heard(self):
        """Lets the program work until the second gputrace has records of GPU work."""
        def heard():
            self.work()
            return any(logfile.has_kernel(log) for log in self.folders[1].glob("trace.gpt.part-*"))

        tracing.until(heard)


def operations(trace):
    return collections.Counter((e["cat"], e["name"], e["args"]["correlation"]) for e in chrome.events(trace, *chrome.GPU))


def complete(trace):
    receipt = reading.receipt(trace)
    return receipt["launches_joined"] == receipt["launches_expected"] > 0 and receipt["lost"] == 0


def test_the_second_has_all_that_the_first_has_of_its_time(tmp_path):
    with Pair(tmp_path) as pair:
        pair.wait_heard()
        pair.work()
        pair.second.interrupt().must_be(0)
        pair.work()
        pair.first.end().must_be(0)
    first, second = (reading.trace_of(folder / "trace.json") for folder in pair.folders)
    assert complete(first) and complete(second)
    # The second one does not disturb the first
    assert sum(operations(first).values()) == len(reading.simulated.work(reading.simulated.load(pair.truth)))
    # The second has the same operations from its first to its last, with their names
    found = operations(second)
    assert len(found) > 50
    between = range(min(key[2] for key in found), max(key[2] for key in found) + 1)
    assert found == collections.Counter({key: n for key, n in operations(first).items() if key[2] in between})
    assert second["deviceProperties"] == first["deviceProperties"]


@pytest.mark.parametrize("end_signal", [signal.SIGTERM, signal.SIGKILL])
def test_the_second_goes_on_when_the_first_has_gone(tmp_path, end_signal):
    with Pair(tmp_path) as pair:
        pair.wait_heard()
        pair.first.end_trace(end_signal)
        pair.work()
        assert "gputrace-agent" in tracing.threads(pair.pid)
        pair.second.interrupt().must_be(0)
        tracing.wait_agent_gone(pair.pid)
        pair.work()
    second = reading.trace_of(pair.folders[1] / "trace.json")
    assert complete(second)
    found = operations(second)
    first, last = min(key[2] for key in found), max(key[2] for key in found)
    work = reading.simulated.work(reading.simulated.load(pair.truth))
    assert sum(found.values()) == len([op for op in work if first <= op["corr"] <= last])
    assert work[-1]["fate"] == "unseen"  # no gputrace records any more


def folders_in(folder, *names):
    made = [folder / name for name in names]
    for path in made:
        path.mkdir()
    return made


def test_the_second_may_come_while_the_agent_begins_for_the_first(tmp_path):
    """Its probes are in place between two calls by which the agent sets CUPTI up: no calls of another profiler."""
    gate, folders = tmp_path / "gate", folders_in(tmp_path, "first", "second")
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json", env={"SIMGPU_ENABLE_GATE": gate}) as target:
        target.ask("steps 1")
        target.ask("finish")
        with tracing.Tracer(folders[0], "-p", target.pid) as first, \
             tracing.Tracer(folders[1], "-p", target.pid) as second:
            gate.touch()
            for tracer in (first, second):
                tracer.wait_logged(logfile.says_ready)
            target.ask("forget")
            target.ask("steps 5")
            target.ask("finish")
            target.ask(f"truth {tmp_path}/program.json")
            for tracer in (first, second):
                tracer.interrupt().must_be(0)
    for folder in folders:
        trace = reading.trace_of(folder / "trace.json")
        assert complete(trace) and reading.trace_line_ns(trace) == reading.truth_line_ns(reading.program(tmp_path / "program.json"))
        assert set(logfile.registrations(folder / "trace.gpt")) <= {1}


@pytest.mark.parametrize("whole", (False, True), ids=("one process", "the whole machine"))
def test_a_trace_with_the_agent_off_has_nothing_of_another_traces_agent(tmp_path, whole):
    """Nor does it keep that agent at work when the other trace has ended."""
    folders = folders_in(tmp_path, "first", "off")
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        target.ask("steps 1")
        with tracing.Tracer(folders[0], "-p", target.pid) as first:
            first.wait_logged(logfile.says_ready)
            with tracing.Tracer(folders[1], *(() if whole else ("-p", target.pid)), "--agent", "off", names=()) as off:
                assert tracing.agent_counters(target.pid, "gputrace_agent_semaphore") == (2,)  # the probes of one trace
                target.ask("forget")
                target.ask("steps 5")
                target.ask("finish")
                first.interrupt().must_be(0)
                tracing.wait_agent_gone(target.pid)
                target.ask("steps 5")
                target.ask(f"truth {tmp_path}/program.json")
                done = off.interrupt()
    assert complete(reading.trace_of(folders[0] / "trace.json"))
    trace = reading.trace_of(tracing.export_process(folders[1] / "trace.gpt", target.pid))
    truth = reading.program(tmp_path / "program.json")
    assert not chrome.events(trace, *chrome.GPU) and not logfile.agent_states(folders[1] / "trace.gpt")
    if whole:  # what is lost may be of others
        done.must_be_of_machine()
    else:
        assert done.must_be(0) and reading.losses(trace) == {}
    assert reading.trace_stacks(trace, {"cudaLaunchKernel"}, target.pid) == reading.of_call(reading.truth_stacks(truth), "cudaLaunchKernel")


# ---- two processes ----------------------------------------------------------------------------------------------------


class Two:
    """Two processes that map the same files, and have launched."""

    def __init__(self, folder):
        self.folders = [folder / "first", folder / "second"]
        for path in self.folders:
            path.mkdir()
        self.targets = [tracing.target(path, truth=path / "gpu.json") for path in self.folders]
        self.pids = [target.pid for target in self.targets]

    def __enter__(self):
        for target in self.targets:
            target.__enter__()
            target.ask("steps 1")
        return self

    def __exit__(self, *error):
        for target in self.targets:
            target.__exit__()

    def trace(self, which, *options, **more):
        return tracing.Tracer(self.folders[which], "-p", self.pids[which], *options, **more)

    def counters(self, which, *names):
        return [tracing.agent_counters(self.pids[which], f"gputrace_agent_{name}_semaphore")[0] for name in names]


OPTIONS = ("ops", "torch_memory", "shapes")


@pytest.mark.parametrize("first", (0, 1), ids=("the one with ops first", "the plain one first"))
def test_an_agent_is_asked_for_what_the_trace_of_its_own_process_wants(tmp_path, first):
    options = (("--ops", "--memory", "--shapes"), ())
    with Two(tmp_path) as two, two.trace(first, *options[first]) as one, \
         two.trace(1 - first, *options[1 - first]) as other:
        for tracer in (one, other):
            tracer.wait_logged(logfile.says_ready)
        assert two.counters(0, *OPTIONS) == [1, 1, 1]
        assert two.counters(1, *OPTIONS) == [0, 0, 0]
        for tracer in (one, other):
            tracer.interrupt().must_be(0)


def test_an_agent_leaves_when_the_trace_of_its_own_process_ends(tmp_path):
    with Two(tmp_path) as two, two.trace(0) as ends, two.trace(1) as goes_on:
        for tracer in (ends, goes_on):
            tracer.wait_logged(logfile.says_ready)
        ends.interrupt().must_be(0)
        tracing.until(lambda: "gputrace-agent" not in tracing.threads(two.pids[0]) and two.counters(0, "batch") == [0])
        two.targets[1].ask("steps 5")
        two.targets[1].ask("finish")
        goes_on.interrupt().must_be(0)
    receipt = reading.receipt(reading.trace_of(two.folders[1] / "trace.json"))
    assert receipt["launches_joined"] == receipt["launches_expected"] > 0 and receipt["lost"] == 0


def start_traced(folder):
    """gputrace -- COMMAND in its own folder, on the simulated GPU."""
    folder.mkdir()
    program = tracing.on_simgpu(folder / "gpu.json", machine.any_python(), machine.PROGRAMS / "obedient.py")
    return tracing.Running([machine.GPUTRACE, *tracing.outputs(folder, "trace.json"), "--", *tracing.DEAF, *program], folder)


def test_the_agent_of_a_command_leaves_when_its_trace_ends(tmp_path):
    """The command goes on, and so do another command and its trace."""
    pids = []
    with start_traced(tmp_path / "ends") as ends, start_traced(tmp_path / "goes on") as goes_on:
        for running in (ends, goes_on):
            running.wait_line("ready")
            running.ask("steps 1")
            pids.append(pid_with_agent(running.mark))
        ends.end_trace(signal.SIGTERM)
        tracing.wait_agent_gone(pids[0])
        assert tracing.agent_counters(pids[0], "gputrace_agent_batch_semaphore") == (0,)
        ends.ask("steps 1")
        assert "gputrace-agent" in tracing.threads(pids[1])
        goes_on.ask("steps 5")
        goes_on.ask("finish")
        goes_on.end().must_be(0)
    assert complete(reading.trace_of(tmp_path / "goes on/trace.json"))


def test_schedules_of_two_processes_do_not_mix(tmp_path):
    """Each agent reads the numbers of its own trace: skip_first, wait, warmup, active, repeat (schedule.h), 16 bits each."""
    numbers = ([1, 2, 4, 8, 16], [32, 64, 128, 256, 512])
    with Two(tmp_path) as two:
        tracers = [two.trace(which, "--schedule", ",".join(f"{name}={number}" for name, number in zip(
            ("skip_first", "wait", "warmup", "active", "repeat"), numbers[which])), names=()) for which in (0, 1)]
        for which, tracer in enumerate(tracers):
            tracer.wait_logged(logfile.says_ready)
            bits = tracing.agent_counters(two.pids[which], "gputrace_agent_schedule_semaphores", 80)
            assert [sum(bool(bits[16 * field + i]) << i for i in range(16)) for field in range(5)] == numbers[which]
        for tracer in tracers:
            tracer.interrupt()
            tracer.__exit__()


def test_a_process_that_is_not_traced_has_no_probe(tmp_path):
    """One process runs already, one starts later.  They have copies of the files: other tests trace the usual ones."""
    python, cudart = (shutil.copy(path, tmp_path) for path in (machine.SYSTEM_PYTHON.resolve(), machine.cudart()))
    with tracing.target(tmp_path, cudart, python=python) as traced, tracing.target(tmp_path, cudart, python=python) as other:
        for target in (traced, other):
            target.ask("forget")
        with tracing.Tracer(tmp_path, "-p", traced.pid, "--agent", "off") as tracer, \
             tracing.target(tmp_path, cudart, python=python) as later:
            for target in (traced, other, later):
                target.ask("steps 5")
            for name in (python, cudart):
                assert not tracing.code_is_untouched(traced.pid, name)
                assert tracing.code_is_untouched(other.pid, name) and tracing.code_is_untouched(later.pid, name)
            traced.ask(f"truth {tmp_path}/truth.json")
            tracer.interrupt().must_be(0)
        assert tracing.code_is_untouched(traced.pid, cudart)
    truth = reading.program(tmp_path / "truth.json")
    assert reading.trace_stacks(reading.trace_of(tmp_path / "trace.json"), {"cudaLaunchKernel"}) == reading.truth_stacks(truth)


def own_switches(pid):
    """{thread: how often it has left a processor}, without gputrace's agent and CUPTI's worker, which it begins."""
    found = {}
    for name, tid in tracing.named_threads(pid):
        lines = tracing.Path(f"/proc/{pid}/task/{tid}/status").read_text().splitlines()
        found[tid] = name, sum(int(line.split()[1]) for line in lines if "_ctxt_switches" in line)
    return {tid: count for tid, (name, count) in found.items() if not name.startswith("gputrace")}


def code_in_memory(pid):
    """{mapped file and offset: its code as the process has it}, probes included."""
    found = {}
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for span, rights, offset, *_, path in (line.split() for line in maps if line.count("/")):
            start, end = (int(word, 16) for word in span.split("-"))
            if "x" in rights:
                memory.seek(start)
                found[path, offset] = memory.read(end - start)
    return found


def state_of(pid):
    """All of a process that a gputrace could change."""
    names = [line.split()[-1] for line in tracing.agent_symbols().splitlines() if line.endswith("_semaphore")]
    counters = [tracing.agent_counters(pid, name) for name in names]
    maps = tracing.Path(f"/proc/{pid}/maps").read_text()
    return {"switches": own_switches(pid), "maps": maps, "code": code_in_memory(pid), "counters": counters}


@pytest.mark.alone  # another run's trace of the whole machine changes what this process has mapped
@pytest.mark.parametrize("options", ((), ("--ops", "--memory"), ("--agent", "off"), ("--way", "agent")), ids=" ".join)
def test_a_process_that_only_another_trace_wants_is_left_alone(tmp_path, options):
    """No probe, no stop, no mapping, no wake-up, no request to its agent: from the start of the trace to its end."""
    with Two(tmp_path) as two, two.trace(0) as others:
        others.wait_logged(logfile.says_ready)
        before = state_of(two.pids[0])
        with two.trace(1, *options) as tracer:
            tracer.wait_logged(logfile.has_process, two.pids[1])
            two.targets[1].ask("steps 5")
            two.targets[1].ask("finish")
            tracer.wait_logged(logfile.has_calls)
            during = state_of(two.pids[0])
            tracer.interrupt().must_be(0)
        after = state_of(two.pids[0])
        others.interrupt().must_be(0)
    for later in (during, after):
        assert {name: later[name] == before[name] for name in before} == dict.fromkeys(before, True)
