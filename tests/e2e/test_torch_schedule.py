# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Recording of some training steps only (--schedule), beside torch.profiler.schedule in the same run."""

import collections
import json
import re
import signal
import subprocess

import machine
import pytest
import tracing

pytestmark = pytest.mark.torch

SCHEDULE = ["skip_first=2", "wait=3", "warmup=1", "active=2", "repeat=2"]
ACTIVE = {1: [6, 7], 2: [12, 13]}  # {cycle: active steps of torch.profiler.schedule}
STEPS = 20


def slices(path):
    return [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]


def names(events, category):
    return collections.Counter(event["name"] for event in events if event.get("cat") == category)


def ops_of_steps(events):
    """{number: count of each op that starts in that ProfilerStep}"""
    found = {}
    for step in events:
        if step["name"].startswith("ProfilerStep#"):
            begin, end = float(step["ts"]), float(step["ts"]) + float(step["dur"])
            found[int(step["name"][len("ProfilerStep#"):])] = collections.Counter(
                event["name"] for event in events
                if event.get("cat") == "cpu_op" and begin <= float(event["ts"]) < end)
    return found


def program(folder, device, steps, *schedule):
    command = [machine.tool("get-torch"), machine.PROGRAMS / "torch_schedule.py", device, folder, steps, *schedule]
    return command if device == "cpu" else tracing.on_simgpu(folder / "gpu.json", *command)


class Beside:
    """The same steps, recorded by both profilers."""

    def __init__(self, folder):
        self.folder = folder
        self.done = tracing.gputrace(folder, "--schedule", ",".join(SCHEDULE), "-o", folder / "traced.%c.json", "-o",
                                     folder / "trace.gpt", "--", *program(folder, "cuda", STEPS, *SCHEDULE)).must_be(0)
        # the command goes on after gputrace ends
        tracing.until(lambda: (folder / "gpu.json").exists())

    def traced(self, cycle):
        return slices(self.folder / f"traced.{cycle}.json")

    def profiled(self, cycle):
        return slices(self.folder / f"profiled.{cycle}.json")


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    return Beside(tmp_path_factory.mktemp("schedule"))


@pytest.mark.parametrize("cycle", ACTIVE)
def test_the_steps_of_a_cycle_and_their_ops_are_those_of_torch_profiler(beside, cycle):
    traced = ops_of_steps(beside.traced(cycle))
    assert sorted(traced) == ACTIVE[cycle]
    assert traced == ops_of_steps(beside.profiled(cycle))
    for number in ACTIVE[cycle]:
        assert traced[number]["aten::sigmoid"] == number + 1  # iteration N of the program has N + 1


@pytest.mark.parametrize("cycle", ACTIVE)
def test_kernels_of_a_cycle_are_those_of_torch_profiler(beside, cycle):
    assert names(beside.traced(cycle), "kernel") == names(beside.profiled(cycle), "kernel")


def test_there_is_a_file_for_each_cycle_and_the_trace_ends_with_the_last(beside):
    assert sorted(path.name for path in beside.folder.glob("traced.*.json")) == ["traced.1.json", "traced.2.json"]
    assert "all cycles of --schedule are recorded" in beside.done.stderr


def test_the_report_is_one_of_each_cycle_and_says_so(beside):
    heads = re.findall(r"Slice of the recording: (.*)", beside.done.stdout)
    assert heads == [f"cycle {cycle} of the schedule; steps {steps[0]} to {steps[1]}" for cycle, steps in
                     ACTIVE.items()]
    assert len(re.findall(r"^Complete: (\d+) of \1 launches joined, 0 lost", beside.done.stdout, re.M)) == 2 * 2  # the verdict and the receipt


def test_the_log_gives_the_same_files(beside):
    tracing.gputrace(beside.folder, "export", beside.folder / "trace.gpt", "-o", beside.folder / "again.%c.json").must_be(0)
    for cycle in ACTIVE:
        assert (beside.folder / f"again.{cycle}.json").read_bytes() == (
            beside.folder / f"traced.{cycle}.json").read_bytes()


def test_several_cycles_do_not_fit_into_one_file(beside):
    done = tracing.gputrace(beside.folder, "export", beside.folder / "trace.gpt", "-o", beside.folder / "one.json").must_be(1)
    assert "%c" in done.stderr
    tracing.gputrace(beside.folder, "export", beside.folder / "trace.gpt", "--cycle", "2", "-o", beside.folder / "one.json").must_be(0)
    assert sorted(ops_of_steps(slices(beside.folder / "one.json"))) == ACTIVE[2]
    done = tracing.gputrace(beside.folder, "report", beside.folder / "trace.gpt", "--cycle", "99").must_be(1)
    assert f"--cycle 99: is not in {beside.folder / 'trace.gpt'}, which has {max(ACTIVE)}" in done.stderr
    done = tracing.gputrace(beside.folder, "report", beside.folder / "trace.gpt", "--every", "1s").must_be(1)
    assert "--every 1s: only some steps were recorded" in done.stderr and not done.stdout


def test_outside_of_the_cycles_nothing_was_recorded(beside):
    """Counts the sigmoids in the whole log, without selection by cycle."""
    path = beside.folder / "whole.json"
    tracing.gputrace(beside.folder, "export", beside.folder / "trace.gpt", "--from", "0", "--to", "1h", "-o",
                     path).must_be(0)
    recorded = [number for steps in ACTIVE.values() for number in [steps[0] - 1, *steps]]  # with the warm-up step
    assert names(slices(path), "cpu_op")["aten::sigmoid"] == sum(number + 1 for number in recorded)


def test_a_process_can_have_its_own_file_of_each_cycle(beside):
    tracing.gputrace(beside.folder, "export", beside.folder / "trace.gpt", "-o", beside.folder / "own.%c.%p.json").must_be(0)
    assert len(list(beside.folder.glob("own.*.json"))) == len(ACTIVE)
    for cycle in ACTIVE:
        path, = beside.folder.glob(f"own.{cycle}.*.json")
        assert ops_of_steps(slices(path)) == ops_of_steps(beside.traced(cycle))


def sigmoid_kernels(path):
    return sum(count for name, count in names(slices(path), "kernel").items() if "sigmoid" in name)


def test_a_cycle_has_the_work_that_its_steps_launched_whenever_it_ran(tmp_path):
    """The GPU is many steps behind: it runs the work of earlier steps during a cycle, and that of the cycle after it."""
    done = tracing.gputrace(tmp_path, "--schedule", ",".join(SCHEDULE), "-o", tmp_path / "traced.%c.json", "-o", tmp_path / "trace.gpt",
                            "--", *program(tmp_path, "behind", STEPS), env={"SIMGPU_KERNEL_NS": "100000"}).must_be(0)
    for cycle, steps in ACTIVE.items():
        assert sigmoid_kernels(tmp_path / f"traced.{cycle}.json") == sum(number + 1 for number in steps)
        events = slices(tmp_path / f"traced.{cycle}.json")
        end = max(event["ts"] + event["dur"] for event in events if event["name"].startswith("ProfilerStep#"))
        assert any(event["ts"] > end for event in events if event.get("cat") == "kernel")
        receipt = json.loads((tmp_path / f"traced.{cycle}.json").read_text())["gputrace"]["receipt"]
        assert receipt["gpu_operations"] == receipt["gpu_operations_joined"]
        assert receipt["launches_joined"] == receipt["launches_expected"] > 0
    assert len(re.findall(r"^Complete: (\d+) of \1 launches joined, 0 lost", done.stdout, re.M)) == 2 * len(ACTIVE)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """A process that trains until it is killed."""
    folder = tmp_path_factory.mktemp("lasting")
    target = subprocess.Popen([str(word) for word in program(folder, "cpu", 10**9)])
    # it waits until it is observed before it begins
    tracing.gputrace(folder, "-p", target.pid, "--schedule", "active=1,repeat=1", "--step", "range:iteration").must_be(0)
    yield target
    target.kill()
    target.wait()


@pytest.fixture
def running(lasting):
    """The process, stopped between tests, as it would use a processor all the time."""
    lasting.send_signal(signal.SIGCONT)
    yield lasting
    tracing.wait_threads_gone(lasting.pid)
    lasting.send_signal(signal.SIGSTOP)


def sigmoids(path):
    """Number of sigmoids in each step, in order: an iteration has one more than the one before it."""
    return [count["aten::sigmoid"] for _, count in sorted(ops_of_steps(slices(path)).items())]


@pytest.mark.parametrize("step", ["range:iteration", "backward"])
def test_a_process_that_runs_is_left_when_its_cycle_is_over(running, tmp_path, step):
    done = tracing.gputrace(tmp_path, "-p", running.pid, "--schedule", "wait=2,active=3,repeat=1", "--step", step, "-o",
                            tmp_path / "trace.json").must_be(0)
    assert running.poll() is None
    assert "steps 2 to 4" in done.stdout
    counts = sigmoids(tmp_path / "trace.json")
    assert len(counts) == 3
    assert counts == list(range(counts[0], counts[0] + 3))


def test_a_schedule_is_kept_in_a_process_that_was_traced_without_one(running, tmp_path):
    tracing.gputrace(tmp_path, "-p", running.pid, "--ops", "-d", "0.3s", "-o", tmp_path / "all.gpt").must_be(0)
    tracing.gputrace(tmp_path, "-p", running.pid, "--schedule", "wait=1,active=2,repeat=1", "--step", "range:iteration",
                     "-o", tmp_path / "trace.json", "-o", tmp_path / "trace.gpt").must_be(0)
    counts = sigmoids(tmp_path / "trace.json")
    assert counts == [counts[0], counts[0] + 1]
    tracing.gputrace(tmp_path, "export", tmp_path / "trace.gpt", "--from", "0", "--to", "1h", "-o", tmp_path / "whole.json").must_be(0)
    assert names(slices(tmp_path / "whole.json"), "cpu_op")["aten::sigmoid"] == sum(counts)


def test_files_of_a_cycle_are_there_while_the_recording_goes_on(running, tmp_path):
    path = tmp_path / "traced.1.json"
    with tracing.Tracer(tmp_path, "-p", running.pid, "--schedule", "wait=60000,active=2,skip_first_wait=1", "--step",
                        "range:iteration", names=("traced.%c.json",)) as trace:
        tracing.until(path.exists)
        assert trace.process.poll() is None
        early = json.loads(path.read_text())
        counts = sigmoids(path)
        trace.interrupt().must_be(0)
    assert counts == [counts[0], counts[0] + 1]
    assert early["gputrace"]["receipt"]["truncated"]
    # now with the final receipt
    assert sigmoids(path) == counts
    assert not json.loads(path.read_text())["gputrace"]["receipt"]["truncated"]
    assert [file.name for file in tmp_path.glob("traced*")] == ["traced.1.json"]


def test_a_trace_has_its_own_schedule_though_the_program_saw_no_one_leave(running, tmp_path):
    """The previous trace is killed, and the next one attaches, while the program is stopped."""
    before = tmp_path / "before"
    before.mkdir()
    with tracing.Tracer(before, "-p", running.pid, "--schedule", "wait=60000,active=2,skip_first_wait=1", "--step",
                        "range:iteration", names=("traced.%c.json",)) as trace:
        tracing.until((before / "traced.1.json").exists)
        running.send_signal(signal.SIGSTOP)
        trace.process.kill()
        trace.process.wait()
    try:
        with tracing.Tracer(tmp_path, "-p", running.pid, "--schedule", "wait=2,active=3,repeat=1", "--step",
                            "range:iteration") as trace:
            running.send_signal(signal.SIGCONT)
            done = trace.end().must_be(0)
    finally:
        running.send_signal(signal.SIGCONT)
    assert "steps 2 to 4" in done.stdout
    counts = sigmoids(tmp_path / "trace.json")
    assert counts == list(range(counts[0], counts[0] + 3))


def test_a_program_that_ends_before_its_first_active_step_has_no_file(tmp_path):
    done = tracing.gputrace(tmp_path, "--schedule", "wait=30,active=2", "-o", tmp_path / "traced.%c.json", "--",
                            *program(tmp_path, "cpu", 4)).must_be(3)
    assert "ended after 5 steps; the first to be recorded is the one after 30" in done.stderr
    assert not list(tmp_path.glob("traced*"))


class ManyCycles:
    """A log of more than the 32 MB of records that are held in memory; the program writes when each step began."""

    CYCLES, SIGMOIDS = 40, 1000
    PHASES = ["waiting", "warmup"] + 4 * ["active"]
    STEPS = CYCLES * len(PHASES)
    RECORD_BYTES = 64  # least size of an op's record and of each of its two records of CPU memory

    def __init__(self, folder):
        self.folder = folder
        self.done = tracing.gputrace(folder, "--memory", "--schedule", f"wait=1,warmup=1,active=4,repeat={self.CYCLES}",
                                     "--step", "range:iteration", "-o", "trace.gpt", "--", machine.tool("get-torch"),
                                     machine.PROGRAMS / "torch_cycles.py", folder / "begun", self.STEPS + 1, self.SIGMOIDS).must_be(0)
        tracing.until(lambda: (folder / "begun").exists())
        self.begun = [tuple(map(int, line.split())) for line in (folder / "begun").read_text().splitlines()]

    def phase(self, step):
        return self.PHASES[step % len(self.PHASES)]

    def active(self, first, last):
        return [step for step in range(first, last + 1) if self.phase(step) == "active"]

    def sigmoids(self, steps):
        """Number of sigmoids recorded from the start of the first step to the end of the last, by the program."""
        return sum(self.SIGMOIDS + step for step in range(steps[0], steps[-1] + 1) if self.phase(step) != "waiting")

    def wall(self, step):
        """(least, most) duration of the step, in ns."""
        (before, after), (before_next, after_next) = self.begun[step:step + 2]
        return before_next - after, after_next - before

    def report(self, *options):
        said = tracing.gputrace(self.folder, "report", "trace.gpt", "--format", "json", *options).must_be(0).stdout
        return {table["id"]: table["rows"] for table in json.loads(said)["tables"]}


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return ManyCycles(tmp_path_factory.mktemp("many"))


def test_of_many_cycles_each_has_the_steps_that_the_schedule_says(many):
    heads = re.findall(r"Slice of the recording: cycle (\d+) of the schedule; steps (\d+) to (\d+)", many.done.stdout)
    assert [tuple(map(int, head)) for head in heads] == [(cycle + 1, 6 * cycle + 2, 6 * cycle + 5) for cycle in range(many.CYCLES)]


@pytest.mark.parametrize("first, last, is_long", [(0, 10**6, True), (7, 233, True), (109, 118, False), (110, 110, False)])
def test_a_slice_of_steps_of_a_long_log_has_the_ops_and_times_of_the_program(many, first, last, is_long):
    steps = many.active(first, min(last, many.STEPS - 1))
    ops = many.sigmoids(steps)
    assert (3 * ops * many.RECORD_BYTES > 32 << 20) == is_long
    tables = many.report("--steps", f"{first}..{last}")
    calls = {row["op"]: row["calls"] for row in tables["ops"]}
    assert calls["aten::sigmoid"] == ops
    assert calls["iteration"] == sum(many.phase(step) != "waiting" for step in range(steps[0], steps[-1] + 1))
    whole, *rows = tables["steps"]
    assert sum(many.wall(step)[0] for step in steps) <= whole["wall_ns"] <= sum(many.wall(step)[1] for step in steps)
    for row in rows:
        assert row["step"] in steps
        least, most = many.wall(row["step"])
        assert least <= row["wall_ns"] <= most


def test_the_blocks_of_a_slice_of_a_long_log_are_those_of_its_ops(many):
    rows = many.report("--steps", "7..233")["torch_memory"]
    assert sum(row["blocks"] for row in rows) == many.sigmoids(many.active(7, 233))


@pytest.mark.parametrize("steps", ["6", "240..250"])
def test_steps_that_were_not_recorded_are_refused_with_those_that_were(many, steps):
    """Step 6 is a waiting step, and no step follows the last cycle."""
    done = tracing.gputrace(many.folder, "report", "trace.gpt", "--steps", steps).must_be(1)
    assert "it has steps 2 to 239" in done.stderr
