# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Traces that torch.profiler wrote, read by gputrace: the tables equal torch.profiler's own.  gputrace's Chrome trace,
read again, has the kernels of the log that it was made from."""

import gzip
import json
import re
import shutil

import machine
import pytest
import tracing

pytestmark = pytest.mark.torch

CALL = re.compile(r"cu(da)?[A-Z]")
CUPTIS_OWN = ("Activity Buffer Request", "Buffer Flush")
OF_NO_OP = "[memory]"  # torch.profiler leaves out those inside a Python function; gputrace has no rows for functions


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kineto")
    program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_kineto.py", folder / "profiled.json",
               folder / "averages.json"]
    tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *program), names=("trace.gpt", "trace.json"))
    return folder


def tables(folder, file, *options):
    """{id of a table: its rows} in a report."""
    done = tracing.gputrace(folder, "report", folder / file, "--format", "json", *options).must_be(0)
    return {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


def test_ops_and_kernels_have_the_counts_and_times_of_torch_profiler(run):
    """Except self CPU times, from which torch.profiler subtracts those of Python functions inside."""
    profiled = sorted((row["name"], row["count"], row["cpu"], row["gpu"], row["gpu_self"])
                    for row in json.loads((run / "averages.json").read_text())
                    if not CALL.match(row["name"]) and row["name"] not in CUPTIS_OWN)
    rows = tables(run, "profiled.json", "--ops", "--rows", 100000)["key_averages"]
    traced = sorted((row["name"], row["calls"], *((row[key] or 0) / 1000
                                                for key in ("cpu_ns", "gpu_ns", "self_gpu_ns")))
                  for row in rows if not CALL.match(row["name"]) and row["name"] != OF_NO_OP)
    assert OF_NO_OP not in {name for name, *_ in profiled}
    assert len(profiled) > 40
    assert [row[:2] for row in traced] == [row[:2] for row in profiled]
    for our_row, their_row in zip(traced, profiled):
        assert our_row[2:] == pytest.approx(their_row[2:], abs=0.002 * our_row[1]), our_row[0]


def test_every_launch_is_joined_and_what_was_not_recorded_stays_open(run):
    trace = json.loads((run / "profiled.json").read_text())["traceEvents"]
    kernels = [event for event in trace if event.get("cat") == "kernel"]
    (receipt,) = tables(run, "profiled.json")["receipt"]
    assert receipt["launches_joined"] == receipt["launches"] == len(kernels) > 50
    assert receipt["lost"] is receipt["clock_error_ns"] is receipt["gputrace_cpu_ns"] is None


def test_gpu_time_is_on_the_line_that_python_called_from(run):
    line = 1 + next(i for i, text in enumerate((machine.PROGRAMS / "torch_kineto.py").read_text().splitlines())
                    if "# the line of the sum" in text)
    lines = tables(run, "profiled.json")["gpu_lines"]
    (row,) = [row for row in lines if row["line"] == f"torch_kineto.py:{line}"]
    assert row["function"] == "forward" and row["launches"] == 3


def test_packed_it_says_the_same(run):
    with open(run / "profiled.json", "rb") as plain, gzip.open(run / "packed.json.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    assert tables(run, "packed.json.gz") == tables(run, "profiled.json")


def test_a_chrome_trace_of_gputrace_has_the_kernels_of_its_log(run):
    again, log = tables(run, "trace.json"), tables(run, "trace.gpt")

    def summed(rows):
        return sorted((row["kernel"], row["calls"], row["gpu_ns"]) for row in rows)

    assert summed(again["kernels"]) == summed(log["kernels"])


def test_why_and_export_take_it_too(run):
    tracing.gputrace(run, "why", run / "profiled.json").must_be(0)
    tracing.gputrace(run, "export", run / "profiled.json", "-o", run / "again.json", "-o", run / "stacks.folded").must_be(0)
    again = json.loads((run / "again.json").read_text())["traceEvents"]
    profiled = json.loads((run / "profiled.json").read_text())["traceEvents"]
    for category in ("kernel", "cpu_op", "gpu_memcpy"):
        assert (sum(event.get("cat") == category for event in again)
                == sum(event.get("cat") == category for event in profiled)), category
    assert "forward" in (run / "stacks.folded").read_text()


def test_another_document_is_refused_by_name(run):
    (run / "other.json").write_text('{"loss": [1, 2]}')
    done = tracing.gputrace(run, "report", run / "other.json").must_be(1)
    assert "other.json: is JSON, but no trace of torch.profiler" in done.stderr
