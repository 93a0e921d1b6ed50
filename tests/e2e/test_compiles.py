# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What compiles, loads code or captures graphs while the GPU waits: the table `compiles` and `gputrace why`."""

import csv
import io
import json
import re

import machine
import pytest
import tracing

PROGRAM = machine.PROGRAMS / "captures_graphs.py"
TIMES = 3


def line_with(comment):
    lines = PROGRAM.read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"# {comment}"))


class Captured:
    def __init__(self, folder):
        command = tracing.on_simgpu(folder / "gpu.json", "python3", PROGRAM, TIMES)
        self.report = tracing.trace(folder, command, names=("trace.gpt",)).stdout
        self.truth = json.loads(next(line for line in self.report.splitlines() if line.startswith("[[")))
        self.why = tracing.gputrace(folder, "why", folder / "trace.gpt").must_be(0).stdout
        table = tracing.gputrace(folder, "report", folder / "trace.gpt", "--table", "compiles", "--format", "csv")
        rows = csv.DictReader(io.StringIO(table.must_be(0).stdout))
        (self.row,) = [row for row in rows if row["what"] == "CUDA graph capture"]


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    return Captured(tmp_path_factory.mktemp("captured"))


def test_a_capture_lasts_from_its_first_call_to_its_last_as_the_program_says(captured):
    least = sum(before_last - after_first for _, after_first, before_last, _ in captured.truth)
    most = sum(after_last - before_first for before_first, _, _, after_last in captured.truth)
    assert least <= int(captured.row["ns"]) <= most
    assert captured.row["known"] == "exact"


def test_each_capture_counts_at_the_line_of_its_first_call(captured):
    assert int(captured.row["count"]) == TIMES
    assert captured.row["line"] == f"{PROGRAM.name}:{line_with('captured')} launch"


def test_the_gpu_waits_for_captures_and_why_says_so(captured):
    assert 0 < int(captured.row["gpu_idle_ns"]) <= int(captured.row["ns"])
    assert re.search(r"the GPU waits while code is compiled or loaded", captured.why)
    assert re.search(rf"capturing CUDA graphs \({TIMES} times\)", " ".join(captured.why.split()))
    assert re.search(r"Capture each graph once before the loop", captured.why)
