# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace run by a user with capabilities: all give root's trace, a missing one is named, readers have none."""

import ctypes
import os
import pathlib
import signal

import chrome_invariants as chrome
import machine
import pytest
import reading
import tracing

USER, OTHER, ROOT = 65534, 1000, 0
ALWAYS = ("bpf", "perfmon", "sys_ptrace")
OWN = (*ALWAYS, "sys_admin", "sys_chroot")
ALL = (*OWN, "setuid", "setgid", "dac_read_search")


def as_uid(uid):
    return ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups")


def holding(*names):
    """Command prefix: USER with these capabilities and no others."""
    some = ",".join(f"+{name}" for name in names)
    return (*as_uid(USER), f"--inh-caps=-all,{some}", f"--ambient-caps=-all,{some}")


def without(*names):
    return holding(*(name for name in ALL if name not in names))


class Traced:
    """One trace of a running program that belongs to `owner`, by the gputrace that `command` starts."""

    def __init__(self, desk, owner, command, everything=False, whole=True):
        program = tracing.on_simgpu(desk / "gpu.json", machine.SYSTEM_PYTHON, machine.PROGRAMS / "obedient.py")
        with tracing.Running([*as_uid(owner), *program], desk) as target:
            target.wait_line("ready")
            target.ask("steps 2")
            target.ask("finish")
            target.ask("forget")
            scope = [] if everything else ["-p", str(target.pid)]
            with tracing.Running([*command, "-v", "-o", desk / "each.gpt", *scope], desk) as tracer:
                tracer.wait_line("gputrace: tracing", "stderr")
                if whole:
                    tracing.until(lambda: tracing.agent_records(target.pid))
                target.ask("steps 3")
                target.ask("finish")
                target.ask(f"truth {desk}/program.json")
                done = tracer.end(signal.SIGINT)
                self.done = done.must_be_of_machine() if everything else done.must_be(0)
            self.trace = reading.trace_of(tracing.export_process(desk / "each.gpt", target.pid))
            self.truth = reading.program(desk / "program.json")
        self.receipt = reading.receipt(self.trace)
        self.notes = " ".join(self.trace["gputrace"]["notes"])

    def assert_lines(self):
        """Every launch is there with its stack."""
        calls = reading.truth_calls(self.truth)
        assert reading.trace_stacks(self.trace, calls, self.truth["pid"]) == reading.truth_stacks(self.truth)
        assert reading.losses(self.trace) == {}

    def assert_whole(self):
        """The same, and each has the GPU time that the program computes."""
        self.assert_lines()
        assert reading.trace_line_ns(self.trace) == reading.truth_line_ns(self.truth)
        assert self.receipt["launches_joined"] == self.receipt["launches_expected"] > 0

    def assert_no_times(self):
        self.assert_lines()
        assert not chrome.events(self.trace, *chrome.GPU)
        assert self.receipt["launches_no_agent"] == self.receipt["launches"] > 0


@pytest.mark.parametrize("owner", (USER, OTHER, ROOT), ids=("own", "another's", "root's"))
def test_with_all_of_them_a_process_is_seen_whole(desk, owner):
    traced = Traced(desk, owner, (*holding(*ALL), desk / "gputrace"))
    traced.assert_whole()
    assert not traced.notes


@pytest.mark.alone
def test_with_all_of_them_the_whole_machine_is_seen(desk):
    traced = Traced(desk, OTHER, (*holding(*ALL), desk / "gputrace"), everything=True)
    traced.assert_whole()
    assert "CAP_" not in traced.notes


def test_one_s_own_processes_take_five(desk):
    traced = Traced(desk, USER, (*holding(*OWN), desk / "gputrace"))
    traced.assert_whole()
    assert "CAP_DAC_READ_SEARCH is missing, without which tracefs cannot be read" in traced.notes


@pytest.mark.parametrize("lacks", ALWAYS)
def test_without_one_of_three_there_is_no_trace(desk, lacks):
    """CAP_SYS_ADMIN includes two of them, so it is removed, too."""
    done = tracing.command(desk, *without(lacks, "sys_admin"), desk / "gputrace", "-p", str(os.getpid()), "-d", "1s").must_be(1)
    assert f"not permitted: CAP_{lacks.upper()} missing" in done.stderr


@pytest.mark.parametrize("lacks, owner, whose", [
    ("sys_admin", USER, ""), ("sys_chroot", USER, ""), ("setuid", OTHER, "other users' "), ("setgid", OTHER, "other users' "),
    ("dac_read_search", OTHER, "other users' ")])
def test_without_one_of_five_there_are_no_times_and_it_is_named(desk, lacks, owner, whose):
    traced = Traced(desk, owner, (*without(lacks), desk / "gputrace"), whole=False)
    traced.assert_no_times()
    said = f"no GPU times of {whose}processes that run already: CAP_{lacks.upper()} missing"
    assert said in traced.notes
    assert said in traced.done.stderr


def test_a_command_takes_no_chroot_and_no_ids(desk):
    """The agent is loaded by the environment; a tracepoint, whose id is in tracefs, reports its libraries in time."""
    program = tracing.on_simgpu(desk / "gpu.json", machine.SYSTEM_PYTHON, machine.WORKLOADS / "train.py", "--steps", "30", "--truth",
                                desk / "program.json")
    caller = (*holding(*ALWAYS, "sys_admin", "dac_read_search"), desk / "gputrace")
    done = tracing.command(desk, *caller, "-o", desk / "trace.json", "--", *program).must_be(0)
    trace = reading.trace_of(desk / "trace.json")
    assert reading.trace_line_ns(trace) == reading.truth_line_ns(reading.program(desk / "program.json"))
    assert reading.receipt(trace)["complete_percent"] == 100
    assert "missing" not in done.stderr and not trace["gputrace"]["notes"]


@pytest.mark.parametrize("caller, row", [
    (holding(*ALL), "running ones ok the agent may be let into processes that run already, those of other users, too"),
    (without("sys_chroot", "setgid"), "running ones limited by BPF no GPU times of processes that run already: CAP_SYS_CHROOT, CAP_SETGID missing"),
    (without("setuid"), "running ones limited no GPU times of other users' processes that run already: CAP_SETUID missing"),
    (holding("bpf", "sys_ptrace"), "capabilities missing CAP_PERFMON: run it with sudo")])
def test_doctor_says_what_is_open_and_what_is_missing(desk, caller, row):
    done = tracing.command(desk, *caller, desk / "gputrace", "doctor").must_be(0)
    assert row in " ".join(done.stdout.split())


def permitted(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("CapPrm")), 16)


@pytest.mark.alone  # the whole machine is traced
def test_they_are_kept_for_new_processes_and_given_up_before_outputs(desk):
    command = [*holding(*ALL), desk / "gputrace", "-v", "-o", desk / "trace.folded"]
    with tracing.Running(command, desk) as tracer:
        tracer.wait_line("gputrace: tracing", "stderr")
        assert permitted(tracer.pid)
        tracer.process.send_signal(signal.SIGINT)
        tracing.until(lambda: not permitted(tracer.pid))  # also if it has ended
        tracer.end().must_be_of_machine()


readers = pytest.mark.parametrize("arguments", [
    ["report", "LOG"], ["export", "LOG", "-o", "copy.json"], ["why", "LOG"], ["diff", "LOG", "LOG"],
    ["merge", "LOG", "LOG", "-o", "all.json"], ["view", "LOG"]], ids=lambda words: words[0])


@readers
def test_a_log_is_read_with_the_rights_of_who_reads_it(desk, arguments):
    log = desk / "secret.gpt"
    program = [machine.SYSTEM_PYTHON, machine.WORKLOADS / "train.py", "--steps", "2"]
    tracing.gputrace(desk, "-o", log, "--", *tracing.on_simgpu(desk / "gpu.json", *program)).must_be(0)
    log.chmod(0o600)
    reader = holding("dac_read_search")
    tracing.command(desk, *reader, "head", "-c", "1", log).must_be(0)
    done = tracing.command(desk, *reader, desk / "gputrace", *(log if word == "LOG" else word for word in arguments)).must_be(1)
    assert "Permission denied" in done.stderr and "secret.gpt" in done.stderr


def has_landlock():
    create_ruleset, version_flag = 444, 1  # include/uapi/asm-generic/unistd.h, include/uapi/linux/landlock.h
    return ctypes.CDLL(None).syscall(create_ruleset, None, 0, version_flag) > 0


@readers
def test_a_reader_is_confined_before_it_opens_what_it_reads(tmp_path, arguments):
    if not has_landlock():
        pytest.skip("this kernel has no Landlock")
    named = ["absent.gpt" if word == "LOG" else word for word in arguments]
    tracing.command(tmp_path, "strace", "-o", "calls", "-e", "trace=landlock_restrict_self,openat",
                    machine.GPUTRACE, *named).must_be(1)
    calls = (tmp_path / "calls").read_text().splitlines()
    confined = next(number for number, call in enumerate(calls) if call.startswith("landlock_restrict_self(") and call.endswith("= 0"))
    opened = next(number for number, call in enumerate(calls) if "absent.gpt" in call)
    assert confined < opened


def test_outputs_of_a_recording_are_made_by_a_process_that_is_confined(tmp_path):
    if not has_landlock():
        pytest.skip("this kernel has no Landlock")
    tracing.command(tmp_path, "strace", "-f", "-o", "calls", "-e", "trace=landlock_restrict_self,openat",
                    machine.GPUTRACE, "--agent", "off", "-o", "trace.json", "--", "true").must_be(0)
    calls = [line.split(maxsplit=1) for line in (tmp_path / "calls").read_text().splitlines()]
    confined = next(number for number, (_, call) in enumerate(calls) if call.startswith("landlock_restrict_self(") and call.endswith("= 0"))
    writers = {pid for pid, call in calls[confined:] if "trace.json.part-" in call}
    assert writers == {calls[confined][0]} and calls[0][0] not in writers


# ---- make install CAPS=1 ----------------------------------------------------------------------------------------------


def install(folder, group):
    build = os.environ.get("GPUTRACE_BUILD", "build")
    return tracing.command(folder, "make", "-s", "-C", machine.ROOT, f"BUILD={build}", f"DESTDIR={folder}", "PREFIX=/usr/local",
                           "CAPS=1", f"CAPS_GROUP={group}", "install")


@pytest.fixture
def installed(desk):
    """A gputrace installed with capabilities for USER's group."""
    desk.chmod(0o755)
    install(desk, USER).must_be(0)
    desk.chmod(0o777)
    return desk / "usr/local/bin/gputrace"


@pytest.fixture
def capable(installed):
    """The file that has the capabilities."""
    return installed.parent.parent / "lib/gputrace/gputrace-capable"


def test_installed_with_capabilities_its_group_sees_root_s_processes_whole(desk, installed, capable):
    Traced(desk, ROOT, (*as_uid(USER), installed)).assert_whole()
    # setpriv itself has root's rights until it executes something
    assert "Permission denied" in tracing.command(desk, *as_uid(OTHER), "env", capable, "--version").must_be(126).stderr


def test_installed_with_capabilities_others_have_what_needs_none(desk, installed):
    other = (*as_uid(OTHER), installed)
    assert tracing.command(desk, *other, "--version").must_be(0).stdout.startswith("gputrace ")
    tracing.command(desk, *other, "-o", "own.gpt", "--", "true").must_be(0)
    assert "0 launches recorded" in tracing.command(desk, *other, "report", "own.gpt").must_be(0).stdout
    refused = tracing.command(desk, *other, "-p", str(os.getpid()), "-d", "1s").must_be(1)
    assert "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE missing" in refused.stderr


def test_installed_with_capabilities_it_passes_them_on_to_nobody(desk, installed, capable):
    """It passes them neither to a command nor to a library of its caller."""
    caller = (*as_uid(USER), installed)
    done = tracing.command(desk, *caller, "--", "grep", "Cap[PEIA]", "/proc/self/status").must_be(0)
    assert {line.split()[1] for line in done.stdout.splitlines() if line.startswith("Cap")} == {"0" * 16}
    done = tracing.command(desk, *caller, "--cupti", "/tmp/libcupti.so", "-p", str(os.getpid())).must_be(1)
    assert "--cupti: a gputrace with capabilities of its file loads no library of its caller's choice" in done.stderr
    others = desk / "libgputrace-agent.so"
    os.chown(others, USER, USER)
    for command, environment in ((caller, {"GPUTRACE_AGENT": others}), ((*as_uid(USER), linked(desk, capable)), {})):
        said = tracing.command(desk, *command, "-v", "--", "true", env=environment).must_be(0).stderr
        assert str(others) not in said and "probe sites" in said


PLAYS_TRACER = """import os, socket, struct, sys
near, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
us, init = (struct.pack("3i", pid, os.getuid(), os.getgid()) for pid in (os.getpid(), 1))
try:
    near.sendmsg([b"g"], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, init)])
except PermissionError:
    near.sendmsg([b"g"], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, us)])
pid = os.fork()
if not pid:
    for number, fd in ((3, its.fileno()), (4, os.open(sys.argv[1], os.O_RDONLY)), (5, os.open("/", os.O_RDONLY))):
        os.dup2(os.dup(fd), number)
        os.set_inheritable(number, True)
    os.execv(sys.argv[1] + "-link", ["gputrace-files", sys.argv[2]])
its.close()
print(os.waitpid(pid, 0)[1] >> 8, near.recv(64), flush=True)
"""


def test_installed_with_capabilities_it_serves_no_file_of_its_caller_s(desk, capable):
    """Any member of the group may execute it under the name of the file server."""
    readable = desk / "agent"
    readable.write_text("theirs")
    os.link(capable, f"{readable}-link")
    done = tracing.command(desk, *as_uid(USER), machine.SYSTEM_PYTHON, "-c", PLAYS_TRACER, readable, str(os.getpid())).must_be(0)
    assert done.stdout == "2 b''\n"


def linked(desk, capable):
    """A hard link to the same file beside an agent of the user, as some kernels let users make one."""
    (desk / "gputrace").unlink()
    os.link(capable, desk / "gputrace")
    return desk / "gputrace"


def test_an_installation_for_a_group_that_is_not_there_is_refused(desk):
    done = install(desk, "no-such-group")
    assert done.code != 0 and "no group no-such-group: groupadd no-such-group, or CAPS_GROUP=NAME" in done.stderr
    assert not (desk / "usr").exists()
