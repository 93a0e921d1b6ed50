# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tree of calls and the source with its costs (--tree, --lines), compared with program and simulated GPU."""

import collections
import linecache
import re

import logfile
import machine
import pytest
import reading
import tracing
from reading import simulated

NODE = re.compile(r"^  (?P<branches>[│├└─ ]*)(?P<time>[\d,.]+) (?P<unit>ns|us|ms|s)  [\d.]+ %  (?P<text>.*?)(?:  (?P<count>[\d,]+)x)?$")
NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
ALL = ("--min-percent", "0", "--show-all")


class Node:
    def __init__(self, match):
        self.depth = len(match["branches"]) // 3
        self.text = match["text"]
        self.count = int((match["count"] or "1").replace(",", ""))
        self.ns = float(match["time"].replace(",", "")) * NS[match["unit"]]
        self.error_ns = 0.05 * NS[match["unit"]] + 1


def tree(text):
    """[(node, texts of its ancestors)]"""
    nodes, around = [], []
    for line in text.splitlines():
        match = NODE.match(line)
        if match:
            node = Node(match)
            del around[node.depth:]
            nodes.append((node, tuple(around)))
            around.append(node.text)
    return nodes


class Run:
    def __init__(self, folder):
        program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "20", "--threads", "2", "--graph", "--truth",
                   folder / "program.json"]
        self.folder = folder
        self.done = tracing.gputrace(folder, "-o", "trace.gpt", "--tree", *ALL, "--", *tracing.on_simgpu(folder / "gpu.json", *program))
        self.done.must_be(0)
        self.work = simulated.work(simulated.load(folder / "gpu.json"))
        self.truth = reading.program(folder / "program.json")

    def report(self, *options):
        return tracing.gputrace(self.folder, "report", "trace.gpt", *options).must_be(0).stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("tree"))


def test_the_tree_is_the_same_after_the_trace_and_from_the_log(run):
    assert run.done.stdout.endswith(run.report("--tree", *ALL))


def test_the_first_line_has_the_time_of_all_that_ran(run):
    (first, _), *_ = tree(run.report("--tree"))
    total = sum(op["end"] - op["start"] for op in run.work)
    assert first.text == "GPU time" and abs(first.ns - total) <= first.error_ns


def test_every_kernel_ran_as_often_as_the_gpu_says(run):
    kernels = collections.Counter(op["name"] for op in run.work if op["kind"] == "kernel")
    found = collections.Counter()
    for node, _ in tree(run.report("--tree", *ALL)):
        if node.text in kernels:
            found[node.text] += node.count
    assert found == kernels


def test_every_node_has_the_time_of_what_is_under_it(run):
    nodes = [node for node, _ in tree(run.report("--tree", *ALL))]
    for i, node in enumerate(nodes):
        children = []
        for under in nodes[i + 1:]:
            if under.depth <= node.depth:
                break
            children += [under] if under.depth == node.depth + 1 else []
        if children:
            assert abs(node.ns - sum(child.ns for child in children)) <= sum(child.error_ns for child in children) + node.error_ns


def functions(stack):
    return tuple(reading._name(frame) for frame in reversed(stack))


def test_launches_stand_under_the_functions_that_the_program_was_in(run):
    """A graph's kernels stand under the function that replayed it."""
    expected = {functions(site["stack"]) for site in run.truth["stacks"] if site["call"] == "cudaLaunchKernel"}
    found = set()
    for node, around in tree(run.report("--tree", *ALL)):
        if re.search(r"_\d+us$", node.text) and "replay" not in node.text:
            found.add(tuple(text.rsplit("  ", 1)[0] for text in around[1:] if not text.startswith(("thread ", "process "))))
    captured = {stack for stack in expected if stack[-1] == "Trainer.capture"}
    assert captured and found == expected - captured


def margins(text):
    """{(file, line): (launches, text)} of all listings."""
    found, file, titles = {}, None, None
    for line in text.splitlines():
        if line.startswith("File: "):
            file = line[len("File: "):]
        elif line.startswith("  Line #"):
            titles = line
        match = re.match(r" *(\d+)(?: |$)", line)
        if match and titles and "calls" in titles:  # a listing may have only lines for which the GPU idled
            end = titles.index("calls") + len("calls")
            launches = re.search(r"[\d,]*$", line[:end])[0].replace(",", "")
            place = file, int(match[1])  # lines of a nested function are listed twice
            found[place] = max(found.get(place, (0, "")), (int(launches or 0), line[titles.index("Line Contents"):]))
    return found


def test_lines_have_the_launches_that_the_program_counted_and_their_source(run):
    found = margins(run.report("--lines", "model.py"))
    expected = collections.Counter()
    for call, _, file, line in (counts := reading.truth_lines(run.truth)):
        if file.endswith("/model.py") and call == "cudaLaunchKernel":
            expected[file, line] += counts[call, _, file, line]
    assert len(expected) > 8
    for (file, line), count in expected.items():
        launches, text = found[file, line]
        assert launches == count
        assert text.rstrip().rstrip(".") in linecache.getline(file, line)


NOTEBOOK = """import linecache, sys
cells = [
    ["import gpu\\n", "gpu.setup(record=True)\\n"],
    ["def forward():\\n", "    # gr\\xf6\\xdfe\\n", "    gpu.launch(gpu.at('gemm_60us'), *gpu.SHAPE, None)\\n"],
    ["for number in range(20):\\n", "    forward()\\n"],
]
names = {}
print("ready", flush=True)
for asked in sys.stdin:
    for number, lines in enumerate(cells):
        path = f"/tmp/ipykernel_1234/{5000 - number}.py"  # as ipykernel names and keeps them
        linecache.cache[path] = (sum(map(len, lines)), None, lines, path)
        exec(compile("".join(lines), path, "exec"), names)
    print("done", flush=True)
"""


def test_a_cell_of_a_notebook_is_listed_by_its_text_and_called_cell(tmp_path):
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), tmp_path / "notebook.py")
    with tracing.Running(program, tmp_path, {"PYTHONPATH": machine.WORKLOADS}) as notebook:
        notebook.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", notebook.pid) as tracer:
            notebook.ask("all cells")
            tracer.wait_logged(logfile.has_source, "gemm_60us")
            tracer.interrupt().must_be(0)
    listed = tracing.gputrace(tmp_path, "report", "trace.gpt", "--lines", "forward").must_be(0).stdout
    (cell,) = re.findall(r"^File: /tmp/ipykernel_1234/(cell \d)$", listed, re.M)
    assert margins(listed)[f"/tmp/ipykernel_1234/{cell}", 3] == (20, "    gpu.launch(gpu.at('gemm_60us'), *gpu.SHAPE, None)")
    assert "    # gr\xf6\xdfe\n" in listed
    assert f"{cell}:3" in tracing.gputrace(tmp_path, "report", "trace.gpt").must_be(0).stdout


def test_the_source_is_listed_after_a_trace_too(tmp_path):
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "5", "--truth", tmp_path / "program.json"]
    done = tracing.gputrace(tmp_path, "-o", "trace.gpt", "--lines=Block.forward", "--", *tracing.on_simgpu(tmp_path / "gpu.json", *program))
    again = tracing.gputrace(tmp_path, "report", "trace.gpt", "--lines", "Block.forward").must_be(0)
    assert done.must_be(0).stdout.endswith(again.stdout)
    assert "def forward(self):" in done.stdout


def test_source_that_was_changed_since_is_not_shown(tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("train.py", "model.py", "gpu.py"):
        (copy / name).write_bytes((machine.WORKLOADS / name).read_bytes())
    program = [machine.any_python(), copy / "train.py", "--steps", "5", "--truth", tmp_path / "program.json"]
    tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *program), names=("trace.gpt",))
    assert "def step(self):" in tracing.gputrace(tmp_path, "report", "trace.gpt", "--lines", "Optimizer.step").must_be(0).stdout
    (copy / "model.py").write_text("\n" + (copy / "model.py").read_text())
    done = tracing.gputrace(tmp_path, "report", "trace.gpt", "--lines", "Optimizer.step").must_be(0)
    assert "Source is not shown: it was changed after the trace began" in done.stdout
    assert "def step(self):" not in done.stdout


def test_source_of_another_mount_namespace_is_not_taken_from_here(tmp_path):
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "5", "--truth", tmp_path / "program.json"]
    tracing.trace(tmp_path, ["unshare", "--mount", *tracing.on_simgpu(tmp_path / "gpu.json", *program)], names=("trace.gpt",))
    done = tracing.gputrace(tmp_path, "report", "trace.gpt", "--lines", "Block.forward").must_be(0)
    assert "Source is not shown: its process was in another mount namespace" in done.stdout
