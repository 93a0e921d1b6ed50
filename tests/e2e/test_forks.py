# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Children of a fork: those that cannot use CUDA are left alone, with a note; those that start CUDA get the agent."""

import collections
import signal

import logfile
import machine
import pytest
import reading
import tracing
from test_inject import assert_all_timed, mapped_agents, notes

DEAD = "pid {} has forked it: CUDA was up there, and does not survive that"
SHARED = "pid {} has forked it: they share their memory, and one agent"
ORDERS = (("child", "parent", "child"), ("parent", "child", "parent"))


def fork_child(target):
    """Lets the target fork a child that calls no exec; returns its pid."""
    target.process.stdin.write("fork_child\n")
    target.process.stdin.flush()
    pid = int(target.wait_line("child").split()[1])
    target.wait_line("done")
    return pid


@pytest.mark.parametrize("seen", (False, True))
def test_a_child_of_a_process_where_cuda_is_up_is_left_alone_and_silently_as_it_does_not_call(tmp_path, seen):
    """Like workers of a DataLoader: they make no CUDA call that could be missing."""
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        if not seen:
            child = fork_child(target)
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("steps 1")
            if seen:
                child = fork_child(target)
            target.ask("forget")
            target.ask("steps 3")
            target.ask("finish")
            tracer.interrupt().must_be(0)
        assert seen or not mapped_agents(child)
        assert "gputrace-agent" not in tracing.threads(child)
    assert "forked" not in notes(tmp_path)


def calls_until_said(target, folder, note):
    """Lets the child call CUDA until the note appears: calls before it has its own probes are not seen."""
    def said():
        target.ask("ask_child steps 1")
        return any(logfile.has_note(log, note) for log in folder.glob("trace.gpt.part-*"))

    tracing.until(said)


def test_children_of_a_process_where_cuda_is_up_that_call_it_have_one_word_for_all(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("steps 1")
            first = fork_child(target)
            calls_until_said(target, tmp_path, f"pid {first}: no GPU times")
            fork_child(target)
            target.ask("ask_child steps 1")
            target.ask("finish")
            tracer.interrupt().must_be(0)
    assert notes(tmp_path).count(DEAD.format(target.pid)) == 1
    assert f"pid {first}: no GPU times" in notes(tmp_path) and "so with others that it forks" in notes(tmp_path)


def test_a_child_that_starts_cuda_by_itself_has_gpu_times(tmp_path):
    """Like workers whose parent has not used the GPU; gputrace sees the fork, no exec follows."""
    env = {"LD_LIBRARY_PATH": machine.SIMGPU, "SIMGPU_TRUTH": tmp_path / "gpu-%p.json"}
    with tracing.target(tmp_path, "late", env=env) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            child = fork_child(target)
            target.ask("ask_child load_simulated")
            tracer.wait_logged(logfile.says_ready)
            target.ask("ask_child forget")
            target.ask("ask_child steps 3")
            target.ask("ask_child finish")
            target.ask(f"ask_child truth {tmp_path}/program.json")
            tracer.interrupt().must_be(0)
    assert_all_timed(tmp_path, reading.trace_of(tmp_path / "trace.json"), "program.json")


class Family:
    """A parent and the child that it forks, each of which starts CUDA by itself after the fork."""

    def __init__(self, folder, before=None):
        """before: what the parent does before the fork."""
        self.folder, self.before = folder, before
        self.traces = 0
        env = {"LD_LIBRARY_PATH": machine.SIMGPU, "SIMGPU_TRUTH": folder / "gpu-%p.json"}
        self.parent = tracing.target(folder, "late", env=env)

    def __enter__(self):
        self.parent.__enter__()
        if self.before:
            self.parent.ask(self.before)
        self.child = fork_child(self.parent)
        return self

    def __exit__(self, *error):
        self.parent.__exit__(*error)

    def start(self, who):
        self.ask(who, "load_simulated")

    def ask(self, who, words):
        self.parent.ask(words if who == "parent" else f"ask_child {words}")

    def trace(self, named, members):
        """Traces the process of that name; the named members, and no others, have work with GPU times in it."""
        folder = self.folder / f"trace-{self.traces}"
        self.traces += 1
        folder.mkdir()
        for who in members:
            self.ask(who, "finish")
            self.ask(who, "forget")
        with tracing.Tracer(folder, "-p", self.parent.pid if named == "parent" else self.child) as tracer:
            for who in members:
                tracer.wait_logged(logfile.says_ready_in, self.parent.pid if who == "parent" else self.child)
            for who in members:
                self.ask(who, "steps 2")
                self.ask(who, "finish")
                self.ask(who, f"truth {folder}/{who}.json")
            tracer.interrupt().must_be(0)
        trace = reading.trace_of(folder / "trace.json")
        expected = sum((reading.truth_line_ns(reading.program(folder / f"{who}.json")) for who in members),
                       collections.Counter())
        assert reading.trace_line_ns(trace) == expected
        assert_complete(trace)


def assert_complete(trace):
    receipt = reading.receipt(trace)
    assert receipt["launches_joined"] == receipt["launches_expected"] > 0
    assert reading.losses(trace) == {} and "forked" not in " ".join(trace["gputrace"]["notes"])


def test_a_forked_process_has_gpu_times_in_each_of_ten_traces(tmp_path):
    with Family(tmp_path) as family:
        family.start("child")
        for named in ("parent", "child") * 5:
            family.trace(named, ["child"])


def test_a_forked_process_with_an_agent_has_gpu_times_also_where_its_parent_uses_cuda_since(tmp_path):
    """libcuda was mapped before the fork, so only the child's agent shows that the child can use CUDA."""
    with Family(tmp_path, before="started") as family:
        family.start("child")
        family.trace("child", ["child"])
        family.start("parent")
        for named in ("parent", "child", "parent"):
            family.trace(named, ["parent", "child"] if named == "parent" else ["child"])


@pytest.mark.parametrize("order", ORDERS, ids=" then ".join)
def test_parent_and_child_have_gpu_times_in_traces_in_any_order(tmp_path, order):
    """A trace of the parent is one of both."""
    with Family(tmp_path) as family:
        for who in ("parent", "child"):
            family.start(who)
        for named in order:
            family.trace(named, ["parent", "child"] if named == "parent" else ["child"])


def test_a_child_whose_agent_came_with_the_fork_is_reported_to_have_none(tmp_path):
    """libcuda was mapped at the fork, and the agent was loaded and waited for CUDA: it does not survive a fork."""
    with tracing.target(tmp_path, "late", truth=tmp_path / "gpu-%p.json") as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            tracing.wait_agent(target.pid)
            child = fork_child(target)
            target.ask("ask_child load_simulated")
            target.ask("ask_child steps 3")
            said = tracer.wait_line(f"pid {child}: no GPU times", "stderr")
            tracer.interrupt().must_be(0)
        doctor = tracing.gputrace(tmp_path, "doctor", "-p", child).stdout
    assert "its agent came with a fork, and cannot start over" in said
    assert "cannot come in: its agent came with a fork" in doctor
    assert said.strip().partition("gputrace: ")[2] in notes(tmp_path)


def test_children_that_share_the_memory_of_their_parent_leave_its_agent_alive(tmp_path):
    """vfork and posix_spawn in a loop, while one trace follows another."""
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        for number in range(3):
            target.ask("finish")
            target.ask("forget")
            with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
                tracer.wait_logged(logfile.says_ready)
                target.ask("vforks 20")
                target.ask("steps 3")
                target.ask("finish")
                target.ask(f"truth {tmp_path}/program-{number}.json")
                tracer.interrupt().must_be(0)
            assert_all_timed(tmp_path, reading.trace_of(tmp_path / "trace.json"), f"program-{number}.json")


def test_a_process_that_shares_its_parents_memory_is_not_entered(tmp_path):
    program = machine.compile_program(machine.PROGRAMS / "shares_memory.c", tmp_path / "program")
    with tracing.Running([program, machine.SIMGPU / "libcuda.so.1"], tmp_path) as running:
        child = int(running.wait_line("child").split()[1])
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            tracer.interrupt()
        assert "gputrace-agent" not in tracing.threads(child)
        said = notes(tmp_path)
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:  # the parent's agent still works
            tracing.wait_agent(running.pid)
            tracer.interrupt()
        running.end().must_be(0)
    assert SHARED.format(running.pid) in said


MASTER = """import os, select, sys
import ctypes; ctypes.CDLL(sys.argv[1])
def wait():
    queue = select.epoll()
    queue.register(0, select.EPOLLIN)
    while not queue.poll(1):
        pass
worker = os.fork()
if worker:
    print("worker", worker, flush=True)
wait()
"""


def test_a_master_that_waits_in_epoll_with_its_worker_is_entered_and_so_is_the_worker(tmp_path):
    """Like uWSGI's master, which waits a second at a time: gputrace interrupts such a call only at its start."""
    with tracing.Running([machine.any_python(), "-c", MASTER, machine.SIMGPU / "libcuda.so.1"], tmp_path) as master:
        worker = int(master.wait_line("worker").split()[1])
        said = tracing.gputrace(tmp_path, "doctor", "-p", master.pid, "-p", worker).stdout
        agents = [line.split(None, 2)[2] for line in said.splitlines() if line.startswith("  agent")]
        assert all(line.startswith("can come in by thread") for line in agents) and len(agents) == 2, said
        assert f"after pid {master.pid}, which has forked it" in agents[1]
        with tracing.Tracer(tmp_path, "-p", master.pid) as tracer:
            tracing.until(lambda: mapped_agents(master.pid) and mapped_agents(worker))
            done = tracer.interrupt()
        came = {line.split()[2] for line in done.stderr.splitlines() if "the agent came in" in line}
        assert came == {f"{master.pid}:", f"{worker}:"} and mapped_agents(master.pid) and mapped_agents(worker)


def test_a_worker_that_waits_for_its_parents_agent_is_said_to(tmp_path):
    with tracing.Running([machine.any_python(), "-c", MASTER, machine.SIMGPU / "libcuda.so.1"], tmp_path) as master:
        worker = int(master.wait_line("worker").split()[1])
        master.process.send_signal(signal.SIGSTOP)
        tracing.until(lambda: tracing.state(tracing.Path(f"/proc/{master.pid}")) == "T")
        with tracing.Tracer(tmp_path, "-p", master.pid) as tracer:
            tracer.interrupt()
    said = notes(tmp_path)
    assert f"pid {master.pid}: no GPU times, the agent could not be let in: it is stopped" in said
    assert f"pid {worker}: no GPU times, the agent could not be let in: pid {master.pid} has forked it: whether CUDA was " \
        "up there is not known" in said
