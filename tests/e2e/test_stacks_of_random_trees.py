# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The proof: 10,000 launches from random call trees.  Every stack in the trace equals the interpreter's own, frame by
frame, launch by launch, on every CPython."""

import machine
import stacks
import tracing

LAUNCHES = 10000


def assert_all_recorded_stacks_are_traced(folder, launches, pid=None):
    expected, truth = stacks.recorded(folder / "truth.json")
    assert stacks.count(expected) >= launches
    assert len(truth["stacks"]) > launches / 4, "too few different stacks for a proof"
    stacks.assert_complete(stacks.assert_equal(expected, stacks.traced(folder / "trace.json", pid)))


def test_every_stack_of_a_started_program_is_what_the_interpreter_says(every_python, tmp_path):
    program = [every_python, machine.PROGRAMS / "trees.py", machine.cudart(), tmp_path / "truth.json", LAUNCHES]
    tracing.trace(tmp_path, program, *tracing.CALLS_ALONE, names=("trace.json",))
    assert_all_recorded_stacks_are_traced(tmp_path, LAUNCHES)


def test_every_stack_of_a_program_that_ran_already_is_what_the_interpreter_says(kind_of_python, tmp_path):
    program = [kind_of_python, machine.PROGRAMS / "trees.py", machine.cudart(), tmp_path / "truth.json", LAUNCHES // 4,
               "--seed", "2", "--warm", LAUNCHES // 4, "--wait"]
    with tracing.Running(program, tmp_path) as running:
        running.wait_line("ready")
        with tracing.Tracer(tmp_path, *tracing.CALLS_ALONE, "-p", running.pid) as tracer:
            running.ask("go")
            tracer.interrupt().must_be(0)
    assert_all_recorded_stacks_are_traced(tmp_path, LAUNCHES // 4, running.pid)
