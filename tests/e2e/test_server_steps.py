# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Steps of a server, which has no optimizer (--step py:FUNCTION), compared with the requests that it counted."""

import json
import re

import machine
import pytest
import tracing


@pytest.fixture(scope="module")
def served(kind_of_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    command = tracing.on_simgpu(folder / "gpu.json", kind_of_python, machine.PROGRAMS / "serves.py", folder / "truth.json")
    tracing.gputrace(folder, "-q", "--off-cpu=10us", "-F", "999", "-o", "trace.gpt", "--", *command).must_be(0)
    return folder, json.loads((folder / "truth.json").read_text())


def tables(folder, subcommand, *options):
    said = tracing.gputrace(folder, subcommand, "trace.gpt", *options, "--format", "json").must_be(0).stdout
    return {table["id"]: table for table in json.loads(said)["tables"]}


def test_the_requests_are_steps_of_the_function_that_handles_them(served):
    """Two requests are one step if the log lacks the wait between them."""
    folder, truth = served
    text = tracing.gputrace(folder, "report", "trace.gpt", "--step", "py:serves.py:handle").must_be(0).stdout
    (steps,) = re.findall(r"^Steps   by handle\(\) as recorded stacks show it, (\d+) of them$", text, re.M)
    assert truth["requests"] - 2 <= int(steps) <= truth["requests"]


def test_a_burst_that_nothing_ends_has_all_work_of_the_gpu(served):
    folder, _ = served
    found = tables(folder, "report", "--step", "burst:100s")
    whole, *_ = found["steps"]["rows"]
    (gpu,) = found["gpus"]["rows"]
    assert found["steps"]["about"] == "by bursts of GPU work, more than 100s without any between them, 1 of them"
    assert whole["gpu_busy_ns"] == gpu["busy_ns"] > 0


def test_its_steps_have_the_launches_of_the_requests(served):
    folder, truth = served
    whole, *_ = tables(folder, "report", "--step", "py:handle")["steps"]["rows"]
    assert whole["what"] == "all" and whole["launches"] == 2 * truth["requests"]


def test_the_step_of_the_recording_is_that_of_its_log(served, tmp_path):
    """The report uses the recording's --step unless another one is given."""
    folder, _ = served
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "serves.py", tmp_path / "truth.json")
    options = ("--off-cpu=10us", "-F", "999", "--step", "py:serves.py:handle", "-M", "run=17", "-o", "trace.gpt")
    text = tracing.gputrace(tmp_path, *options, "--", *command).must_be(0).stdout
    (title,) = re.findall(r"^Steps   by handle.*$", text, re.M)
    found = tables(tmp_path, "report")
    assert found["steps"]["about"] == title.partition("Steps   ")[2]
    assert [(row["label"], row["value"]) for row in found["labels"]["rows"]] == [("run", "17")]
    assert "burst" in tables(tmp_path, "report", "--step", "burst:100s")["steps"]["about"]
    assert "steps" not in tables(folder, "report")


def test_idle_time_of_the_steps_is_on_the_line_that_ran(served):
    folder, truth = served
    rows = tables(folder, "report", "--step", "py:handle")["idle"]["rows"]
    ran = sum(row["idle_ns"] for row in rows if row["line_number"] == truth["line"] and row["cause_id"] == "ran") / 1e6
    assert ran >= 0.8 * truth["ms"], rows


def test_a_function_is_named_by_its_module_or_its_first_line(served):
    folder, truth = served
    lines = (machine.PROGRAMS / "serves.py").read_text().splitlines()
    first = lines.index("def handle():") + 1
    for name in ("serves.handle", "programs.serves.handle", "serves:handle", f"serves.py:{first}"):
        found = tables(folder, "report", "--step", f"py:{name}")
        whole, *_ = found["steps"]["rows"]
        assert whole["launches"] == 2 * truth["requests"], name
    assert found["steps"]["about"].startswith("by handle() as recorded stacks show it, ")


def test_a_name_that_no_function_has_is_told_with_similar_ones(served):
    folder, _ = served
    said = tracing.gputrace(folder, "report", "trace.gpt", "--step", "py:serves.unrelated").must_be(0).stderr
    assert "no such steps were found" in said and "Similar are" not in said
    said = tracing.gputrace(folder, "report", "trace.gpt", "--step", "py:serves.handles").must_be(0).stderr
    assert re.search(r"no function of that name was seen in trace.gpt. Similar are: handle at /.*/serves.py:\d+$", said, re.M)


def test_a_name_that_two_functions_have_is_told_with_both_places(tmp_path):
    program = tmp_path / "twice.py"
    program.write_text("""import ctypes
def launch(): ctypes.CDLL("libcudart.so.13").cudaDeviceSynchronize()
class A:
    def run(self): launch()
class B:
    def run(self): launch()
A().run(), B().run()
""")
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), program)
    tracing.gputrace(tmp_path, "-q", "-o", "trace.gpt", "--", *command).must_be(0)
    said = tracing.gputrace(tmp_path, "report", "trace.gpt", "--step", "py:run").must_be(0).stderr
    assert "several functions have that name" in said
    assert re.search(r"run at \S*/twice.py:4, \S*run at \S*/twice.py:6. py:FILE:LINE names one", said)
