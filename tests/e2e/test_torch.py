# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Real PyTorch on the simulated GPU: every GPU activity once, under the Python function that asked for it, and the same
activities as torch.profiler sees."""

import collections
import json
import re
import subprocess
import time

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome, simulated

pytestmark = pytest.mark.torch

TRAIN, GRAPH = machine.WORKLOADS / "torch_train.py", machine.WORKLOADS / "torch_graph.py"
STEPS, REPLAYS = 40, 40  # with few, Kineto, whose clock fit has just begun, may drop some as outside its window
RUN_HTA = machine.ROOT / "tests/e2e/consumers/run_hta.py"


class Run:
    """A torch program under gputrace, and the simulated GPU's record of it."""

    def __init__(self, folder, program, *arguments):
        self.folder = folder
        command = [machine.tool("get-torch"), program, "--labels", *arguments]
        self.done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *command))
        self.trace = reading.trace_of(folder / "trace.json")
        self.work = simulated.work(simulated.load(folder / "gpu.json"))
        self.calls = {e["args"]["correlation"]: e for e in chrome.events(self.trace, *chrome.API)}

    def stack(self, corr):
        return reading.stack_of(self.calls[corr])


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("train"), TRAIN, "--steps", STEPS)


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("graph"), GRAPH, "--replays", REPLAYS)


@pytest.fixture(params=["train", "graph"])
def run(request):
    return request.getfixturevalue(request.param)


def demangled(names):
    """{mangled name: demangled name}"""
    names = sorted(names)
    done = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(names, done.stdout.splitlines()))


KINDS = {"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}


def simulated_activities(work):
    """[(category, correlation, kernel's name, start, end)], in ns of CLOCK_MONOTONIC"""
    names = demangled({op["name"] for op in work if op["kind"] == "kernel"})
    return sorted((KINDS[op["kind"]], op["corr"], names.get(op["name"], ""), op["start_mono"], op["end_mono"])
                  for op in work)


def traced_activities(trace):
    """The same, in ns since the start of the file."""
    found = []
    for event in chrome.events(trace, *chrome.GPU):
        start = chrome.ns(event["ts"])
        name = event["name"] if event["cat"] == "kernel" else ""
        found.append((event["cat"], event["args"]["correlation"], name, start, start + chrome.ns(event["dur"])))
    return sorted(found)


def without_times(activities):
    return collections.Counter((*activity[:3], activity[4] - activity[3]) for activity in activities)


def test_the_program_ends_right(train, graph):
    assert f"steps {STEPS} loss " in train.done.stdout
    assert f"replays {REPLAYS}\n" in graph.done.stdout


def test_every_gpu_activity_is_there_once_with_its_name_and_duration(run):
    assert len(run.work) > 300
    assert without_times(traced_activities(run.trace)) == without_times(simulated_activities(run.work))


def test_every_gpu_activity_starts_when_it_did(run):
    pairs = zip(traced_activities(run.trace), simulated_activities(run.work))
    offsets = [traced[3] - profiled[3] for traced, profiled in pairs]
    # The two clocks have different zeros: the offset may vary only by the receipt's clock error, on both sides.
    assert max(offsets) - min(offsets) <= 2 * reading.receipt(run.trace)["clock_error_ns"]


def test_gpu_time_sums_to_the_truth(run):
    truth = sum(op["end"] - op["start"] for op in run.work)
    assert reading.receipt(run.trace)["gpu_ns"] == truth
    assert sum(reading.folded(run.folder / "trace.folded").values()) == truth


def test_all_gpu_time_is_under_a_python_line(run):
    receipt = reading.receipt(run.trace)
    assert receipt["gpu_ns_with_line"] == receipt["gpu_ns"]


def test_every_launch_that_was_to_work_is_joined_captured_ones_are_not_missed(run):
    receipt = reading.receipt(run.trace)
    assert receipt["launches_joined"] == receipt["launches_expected"] > 0
    assert (receipt["complete_percent"], receipt["lost"]) == (100, 0)


SOURCE = TRAIN.read_text().splitlines()
FUNCTIONS = {"Block.forward", "Model.forward", "load_batch"}  # labels have the same names
LINES = {
    "cross_entropy(": "loss", "loss.backward()": "backward", "optimizer.step()": "optimizer", "loss.item()": "item"}


def label_of(stack):
    """The label that torch_train.py gives to work launched from this stack."""
    for frame in stack.split(";"):
        file, line, function = re.fullmatch(r"(.*)\((\d+)\): (.*)", frame).groups()
        if not file.endswith("/torch_train.py"):
            continue
        if function in FUNCTIONS:
            return function
        for text, label in LINES.items():
            if text in SOURCE[int(line) - 1]:
                return label
    return ""


def test_every_activity_is_under_the_python_function_that_asked_for_it(train):
    own = [op for op in train.work if op["label"]]
    assert {op["label"] for op in own} == FUNCTIONS | set(LINES.values())
    stacks = {(op["label"], train.stack(op["corr"])) for op in own}
    assert [(label, stack) for label, stack in stacks if label_of(stack) != label] == []


def test_launches_per_function_are_counted_exactly(train):
    """Each correlation id counts once, whatever the number of its operations."""
    expected = {op["corr"]: op["label"] for op in train.work if op["label"]}
    found = {corr: label_of(train.stack(corr)) for corr in train.calls if corr in expected}
    assert collections.Counter(found.values()) == collections.Counter(expected.values())


def autograd_work(run):
    """Work launched by autograd's own thread, which has no Python frames."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in run.trace["traceEvents"]
             if e["ph"] == "M" and e["name"] == "thread_name"}
    return [op for op in run.work if names.get((op["pid"], op["tid"]), "").find("(pt_autograd_0)") > 0]


def test_backward_kernels_are_under_the_line_that_called_backward(train):
    work = autograd_work(train)
    assert len(work) > 20 * STEPS
    stacks = {train.stack(op["corr"]) for op in work}
    assert {label_of(stack) for stack in stacks} == {"backward"}
    assert all("): train_step;" in stack and "): Tensor.backward;" in stack for stack in stacks)


def test_every_operation_of_a_replayed_graph_names_the_line_that_was_captured(graph):
    replayed = [op for op in graph.work if op["label"] == "replay" and op["graph"]]
    operations = [e for e in chrome.events(graph.trace, *chrome.GPU) if "graph id" in e["args"]]
    assert len(operations) == len(replayed) > 0
    captures = collections.Counter(e["args"]["captured by"] for e in operations)
    assert set(captures.values()) == {REPLAYS}
    for corr in captures:
        stack = graph.stack(corr)
        assert "/torch_graph.py(" in stack and "): capture;" in stack and "): replay;" not in stack
    assert all(e["args"]["captured at"] in graph.stack(e["args"]["captured by"]) for e in operations)
    receipt = reading.receipt(graph.trace)
    assert receipt["graph_ns"] == receipt["graph_ns_captured"] > 0


def test_every_replay_of_a_graph_is_under_the_function_that_replays(graph):
    replayed = [op for op in graph.work if op["label"] == "replay"]
    assert len({op["corr"] for op in replayed}) == REPLAYS
    assert len(replayed) > 10 * REPLAYS
    stacks = {graph.stack(op["corr"]) for op in replayed}
    assert len(stacks) == 1 and "/torch_graph.py(" in stacks.copy().pop() and "): replay;" in stacks.pop()


# ---- against torch.profiler --------------------------------------------------------------------

def activities(trace):
    """{(category, name): [durations, ns]}"""
    found = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in chrome.GPU:
            found[event["cat"], event["name"]].append(chrome.ns(event["dur"]))
    return found


def counts(found):
    return collections.Counter({key: len(durations) for key, durations in found.items()})


def profiled(folder, program, *arguments):
    """Activities that torch.profiler sees in a run without gputrace."""
    command = [machine.tool("get-torch"), program, "--profile", folder / "kineto.json", *arguments]
    tracing.command(folder, *tracing.on_simgpu(folder / "gpu.json", *command)).must_be(0)
    return activities(json.loads((folder / "kineto.json").read_text()))


@pytest.mark.parametrize("program, option, count", [(TRAIN, "--steps", STEPS), (GRAPH, "--replays", REPLAYS)])
def test_torch_profiler_sees_the_same_activities(run_of, tmp_path, program, option, count):
    for name in ("kineto", "before"):
        (tmp_path / name).mkdir()
    kineto = profiled(tmp_path / "kineto", program, option, count)
    before = activities(Run(tmp_path / "before", program, option, 0).trace)  # activities before the profiled part
    traced = activities(run_of(program).trace)
    assert sum(counts(kineto).values()) > 10 * count
    assert counts(traced) - counts(before) == counts(kineto)
    for key, durations in kineto.items():
        # Kineto converts both ends by a fitted clock, with an error of some nanoseconds
        assert sum(durations) == pytest.approx(sum(traced[key]) - sum(before[key]), rel=1e-3), key


@pytest.fixture
def run_of(train, graph):
    return {TRAIN: train, GRAPH: graph}.get


def test_a_program_that_profiles_itself_ends_right(tmp_path):
    command = [machine.tool("get-torch"), TRAIN, "--profile", tmp_path / "kineto.json", "--steps", "3"]
    done = tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *command))
    assert "steps 3 loss " in done.stdout
    assert json.loads((tmp_path / "kineto.json").read_text())["traceEvents"]


# ---- readers -----------------------------------------------------------------------------------

def test_hta_takes_the_trace(run):
    done = tracing.command(run.folder, machine.tool("get-hta"), RUN_HTA, run.folder / "trace.json")
    found = json.loads(done.must_be(0).stdout.splitlines()[-1])
    assert found["gpu_rows"] == found["gpu_rows_joined"] == len(run.work) + len(chrome.stream_waits(run.trace))


def test_htas_validator_finds_the_trace_complete(run):
    done = tracing.command(run.folder, machine.tool("get-hta"), "-m", "hta.utils.validate_trace",
                           run.folder / "trace.json", "--level", "complete").must_be(0)
    assert "Validation result: True" in done.stdout + done.stderr


def test_flamegraph_ignores_no_line(run):
    done = tracing.command(run.folder, "perl", machine.tool("get-flamegraph"), run.folder / "trace.folded").must_be(0)
    assert "Ignored" not in done.stderr


# ---- a program that already runs ---------------------------------------------------------------

def test_what_runs_already_has_gpu_times_for_all_it_does_from_then_on(tmp_path):
    """Unmodified PyTorch, attached while it trains: each GPU operation that CUPTI saw is in the trace."""
    command = [machine.tool("get-torch"), TRAIN, "--until", tmp_path / "enough"]
    with tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", *command), tmp_path) as running:
        tracing.until(lambda: (tmp_path / "gpu.json").exists() and simulated.work(simulated.load(tmp_path / "gpu.json")))
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            tracer.wait_logged(lambda log: logfile.gpu_operations(log) > 2000)
            (tmp_path / "enough").touch()
            running.wait_line("steps")
            tracer.process.wait(tracing.PATIENCE_S)  # gputrace ends with the program
            tracer.end().must_be(0)
        running.process.wait(tracing.PATIENCE_S)
    trace = reading.trace_of(tmp_path / "trace.json")
    sent = [op for op in simulated.work(simulated.load(tmp_path / "gpu.json")) if op["fate"] == "sent"]
    assert len(sent) > 1000
    reading.assert_has_those_of_the_recording(trace, sent, tmp_path / "trace.gpt")
    receipt = reading.receipt(trace)
    assert receipt["launches_joined"] == receipt["launches_expected"] > 1000


# ---- two at once -------------------------------------------------------------------------------

class Watched:
    """A gputrace on a program that launches all the time, and the interval in which its agent recorded."""

    def __init__(self, folder, pid):
        folder.mkdir()
        self.folder, self.tracer = folder, tracing.Tracer(folder, "-p", pid)

    def begin(self):
        self.tracer.wait_logged(logfile.says_ready)
        self.begin_ns = time.monotonic_ns()

    def end(self):
        self.end_ns = time.monotonic_ns()
        self.tracer.interrupt().must_be(0)
        self.trace = reading.trace_of(self.folder / "trace.json")

    def check(self, entries):
        """All work launched in that interval is there with its launch; any other work was launched before."""
        launched = {e["corr"] for e in simulated.calls(entries, "launch", "copy", "set")
                    if self.begin_ns < e["enter"] and e["exit"] < self.end_ns and not e["status"]}
        work = collections.Counter(op["corr"] for op in simulated.work(entries) if op["corr"] in launched)
        found = collections.Counter(e["args"]["correlation"] for e in chrome.events(self.trace, *chrome.GPU)
                                    if "launch" not in e["args"])
        assert len(work) > 1000
        assert work == collections.Counter({corr: n for corr, n in found.items() if corr in work})
        receipt = reading.receipt(self.trace)
        assert receipt["gpu_operations_joined"] + receipt["gpu_operations_before"] == receipt["gpu_operations"]
        assert receipt["launches_joined"] == receipt["launches_expected"] > 1000
        assert reading.losses(self.trace) == {}


def test_a_second_gputrace_on_a_busy_program_sees_all_as_the_first_does(tmp_path):
    command = [machine.tool("get-torch"), TRAIN, "--steps", "100000"]
    with tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", *command), tmp_path) as running:
        tracing.until(lambda: (tmp_path / "gpu.json").exists() and simulated.work(simulated.load(tmp_path / "gpu.json")))
        first = Watched(tmp_path / "first", running.pid)
        with first.tracer:
            first.begin()
            second = Watched(tmp_path / "second", running.pid)
            with second.tracer:
                second.begin()
                second.tracer.wait_logged(lambda log: logfile.gpu_operations_since(log, second.begin_ns) > 2000)
                second.end()
            first.end()
    entries = simulated.load(tmp_path / "gpu.json")
    first.check(entries)
    second.check(entries)
