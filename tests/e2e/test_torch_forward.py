# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Backward passes under the lines of forward ops (--forward-lines, --backward forward), compared with the program's own
record and torch.profiler in the same run; and whole captured stacks of CUDA graphs (--graphs)."""

import collections
import json
import re

import machine
import pytest
import reading
import tracing
from reading import chrome, simulated
from test_torch_ops import PYTHONS, Seen

pytestmark = pytest.mark.torch

PROGRAM = machine.PROGRAMS / "torch_forward.py"
EVALUATION = "autograd::engine::evaluate_function: "
# Ops that nodes recompute (checkpointing), and nodes that run Python: their work keeps its own lines.
FORWARD_AGAIN = {"aten::sigmoid", "aten::relu"}
OF_PYTHON = {"OwnBackward", "CheckpointFunctionBackward"}
ELSEWHERE = {"TanhBackward0", "SinhBackward0", "MeanBackward0"}  # nodes of the program's other thread
CAPTURED = {"Log1PBackward0", "Expm1Backward0", "AmaxBackward0"}
OWN_FRAME = re.compile(r".* \(torch_forward\.py:(\d+)\)")


class Truth:
    """in_nodes: {(node, line of its forward op): GPU operations launched in it}, of one run of the program."""

    def __init__(self, folder):
        self.seen = Seen(folder / "profiled.json")
        self.line_of = {(name, number): line for name, number, line in
                        json.loads((folder / "profiled.json.lines").read_text())}
        self.work = simulated.work(simulated.load(folder / "gpu.json"))
        self.in_nodes, self.of_python = collections.Counter(), 0
        around = self.around_all()
        for event in self.seen.events:
            op = self.seen.by_id.get(event.get("args", {}).get("External id"))
            if event.get("cat") in chrome.GPU and op:
                self.add(around[op["args"]["External id"]])

    def around_all(self):
        """{id of an op: itself and the ops around it, innermost first}"""
        found = {}
        for ops in self.seen.threads.values():
            around = []
            for op in ops:
                begin = float(op["ts"])
                while around and float(around[-1]["ts"]) + float(around[-1]["dur"]) <= begin:
                    around.pop()
                around.append(op)
                found[op["args"]["External id"]] = around[::-1]
        return found

    def add(self, ops):
        for op in ops:
            name = op["name"].replace(EVALUATION, "")
            if name in FORWARD_AGAIN:
                return
            if op["args"].get("Fwd thread id"):
                line = self.line_of.get((name, op["args"]["Sequence number"]))
                if name in OF_PYTHON:
                    self.of_python += name == "OwnBackward"
                elif line:
                    self.in_nodes[name, line] += 1
                return


class Run:
    def __init__(self, folder, version):
        program = [PYTHONS[version](), PROGRAM, folder / "profiled.json"]
        self.folder = folder
        self.done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *program), "--forward-lines")
        self.truth = Truth(folder)

    def folded(self, *options):
        """{(frame, ...): ns, or launches}"""
        path = self.folder / "again.folded"
        tracing.gputrace(self.folder, "export", self.folder / "trace.gpt", "-o", path, *options).must_be(0)
        return {tuple(line.split(";")): ns for line, ns in reading.folded(path).items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{version: its run, made at first use}"""
    class Runs(dict):
        def __missing__(self, version):
            self[version] = Run(tmp_path_factory.mktemp("forward"), version)
            return self[version]
    return Runs()


@pytest.fixture(params=PYTHONS)
def run(request, runs):
    return runs[request.param]


@pytest.fixture
def newest(runs):
    """The newest version; older ones show no captures, as their torch.profiler has CUPTI's subscriber."""
    return runs["newest"]


def line_of(frames):
    """The innermost line of the program itself."""
    return int([OWN_FRAME.fullmatch(frame)[1] for frame in frames if OWN_FRAME.fullmatch(frame)][-1])


def nodes_of(folded):
    """{(node, line): ns or launches} below nodes."""
    found = collections.Counter()
    for frames, ns in folded.items():
        at = frames.index("[backward]") if "[backward]" in frames else None
        if at and not frames[at + 1].startswith("cu") and frames[at + 1] != "[captured]":
            found[frames[at + 1], line_of(frames[:at])] += ns
    return found


def eager_nodes(folded):
    """Nodes without those of the graph, whose calls were captured."""
    return {key: count for key, count in nodes_of(folded).items() if key[0] not in CAPTURED}


def test_work_of_each_node_is_on_the_line_that_made_it(run):
    found = eager_nodes(run.folded("--backward", "forward", "--metric", "launches"))
    assert len(run.truth.in_nodes) > 12
    assert {key: count for key, count in found.items() if key[0] not in ELSEWHERE} == run.truth.in_nodes


def test_nodes_of_another_threads_graph_have_its_lines(run):
    found = nodes_of(run.folded("--backward", "forward"))
    made = {(name, line) for (name, _), line in run.truth.line_of.items() if name in ELSEWHERE}
    assert {key for key in found if key[0] in ELSEWHERE} == made
    assert {name for name, _ in made} == ELSEWHERE


def test_what_python_launches_in_a_node_keeps_its_line(run):
    folded = run.folded("--backward", "forward", "--metric", "launches")
    launches = sum(count for frames, count in folded.items() if frames[-3].startswith("Own.backward ("))
    assert launches == run.truth.of_python > 0


def test_by_default_it_is_on_the_line_that_called_backward_and_nothing_gets_lost(run):
    caller, forward = run.folded(), run.folded("--backward", "forward")
    assert not nodes_of(caller)
    assert any("[backward]" in frames for frames in caller)
    assert sum(caller.values()) == sum(forward.values())


def test_the_report_says_how_much_has_a_forward_line(run):
    options = ("--backward", "forward", "--graphs", "capture")
    report = tracing.gputrace(run.folder, "report", run.folder / "trace.gpt", *options).must_be(0).stdout
    forward = run.folded(*options)
    share = 100 * sum(nodes_of(forward).values()) / sum(ns for frames, ns in forward.items() if "[backward]" in frames)
    assert f"{share:.1f} % on lines of forward ops, the rest on lines that called backward()" in report


def test_every_forward_op_has_an_arrow_to_its_node_as_with_torch_profiler(run):
    """torch.profiler sees threads that started after it only with an option."""
    traced = Seen(run.folder / "trace.json").arrows()
    assert sum(run.truth.seen.arrows().values()) > 50
    assert {ends: count for ends, count in traced.items() if ends[1] not in ELSEWHERE} == run.truth.seen.arrows()
    assert {ends[1] for ends in traced} > ELSEWHERE


def test_a_graphs_work_is_on_the_whole_captured_stack(newest):
    total = sum(op["end"] - op["start"] for op in newest.truth.work if op["graph"])
    captured = {frames: ns for frames, ns in newest.folded("--graphs", "capture").items() if "[captured]" in frames}
    assert sum(captured.values()) == total > 0
    for frames in captured:
        assert any(re.fullmatch(r"capture \(torch_forward\.py:\d+\)", frame) for frame in frames), frames
        assert not any(frame.startswith("replay (") for frame in frames)


def test_a_graphs_backward_work_is_on_forward_lines_too(newest):
    found = nodes_of(newest.folded("--graphs", "capture", "--backward", "forward"))
    made = {(name, line) for (name, _), line in newest.truth.line_of.items() if name in CAPTURED}
    assert {key for key in found if key[0] in CAPTURED} == made
    assert len(made) == len(CAPTURED)


def test_by_choice_a_graphs_work_is_on_the_line_that_replays(run):
    replayed = {frames: ns for frames, ns in run.folded("--graphs", "replay").items() if "cudaGraphLaunch" in frames}
    assert replayed and all(any(frame.startswith("replay (") for frame in frames) for frames in replayed)


def test_nothing_was_lost(run):
    receipt = reading.receipt(reading.trace_of(run.folder / "trace.json"))
    assert receipt.get("op_stacks_lost", 0) == receipt["ops_lost"] == receipt["bad_records"] == 0
