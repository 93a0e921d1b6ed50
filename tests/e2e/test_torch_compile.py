# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernels of torch.compile and of Triton stand under the program's own lines; generated lines stay visible."""

import csv
import io
import json
import re
import shutil

import machine
import pytest
import tracing

pytestmark = pytest.mark.torch

PROGRAM = machine.PROGRAMS / "torch_compiles.py"


def line_with(comment):
    lines = PROGRAM.read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"# {comment}"))


class Run:
    def __init__(self, folder, *words, compile_threads=1):
        command = tracing.on_simgpu(folder / "gpu.json", machine.tool("get-torch"), PROGRAM, *words)
        cache = {"TORCHINDUCTOR_CACHE_DIR": folder / "cache", "TRITON_CACHE_DIR": folder / "triton",
                 "TRITON_LIBCUDA_PATH": machine.BUILD / "simgpu", "TORCHINDUCTOR_COMPILE_THREADS": compile_threads}
        done = tracing.trace(folder, command, env=cache, names=("trace.gpt", "trace.folded"))
        self.report = done.stdout
        self.sources = {path.name: path.read_text().splitlines() for path in (folder / "cache").glob("*/c*.py")}
        shutil.rmtree(folder / "cache")
        self.later = tracing.gputrace(folder, "report", folder / "trace.gpt").must_be(0).stdout
        (said,) = [line for line in self.report.splitlines() if line.startswith("{")]
        self.times = json.loads(said)
        table = tracing.gputrace(folder, "report", folder / "trace.gpt", "--table", "compiles", "--format", "csv")
        self.compiles = list(csv.DictReader(io.StringIO(table.must_be(0).stdout)))
        self.folded = [line.rsplit(" ", 1)[0].split(";") for line in (folder / "trace.folded").read_text().splitlines()]

    def function_at(self, beginning, number):
        """The name after def on that line of the only generated file whose name begins with `beginning`."""
        (lines,) = [lines for name, lines in self.sources.items() if name.startswith(beginning)]
        return re.match(r"def (\w+)\(", lines[number - 1]).group(1)

    def stacks_of(self, kernel):
        """Python frames of the kernel's launches, root first."""
        return [[frame for frame in stack if re.search(r"\.py:\d+\)$", frame)] for stack in self.folded
                if stack[-1].startswith(f"{kernel} (")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("compile"))


def test_a_compiled_kernel_is_under_the_function_that_was_compiled(run):
    stacks = run.stacks_of("triton_poi_fused_add_mul_sin_0")
    assert stacks
    for stack in stacks:
        assert f"compiled ({PROGRAM.name}:{line_with('compiled')})" in stack


def test_the_report_has_the_programs_own_line_below_the_compiled_one_and_the_generated_beside_it(run):
    assert re.search(rf"<- {PROGRAM.name}:{line_with('compiled')} compiled, generated c\w{{7}}\.\.\.\.py:\d+$", run.report, re.M)


def test_what_the_generated_file_says_stands_below_its_line(run):
    """The report is made from the log after the files were removed."""
    assert re.search(r"^ +made of sin, z, add \(aten\.sin, aten\.mul, aten\.add\)$", run.later, re.M)
    launched = re.search(r"^ +launches triton_poi_fused_add_mul_sin_0 (c\w{7})\.\.\.\.py:(\d+)$", run.later, re.M)
    assert run.function_at(launched.group(1), int(launched.group(2))) == "triton_poi_fused_add_mul_sin_0"


def test_a_kernel_of_the_programs_own_is_on_the_line_that_launched_it(run):
    stacks = run.stacks_of("own_kernel")
    assert stacks
    for stack in stacks:
        assert f"launch ({PROGRAM.name}:{line_with('own kernel')})" in stack
    assert re.search(rf"<- {PROGRAM.name}:{line_with('own kernel')} launch$", run.report, re.M)


def ns_of(rows):
    return sum(int(row["ns"]) for row in rows)


def test_the_table_of_compilations_has_as_much_time_as_torch_compile_and_triton_say(run):
    """Samples and waits in the compilers' frames; PyTorch and Triton have clocks of their own around the same calls."""
    triton = dict(run.times["triton"])
    at_call = [row for row in run.compiles if row["line"] == f"{PROGRAM.name}:{line_with('calls')} main"]
    at_launch = [row for row in run.compiles if row["line"] == f"{PROGRAM.name}:{line_with('own kernel')} launch"]
    assert ns_of(at_call) == pytest.approx(sum(end - start for start, end in run.times["torch"]), rel=0.2)
    assert ns_of(row for row in at_launch if row["what"] == "Triton") == pytest.approx(triton["own_kernel"], rel=0.2)
    assert {row["what"] for row in at_call} == {"Dynamo", "Inductor", "Triton"}
    assert {row["known"] for row in at_call} == {"sampled"}


def test_each_compilation_counts_once_and_names_the_new_kernel_that_was_launched_next(run):
    """Of six calls of the compiled function two compile, the second as a size is new; of six launches of the program's
    own kernel one does."""
    counts = {(row["what"], row["kernel"]): int(row["count"]) for row in run.compiles if row["kernel"] != "-"}
    assert len(run.times["torch"]) == counts["Dynamo", "triton_poi_fused_add_mul_sin_0"] == 2
    said = [name for name, _ in run.times["triton"]]
    for kernel in ("triton_poi_fused_add_mul_sin_0", "own_kernel"):
        assert counts["Triton", kernel] == said.count(kernel)


def test_gpus_are_idle_for_no_longer_than_what_compiles(run):
    assert 0 < sum(int(row["gpu_idle_ns"]) for row in run.compiles) <= 1.1 * ns_of(run.compiles)


@pytest.fixture(scope="module")
def with_workers(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("workers"), "workers", compile_threads=2)


def test_what_inductors_workers_compile_is_the_line_s_that_waits_for_them(with_workers):
    at_call = [row for row in with_workers.compiles if row["line"] == f"{PROGRAM.name}:{line_with('calls')} main"]
    programs = max(at_call, key=lambda row: int(row["ns"]))["process"]
    assert ns_of(at_call) == pytest.approx(sum(end - start for start, end in with_workers.times["torch"]), rel=0.2)
    assert [name for name, _ in with_workers.times["triton"]] == ["own_kernel"]
    assert any(row["what"] == "Triton" and row["process"] != programs for row in with_workers.compiles)
    assert {row["process"] for row in with_workers.compiles if int(row["gpu_idle_ns"])} == {programs}
