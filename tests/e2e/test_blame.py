# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Idle time of the GPU by what a program made it wait for on purpose, and measured itself (programs/blames.py): it is on
the right process, line and cause, and on no other."""

import json

import machine
import pytest
import tracing
from test_why import losses

CAUSES = {"busy": "ran", "garbage": "gc"}  # that samples alone tell


class Run:
    def __init__(self, folder, options, *causes):
        self.folder, self.log, truth = folder, folder / "trace.gpt", folder / "truth.json"
        command = tracing.on_simgpu(folder / "gpu-%p.json", machine.any_python(), machine.PROGRAMS / "blames.py", truth, *causes)
        tracing.gputrace(folder, "-q", *options, "-o", self.log, "--", *command).must_be(0)
        self.truth = json.loads(truth.read_text())
        text = tracing.gputrace(folder, "report", self.log, "--format", "json").must_be(0).stdout
        self.tables = {table["id"]: table for table in json.loads(text)["tables"]}
        self.idle = self.tables["idle"]["rows"]

    def ms(self, asked, *causes):
        """On the line that is to blame for it, by these causes."""
        truth = self.truth[asked]
        rows = [row for row in self.idle if row["line_number"] == truth["line"] and row["cause_id"] in causes]
        assert all(row["process"].endswith(f" {truth['pid']}") for row in rows), rows
        return sum(row["idle_ns"] for row in rows) / 1e6


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("sampled"), ("--cpu",), *CAUSES)


@pytest.mark.parametrize("cause", CAUSES)
def test_samples_put_idle_time_on_the_line_that_ran(sampled, cause):
    truth = sampled.truth[cause]
    assert 0.95 * truth["ms"] <= sampled.ms(cause, CAUSES[cause]) <= 1.05 * truth["wall_ms"], (truth, sampled.idle)


def test_rows_add_up_to_the_idle_time(sampled):
    (gpu,) = sampled.tables["gpus"]["rows"]
    idle = sum(row["idle_ns"] for row in sampled.idle)
    assert 100 * idle / (idle + gpu["busy_ns"]) == pytest.approx(gpu["idle_percent"], abs=1e-7)


def test_folded_stacks_of_idle_time_add_up_to_it_and_end_in_the_line(sampled):
    tracing.gputrace(sampled.folder, "export", "--metric", "idle", "-o", "idle.folded", sampled.log).must_be(0)
    lines = [line.rsplit(" ", 1) for line in (sampled.folder / "idle.folded").read_text().splitlines()]
    assert sum(int(ns) for _, ns in lines) == sum(row["idle_ns"] for row in sampled.idle if row["cause_id"])
    (busy,) = [int(ns) for stack, ns in lines if stack.endswith(f";[ran];busy (blames.py:{sampled.truth['busy']['line']})")]
    assert busy / 1e6 == pytest.approx(sampled.ms("busy", "ran"))


def test_why_names_the_line_that_ran_first(sampled):
    text = tracing.gputrace(sampled.folder, "why", sampled.log).must_be(0).stdout
    named = {title: below.split("seen")[0] for title, _, below in losses(text)}
    assert f"blames.py:{sampled.truth['busy']['line']} busy" in named["the GPU waits while a line of Python runs"], text
    assert f"blames.py:{sampled.truth['garbage']['line']} garbage" in named["the GPU waits while Python collects garbage"], text


def test_lines_have_idle_time_where_it_ran(sampled):
    text = tracing.gputrace(sampled.folder, "report", sampled.log, "--lines", "blames.py", "--format", "json").must_be(0).stdout
    (table,) = [table for table in json.loads(text)["tables"] if table["id"] == "source_lines"]
    (row,) = [row for row in table["rows"] if row["line_number"] == sampled.truth["busy"]["line"]]
    assert row["idle_ns"] / 1e6 == pytest.approx(sampled.ms("busy", "ran"))


def test_a_thread_that_was_sampled_before_it_ran_python_is_a_python_thread(tmp_path):
    run = Run(tmp_path, ("--cpu", "-F", "5000"), "sleep")
    assert {row["line_number"] for row in run.tables["gpu_lines"]["rows"]} == {run.truth["sleep"]["launch"]}
