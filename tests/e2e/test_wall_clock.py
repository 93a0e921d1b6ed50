# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""GPU times when somebody sets the wall clock, by which CUPTI tells them, in the middle of a trace."""

import machine
import pytest
import reading
import tracing
from reading import chrome

STEPS = 20


@pytest.mark.parametrize("seconds", [3600, -3600, 2])
def test_a_wall_clock_that_is_set_moves_no_gpu_operation(tmp_path, seconds):
    library = machine.compile_library(machine.PROGRAMS / "set_clock.c", tmp_path / "set_clock.so")
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "obedient.py")
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.json"), "--", *program]
    with tracing.Running(command, tmp_path, env={"LD_PRELOAD": library}) as running:
        running.wait_line("ready")
        for ahead in (0, seconds, 0):
            running.ask(f"set_clock {library} {ahead}")
            running.ask(f"steps {STEPS}")
            running.ask("finish")
        running.end().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    receipt = reading.receipt(trace)
    assert receipt["clock_steps"] == 2
    assert receipt["early"] == receipt["bad_records"] == receipt["gpu_operations_untimed"] == 0
    work = {(op["corr"], op["node"]): op for op in reading.simulated.work(reading.simulated.load(tmp_path / "gpu.json"))}
    pairs = [(chrome.ns(e["ts"]), work[e["args"]["correlation"], e["args"].get("graph node id", 0)]["start_mono"])
             for e in chrome.events(trace, *chrome.GPU)]
    assert len(pairs) == len(work) > 100
    offsets = [ours - theirs for ours, theirs in pairs]
    assert max(offsets) - min(offsets) <= 2 * receipt["clock_error_ns"] + 1000  # and a rounding of both
