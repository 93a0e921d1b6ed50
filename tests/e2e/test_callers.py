# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lines that keep the GPU idle are told apart by who called them, with the time that the program measured for each caller
(programs/called_twice.py), in tables, the verdict, `why` and stacks; parts add up to the whole."""

import json
import re

import machine
import pytest
import tracing

pytestmark = pytest.mark.alone  # CPU time that other tests take would be a cause, too

CALLERS = ("first", "second")  # of busy


class Run:
    def __init__(self, folder):
        self.folder, self.log = folder, folder / "trace.gpt"
        program = tracing.on_simgpu(folder / "gpu.json", machine.any_python(), machine.PROGRAMS / "called_twice.py",
                                    folder / "truth.json")
        # With priority over other programs: the simulated GPU consists of threads, and idles while they have no CPU.
        tracing.command(folder, "nice", "-n", "-15", machine.GPUTRACE, "-q", "--cpu", "--off-cpu", "-F", "499", "-o", self.log,
                        "--", *program).must_be(0)
        self.truth = json.loads((folder / "truth.json").read_text())
        self.idle = self.tables("report")["idle"]

    def tables(self, command):
        text = tracing.gputrace(self.folder, command, self.log, "--format", "json").must_be(0).stdout
        return {table["id"]: table["rows"] for table in json.loads(text)["tables"]}

    def place(self, mark):
        return f"called_twice.py:{self.truth[mark]['line']} {mark}"

    def stacks(self):
        """[(frames of what is to blame, from the root on, ns)] of folded stacks of idle time."""
        tracing.gputrace(self.folder, "export", "--metric", "idle", "-o", "idle.folded", self.log).must_be(0)
        lines = [line.rsplit(" ", 1) for line in (self.folder / "idle.folded").read_text().splitlines()]
        return [(re.split(r";\[[^;]*\];?", stack)[1].split(";") if ";[" in stack else [], int(ns)) for stack, ns in lines]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("callers"))


def is_as_measured(run, mark, ms):
    return 0.9 * run.truth[mark]["ms"] <= ms <= 1.05 * run.truth[mark]["wall_ms"]


@pytest.mark.parametrize("caller", CALLERS)
def test_a_helper_has_a_row_for_each_line_that_calls_it_with_its_time(run, caller):
    rows = [row for row in run.idle if row["line_number"] == run.truth["busy"]["line"] and row["called_from"] == run.place(caller)]
    assert is_as_measured(run, caller, sum(row["idle_ns"] for row in rows) / 1e6), (run.truth, rows)
    assert {row["line"] for row in rows} == {run.place("busy")} and {row["callers"] for row in rows} == {1}


@pytest.mark.parametrize("caller", CALLERS)
def test_why_has_it_too_with_its_stack(run, caller):
    rows = [row for row in run.tables("why")["why_lines"] if row["line_number"] == run.truth["busy"]["line"]
            and row["called_from"] == run.place(caller)]
    assert is_as_measured(run, caller, sum(row["ns"] for row in rows) / 1e6), (run.truth, rows)
    assert all(row["stack"].startswith(f"{run.place('busy')} <- {run.place(caller)} <- called_twice.py:") for row in rows), rows


def test_the_verdict_has_a_loss_for_each_caller(run):
    """Where a line is too long, callers are named without their functions."""
    lines = tracing.gputrace(run.folder, "report", run.log).must_be(0).stdout.split("\n\n")[1].splitlines()
    named = [re.match(r"\d\. .* %, [^:]*: (.*)$", line).group(1) for line in lines if re.match(r"\d\. ", line)]
    callers = [f"{run.place('busy')} <- {run.place(caller).split()[0]}" for caller in CALLERS]
    assert named[0].startswith(callers[0]) and any(name.startswith(callers[1]) for name in named), lines


def test_a_library_s_line_is_named_with_the_line_that_called_it(run):
    """A thread may lose its CPU between two calls of the library, too, for as long as others take: then the line that calls
    it stands alone."""
    rows = [row for row in run.tables("why")["why_lines"] if row["line_number"] == run.truth["divides"]["line"]]
    assert is_as_measured(run, "divides", sum(row["ns"] for row in rows) / 1e6), (run.truth, rows)
    between = [row for row in rows if row["where"] == run.place("divides") and row["cause_id"] == "no_cpu"]
    for row in [row for row in rows if row not in between]:
        place = re.escape(run.place("divides"))
        assert re.match(rf"(_pydecimal|decimal).py:\d+ .* <- {place}( |$)", row["where"]), row
        assert row["where"].startswith(row["innermost"]) and row["stack"].startswith(row["innermost"]), row
    assert any(row["cause_id"] == "ran" for row in rows), rows
    listed = [row for row in run.idle if row["called_from"] == run.place("divides")]  # by innermost line
    assert {row["line"].split(":")[0] for row in listed} <= {"_pydecimal.py", "decimal.py"}, listed
    assert sum(row["idle_ns"] for row in listed) <= sum(row["ns"] for row in rows)
