# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ops of PyTorch (--ops) where the process or gputrace ends before the other: nothing is left in the process, and
processes whose ops are not seen are reported."""

import contextlib
import os
import random
import subprocess
import time

import logfile
import machine
import pytest
import reading
import tracing

pytestmark = pytest.mark.torch

KILLS = int(os.environ.get("GPUTRACE_TEST_KILLS", 4))
FORK_ROUNDS = int(os.environ.get("GPUTRACE_TEST_FORK_ROUNDS", 1))  # rounds of 150 children and 6 epochs each


@contextlib.contextmanager
def ready(version, folder):
    python = machine.tool("get-torch") if version == "newest" else machine.older_torch()
    with tracing.Running([python, machine.PROGRAMS / "torch_loop.py"], folder) as running:
        running.wait_line("ready")
        yield running


@pytest.fixture(params=["newest", "older"])
def loop(request, tmp_path):
    with ready(request.param, tmp_path) as running:
        yield running


@pytest.fixture(scope="module", params=["newest", "older"])
def lasting_loop(request, tmp_path_factory):
    """One program for several tests, as its start takes five seconds."""
    with ready(request.param, tmp_path_factory.mktemp("loop")) as running:
        yield running


def test_no_observer_is_left_when_gputrace_is_killed_again_and_again(loop, tmp_path):
    moments = random.Random(20261122)
    loop.ask("work")
    for number in range(KILLS):
        tracer = subprocess.Popen([machine.GPUTRACE, "--ops", "-p", str(loop.pid), "-o", str(tmp_path / "trace.json")],
                                  env=tracing.environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number % 2:
            loop.ask("observed")
        time.sleep(moments.uniform(0, 0.05 if number % 2 else 0.5))  # any moment: while it attaches or observes
        tracer.kill()
        tracer.wait()
        loop.ask("unobserved")
    tracing.wait_threads_gone(loop.pid)
    assert loop.end().code == 0


def test_doctor_says_of_a_process_with_pytorch_what_can_be_recorded_of_it(lasting_loop, tmp_path):
    done = tracing.gputrace(tmp_path, "doctor", "-p", lasting_loop.pid)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("  PyTorch ")]
    assert "libtorch_cpu.so" in line and "--ops" in line and "--memory" in line


def test_a_forked_worker_whose_ops_are_not_seen_has_a_note(lasting_loop, tmp_path):
    loop = lasting_loop
    with tracing.Tracer(tmp_path, "--ops", "-p", loop.pid) as tracer:
        loop.ask("observed")
        tracer.wait_logged(logfile.says_observing)
        loop.ask("worker")
        tracer.wait_logged(logfile.has_note, f"pid {loop.pid}: no ops of PyTorch in what it forks")
        tracer.interrupt().must_be(0)
    (note,) = [text for text in reading.trace_of(tmp_path / "trace.json")["gputrace"]["notes"] if "fork" in text]
    assert f"pid {loop.pid}: no ops of PyTorch in what it forks" in note


def test_every_forked_child_comes_to_its_end(tmp_path):
    """Each child imports extension modules, as workers do.  It would hang if the agent held a lock of the loader at the
    fork.  One of 300 did; a run of 3,000 (make check-inject) finds that for certain."""
    with tracing.Running([machine.tool("get-torch"), machine.PROGRAMS / "torch_forks.py"], tmp_path) as target:
        target.wait_line("ready")
        # only a log: an export of the ops of 50 rounds, 200 million, takes longer than gputrace is waited for
        with tracing.Tracer(tmp_path, "--ops", "--shapes", "--memory", "-p", target.pid, names=()) as tracer:
            tracer.wait_logged(logfile.says_observing)
            for request, answer in (("forks 150", "forks 0"), ("epochs 6", "epochs 48")) * FORK_ROUNDS:
                target.process.stdin.write(request + "\n")
                target.process.stdin.flush()
                assert target.wait_line(request.split()[0]).strip() == answer
            tracer.interrupt().must_be(0)
