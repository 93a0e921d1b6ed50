# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that end without their exit handlers: their last GPU times are there, or the receipt says what ended them."""

import re

import machine
import pytest
import reading
import tracing

PROGRAM = machine.PROGRAMS / "ends_at_once.py"
CHILDREN, LAUNCHES = 10, 30
WAYS = pytest.mark.parametrize("way", ("bpf", "agent"))


def run(desk, gpu_way, method, end):
    """(receipt, report, the children's pids)"""
    program = tracing.on_simgpu(desk / "gpu-%p.json", "/usr/bin/python3", PROGRAM, method, end, CHILDREN, LAUNCHES)
    done = tracing.command(desk, desk / "gputrace", "--way", gpu_way, *tracing.outputs(desk, "trace.gpt", "trace.json"), "--",
                           *program).must_be(0)
    said = tracing.gputrace(desk, "report", desk / "trace.gpt").must_be(0).stdout
    pids = [int(pid) for pid in re.findall(r"^(\d+)$", done.stdout, re.MULTILINE)]
    assert len(pids) == CHILDREN
    return reading.receipt(reading.trace_of(desk / "trace.json")), said, pids


@WAYS
@pytest.mark.parametrize("method", ("fork", "forkserver"))
def test_children_that_end_by_os_exit_lose_nothing(desk, way, method):
    receipt, said, pids = run(desk, way, method, "returns")
    made = sum(len(reading.simulated_launches(reading.simulated.load(desk / f"gpu-{pid}.json"))) for pid in pids)
    assert receipt["launches"] == made == CHILDREN * LAUNCHES
    assert receipt["launches_joined"] == receipt["launches_expected"] == made - receipt["launches_no_agent"]
    assert "another user of CUPTI" not in said


@WAYS
@pytest.mark.parametrize("end", ("SIGKILL", "SIGSEGV"))
def test_children_that_a_signal_ends_are_named_with_what_they_lack(desk, way, end):
    """Their last launches are the cause of missing GPU times; no other tool is suspected."""
    receipt, said, pids = run(desk, way, "fork", end)
    missing = receipt["launches_expected"] - receipt["launches_joined"]
    assert receipt["launches"] == CHILDREN * LAUNCHES and 0 < missing == receipt["cut_launches"]
    assert 0 < receipt["cut_processes"] <= CHILDREN
    line = re.search(rf" {missing} launches without GPU times: of the last \S+ \S+ of CUDA calls of pid (\d+), which ([^.]*)\. ",
                     " ".join(said.split()))
    assert int(line.group(1)) in pids
    why = f"ended by {end}" if way == "bpf" else "was killed, crashed or ended by a system call of its own"
    assert line.group(2).startswith(why)
    assert "another user of CUPTI" not in said
