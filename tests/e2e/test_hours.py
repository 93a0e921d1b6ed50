# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a recording of days meets, at once: CUPTI's 32-bit correlation ids begin again while it runs."""

import re

import machine
import pytest
import tracing

PROGRAM = machine.PROGRAMS / "numbers_fills.py"
FIRST = 2**32 - 2000  # SIMGPU_CORRELATION: a few seconds before


def said(folder):
    path = folder / "said"
    return [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")] if path.exists() else []


def record(folder, *options):
    command = tracing.on_simgpu(folder / "gpu.json", machine.any_python(), PROGRAM, folder / "said")
    with tracing.Running([machine.GPUTRACE, *tracing.outputs(folder, "trace.gpt"), *options, "--", *command], folder,
                         env={"SIMGPU_CORRELATION": str(FIRST)}) as running:
        running.wait_line("ready")
        tracing.until(lambda: len(said(folder)) > 3000)  # two ids each
        running.end().must_be(0)
    return len(said(folder))


def receipt(folder, log):
    """Launches that are joined, and all of them."""
    text = " ".join(tracing.gputrace(folder, "report", log).must_be(0).stdout.split())
    if "launches joined" not in text:  # a file of the time before the first one
        return 0, 0
    joined, launches = re.search(r"omplete: ([\d,]+) of ([\d,]+) launches joined, 0 lost", text).groups()
    return int(joined.replace(",", "")), int(launches.replace(",", ""))


@pytest.mark.parametrize("way", ["bpf", "agent"])
def test_ids_that_begin_again_are_joined(tmp_path, way):
    fills = record(tmp_path, "--way", way)
    joined, launches = receipt(tmp_path, "trace.gpt")
    # of the call that would have the id 0, which stands for none, the launch is not known
    assert joined == launches and fills - 1 <= launches <= fills


def test_ids_that_begin_again_are_divided_among_files(tmp_path):
    fills = record(tmp_path, "--rotate", "10s")
    found = [receipt(tmp_path, log) for log in sorted(tmp_path.glob("trace*.gpt"))]
    assert all(joined == launches for joined, launches in found)
    assert fills - 1 <= sum(launches for _, launches in found) <= fills
