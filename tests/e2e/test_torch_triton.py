# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A Triton kernel stands under the file and line of its @triton.jit function, whatever launches it; kernels that CUDA
graph trees replay stand under the line that called the compiled function."""

import json
import re

import machine
import pytest
import tracing

pytestmark = pytest.mark.torch

PROGRAM = machine.PROGRAMS / "torch_triton.py"


def line_with(comment):
    lines = PROGRAM.read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"# {comment}"))


class Run:
    def __init__(self, folder):
        command = tracing.on_simgpu(folder / "gpu.json", machine.tool("get-torch"), PROGRAM, folder)
        cache = {"TORCHINDUCTOR_CACHE_DIR": folder / "cache", "TRITON_CACHE_DIR": folder / "triton",
                 "TRITON_LIBCUDA_PATH": machine.BUILD / "simgpu", "TORCHINDUCTOR_COMPILE_THREADS": 1}
        self.report = tracing.trace(folder, command, env=cache, names=("trace.gpt", "trace.folded", "trace.json")).stdout
        said = [line for line in self.report.splitlines() if line.startswith("{")]
        self.places = json.loads(said[0])
        self.folded = [line.rsplit(" ", 1)[0].split(";") for line in (folder / "trace.folded").read_text().splitlines()]
        events = json.loads((folder / "trace.json").read_text())["traceEvents"]
        self.kernels = [event for event in events if event.get("cat") == "kernel"]

    def places_of(self, name):
        """The place of each kernel with that name."""
        return [kernel["args"].get("kernel at") for kernel in self.kernels if kernel["name"] == name]

    def stacks_of(self, label):
        return [stack for stack in self.folded if stack[-1] == label]


def label(name, place):
    return f"{name} ({place.rsplit('/', 1)[1]})"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("triton"))


def test_kernels_of_one_name_have_each_its_own_file_and_line(run):
    assert sorted(run.places_of("same_name")) == sorted([run.places["first"], run.places["second"]] * 3)


def test_the_report_and_folded_stacks_say_kernels_of_one_name_apart(run):
    for place in (run.places["first"], run.places["second"]):
        assert re.search(rf" 3 +[\d.,]+ +{re.escape(label('same_name', place))} ", run.report)
        stacks = run.stacks_of(label("same_name", place))
        assert stacks
        for stack in stacks:
            assert f"launch ({PROGRAM.name}:{line_with('launches')})" in stack


def test_a_kernel_in_a_cuda_graph_keeps_its_place_when_the_graph_is_replayed(run):
    assert run.places_of("in_a_graph") == [run.places["in_a_graph"]] * 5
    assert any("cudaGraphLaunch" in stack for stack in run.stacks_of(label("in_a_graph", run.places["in_a_graph"])))


def test_a_kernel_that_inductor_wrote_is_in_the_file_that_it_wrote(run):
    places = run.places_of("triton_poi_fused_add_cos_0")
    assert len(places) == 20
    (place,) = set(places)
    assert re.search(r"/cache/\w\w/c\w+\.py:\d+$", place)
    assert any(re.fullmatch(r"triton_poi_fused_add_cos_0 \(c\w{7}\.\.\.\.py:\d+\)", stack[-1]) for stack in run.folded)


def test_what_graph_trees_replay_is_under_the_line_that_called_the_compiled_function(run):
    replayed = [stack for stack in run.folded
                if stack[-1].startswith("triton_poi_fused_add_cos_0") and "cudaGraphLaunch" in stack]
    assert replayed
    for stack in replayed:
        assert f"call_with_trees ({PROGRAM.name}:{line_with('replays')})" in stack
        assert any(frame.startswith("captured at ") for frame in stack)
        assert any(re.fullmatch(r"Runner\.call \(c\w+\.py:\d+\)", frame) for frame in stack)
    sums = re.search(rf"^ +([\d,.]+) +[\d.]+ +{PROGRAM.name}:{line_with('replays')} +call_with_trees$", run.report, re.M)
    assert float(sums.group(1).replace(",", "")) >= sum(kernel["dur"] for kernel in run.kernels
                                                        if kernel["name"].startswith("triton_poi_fused_add_cos_0"))


def test_the_report_has_the_nodes_of_the_graph_below_the_line_that_was_captured(run):
    assert re.search(rf"<- {PROGRAM.name}:{line_with('compiled with trees')} with_trees.*generated c.*\n +made of cos, add ",
                     run.report)
