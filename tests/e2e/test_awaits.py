# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Idle time of the GPU while asyncio's loop waits: it is charged to the line at which the task awaits that launches next, as
programs/awaits.py measures it."""

import json

import logfile
import machine
import pytest
import tracing

pytestmark = pytest.mark.alone  # a reader that gets no CPU reads nothing

AWAIT, WAIT = 27, 20  # types of records
VERSIONS = tuple(version for version in machine.EVERY_PYTHON if version != "3.6")  # whose tasks are not known


@pytest.fixture(scope="module", params=machine.each_kind(VERSIONS))
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("awaits")
    command = tracing.on_simgpu(folder / "gpu-%p.json", machine.python(request.param), machine.PROGRAMS / "awaits.py",
                                folder / "truth.json")
    first = ("nice", "-n", "-15", machine.GPUTRACE)
    tracing.command(folder, *first, "-q", "--off-cpu", "-o", folder / "trace.gpt", "--", *command).must_be(0)
    return folder


@pytest.mark.parametrize("kind, why", [("sleep", "slept"), ("item", "waited for requests"), ("future", "waited for requests")])
def test_an_await_has_the_time_for_which_it_keeps_the_gpu_idle(run, kind, why):
    truth = json.loads((run / "truth.json").read_text())[kind]
    text = tracing.gputrace(run, "report", run / "trace.gpt", "--format", "json").must_be(0).stdout
    (idle,) = (table["rows"] for table in json.loads(text)["tables"] if table["id"] == "idle")
    line = f"awaits.py:{truth['line']} "  # of asyncio's line: where it was called
    rows = [row for row in idle if (row["called_from"] or row["line"]).startswith(line)]
    awaited = sum(row["idle_ns"] for row in rows if row["why"] == f"{why}, in an await") / 1e6
    no_cpu = sum(row["idle_ns"] for row in rows if row["cause_id"] == "no_cpu") / 1e6
    unknown = sum(row["idle_ns"] for row in idle if row["cause_id"] == "unsampled") / 1e6  # also a wait that was not recorded
    assert 0.95 * truth["ms"] - unknown <= awaited + no_cpu <= 1.02 * truth["ms"] and awaited > truth["ms"] / 2, (truth, idle)


def test_the_thread_of_the_loop_stood_still_while_its_tasks_were_read(run):
    records = list(logfile.records(run / "trace.gpt", AWAIT, WAIT, logfile.CALL))
    reads = [record.values for record in records if record.type == AWAIT]
    assert reads and all(1 <= read["tasks"] <= read["all"] and read["time_ns"] < read["end_ns"] for read in reads)
    for read in reads:
        ran = [record.values[time] for record in records if record.type != AWAIT and record.values["tid"] == read["tid"]
               for time in ("time_ns", "end_ns") if time in record.values]
        assert not any(read["time_ns"] < time < read["end_ns"] for time in ran), read
