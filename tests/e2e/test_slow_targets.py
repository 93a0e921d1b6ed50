# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A process that is slow to attach does not delay others or lose their records."""

import logfile
import machine
import pytest
import reading
import tracing

pytestmark = pytest.mark.alone  # a gputrace that gets no processor for a second would lose launches, too

BUSY = "its loader does not answer"


@pytest.fixture
def hammer(tmp_path):
    """A process that launches as fast as it can between two lines of input."""
    library = tmp_path / "lib/libcudart.so.13"
    library.parent.mkdir()
    machine.compile_library(machine.PROGRAMS / "stub_cudart.c", library)
    with tracing.Running([machine.any_python(), machine.PROGRAMS / "hammers.py", library], tmp_path) as running:
        running.wait_line("ready")
        yield running


@pytest.fixture
def stuck(tmp_path):
    """A process with a busy loader, into which the agent cannot get; it takes a second to find that out."""
    library = machine.compile_library(machine.PROGRAMS / "waiting_constructor.c", tmp_path / "waits.so")
    program = machine.compile_program(machine.PROGRAMS / "keeps_loader.c", tmp_path / "keeps_loader", "-pthread", "-ldl")
    with tracing.Running([program, library, machine.SIMGPU / "libcuda.so.1"], tmp_path) as running:
        running.wait_line("ready")
        yield running


def send(running, text=""):
    running.process.stdin.write(text + "\n")
    running.process.stdin.flush()


def made(running):
    """Stops the launches; returns how many it made since the command to start."""
    send(running)
    return int(running.wait_line("made").split()[1])


def seen(folder):
    tracing.gputrace(folder, "export", folder / "trace.gpt", "-o", "l.folded", "--metric", "launches").must_be(0)
    return sum(int(line.rsplit(" ", 1)[1]) for line in (folder / "l.folded").read_text().splitlines())


# The hammer's launches fill it in less than a second.
BUFFER = ("--buffer", "1M")


def test_every_launch_is_recorded_while_the_agent_is_let_into_a_slow_process(tmp_path, hammer, stuck):
    with tracing.Tracer(tmp_path, "-p", hammer.pid, "-p", stuck.pid, *BUFFER) as tracer:
        send(hammer)
        stuck.ask("map")
        tracer.wait_logged(logfile.has_note, BUSY)
        launches = made(hammer)
        tracer.interrupt()
    trace = reading.trace_of(tmp_path / "trace.json")
    assert reading.losses(trace) == {}
    assert seen(tmp_path) == launches > 0


def test_nothing_is_lost_where_a_slow_process_is_there_from_the_start(tmp_path, hammer, stuck):
    stuck.ask("map")
    send(hammer)
    with tracing.Tracer(tmp_path, "-p", hammer.pid, "-p", stuck.pid, *BUFFER) as tracer:
        tracer.wait_logged(logfile.has_note, BUSY)
        launches = made(hammer)
        tracer.interrupt()
    trace = reading.trace_of(tmp_path / "trace.json")
    assert reading.losses(trace) == {}
    assert 0 < seen(tmp_path) <= launches
