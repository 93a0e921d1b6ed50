# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What gputrace holds stays below --memory-limit while a program makes new code, threads and stacks as fast as it can, and
each of its launches is in the trace or counted as lost."""

import json
import re

import machine
import pytest
import reading
import tracing

LIMIT = 100_000_000
LAUNCHES = 60_000


def most_bytes(pid):
    """The most memory that a process has had so far."""
    [kilobytes] = re.findall(r"^VmHWM:\s+(\d+) kB$", (tracing.Path("/proc") / str(pid) / "status").read_text(), re.M)
    return int(kilobytes) << 10


@pytest.mark.parametrize("way", ("bpf", "agent"))
def test_a_flood_of_new_code_threads_and_stacks_stays_below_the_limit(tmp_path, way):
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "floods.py")
    with tracing.Running(program, tmp_path) as running:
        running.ask("calm 1")
        with tracing.Tracer(tmp_path, "-p", running.pid, "--way", way, "--memory-limit", "100M", names=()) as tracer:
            running.ask(f"flood {LAUNCHES}")
            running.ask("calm 10")
            assert most_bytes(tracer.pid) < LIMIT
            made = int(running.said[-1].split()[1]) - 2  # those before the trace
            tracer.interrupt().must_be(0)
        running.end().must_be(0)
    text = tracing.gputrace(tmp_path, "report", "trace.gpt", "--format", "json").must_be(0).stdout
    tables = {table["id"]: table["rows"] for table in json.loads(text)["tables"]}
    [receipt] = tables["receipt"]
    assert receipt["launches"] + receipt["lost"] == made
    kernels = reading.simulated.work(reading.simulated.load(tmp_path / "gpu.json"))
    assert len(kernels) == made + 2
    lines = [row for row in tables["gpu_lines"] if row["line"].startswith("floods.py")]
    assert sum(row["launches"] for row in lines) > made / 2
