# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tree of calls of a PyTorch program: backward nodes under the caller of backward(), named after the forward ops
that made them, with the GPU work that torch.profiler in the same run has in them (on the simulated GPU)."""

import collections
import csv
import io
import json
import re

import machine
import pytest
import tracing
from test_torch_forward import OF_PYTHON, Run

pytestmark = pytest.mark.torch

NODE = re.compile(r"(\w+) \((\w+):\d+\)$")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("tree"), "newest")


@pytest.fixture(scope="module")
def rows(run):
    """[(row, its ancestors' rows)] of the whole tree."""
    done = tracing.gputrace(run.folder, "report", "trace.gpt", "--tree", "--min-percent", "0", "--format", "csv", "--table", "tree")
    found, around = [], []
    for row in csv.DictReader(io.StringIO(done.must_be(0).stdout)):
        del around[int(row["depth"]):]
        found.append((row, tuple(around)))
        around.append(row)
    return found


def test_backward_nodes_name_the_forward_op_that_made_them(rows):
    named = {NODE.match(row["name"]).groups() for row, _ in rows if row["kind"] == "op" and NODE.match(row["name"])}
    assert {("MmBackward0", "mm"), ("ExpBackward0", "exp"), ("SigmoidBackward0", "sigmoid"), ("OwnBackward", "Own")} <= named
    for node, forward in named - {("CheckpointFunctionBackward", "CheckpointFunction")}:
        assert node.lower().replace("backward0", "").replace("backward", "") in forward.replace("_", "").lower(), (node, forward)


def test_every_forward_op_with_that_number_is_in_the_tree(rows):
    ops = {row["name"].replace("aten::", "") for row, _ in rows if row["kind"] == "op"}
    wanted = {match[1] for name in ops for match in [re.search(r" \((\w+:\d+)\)$", name)] if match}
    # ops without GPU time, e.g. views, are not shown
    assert len(wanted & ops) > 10


def test_work_in_nodes_is_what_torch_profiler_has_in_them(run, rows):
    expected = collections.Counter()
    for (name, _), count in run.truth.in_nodes.items():
        expected[name] += count
    found = collections.Counter()
    for row, around in rows:
        nodes = [re.match(r"\w+Backward0?", above["name"]) for above in around if above["kind"] == "op"]
        names = [match[0] for match in nodes if match]
        again = any(above["name"].split(":")[-1].split("::")[-1] in ("sigmoid", "relu") for above in around if above["kind"] == "op")
        if row["kind"] == "what" and names and not again and names[-1] not in OF_PYTHON:
            found[names[-1]] += int(row["count"])
    assert len(expected) > 8
    assert {name: found[name] for name in expected} == expected


def test_work_of_nodes_stands_under_the_functions_that_called_backward(rows):
    for row, around in rows:
        if row["kind"] == "op" and row["name"].startswith("MmBackward0"):
            functions = [above["name"] for above in around if above["kind"] == "function"]
            assert functions[:3] in (["<module>", "main", "work"], ["<module>", "main", "capture"])


def test_tensorboard_finds_the_file_of_each_process_in_a_folder(run):
    """Uses the code of TensorBoard's plugin, which counts an op directly inside an op of the same name once."""
    folder = run.folder / "runs"
    folder.mkdir()
    tracing.gputrace(run.folder, "export", "trace.gpt", "-o", f"{folder}/").must_be(0)
    python = machine.any_python()
    done = tracing.command(run.folder, python, machine.ROOT / "tests/e2e/consumers/tensorboard_runs.py", folder,
                           env={"PYTHONPATH": machine.package(python, "torch_tb_profiler==0.4.3")})
    ((worker, calls),) = json.loads(done.must_be(0).stdout.splitlines()[-1]).items()
    ops = [event for event in json.loads((run.folder / "trace.json").read_text())["traceEvents"] if event.get("cat") == "cpu_op"]
    assert worker.endswith(f"_{ops[0]['pid']}")
    made = collections.Counter(op["name"] for op in ops)
    assert calls.keys() == made.keys() and all(made[name] >= calls[name] > 0 for name in made)
    assert calls["aten::mm"] == made["aten::mm"]


def test_a_folder_that_is_not_there_is_said(run):
    done = tracing.gputrace(run.folder, "export", "trace.gpt", "-o", "nowhere/").must_be(1)
    assert "nowhere/: cannot be written: its directory does not exist" in done.stderr


def ns_of(event):
    return round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)


def test_by_cpu_time_ops_have_the_samples_that_the_timeline_has_in_them(tmp_path):
    """Of PyTorch's own ops, in which no Python runs."""
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.tool("get-torch"), machine.WORKLOADS / "torch_train.py", "--steps", "200")
    tracing.trace(tmp_path, program, "--ops", "-F", "1999", names=("trace.gpt", "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    ops = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "cpu_op":
            ops[event["tid"]].append((*ns_of(event), event["name"]))
    expected = collections.Counter()
    for event in events:
        if event.get("cat") == "cpu_sample":
            _, at = ns_of(event)
            inside = [(start, -end, name) for start, end, name in ops[event["args"]["thread"]] if start <= at < end]
            if inside and max(inside)[2].startswith("aten::"):
                expected[max(inside)[2]] += event["args"]["period ns"]
    done = tracing.gputrace(tmp_path, "report", "trace.gpt", "--tree", "--by", "cpu", "--min-percent", "0", "--show-all", "--format", "json",
                            "--table", "tree").must_be(0)
    (table,) = json.loads(done.stdout)["tables"]
    found = collections.Counter()
    for row in table["rows"]:
        if row["kind"] == "op" and row["name"].startswith("aten::"):
            found[re.sub(r":\d+$", "", row["name"])] += row["self_ns"]
    assert len(expected) > 10 and +found == expected
