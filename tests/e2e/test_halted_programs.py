# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that are frozen by their cgroup, or stopped by a signal, before, while and when a trace ends."""

import contextlib
import os
import re
import signal

import logfile
import machine
import pytest
import reading
import tracing

AS_USER = machine.PROGRAMS / "as_user.sh"
WAYS = pytest.mark.parametrize("way, by", (("bpf", ()), ("agent", (AS_USER,))), ids=("bpf", "agent"))


@contextlib.contextmanager
def frozen_target(desk, cgroup, by):
    """A program in the cgroup, and the function that freezes and thaws it. It is thawed before its end."""
    folder, freeze = cgroup
    command = tracing.on_simgpu(desk / "gpu.json", "/usr/bin/python3", machine.PROGRAMS / "obedient.py")
    with tracing.Running([*by, *command], desk, env={"TMPDIR": desk}) as running:
        running.pid = int(running.wait_line("ready").split()[1])
        (folder / "cgroup.procs").write_text(str(running.pid))
        try:
            yield running, freeze
        finally:
            freeze(False)
            (folder.parent / "cgroup.procs").write_text(str(running.pid))


@contextlib.contextmanager
def tracer(desk, pid, way, by):
    command = [*by, desk / "gputrace", "-v", "--way", way, *tracing.outputs(desk, "trace.gpt", "trace.json"), "-p", pid]
    with tracing.Running(command, desk, env={"TMPDIR": desk}) as running:
        running.wait_line("gputrace: tracing", "stderr")
        tracing.until(lambda: any(map(logfile.says_ready, desk.glob("trace.gpt.part-*"))))
        yield running


def notes_of(desk, pid):
    return [note for note in reading.trace_of(desk / "trace.json")["gputrace"]["notes"] if note.startswith(f"pid {pid}: ")]


@WAYS
def test_one_that_is_frozen_now_is_not_waited_for(desk, cgroup, way, by):
    with frozen_target(desk, cgroup, by) as (running, freeze):
        freeze(True)
        done = tracing.command(desk, *by, desk / "gputrace", "--way", way, "-o", "trace.json", "-p", running.pid)
    assert done.code == 1 and not (desk / "trace.json").exists()
    assert f"--pid {running.pid}: is frozen by its cgroup, so nothing of it runs" in done.stderr and "thaw it" in done.stderr


@WAYS
def test_what_was_frozen_during_the_trace_is_in_the_receipt_after_a_thaw(desk, cgroup, way, by):
    with frozen_target(desk, cgroup, by) as (running, freeze), tracer(desk, running.pid, way, by) as traced:
        running.ask("steps 2")
        freeze(True)
        traced.wait_line(f"pid {running.pid}: is frozen by its cgroup", "stderr")
        freeze(False)
        running.ask("steps 2")
        done = traced.end(signal.SIGINT).must_be(0)
    (note,) = notes_of(desk, running.pid)
    assert re.fullmatch(rf"pid {running.pid}: was frozen by its cgroup for \d+ s or a little longer: nothing of it ran, "
                        "and GPU records of work before that came late", note)
    assert note in " ".join(done.stdout.split())
    receipt = reading.receipt(reading.trace_of(desk / "trace.json"))
    assert receipt["launches_joined"] == receipt["launches_expected"] > 0


def check_silent_end(desk, done, pid, how):
    """What the agent could not send has that cause; no other tool is suspected."""
    said = " ".join(done.stdout.split())
    assert notes_of(desk, pid) == [f"pid {pid}: is {how}: its agent cannot answer, and what it has not sent is missing"]
    receipt = reading.receipt(reading.trace_of(desk / "trace.json"))
    missing = receipt["launches_expected"] - receipt["launches_joined"]
    assert missing == receipt["cut_launches"]
    assert ("whose agent did not answer when the trace ended" in said) == (missing > 0)
    assert "another user of CUPTI" not in said and "CUPTI delivered nothing" not in said


@WAYS
def test_one_that_is_frozen_when_the_trace_ends_is_named_with_what_it_lacks(desk, cgroup, way, by):
    with frozen_target(desk, cgroup, by) as (running, freeze), tracer(desk, running.pid, way, by) as traced:
        running.ask("steps 2")
        freeze(True)
        done = traced.end(signal.SIGINT).must_be(0)
    check_silent_end(desk, done, running.pid, "frozen by its cgroup")


@WAYS
def test_one_that_is_stopped_when_the_trace_ends_is_named_with_what_it_lacks(desk, way, by):
    command = tracing.on_simgpu(desk / "gpu.json", "/usr/bin/python3", machine.PROGRAMS / "obedient.py")
    with tracing.Running([*by, *command], desk, env={"TMPDIR": desk}) as running:
        running.pid = int(running.wait_line("ready").split()[1])
        with tracer(desk, running.pid, way, by) as traced:
            running.ask("steps 2")
            os.kill(running.pid, signal.SIGSTOP)
            done = traced.end(signal.SIGINT).must_be(0)
        os.kill(running.pid, signal.SIGCONT)
    check_silent_end(desk, done, running.pid, "stopped by a signal")
