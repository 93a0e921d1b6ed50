# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A leak of N bytes a step, and a slow DataLoader: their lines are named, and `gputrace diff` shows the fixes."""

import json
import re

import machine
import pytest
import tracing

pytestmark = pytest.mark.torch


class Runs:
    """The program with each fault and without, each traced at first use."""

    def __init__(self, folder):
        self.folder, self.truth = folder, {}

    def log(self, fault):
        truth, log = self.folder / f"{fault}.truth", self.folder / f"{fault}.gpt"
        if fault not in self.truth:
            program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_mended.py", fault, truth]
            tracing.trace(self.folder, tracing.on_simgpu(self.folder / "gpu.json", *program), "--memory", names=(log.name,))
            self.truth[fault] = json.loads(truth.read_text())
        return log

    def tables(self, command, *words):
        done = tracing.gputrace(self.folder, command, *words, "--format", "json").must_be(0)
        return {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("mended"))


def test_what_a_step_leaks_is_under_its_line_also_where_all_is_freed_at_the_end(runs):
    rows = runs.tables("report", runs.log("leak"))["torch_memory"]
    line = runs.truth["leak"]["lines"]["leak"]
    (row,) = [row for row in rows if row["line"] == f"torch_mended.py:{line} remember"]
    assert row["growth_per_step_bytes"] == runs.truth["leak"]["bytes"] == 13_000_192
    assert row["grows"] == "yes"
    assert all(row["grows"] == "no" for row in rows if row["memory"] == "GPU 0" and f":{line} " not in row["line"])


def test_why_names_the_line_that_leaks_and_by_how_much(runs):
    text = tracing.gputrace(runs.folder, "why", runs.log("leak")).must_be(0).stdout
    grows = text.partition("Memory of PyTorch grows")[2].splitlines()
    assert re.fullmatch(r"  GPU 0 grows by 12\.4 MiB a step, in \d+ steps:", grows[1])
    assert grows[2].split()[:3] == ["12.4", "MiB", "at"]
    assert f"torch_mended.py:{runs.truth['leak']['lines']['leak']} remember" in grows[2]
    (row,) = runs.tables("why", runs.log("leak"))["why_memory"]
    assert row["growth_per_step_bytes"] == runs.truth["leak"]["bytes"]


def test_what_grows_stands_beside_its_line_and_those_that_called_it_and_in_the_tree(runs):
    log, leak = runs.log("leak"), runs.truth["leak"]
    (row,) = [row for row in runs.tables("report", log, "--lines", "remember")["source_lines"]
              if row["line_number"] == leak["lines"]["leak"]]
    assert row["gpu_growth_per_step_bytes"] == leak["bytes"]
    tree = runs.tables("report", log, "--tree", "--by", "memory", "--show-all")["tree"]
    grows = {row["name"] for row in tree if row["growth_per_step_bytes"]}
    assert {row["growth_per_step_bytes"] for row in tree if row["name"] in ("GPU memory", "main", "remember")} == {leak["bytes"]}
    assert {"GPU memory", "remember"} <= grows
    text = tracing.gputrace(runs.folder, "report", log, "--lines", "remember").must_be(0).stdout
    assert "not freed, grows by 12.4 MiB a step" in text and "GPU per step" in text and "+12.4 MiB" in text
    text = tracing.gputrace(runs.folder, "report", log, "--tree", "--by", "memory").must_be(0).stdout
    assert re.search(r"remember .*\+12\.4 MiB a step", text)


def test_what_comes_and_goes_does_not_grow(runs):
    text = tracing.gputrace(runs.folder, "why", runs.log("none")).must_be(0).stdout
    assert "grows" not in text
    assert "why_memory" not in runs.tables("why", runs.log("none"))


def test_memory_of_a_library_s_line_has_the_line_of_ones_own_that_called_it(runs):
    for table in ("torch_memory", "memory"):
        rows = runs.tables("report", runs.log("none"))[table]
        called = [row for row in rows if row["file"] and "site-packages" in row["file"]]
        assert called and all("torch_mended.py:" in row["called_from"] for row in called)
    text = tracing.gputrace(runs.folder, "report", runs.log("none")).must_be(0).stdout
    for title in ("Memory of PyTorch by Python line", "Memory from CUDA by Python line"):
        assert "<- torch_mended.py:" in text.partition(title)[2].partition("\n\n")[0]


def test_what_the_allocator_keeps_is_not_called_a_leak(runs):
    text = tracing.gputrace(runs.folder, "report", runs.log("none")).must_be(0).stdout
    segments = text.partition("Memory from CUDA by Python line")[2].partition("\n\n")[0]
    assert "not freed" not in segments and "this alone is no leak; the table of PyTorch's memory has what grows" in " ".join(segments.split())


def changed(runs, before, table):
    """Changed rows in a table of `gputrace diff` between a run and the run without a fault."""
    rows = runs.tables("diff", runs.log(before), runs.log("none"))[table]
    return [row for row in rows if row["changed"] == "yes"]


def test_a_leak_that_was_mended_is_shown_as_that(runs):
    first = changed(runs, "leak", "diff_memory")[0]
    assert first["line_before"] == f"torch_mended.py:{runs.truth['leak']['lines']['leak']}"
    assert (first["before_bytes"], first["after_bytes"], first["memory"]) == (13_000_192, 0, "GPU")
    (grows,) = [row for row in changed(runs, "leak", "diff_step") if row["what"] == "GPU memory grows by"]
    assert grows["before_bytes"] == pytest.approx(13_000_192, abs=2000)


def test_a_data_loader_that_was_mended_is_shown_as_that(runs):
    lost = changed(runs, "slow", "diff_losses")
    line = f"torch_mended.py:{runs.truth['slow']['lines']['sleep']}"
    (row,) = [row for row in lost if row["cause"] == "data" and row["line_before"] == line]
    assert row["before_ns"] > 75e6 and row["change_ns"] < 0  # each batch slept for 100 ms
    step = {row["what"]: row for row in runs.tables("diff", runs.log("slow"), runs.log("none"))["diff_step"]}
    assert step["GPU idle"]["before_ns"] > 75e6 and step["launches"]["changed"] == "no"


def test_what_lines_and_steps_do_not_find_is_named_with_what_there_is(runs):
    done = tracing.gputrace(runs.folder, "report", runs.log("none"), "--lines", "nosuch").must_be(1)
    assert "--lines nosuch: no file or function of that name called CUDA" in done.stderr and "step (torch_mended.py)" in done.stderr
    done = tracing.gputrace(runs.folder, "report", runs.log("none"), "--step", "py:nosuch", "--steps", "1..3").must_be(1)
    assert "no steps were found" in done.stderr and "--ops" in done.stderr


def test_merge_says_why_a_log_has_no_rank(runs):
    done = tracing.gputrace(runs.folder, "merge", runs.log("none"), runs.log("leak")).must_be(0)
    said = " ".join(done.stdout.split())
    assert said.count("no rank is known of") == 2 and "no collective with GPU times was recorded" in said
