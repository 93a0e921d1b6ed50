# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that set a filter of system calls while the agent alone records them: none is killed for what the agent does.

The program lists what it launched itself; the filter kills it at the first call that is not allowed.
"""

import collections
import re

import logfile
import machine
import pytest
import reading
import stacks
import tracing
from reading import chrome
from test_running_without_root import WAITS, sockets

CUDART = machine.SIMGPU / "libcudart.so.13"
PROGRAM = machine.PROGRAMS / "sandboxes_itself.py"
DOCKER = ("/usr/bin/python3", machine.PROGRAMS / "docker_seccomp.py")
LAUNCHES = 50
NOT_READ = "none: not read: the program filters its system calls"

# Of the program and of the simulated GPU in it, from the filter on: the control below dies without one of them.
OWN_CALLS = ("write read close newfstatat lseek munmap rt_sigaction rt_sigprocmask ioctl madvise getpid exit futex exit_group "
             "openat ftruncate mmap brk").split()
FILES_AND_THREADS = ("open", "pread64", "clone", "clone3", "close_range", "mprotect")


def agents_calls():
    listed = (machine.ROOT / "user/agent/system_calls.txt").read_text()
    return re.findall(r"^(\w+):", listed, re.MULTILINE)


def sandboxed(desk, kind, names):
    return tracing.on_simgpu(desk / "gpu.json", "/usr/bin/python3", PROGRAM, CUDART, desk / "truth.json", LAUNCHES, kind, *names)


def has_started(log):
    """Agent and CUPTI: a thread of theirs that just starts makes the C library's calls of a thread's start."""
    return len(logfile.agent_wall_offsets(log)) > 1


def run_sandboxed(desk, kind, names, by=()):
    """gputrace -- PROGRAM; the program must live to its end."""
    command = [*by, desk / "gputrace", "--way", "agent", *tracing.outputs(desk, "trace.gpt", "trace.json"), "--"]
    with tracing.Running([*command, *sandboxed(desk, kind, names)], desk) as running:
        running.wait_line("has launched before")
        tracing.until(lambda: any(map(has_started, desk.glob("trace.gpt.part-*"))))
        running.process.stdin.write("\n")
        running.wait_line("has launched after")
        running.process.stdin.write("\n")
        running.wait_line("has launched at the end")
        running.process.stdin.write("\n")
        running.wait_line("ends by itself")
        running.end().must_be(0)


def launches_of(trace):
    """{tid: [stack of each launch, in order]}"""
    threads = collections.defaultdict(list)
    for event in sorted(chrome.events(trace, "cuda_runtime"), key=lambda event: event["ts"]):
        if event["name"] == "cudaLaunchKernel":
            threads[event["tid"]].append(reading.stack_of(event))
    return threads


def assert_stacks(desk, unread):
    """Each launch has its stack, but for those of the second thread in the time of the labels `unread`."""
    expected, truth = stacks.recorded(desk / "truth.json")
    trace = reading.trace_of(desk / "trace.json")
    traced, lost = launches_of(trace), 0
    for tid, launches in expected.items():
        missing = [launch.label in unread and tid != truth["pid"] for launch in launches]
        lost += sum(missing)
        assert traced[tid] == [NOT_READ if gone else ";".join(launch.frames) for launch, gone in zip(launches, missing)]
    assert reading.receipt(trace).get("stacks_filtered", 0) == lost
    return lost


def test_the_program_lives_with_its_own_calls_alone(desk):
    """The control: without gputrace."""
    assert "ends by itself" in tracing.command(desk, *sandboxed(desk, "allow", OWN_CALLS)).must_be(0).stdout
    without = [name for name in OWN_CALLS if name != "lseek"]
    assert "ends by itself" not in tracing.command(desk, *sandboxed(desk, "allow", without)).stdout


@pytest.mark.parametrize("kind, more", [("kill", ()), ("kill", FILES_AND_THREADS), ("allow", ())],
                         ids=("kills for a read", "kills for files and threads", "allows few calls"))
def test_a_filter_set_during_the_trace_does_not_meet_the_agent(desk, kind, more):
    names = ["process_vm_readv", *more] if kind == "kill" else {*OWN_CALLS, *agents_calls()}
    run_sandboxed(desk, kind, names)
    lost = assert_stacks(desk, {"after", "at the end"})
    assert lost == 4 * LAUNCHES
    said = tracing.gputrace(desk, "report", desk / "trace.gpt").must_be(0).stdout
    assert f"{lost} stacks not read: the program has set a filter of system calls, which may kill the reader" in said


def test_a_filter_within_a_container_does_not_meet_the_agent(desk):
    """There were a filter and no_new_privs before: nothing shows the new filter, and stacks are read by other calls."""
    run_sandboxed(desk, "kill", ["process_vm_readv"], by=DOCKER)
    assert assert_stacks(desk, set()) == 0


def test_a_program_whose_agent_waits_lives_on_when_it_is_asked_after_the_filter(desk):
    """The agent does not answer, and the filter would not let it in by another way."""
    waits = ["sh", "-c", WAITS, desk / "gputrace", *sandboxed(desk, "kill", ["recvmsg", "sendto", "getsockopt"])]
    with tracing.Running(waits, desk) as program:
        program.wait_line("has launched before")
        pid = next(pid for pid in tracing.marked(program.mark) if sockets(pid))
        assert "waits there to be asked" in tracing.gputrace(desk, "doctor", "-p", pid).stdout
        program.process.stdin.write("\n")
        program.wait_line("has launched after")
        assert "waits there, but answers nobody if" in tracing.gputrace(desk, "doctor", "-p", pid).stdout
        done = tracing.gputrace(desk, "--way", "agent", "-d", "1s", "-p", pid).must_be(1)
        assert "its filter of system calls (seccomp) kills it for a call that the agent takes" in done.stderr
        program.process.stdin.write("\n")
        program.wait_line("has launched at the end")
        program.process.stdin.write("\n")
        program.wait_line("ends by itself")
        program.end().must_be(0)


JOINING = ["socket", "connect", "setsockopt", "getsockopt", "sendto", "recvmsg"]
DECLINED = "the program has set a filter of system calls (seccomp), which may kill it for what the agent calls to join gputrace"


def answer_all(running):
    """From "has launched before" to its end."""
    for line in ("has launched after", "has launched at the end", "ends by itself"):
        running.process.stdin.write("\n")
        running.wait_line(line)


def test_a_command_that_sets_a_filter_before_cuda_starts_lives_and_is_named(desk):
    """The agent, which the driver loads then, does not join: the filter may kill the caller of socket(2)."""
    command = [desk / "gputrace", "--way", "agent", *tracing.outputs(desk, "trace.gpt"), "--"]
    with tracing.Running([*command, *sandboxed(desk, "early-kill", JOINING)], desk) as running:
        running.wait_line("has launched before")
        tracing.until(lambda: any(logfile.has_note(path, DECLINED) for path in desk.glob("trace.gpt.part-*")))
        answer_all(running)
        running.end().must_be(3)
    said = " ".join(tracing.gputrace(desk, "report", desk / "trace.gpt").must_be(0).stdout.split())
    assert "1 process that the agent could not enter: no one saw its calls" in said
    assert DECLINED in said


def test_a_filter_from_before_cuda_that_lets_the_agent_in_changes_nothing(desk):
    command = [desk / "gputrace", "--way", "agent", *tracing.outputs(desk, "trace.gpt", "trace.json"), "--"]
    with tracing.Running([*command, *sandboxed(desk, "early-kill", ["ptrace", "process_vm_readv", "close_range"])], desk) as running:
        running.wait_line("has launched before")
        answer_all(running)
        running.end().must_be(0)
    assert assert_stacks(desk, set()) == 0


def test_an_agent_that_finds_an_early_filter_does_not_wait_to_be_asked(desk):
    with tracing.Running(["sh", "-c", WAITS, desk / "gputrace", *sandboxed(desk, "early-kill", [*JOINING, "bind", "listen"])], desk) as program:
        program.wait_line("has launched before")
        assert not any(sockets(pid) for pid in tracing.marked(program.mark))
        answer_all(program)
        program.end().must_be(0)


def test_a_running_program_lives_on_when_the_trace_of_it_has_ended(desk):
    with tracing.Running(sandboxed(desk, "allow", {*OWN_CALLS, *agents_calls()}), desk) as program:
        program.wait_line("has launched before")
        with tracing.Tracer(desk, "--way", "agent", "-p", program.pid) as tracer:
            tracer.wait_logged(has_started)
            program.process.stdin.write("\n")
            program.wait_line("has launched after")
            tracer.interrupt().must_be(0)
        program.process.stdin.write("\n")
        program.wait_line("has launched at the end")
        program.process.stdin.write("\n")
        assert program.end().code == 0
    expected, truth = stacks.recorded(desk / "truth.json")
    first = [";".join(launch.frames) for launch in expected[truth["pid"]] if launch.label == "after"]
    assert launches_of(reading.trace_of(desk / "trace.json"))[truth["pid"]] == first
