# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace diff: two versions of a program, each traced once; it reports what was changed in the program."""

import csv
import io
import json
import re

import machine
import pytest
import tracing

STEPS = 40
ABOVE = 4

# {above}: lines added above the function; {often}: launches of the last kernel in a step.
PROGRAM = '''import gpu

gpu.setup(record=True)
{above}

def step(number):
    gpu.launch(gpu.at("gemm_60us"), *gpu.SHAPE, None)
    if number % 2:
        gpu.launch(gpu.at("bias_6us"), *gpu.SHAPE, None)
    for _ in range({often}):
        gpu.launch(gpu.at("gelu_25us"), *gpu.SHAPE, None)


for number in range({steps}):
    step(number)
    gpu.device_sync()
'''


class Compared:
    def __init__(self, folder):
        self.folder = folder
        self.texts = {"before": PROGRAM.format(above="", often=1, steps=STEPS),
                      "after": PROGRAM.format(above="# edited\n" * 3, often=2, steps=STEPS)}
        for name, text in self.texts.items():
            (folder / name).mkdir()
            program = folder / name / "train.py"
            program.write_text(text)
            tracing.gputrace(folder, "-o", f"{name}.gpt", "--", *tracing.on_simgpu(
                folder / f"{name}.json", machine.any_python(), program),
                env={"PYTHONPATH": machine.ROOT / "tests/workloads"}).must_be(0)

    def line_of(self, name, words):
        """Line number of the program's only line with these words."""
        found = [i for i, line in enumerate(self.texts[name].splitlines(), 1) if words in line]
        assert len(found) == 1
        return found[0]

    def diff(self, *options, code=0):
        return tracing.gputrace(self.folder, "diff", "before.gpt", "after.gpt", "--step", "py:step", *options).must_be(code)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    return Compared(tmp_path_factory.mktemp("diff"))


def test_the_line_that_was_changed_is_named_where_it_is_now_and_where_it_was(compared):
    text = compared.diff().stdout
    now, was = (compared.line_of(name, "gelu_25us") for name in ("after", "before"))
    lines = text.partition("GPU time by line\n")[2].partition("\n\n")[0].splitlines()
    assert lines[1].split() == ["25.0", "50.0", "+25.0", "+100.0", "%", "0.0", "1", ">", "2", f"train.py:{now}",
                                "(was", f":{was})", "step"]
    assert lines[2:] == ["  2 did not change by more than the noise"]


def test_a_step_costs_what_the_program_launches_in_it(compared):
    rows = dict(re.findall(r"^  (GPU time, us|launches) +([\d.]+ +[\d.]+)", compared.diff().stdout, re.M))
    assert rows["GPU time, us"].split() == ["88.0", "113.0"]  # 60 + 25, and 6 in every second step
    assert rows["launches"].split() == ["2.5", "3.5"]
    assert compared.diff().stdout.count(f" {STEPS} steps\n") == 2


def test_launches_of_a_step_are_those_of_the_report(compared):
    for name, launches in (("before", 2.5), ("after", 3.5)):
        report = tracing.gputrace(compared.folder, "report", f"{name}.gpt", "--step", "py:step", "--format", "json").must_be(0)
        (steps,) = [table["rows"] for table in json.loads(report.stdout)["tables"] if table["id"] == "steps"]
        assert steps[0]["launches"] == launches * STEPS


def test_what_did_not_change_is_no_change(compared):
    done = tracing.gputrace(compared.folder, "diff", "before.gpt", "before.gpt", "--step", "py:step").must_be(0)
    assert "+0.0" not in done.stdout and "-0.0" not in done.stdout
    assert re.search(r"^  GPU time, us +88\.0 +88\.0 +- +- ", done.stdout, re.M)


def tables(compared, *options):
    document = json.loads(compared.diff("--format", "json", *options).stdout)
    assert document["schema"] == "gputrace-tables"
    return {table["id"]: table for table in document["tables"]}


def test_json_has_every_row_with_what_changed_before_and_after(compared):
    found = tables(compared)
    now, was = (f"train.py:{compared.line_of(name, 'gelu_25us')}" for name in ("after", "before"))
    first, *others = found["diff_lines"]["rows"]
    assert (first["line"], first["line_before"], first["function"]) == (now, was, "step")
    assert [first[name] for name in ("before_ns", "after_ns", "change_ns", "launches_before", "launches_after", "changed")] == [
        25000, 50000, 25000, 1, 2, "yes"]
    assert {(row["before_ns"], row["after_ns"], row["launches_after"], row["changed"]) for row in others} == {
        (60000, 60000, 1, "no"), (3000, 3000, 0.5, "no")}
    step = {row["what"]: row for row in found["diff_step"]["rows"]}
    assert (step["GPU time"]["before_ns"], step["launches"]["before"], step["launches"]["before_ns"]) == (88000, 2.5, None)
    assert [row["steps"] for row in found["diff_traces"]["rows"]] == [STEPS, STEPS]


def test_csv_of_one_table_has_its_rows_and_nothing_else(compared):
    text = compared.diff("--format", "csv", "--table", "diff_kernels").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["kernel"]: (row["before_ns"], row["after_ns"]) for row in rows} == {
        "gelu_25us": ("25000", "50000"), "gemm_60us": ("60000", "60000"), "bias_6us": ("3000", "3000")}


def test_markdown_has_what_changed_alone(compared):
    text = compared.diff("--format", "md").stdout
    lines = text.partition("**GPU time by kernel**")[2].partition("\n**")[0].splitlines()
    assert [line for line in lines if line.startswith("|")][2:] == ["| 25.0 | 50.0 | +25.0 | +100.0 % | 0.0 | 1 &#62; 2 | `gelu_25us` |"]
    assert "- 2 did not change by more than the noise" in lines
    assert re.search(r"^- median step: wall time \S+ % \(95 % interval \S+ to \S+ %\), GPU time \+28\.4 % "
                     r"\(95 % interval \+2\d\.\d to \+3\d\.\d %\)$", text, re.M), "what --fail-above judges"


def test_fail_above_ends_with_4_where_a_step_grew_by_more(compared):
    done = compared.diff("--fail-above", "20", code=ABOVE)
    assert re.search(r"the GPU time of the median step grew by 28\.4 % \(95 % interval 2\d\.\d to 3\d\.\d %\), more", done.stderr)
    done = tracing.gputrace(compared.folder, "diff", "before.gpt", "after.gpt", "--step", "py:step", "--fail-above", "100")
    assert "GPU time" not in done.stderr  # a step's duration depends on the machine


def test_fail_above_says_where_the_interval_holds_it_and_does_not_fail(compared):
    done = tracing.gputrace(compared.folder, "diff", "before.gpt", "after.gpt", "--step", "py:step", "--fail-above", "28",
                            "--format", "json")  # its status depends on the steps' duration, too
    step = {row["what"]: row for row in json.loads(done.stdout)["tables"][1]["rows"]}["median GPU time"]
    least, most = (100 * (step["change_ns"] + sign * step["noise_ns"]) / step["before_ns"] for sign in (-1, 1))
    assert least < 28 < 100 * step["change_ns"] / step["before_ns"] < most
    assert (f"the GPU time of the median step grew by 28.4 % (95 % interval {least:.1f} to {most:.1f} %), which may be less "
            "than --fail-above 28") in done.stderr


def test_few_steps_are_judged_without_an_interval_which_is_said(compared):
    done = compared.diff("--steps", "5..8", "--fail-above", "20", code=ABOVE)
    assert re.search(r"the GPU time of the median step grew by 28\.4 %, more than --fail-above 20; no interval is known: "
                     r"trace at least 6 steps\n", done.stderr)


def test_several_runs_of_each_are_compared_as_means_of_the_runs(compared):
    """Runs of one program that differ, as `before` and `after` do, vary by that."""
    logs = ["before.gpt", "after.gpt", "--", "after.gpt", "after.gpt"]
    done = tracing.gputrace(compared.folder, "diff", *logs, "--step", "py:step", "--format", "json").must_be(0)
    found = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert [(row["trace"], row["file"], row["steps"]) for row in found["diff_traces"]] == [
        ("before", "before.gpt", STEPS), ("before", "after.gpt", STEPS), ("after", "after.gpt", STEPS),
        ("after", "after.gpt", STEPS)]
    step = {row["what"]: row for row in found["diff_step"]}
    assert [step["GPU time"][name] for name in ("before_ns", "after_ns", "changed")] == [100500, 113000, "no"]
    kernels = {row["kernel"]: (row["before_ns"], row["after_ns"], row["changed"]) for row in found["diff_kernels"]}
    assert kernels == {"gelu_25us": (37500, 50000, "no"), "gemm_60us": (60000, 60000, "no"), "bias_6us": (3000, 3000, "no")}
    done = tracing.gputrace(compared.folder, "diff", *logs, "--step", "py:step", "--fail-above", "5").must_be(0)
    assert "the GPU time of the median step grew by 12.4 % (95 % interval -" in done.stderr


def test_equal_runs_of_each_keep_what_differs_between_before_and_after(compared):
    logs = ["before.gpt", "before.gpt", "--", "after.gpt", "after.gpt"]
    done = tracing.gputrace(compared.folder, "diff", *logs, "--step", "py:step", "--fail-above", "20").must_be(ABOVE)
    assert "the GPU time of the median step grew by 28.4 %" in done.stderr
    assert re.search(r"^before: before\.gpt.*\n        before\.gpt.*\nafter:  after\.gpt.*\n        after\.gpt", done.stdout)


def test_the_same_log_twice_has_no_difference(compared):
    done = tracing.gputrace(compared.folder, "diff", "before.gpt", "before.gpt", "--step", "py:step", "--fail-above", "0")
    done.must_be(0)
    _, *tables = done.stdout.split("\n\n")[1:]
    assert len(tables) >= 2
    for table in tables:  # a title, and only lines about what did not change
        _, *rows = table.splitlines()
        assert rows and all("did not change by more than the noise" in row for row in rows), table


def test_differential_stacks_have_both_values_and_flamegraph_takes_them(compared):
    compared.diff("-o", "diff.folded")
    stacks = {}
    for line in (compared.folder / "diff.folded").read_text().splitlines():
        stack, before, after = line.rsplit(" ", 2)
        stacks[stack] = [before, after]
    assert stacks == {"<module> (train.py);step (train.py);bias_6us": ["3000", "3000"],
                      "<module> (train.py);step (train.py);gelu_25us": ["25000", "50000"],
                      "<module> (train.py);step (train.py);gemm_60us": ["60000", "60000"]}
    drawn = tracing.command(compared.folder, "perl", machine.tool("get-flamegraph"), compared.folder / "diff.folded").must_be(0)
    assert "gelu_25us" in drawn.stdout and "Ignored" not in drawn.stderr


def test_traces_without_steps_are_compared_whole_and_said_so(compared):
    done = tracing.gputrace(compared.folder, "diff", "before.gpt", "after.gpt").must_be(0)
    assert "whole traces are compared, and noise is not known" in done.stdout
    done = tracing.gputrace(compared.folder, "diff", "before.gpt", "after.gpt", "--fail-above", "5").must_be(1)
    assert "--fail-above: no steps were found in before.gpt" in done.stderr


def test_without_gpu_times_more_launches_of_a_step_are_a_regression(compared, tmp_path):
    logs = [tmp_path / f"{name}.gpt" for name in ("before", "after")]
    for log in logs:
        tracing.gputrace(compared.folder, "-q", "--agent", "off", "-o", log, "--", *tracing.on_simgpu(
            tmp_path / "gpu.json", machine.any_python(), compared.folder / log.stem / "train.py"),
            env={"PYTHONPATH": machine.ROOT / "tests/workloads"}).must_be(0)
    done = tracing.gputrace(tmp_path, "diff", *logs, "--step", "py:step", "--fail-above", "20").must_be(ABOVE)
    assert re.search(r"the number of launches of a step grew by 40\.\d % \(95 % interval [\d.]+ to [\d.]+ %\), more than --fail-above 20\n",
                     done.stderr)


def test_steps_that_are_not_there_are_named_with_those_that_are(compared):
    done = tracing.gputrace(compared.folder, "report", "before.gpt", "--step", "py:step", "--steps", "5000").must_be(1)
    assert f"--steps: none of these is in before.gpt; it has steps 0 to {STEPS - 1}" in done.stderr


@pytest.mark.parametrize("arguments, code, said", [
    (["before.gpt"], 2, "diff needs two logs"),
    (["before.gpt", "after.gpt", "third.gpt"], 2, "diff takes two logs, but got"),
    (["before.gpt", "before.gpt", "--"], 2, "diff needs a log after --"),
    (["before.gpt", "--", "nothing.gpt"], 1, "nothing.gpt: No such file"),
    (["before.gpt", "nothing.gpt"], 1, "nothing.gpt: No such file"),
    (["before.gpt", "before.json"], 1, "before.json"),
    (["before.gpt", "after.gpt", "-o", "x.json"], 2, "diff writes .folded files"),
    (["before.gpt", "after.gpt", "--format", "xml"], 2, "--format xml: accepted are"),
    (["before.gpt", "after.gpt", "--table", "diff_step"], 2, "--table diff_step: goes with a report in"),
    (["before.gpt", "after.gpt", "--format", "csv", "-o", "-"], 2, "--format is for the report"),
    (["before.gpt", "after.gpt", "--format", "csv", "--table", "kernels"], 1, "not in this report, which has: diff_traces"),
    (["before.gpt", "after.gpt", "--format", "csv", "--table", "diff_trace"], 1, ": did you mean diff_traces?"),
    (["before.gpt", "after.gpt", "--fail-above", "much"], 2, "--fail-above much: a percentage"),
])
def test_what_cannot_be_compared_is_named(compared, arguments, code, said):
    done = tracing.gputrace(compared.folder, "diff", *arguments).must_be(code)
    assert said in done.stderr
