# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Training steps, found without code in the program, compared with its ranges, its ops and torch.profiler."""

import collections
import json
import pathlib
import re

import machine
import pytest
import tracing
from reading import chrome

pytestmark = pytest.mark.torch

STEPS, SLOW = 12, 8  # as in the program
PYTHONS = {"newest": lambda: machine.tool("get-torch"), "older": machine.older_torch}


HTA = pathlib.Path(__file__).resolve().parent / "consumers" / "run_hta.py"


def ops_of_steps(path):
    """{number: count of each op that starts in that ProfilerStep}"""
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
    ops = [e for e in events if e.get("cat") == "cpu_op"]
    found = {}
    for step in events:
        if step["name"].startswith("ProfilerStep#"):
            begin = float(step["ts"])
            end = begin + float(step["dur"])
            found[int(step["name"][len("ProfilerStep#"):])] = collections.Counter(
                e["name"] for e in ops if begin <= float(e["ts"]) < end)
    return found


def hta(path):
    done = tracing.command(path.parent, machine.tool("get-hta"), HTA, path).must_be(0)
    return json.loads(done.stdout.splitlines()[-1])


class Run:
    def __init__(self, folder, device, version):
        program = [PYTHONS[version](), machine.PROGRAMS / "torch_steps.py", device, folder / "profiled.json"]
        command = tracing.on_simgpu(folder / "gpu.json", *program) if device == "cuda" else program
        self.folder, self.device = folder, device
        self.done = tracing.trace(folder, command, "--ops", "--no-cpu", "--no-off-cpu", names=("trace.gpt",))

    def report(self, *options):
        return tracing.gputrace(self.folder, "report", self.folder / "trace.gpt", *options).must_be(0).stdout

    def timeline(self, *options):
        path = self.folder / "timeline.json"
        tracing.gputrace(self.folder, "export", self.folder / "trace.gpt", *options, "-o", path).must_be(0)
        return path

    def table(self, *options):
        """({label: [cells]}, title line) of the table of steps."""
        lines = iter(self.report(*options).splitlines())
        title = next(line for line in lines if line.startswith("Steps"))
        next(lines)
        rows = {}
        for line in lines:
            if not re.match(r" +(all|median: \d+|\d+)  ", line):
                return rows, title
            label, cells = line.strip().split("  ", 1)
            rows[label] = cells.split()
        raise AssertionError("the report ends in the table of steps")


@pytest.fixture(scope="module", params=[("cpu", "newest"), ("cuda", "newest"), ("cuda", "older")], ids="-".join)
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("steps"), *request.param)


def test_steps_of_torch_profiler_are_found_without_being_asked_for(run):
    """There is one more than iterations: the profiler starts another step after the last iteration."""
    rows, title = run.table()
    assert title == f"Steps   by ProfilerStep of torch.profiler, {STEPS + 1} of them"
    assert "all" in rows


def test_each_kind_of_boundary_finds_the_iterations_of_the_program(run):
    for step, words in (("optimizer", "Optimizer.step (AdamW.step)"), ("backward", "backward passes"),
                        ("range:iteration*", "ranges iteration*")):
        assert run.table("--step", step)[1] == f"Steps   by {words}, {STEPS} of them"


def test_python_functions_are_boundaries_where_calls_show_them(run):
    """Other functions launch between two calls of loss_of."""
    if run.device == "cpu":
        assert "no such steps" in tracing.gputrace(run.folder, "report", run.folder / "trace.gpt", "--step",
                                                   "py:loss_of").must_be(0).stderr
    else:
        words = "loss_of() as recorded stacks show it"
        assert run.table("--step", "py:torch_steps.py:loss_of")[1] == f"Steps   by {words}, {STEPS} of them"


def test_launches_of_the_step_that_has_more_to_do_are_those_of_the_program(run):
    """It has 400 sigmoids more than the other steps."""
    if run.device == "cuda":
        rows, _ = run.table("--step", "range:iteration %d" % SLOW)
        slow = int(rows["all"][3])
        rows, _ = run.table("--step", "range:iteration %d" % (SLOW - 1))
        assert slow - int(rows["all"][3]) == 400


def test_steps_of_the_timeline_have_the_ops_that_they_have_for_torch_profiler(run):
    traced, profiled = ops_of_steps(run.timeline()), ops_of_steps(run.folder / "profiled.json")
    assert sorted(traced) == list(range(STEPS + 1))
    assert sorted(profiled) == [3, 4]  # the active steps
    assert sum(profiled[3].values()) > 50
    assert {number: traced[number] for number in profiled} == profiled


def test_files_with_steps_keep_their_promises(run):
    """Steps of torch.profiler nest with the program's ranges; other steps do not."""
    for options, last in (((), STEPS), (("--step", "optimizer"), STEPS - 1), (("--step", "range:iteration*"), STEPS - 1)):
        path = run.timeline(*options)
        chrome.assert_valid(path)
        assert max(ops_of_steps(path)) == last


def test_hta_finds_the_gpu_work_of_each_step_as_in_the_file_of_torch_profiler(run):
    if run.device == "cuda":
        traced, profiled = hta(run.timeline()), hta(run.folder / "profiled.json")
        assert traced["critical_path"]
        assert sorted(profiled["gpu_rows_of_steps"]) == ["3", "4"]
        for number, count in profiled["gpu_rows_of_steps"].items():
            assert traced["gpu_rows_of_steps"][number] == count


def test_a_slice_of_steps_has_what_begins_in_them(run):
    whole, some = (run.timeline("--step", "range:iteration*", *options).read_text()
                   for options in ((), ("--steps", "5..6")))
    ops = [collections.Counter(e["name"] for e in json.loads(text)["traceEvents"] if e.get("cat") == "cpu_op")
           for text in (whole, some)]
    (run.folder / "whole.json").write_text(whole)
    steps = ops_of_steps(run.folder / "whole.json")
    assert sum(ops[1].values()) > 40
    assert ops[1] == steps[5] + steps[6]
    assert sum(ops[0].values()) > sum(ops[1].values())
    assert "Slice of the recording: steps 5 to 6" in run.report("--step", "range:iteration*", "--steps", "5..6")


def test_steps_that_are_not_there_are_named(run):
    done = tracing.gputrace(run.folder, "report", run.folder / "trace.gpt", "--step", "optimizer", "--steps", "77")
    assert f"it has steps 0 to {STEPS - 1}" in done.must_be(1).stderr
