# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that run already, traced by the agent alone, as a user without capabilities."""

import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome

AS_USER = machine.PROGRAMS / "as_user.sh"
AS_1000 = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups")
AS_OTHER = ("setpriv", "--reuid=1001", "--regid=1001", "--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
CUDART = machine.SIMGPU / "libcudart.so.13"
OBEDIENT = machine.PROGRAMS / "obedient.py"
PTRACE = 101  # x86-64


@contextlib.contextmanager
def target(desk, *arguments, python="/usr/bin/python3", by=(AS_USER,), name="gpu"):
    """programs/obedient.py on the simulated GPU, run by uid 1000."""
    command = tracing.on_simgpu(desk / f"{name}.json", python, OBEDIENT, *arguments)
    with tracing.Running([*by, *command], desk, env={"TMPDIR": desk}) as running:
        running.pid = int(running.wait_line("ready").split()[1])
        yield running


@contextlib.contextmanager
def tracer(desk, *arguments, by=(AS_USER,), way="agent", name="trace", program="gputrace"):
    command = [*by, desk / program, "-v", "--way", way, *tracing.outputs(desk, f"{name}.gpt", f"{name}.json"), *arguments]
    with tracing.Running(command, desk, env={"TMPDIR": desk}) as running:
        running.wait_line("gputrace: tracing", "stderr")
        yield running


def wait_logged(desk, condition, name="trace"):
    """Waits until condition(log) is true for the log that is being written."""
    tracing.until(lambda: any(map(condition, desk.glob(f"{name}.gpt.part-*"))))


def works(target, desk, name="program"):
    """Lets the target launch, and write its own record of these launches."""
    target.ask("finish")
    target.ask("forget")
    target.ask("steps 3")
    target.ask("threads 2 2")
    target.ask("finish")
    target.ask(f"truth {desk}/{name}.json")


def trace_once(target, desk, *options, by=(AS_USER,)):
    target.ask("finish")
    with tracer(desk, "-p", target.pid, *options, by=by) as running:
        wait_logged(desk, logfile.says_ready)
        works(target, desk)
        done = running.end(signal.SIGINT).must_be(0)
    return must_be_whole(desk, done)


def must_be_whole(desk, done, trace="trace", program="program"):
    """Each launch in the program's record is there, with its stack and with its time on the simulated GPU."""
    trace = reading.trace_of(desk / f"{trace}.json")
    truth = reading.program(desk / f"{program}.json")
    assert reading.trace_stacks(trace, reading.truth_calls(truth), truth["pid"]) == reading.truth_stacks(truth), done
    assert reading.trace_line_ns(trace) == reading.truth_line_ns(truth)
    receipt = reading.receipt(trace)
    assert receipt["launches_joined"] == receipt["launches_expected"] == receipt["launches"] > 0
    assert receipt["complete_percent"] == 100
    assert reading.losses(trace) == {}
    assert any("recorded without root" in note for note in trace["gputrace"]["notes"])
    return trace


def test_one_that_runs_is_seen_whole(kind_of_python, desk):
    """Only root can start a Python in its own root."""
    by = () if "roots" in str(kind_of_python) else (AS_USER,)
    with target(desk, python=kind_of_python, by=by) as running:
        running.ask("steps 2")
        trace_once(running, desk, by=by)


def test_root_traces_another_user_s_so(desk):
    with target(desk) as running:
        trace_once(running, desk, by=())


def test_each_later_trace_is_whole_and_nothing_is_kept(desk):
    with target(desk) as running:
        for _ in range(4):
            trace_once(running, desk)
            tracing.wait_agent_gone(running.pid)
            assert ring_kb(running.pid) == 0
        assert agents(running.pid) == 1
        running.end().must_be(0)


def ring_kb(pid):
    """KB of its rings that the process keeps in memory, without their first two pages."""
    kept, of_ring = 0, False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if "-" in line.split()[0]:
            of_ring = "gputrace-ring" in line
            offset = int(line.split()[2], 16)
        elif line.startswith("Rss:") and of_ring:
            kept += int(line.split()[1]) - (8 if offset == 0 else 0)  # the first two pages
    return max(kept, 0)


def agents(pid):
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return sum("libgputrace-agent" in line and " r-xp " in line for line in lines)


def test_one_that_starts_cuda_later_is_seen_from_then_on(desk):
    with target(desk, "late") as running, tracer(desk, "-p", running.pid) as traced:
        running.ask("load_simulated")
        wait_logged(desk, logfile.says_ready)
        works(running, desk)
        done = traced.end(signal.SIGINT).must_be(0)
    must_be_whole(desk, done)


def test_what_it_executes_in_its_place_is_seen_too(desk):
    with target(desk) as running, tracer(desk, "-p", running.pid) as traced:
        wait_logged(desk, logfile.says_ready)
        works(running, desk, "first")
        made = len(reading.simulated_launches(reading.simulated.load(desk / "gpu.json")))
        wait_logged(desk, lambda log: len(logfile.gpu_correlations(log)) >= made)
        running.process.stdin.write(f"become /usr/bin/python3 {OBEDIENT}\n")
        running.process.stdin.flush()
        running.wait_line("ready")
        wait_logged(desk, lambda log: logfile.agent_states(log).count(logfile.READY) == 2)
        works(running, desk, "second")
        done = traced.end(signal.SIGINT).must_be(0)
    trace = reading.trace_of(desk / "trace.json")
    expected = reading.truth_line_ns(reading.program(desk / "first.json"))
    for line, ns in reading.truth_line_ns(reading.program(desk / "second.json")).items():
        expected[line] = expected.get(line, 0) + ns
    assert reading.trace_line_ns(trace) == expected, done


def test_two_at_once_and_a_child(desk):
    """Children that a named process already has are traced, too."""
    with target(desk) as one, target(desk, "late", name="other") as two:
        two.ask(f"pipe_child /usr/bin/python3 {OBEDIENT}")
        with tracer(desk, "-p", f"{one.pid},{two.pid}") as traced:
            wait_logged(desk, lambda log: logfile.agent_states(log).count(logfile.READY) >= 2)
            works(one, desk)
            two.ask("ask_child forget")
            two.ask("ask_child steps 3")
            two.ask("ask_child finish")
            two.ask(f"ask_child truth {desk}/child.json")
            done = traced.end(signal.SIGINT).must_be(0)
    trace = reading.trace_of(desk / "trace.json")
    for name in ("program", "child"):
        truth = reading.program(desk / f"{name}.json")
        assert reading.trace_stacks(trace, reading.truth_calls(truth), truth["pid"]) == reading.truth_stacks(truth), done


def test_a_child_that_the_agent_cannot_enter_is_in_the_receipt(desk):
    """Else all launches of those that it entered would count as all launches."""
    program = machine.compile_program(machine.PROGRAMS / "maps_only.c", desk / "static", "-static")
    with target(desk) as running:
        running.ask(f"pipe_child {program} {machine.SIMGPU / 'libcuda.so.1'}")
        with tracer(desk, "-p", running.pid) as traced:
            wait_logged(desk, logfile.says_ready)
            works(running, desk)
            done = traced.end(signal.SIGINT).must_be(0)
    trace = reading.trace_of(desk / "trace.json")
    receipt = reading.receipt(trace)
    assert receipt["launches_joined"] == receipt["launches_expected"] > 0
    assert reading.losses(trace) == {"processes_unentered": 1}
    assert receipt["complete_percent"] < 100
    assert "1 process that the agent could not enter: no one saw its calls" in " ".join(done.stdout.split())
    assert any("the agent could not be let in: it is statically linked" in note for note in trace["gputrace"]["notes"])


def test_what_it_has_forked_is_left_out_and_that_is_said(desk):
    with target(desk) as running:
        running.ask("fork_child")
        child = next(int(line.split()[1]) for line in running.said if line.startswith("child"))
        with tracer(desk, "-p", running.pid) as traced:
            wait_logged(desk, lambda log: logfile.has_note(log, "whether it can use CUDA is not known without root"))
            wait_logged(desk, logfile.says_ready)
            works(running, desk)
            done = traced.end(signal.SIGINT).must_be(0)
        must_be_whole(desk, done)
        assert not agents(child)


def test_it_goes_on_when_gputrace_is_killed_and_can_be_traced_again(desk):
    with target(desk) as running:
        with tracer(desk, "-p", running.pid, name="killed") as traced:
            works(running, desk)
            traced.kill_all()
            traced.process.wait(tracing.PATIENCE_S)
        running.ask("steps 2")
        tracing.wait_agent_gone(running.pid)
        tracing.until(lambda: ring_kb(running.pid) == 0)
        trace_once(running, desk)
        running.end().must_be(0)


@pytest.mark.parametrize("waits", (False, True), ids=("entered", "asked"))
def test_a_gputrace_killed_at_any_moment_of_its_way_in_leaves_the_program_whole(desk, waits):
    """From its start until after the agent's first records, in steps of 15 ms, while the program launches and execs."""
    with (waiting if waits else target)(desk) as running:
        for step in range(24):
            with subprocess.Popen([AS_USER, desk / "gputrace", "--way", "agent", "-p", str(running.pid)], cwd=desk,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
                end = time.monotonic() + step * 0.015
                while time.monotonic() < end:
                    running.ask("threads 2 1")
                    running.ask("vforks 1")
                killed.kill()
        tracing.wait_agent_gone(running.pid)
        tracing.until(lambda: ring_kb(running.pid) == 0)
        trace_once(running, desk)
        assert agents(running.pid) == 1
        running.end().must_be(0)


@pytest.mark.parametrize("waits", (False, True), ids=("entered", "asked"))
@pytest.mark.parametrize("first, second", [("agent", "agent"), ("bpf", "agent"), ("agent", "bpf")])
def test_two_gputraces_of_one_process(desk, first, second, waits):
    """With BPF the second gets the records of the agent that works for the first; by the agent alone it reports why it
    has none."""
    with (waiting if waits else target)(desk) as running, tracer(desk, "-p", running.pid, by=(), way=first) as one:
        wait_logged(desk, logfile.says_ready)
        with tracer(desk, "-p", running.pid, by=(), way=second, name="second") as two:
            if second == "bpf":
                wait_logged(desk, logfile.says_ready, "second")
            works(running, desk)
            done = two.end(signal.SIGINT).must_be(3 if second == "agent" else 0)
        one.end(signal.SIGINT).must_be(0)
    truth = reading.program(desk / "program.json")
    assert reading.trace_line_ns(reading.trace_of(desk / "trace.json")) == reading.truth_line_ns(truth)
    if second == "bpf":
        assert reading.trace_line_ns(reading.trace_of(desk / "second.json")) == reading.truth_line_ns(truth)
    else:
        at_work = "its agent is at work, for another gputrace or still for an earlier trace (gputrace runs as pid"
        assert at_work in " ".join(done.stdout.split()), done
        assert f"pid {running.pid}: the agent could not be let in, and without root nothing else records its calls: {at_work}" in done.stderr


def test_a_kernel_that_does_not_let_it_be_stopped_is_named(desk):
    refused = tracing.refusing(PTRACE, errno.EPERM)
    with target(desk) as running:
        done = tracing.command(desk, AS_USER, desk / "gputrace", "-p", running.pid, "-d", "1s", preexec_fn=refused).must_be(1)
        doctor = tracing.command(desk, AS_USER, desk / "gputrace", "doctor", "-p", running.pid, preexec_fn=refused).stdout
        running.end().must_be(0)
    assert f"process {running.pid}: the agent cannot be let in, and without root nothing else records" in done.stderr
    assert "kernel.yama.ptrace_scope" in done.stderr
    assert "cannot come in: the kernel does not let it be stopped (kernel.yama.ptrace_scope" in " ".join(doctor.split())
    assert "`gputrace env`" in done.stderr


def test_one_that_no_right_would_open_is_not_sent_to_gputrace_env(desk):
    program = machine.compile_program(machine.PROGRAMS / "maps_only.c", desk / "static", "-static")
    with tracing.Running([AS_USER, program, machine.SIMGPU / "libcuda.so.1"], desk) as running:
        running.wait_line("ready")
        done = tracing.command(desk, AS_USER, desk / "gputrace", "-p", running.pid, "-d", "1s").must_be(1)
        running.end().must_be(0)
    assert "statically linked" in done.stderr
    assert "gputrace env" not in done.stderr


RUNS_OBEDIENT = "import os, runpy, sys; sys.argv = sys.argv[1:]; sys.path[:0] = [os.path.dirname(sys.argv[0])]; runpy.run_path(sys.argv[0], run_name='__main__')"
UNREADABLE = """import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
print("ready", flush=True)
input()
"""


NOT_DUMPABLE = ("it is not dumpable (its user may not read its program, as with mode 711, or it has called prctl(PR_SET_DUMPABLE)), "
                "so only root may look into it")


@pytest.mark.parametrize("what, cause", [
    ("prctl", NOT_DUMPABLE), ("mode", NOT_DUMPABLE),
    ("setcap", "its program has capabilities (setcap) that gputrace lacks, so only root may look into it")])
def test_one_that_lets_no_one_look_into_it_is_refused_and_the_cause_is_named(desk, what, cause):
    python, code = desk / "python3", UNREADABLE if what == "prctl" else UNREADABLE.replace("ctypes.CDLL", "#")
    shutil.copy(os.path.realpath("/usr/bin/python3"), python)
    if what == "setcap":
        tracing.command(desk, "setcap", "cap_net_raw+ep", python).must_be(0)
    python.chmod(0o711 if what == "mode" else 0o755)
    with tracing.Running([*AS_1000, "env", python, "-c", code], desk) as program:
        program.wait_line("ready")
        done = tracing.command(desk, AS_USER, desk / "gputrace", "--way", "agent", "-p", program.pid).must_be(1)
        doctor = tracing.command(desk, AS_USER, desk / "gputrace", "doctor", "-p", program.pid).must_be(1)
    assert done.stderr == f"gputrace: cannot look into process {program.pid}: {cause}\n"
    assert f"pid {program.pid} missing {cause}" in " ".join(doctor.stdout.split())


def test_a_command_that_lets_no_one_look_into_it_has_no_lines_and_a_note_says_why(desk):
    program = [*tracing.on_simgpu(desk / "gpu.json", "/usr/bin/python3", "-c", UNREADABLE.replace("input()", RUNS_OBEDIENT), OBEDIENT)]
    with tracing.Running([AS_USER, desk / "gputrace", *tracing.outputs(desk, "trace.json"), "--", *program], desk) as running:
        running.wait_line("ready")
        running.ask("steps 2")
        running.ask("finish")
        running.end().must_be(0)
    trace = reading.trace_of(desk / "trace.json")
    assert reading.receipt(trace)["launches_joined"] == reading.receipt(trace)["launches"] > 0
    assert any(f"no Python lines: {NOT_DUMPABLE}" in note for note in trace["gputrace"]["notes"])


def test_another_user_s_process_is_refused(desk):
    with target(desk) as running:
        done = tracing.command(desk, *AS_OTHER, desk / "gputrace", "-p", running.pid, "-d", "1s").must_be(1)
    assert "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE missing" in done.stderr
    assert f"without root only your own processes can be recorded, and pid {running.pid} belongs to user 1000" in done.stderr


def test_processes_of_two_users_are_refused(desk):
    with target(desk) as running:
        done = tracing.command(desk, desk / "gputrace", "--way", "agent", "-p", f"{os.getpid()},{running.pid}", "-d", "1s").must_be(1)
    assert f"--pid {running.pid}: belongs to user 1000, and --pid {os.getpid()} does not" in done.stderr


def test_one_without_cuda_is_waited_for_and_that_is_said(desk):
    with tracing.Running([AS_USER, "/usr/bin/python3", OBEDIENT, "late"], desk) as running:
        pid = int(running.wait_line("ready").split()[1])
        done = tracing.command(desk, AS_USER, desk / "gputrace", "-p", pid, "-d", "1s", "-o", desk / "trace.gpt").must_be(0)
    assert f"no CUDA library is mapped in pid {pid} (yet): waiting for one" in done.stderr, done


def test_one_with_libcudart_and_without_a_driver_is_said_to_wait_for_one(desk):
    program = machine.compile_program(machine.PROGRAMS / "maps_only.c", desk / "program")
    with tracing.Running([AS_USER, program, CUDART], desk) as running:
        running.wait_line("ready")
        doctor = tracing.command(desk, AS_USER, desk / "gputrace", "doctor", "-p", running.pid).stdout
        done = tracing.command(desk, AS_USER, desk / "gputrace", "-p", running.pid, "-d", "1s").must_be(0)
        running.end().must_be(0)
    assert ("CUDA limited libcudart is mapped and libcuda.so.1, the driver's library, is not: CUDA has not started there, or no "
            "driver is installed (nvidia-smi)") in " ".join(doctor.split())
    assert f"pid {running.pid} maps libcudart and not the driver's libcuda.so.1" in done.stderr, done


def test_doctor_says_that_it_works(desk):
    with target(desk) as running:
        done = tracing.command(desk, AS_USER, desk / "gputrace", "doctor", "-p", running.pid).must_be(0)
        another = tracing.command(desk, *AS_OTHER, desk / "gputrace", "doctor", "-p", running.pid).must_be(1)
    assert "only the agent alone works here, for these processes" in done.stderr
    assert "can come in by thread" in done.stdout
    assert "no trace can work here until what is missing above is there" in another.stderr


WAITS = 'eval "$("$0" env)" && exec "$@"'
VM_READ = 310  # process_vm_readv(2) on x86-64


@contextlib.contextmanager
def waiting(desk, *arguments):
    """The same program, started after eval "$(gputrace env)", so that its agent waits."""
    with target(desk, *arguments, by=(AS_USER, "sh", "-c", WAITS, desk / "gputrace")) as running:
        tracing.until(lambda: sockets(running.pid))
        yield running


def sockets(pid):
    """Names of the abstract sockets on which that process's agents wait."""
    return [line.split()[-1] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
            if line.split()[-1].startswith(f"@gputrace-agent-{pid}-")]


def no_ptrace():
    """For preexec_fn: like Yama's ptrace_scope 1, which allows a process to stop and read only its descendants."""
    tracing.refusing(PTRACE, errno.EPERM)()
    tracing.refusing(VM_READ, errno.EPERM)()


def test_one_that_waits_needs_no_right(desk):
    with waiting(desk) as running:
        assert len(sockets(running.pid)) == 1
        for _ in range(2):
            running.ask("finish")
            command = [AS_USER, desk / "gputrace", "-v", *tracing.outputs(desk, "trace.gpt", "trace.json"), "-p", running.pid]
            with tracing.Running(command, desk, preexec_fn=no_ptrace) as traced:
                traced.wait_line("gputrace: tracing", "stderr")
                wait_logged(desk, logfile.says_ready)
                works(running, desk)
                done = traced.end(signal.SIGINT).must_be(0)
            must_be_whole(desk, done)
            assert f"pid {running.pid}: the agent that waits there was asked" in done.stderr
        running.end().must_be(0)
    assert not sockets(running.pid)


def test_one_that_waits_can_be_traced_in_each_other_way(desk):
    with waiting(desk) as running:
        for by in ((), (AS_USER,)):
            trace_once(running, desk, by=by)
        with tracer(desk, "-p", running.pid, by=(), way="bpf") as traced:
            wait_logged(desk, logfile.says_ready)
            works(running, desk)
            traced.end(signal.SIGINT).must_be(0)
        assert reading.trace_line_ns(reading.trace_of(desk / "trace.json")) == reading.truth_line_ns(reading.program(desk / "program.json"))


def test_one_that_waits_with_another_copy_of_the_agent_is_traced_on(desk):
    """This happens when gputrace is upgraded while the program runs."""
    other = desk / "other"
    other.mkdir()
    for path in (machine.GPUTRACE, machine.AGENT):
        shutil.copy(path, other)
    with target(desk, by=(AS_USER, "sh", "-c", WAITS, other / "gputrace")) as running:
        tracing.until(lambda: sockets(running.pid))
        with tracer(desk, "-p", running.pid) as traced:
            wait_logged(desk, lambda log: logfile.totals_reported(log) > 12)  # four a second: three checks by gputrace
            works(running, desk)
            done = traced.end(signal.SIGINT).must_be(0)
        must_be_whole(desk, done)


def test_one_that_waits_has_no_descriptor_for_it_and_its_children_neither(desk):
    with waiting(desk) as running:
        inodes = {line.split()[-2] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
                  if line.split()[-1] in sockets(running.pid)}
        running.ask("fork_child")
        child = next(int(line.split()[1]) for line in running.said if line.startswith("child"))
        for pid in (running.pid, child):
            open_files = [os.readlink(path) for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
            assert not [name for name in open_files for inode in inodes if inode in name]
        assert "gputrace-waits" not in tracing.threads(child)
        tracing.until(lambda: tracing.threads(running.pid).count("gputrace-waits") == 2)
        assert "waits there to be asked" in tracing.command(desk, AS_USER, desk / "gputrace", "doctor", "-p", running.pid).stdout


def test_one_that_closes_all_descriptors_all_the_time_keeps_its_own(desk):
    """Each of its descriptors may get the number that the agent's socket had."""
    program = tracing.on_simgpu(desk / "gpu.json", "/usr/bin/python3", machine.PROGRAMS / "closes_meanwhile.py", CUDART)
    with tracing.Running([AS_USER, "sh", "-c", WAITS, desk / "gputrace", *program], desk) as running:
        pid = running.wait_line("ready").split()[1]
        tracing.until(lambda: sockets(pid))
        for number in range(6):
            command = [AS_USER, desk / "gputrace", "-v", *tracing.outputs(desk, f"{number}.gpt", f"{number}.json"), "-p", pid]
            with tracing.Running(command, desk, preexec_fn=no_ptrace) as traced:
                traced.wait_line("gputrace: tracing", "stderr")
                wait_logged(desk, logfile.says_ready, number)
                running.ask("work 20")
                traced.end(signal.SIGINT).must_be(0)
            trace = reading.trace_of(desk / f"{number}.json")
            assert len([e for e in chrome.events(trace, *chrome.API) if e["name"] == "cudaLaunchKernel"]) == 20
            if not number:  # only after CUPTI is loaded, as the loader opens files, too
                running.ask("close")
        running.ask("stop")
        rounds, broken = next(line.split()[1::2] for line in running.said if line.startswith("closed"))
        running.end().must_be(0)
    assert int(rounds) > 100
    assert broken == "0"


@pytest.mark.parametrize("by, sessions", [(AS_OTHER, 0), ((AS_USER,), 1)], ids=("another user", "its user"))
def test_one_that_waits_listens_to_its_user_alone(desk, by, sessions):
    with waiting(desk) as running:
        ask(desk, running, by)
        assert tracing.agent_status(running.pid)[1] == sessions
        tracing.until(lambda: tracing.agent_status(running.pid)[0] == 0)
        trace_once(running, desk)


def ask(desk, running, by):
    """Sends the waiting agent a request, as a gputrace of that user would."""
    program = "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(chr(0) + sys.argv[1]); " \
              "s.send(b'@no-one-is-there:'); print(s.recv(1))"
    tracing.command(desk, *by, "/usr/bin/python3", "-c", program, sockets(running.pid)[0][1:])


def test_nobody_of_a_user_namespace_listens_to_no_one_of_that_number(desk):
    """In its user namespace every foreign user has the number 65534."""
    with target(desk, by=(AS_USER, "unshare", "--user", "--map-user=65534", "sh", "-c", WAITS, desk / "gputrace")) as running:
        tracing.until(lambda: sockets(running.pid))
        ask(desk, running, AS_OTHER)
        assert tracing.agent_status(running.pid)[1] == 0
        running.end().must_be(0)


def test_a_name_that_another_has_taken_is_passed_over(desk):
    """A process with the same pid in another pid namespace, or of another user, may have the name."""
    command = tracing.on_simgpu(desk / "gpu.json", "/usr/bin/python3", machine.PROGRAMS / "takes_name.py", "gputrace-agent-{}-0",
                                "/usr/bin/python3", OBEDIENT)
    with tracing.Running([AS_USER, "sh", "-c", WAITS, desk / "gputrace", *command], desk) as running:
        running.pid = int(running.wait_line("ready").split()[1])
        tracing.until(lambda: len(sockets(running.pid)) == 2)
        trace_once(running, desk)


@pytest.mark.parametrize("starts", ("before", "meanwhile"))
def test_a_forked_child_whose_own_agent_waits_is_seen_with_its_parent(desk, starts):
    """The parent has libcuda, and starts CUDA after the fork, as a server does that forks its workers first."""
    with target(desk, "late", by=(AS_USER, "sh", "-c", WAITS, desk / "gputrace")) as running:
        running.ask("started")
        running.ask("fork_child")
        child = next(int(line.split()[1]) for line in running.said if line.startswith("child"))
        running.ask("load_simulated")
        tracing.until(lambda: sockets(running.pid))
        if starts == "before":
            running.ask("ask_child load_simulated")
            tracing.until(lambda: sockets(child))
        with tracer(desk, "-p", running.pid) as traced:
            wait_logged(desk, logfile.says_ready)
            if starts == "meanwhile":
                wait_logged(desk, lambda log: logfile.has_note(log, "whether it can use CUDA is not known without root"))
                running.ask("ask_child load_simulated")
            wait_logged(desk, lambda log: logfile.agent_states(log).count(logfile.READY) == 2)
            for prefix, name in (("", "program"), ("ask_child ", "child")):
                for command in ("forget", "steps 3", "finish", f"truth {desk}/{name}.json"):
                    running.ask(prefix + command)
            done = traced.end(signal.SIGINT).must_be(0)
    trace = reading.trace_of(desk / "trace.json")
    for name in ("program", "child"):
        truth = reading.program(desk / f"{name}.json")
        assert reading.trace_stacks(trace, reading.truth_calls(truth), truth["pid"]) == reading.truth_stacks(truth), done


def test_one_whose_names_another_user_has_all_taken_is_found(desk):
    """They are known before a process starts, and any user may bind them."""
    command = ["/usr/bin/python3", OBEDIENT]
    for number in range(8):
        command = ["/usr/bin/python3", machine.PROGRAMS / "takes_name.py", f"gputrace-agent-{{}}-{number}", *command]
    with tracing.Running([AS_USER, "sh", "-c", WAITS, desk / "gputrace", *tracing.on_simgpu(desk / "gpu.json", *command)], desk) as running:
        running.pid = int(running.wait_line("ready").split()[1])
        tracing.until(lambda: len(sockets(running.pid)) == 9)
        running.ask("finish")
        command = [AS_USER, desk / "gputrace", "-v", *tracing.outputs(desk, "trace.gpt", "trace.json"), "-p", running.pid]
        with tracing.Running(command, desk, preexec_fn=no_ptrace) as traced:
            traced.wait_line("gputrace: tracing", "stderr")
            wait_logged(desk, logfile.says_ready)
            works(running, desk)
            done = traced.end(signal.SIGINT).must_be(0)
        must_be_whole(desk, done)


def test_one_whose_memory_may_not_be_read_is_not_said_to_have_a_strange_libc(desk):
    with target(desk) as running:
        done = tracing.command(desk, AS_USER, desk / "gputrace", "-p", running.pid, "-d", "1s", preexec_fn=no_ptrace).must_be(1)
    assert "the kernel does not let its memory be read (kernel.yama.ptrace_scope, a filter of system calls); what is started after" in done.stderr


def test_env_keeps_a_library_that_the_driver_is_to_load(desk):
    said = tracing.command(desk, desk / "gputrace", "env", env={"CUDA_INJECTION64_PATH": "/opt/it's theirs.so"}).must_be(0).stdout
    shown = tracing.command(desk, "sh", "-c", f'{said}\nprintf "%s\\n" "$CUDA_INJECTION64_PATH" "$GPUTRACE_CHAINED_INJECTION" "$GPUTRACE_WAIT"')
    assert shown.stdout.splitlines() == [str(desk / machine.AGENT.name), "/opt/it's theirs.so", "1"]


@pytest.mark.torch
def test_torch_profiler_that_records_loses_nothing_and_is_waited_for(desk):
    program = [machine.tool("get-torch"), machine.PROGRAMS / "profiles.py"]
    with tracing.Running(tracing.on_simgpu(desk / "gpu.json", *program), desk) as running:
        running.wait_line("ready")
        pid = next(pid for pid in tracing.marked(running.mark) if "profiles.py" in pathlib.Path(f"/proc/{pid}/cmdline").read_text())
        for command in ("work 100", "start", "work 100", f"stop {desk / 'alone.json'}", "start", "work 100"):
            running.ask(command)
        with tracer(desk, "-p", pid, by=()) as traced:
            running.ask("work 100")
            running.ask(f"stop {desk / 'beside.json'}")
            wait_logged(desk, logfile.says_ready)
            running.ask("work 100")
            done = traced.end(signal.SIGINT).must_be(0)
    assert kernels(desk / "beside.json") == 2 * kernels(desk / "alone.json") > 0
    receipt = reading.receipt(reading.trace_of(desk / "trace.json"))
    assert receipt["launches_joined"] == receipt["launches_expected"] == kernels(desk / "alone.json"), done


@pytest.mark.torch
@pytest.mark.parametrize("scope", ("command", "pid"))
def test_the_agent_comes_back_after_a_session_of_torch_profiler(some_cupti, desk, scope):
    """Each of two sessions has all its kernels; launches after each session are recorded again."""
    program = [*tracing.on_simgpu(desk / "gpu.json", machine.tool("get-torch"), machine.PROGRAMS / "profiles.py")]
    outputs = tracing.outputs(desk, "trace.gpt", "trace.json")
    command = [desk / "gputrace", "-v", "--way", "agent", *outputs, "--", *program] if scope == "command" else program
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(tracing.Running(command, desk))
        running.wait_line("ready")
        running.ask("work 100")
        by = running
        if scope == "pid":
            pid = next(pid for pid in tracing.marked(running.mark) if "profiles.py" in pathlib.Path(f"/proc/{pid}/cmdline").read_text())
            by = stack.enter_context(tracer(desk, "-p", pid, by=()))
        wait_logged(desk, logfile.says_ready)
        for session in ("first", "second"):
            running.ask("start")
            running.ask("work 100")
            by.wait_line("torch.profiler records, and the agent does not", "stderr")
            wait_logged_all(desk)  # the agent repeats to a new listener that it records
            states = ready_states(desk)
            running.ask(f"stop {desk / session}.json")
            tracing.until(lambda: ready_states(desk) > states)
            running.ask("work 100")
        done = by.end(signal.SIGINT if scope == "pid" else None)
        assert done.code == 0, done
    assert kernels(desk / "first.json") == kernels(desk / "second.json") == 100
    receipt = reading.receipt(reading.trace_of(desk / "trace.json"))
    before = 101 if scope == "command" else 0
    assert receipt["launches"] == before + 400, done
    assert receipt["launches_joined"] == before + 200


def wait_logged_all(desk):
    """Waits until all that the agent has reported by now is in the log: it reports its totals four times a second."""
    before = totals_reported(desk)
    tracing.until(lambda: totals_reported(desk) > before + 8)


def totals_reported(desk):
    return max(map(logfile.totals_reported, desk.glob("trace.gpt.part-*")))


def ready_states(desk):
    """Number of times that the agent has reported that it records."""
    return max(logfile.agent_states(log).count(logfile.READY) for log in desk.glob("trace.gpt.part-*"))


def kernels(path):
    return sum(event.get("cat") == "kernel" for event in json.loads(path.read_text())["traceEvents"])
