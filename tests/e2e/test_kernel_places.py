# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernels whose code was loaded before gputrace came have no file and line; the report counts them (simulated GPU)."""

import json
import re

import logfile
import machine
import pytest
import tracing

OLD = ("first_10us", "second_10us", "third_10us")
PROGRAM = [machine.any_python(), machine.PROGRAMS / "takes_functions.py"]
NOTE = re.compile(r"^ +(\d+) kernels of code that was loaded before gputrace came, or unseen: no file and line$", re.M)


@pytest.fixture(scope="module")
def attached(tmp_path_factory):
    """The program has three functions when gputrace attaches, then loads a fourth; it launches each more than once."""
    folder = tmp_path_factory.mktemp("places")
    with tracing.Running(tracing.on_simgpu(folder / "gpu.json", *PROGRAM, *OLD), folder) as running:
        running.wait_line("ready")
        with tracing.Tracer(folder, "-p", running.pid) as tracer:
            tracer.wait_logged(logfile.says_ready)
            running.ask("again")
            running.ask("take fourth_10us")
            running.ask("again")
            done = tracer.interrupt().must_be(0)
    return folder, done.stdout


def test_the_report_counts_the_kernels_of_code_that_was_loaded_before(attached):
    assert NOTE.findall(attached[1]) == ["3"]


def test_they_are_no_loss(attached):
    assert ", 0 lost;" in attached[1]


def test_tables_for_programs_have_them_by_name(attached):
    folder, _ = attached
    said = tracing.gputrace(folder, "report", "--format", "json", folder / "trace.gpt").must_be(0).stdout
    (losses,) = [table for table in json.loads(said)["tables"] if table["id"] == "losses"]
    assert [row["count"] for row in losses["rows"] if row["cause"] == "kernels_loaded_before"] == [3]


def test_code_that_is_loaded_while_gputrace_is_there_is_not_counted(tmp_path):
    with tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", *PROGRAM), tmp_path) as running:
        running.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            tracer.wait_logged(logfile.says_ready)
            running.ask("take fourth_10us fifth_10us")
            running.ask("again")
            done = tracer.interrupt().must_be(0)
    assert not NOTE.search(done.stdout)
