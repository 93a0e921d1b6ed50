# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Running processes in containers, traced by a gputrace of their user in the same container or beside it."""

import contextlib
import os
import pathlib
import shutil
import signal

import logfile
import machine
import pytest
import tracing

from test_running_without_root import AS_USER, OBEDIENT, WAITS, must_be_whole, sockets, target, trace_once, tracer, wait_logged, works

DOCKER = ("/usr/bin/python3", machine.PROGRAMS / "docker_seccomp.py")


def refused(desk, running, by, program="gputrace"):
    """What gputrace -p says that does not get in, which doctor says, too; the program goes on and ends by itself."""
    foreseen = doctor(desk, running.pid, by, program)
    done = tracing.command(desk, *by, desk / program, "--way", "agent", "-d", "1s", "-p", running.pid).must_be(1)
    running.ask("steps 2")
    running.end().must_be(0)
    why = done.stderr.splitlines()[-1].partition("nothing else records: ")[2].partition("; what is started after")[0]
    assert why and f"cannot come in: {why}" in foreseen, (done, foreseen)
    return why


def doctor(desk, pid, by, program="gputrace"):
    return " ".join(tracing.command(desk, *by, desk / program, "doctor", "-p", pid).stdout.split())


# ---- filters of system calls -----------------------------------------------------------------------------------------


def test_under_docker_s_filter_a_running_process_is_seen_whole(desk):
    with target(desk, by=(AS_USER, *DOCKER)) as running:
        assert "its filter of system calls (seccomp) is read then, and must let it" in doctor(desk, running.pid, ())
        assert "its filter of system calls (seccomp) is gputrace's own, and lets it" in doctor(desk, running.pid, (AS_USER, *DOCKER))
        trace_once(running, desk, by=(AS_USER, *DOCKER))
        running.end().must_be(0)


def test_a_filter_that_kills_for_a_call_of_the_agent_is_named_and_the_process_lives(desk):
    """No one may read the filter there: a child of gputrace makes the calls."""
    kills = (AS_USER, *DOCKER, "--kill", "tgkill")
    with target(desk, by=kills) as running:
        assert "its filter of system calls (seccomp) kills it for a call that the agent takes" in refused(desk, running, by=kills)


def test_a_filter_that_kills_who_connects_is_named_where_the_agent_would(desk):
    """Read by root; the agent connects only where it records alone."""
    with target(desk, by=(AS_USER, *DOCKER, "--kill", "connect")) as running:
        done = tracing.command(desk, desk / "gputrace", "--way", "agent", "-d", "1s", "-p", running.pid).must_be(1)
        assert "its filter of system calls (seccomp) kills it for a call that the agent takes" in done.stderr
        running.ask("steps 2")
        with tracer(desk, "-p", running.pid, by=(), way="bpf") as traced:
            wait_logged(desk, logfile.says_ready)
            works(running, desk)
            traced.end(signal.SIGINT).must_be(0)
        running.end().must_be(0)


def test_one_with_a_filter_of_its_own_beside_the_container_s_is_left_alone(desk):
    with target(desk, by=(AS_USER, *DOCKER, *DOCKER, "--kill", "tgkill")) as running:
        said = refused(desk, running, by=(AS_USER, *DOCKER))
    assert "its filter of system calls (seccomp) may not be read here, and is not known to be gputrace's own" in said


def test_one_whose_filter_is_not_known_is_seen_whole_where_its_agent_waits(desk):
    with target(desk, by=(AS_USER, *DOCKER, *DOCKER, "sh", "-c", WAITS, desk / "gputrace")) as running:
        tracing.until(lambda: sockets(running.pid))
        trace_once(running, desk, by=(AS_USER, *DOCKER))
        running.end().must_be(0)


def test_a_gputrace_without_a_filter_does_not_take_one_for_its_own(desk):
    with target(desk, by=(AS_USER, *DOCKER)) as running:
        assert "run gputrace in the same container" in refused(desk, running, by=(AS_USER,))


# ---- users, capabilities and namespaces ------------------------------------------------------------------------------

KEPT = "chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap"
# Root of a Docker container: its filter, and the capabilities that are left.
AS_ROOT = (*DOCKER, "--runtime", "setpriv", "--bounding-set=-all," + ",".join(f"+{name}" for name in KEPT.split(",")))
NO_CAPABILITIES = (*DOCKER, "--runtime", "setpriv", "--bounding-set=-all")
OWN_NAMESPACES = ("unshare", "--mount", "--pid", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child", "--mount-proc")
ROOTLESS = (AS_USER, "unshare", "--user", "--map-root-user", *OWN_NAMESPACES[1:])

CONTAINERS = {
    "root, Docker's capabilities": (AS_ROOT, AS_ROOT),
    "root, no capabilities": (NO_CAPABILITIES, NO_CAPABILITIES),
    "root, own namespaces": ((*OWN_NAMESPACES, *AS_ROOT), AS_ROOT),
    "rootless": ((*ROOTLESS, *DOCKER), DOCKER),
    "rootless, no filter": (ROOTLESS, ()),
}


@contextlib.contextmanager
def container(desk, by):
    """A target whose pid is known outside, too."""
    with target(desk, by=by) as running:
        running.inside = running.pid
        running.pid = next(pid for pid in tracing.marked(running.mark) if command_line(pid)[1:2] == [str(OBEDIENT)])
        yield running


def command_line(pid):
    return [word.decode() for word in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]


def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def into(running):
    """Command prefix that enters the container of a process, as docker exec does."""
    others = ("--mount", "--pid", "--ipc", "--uts", "--cgroup")
    if namespace(running.pid, "user") == namespace("self", "user"):
        return ("nsenter", "-t", running.pid, *others)
    return ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "nsenter", "-t", running.pid, "--user",
            "--preserve-credentials", *others)


def namespace(pid, name):
    return pathlib.Path(f"/proc/{pid}/ns/{name}").stat().st_ino


@pytest.mark.parametrize("place", CONTAINERS)
def test_inside_its_container_a_running_process_is_seen_whole(desk, place):
    by, inside = CONTAINERS[place]
    with container(desk, by) as running:
        assert "can come in by thread" in doctor(desk, running.inside, (*into(running), *inside))
        trace_beside(running, desk, (*into(running), *inside), running.inside)
        running.end().must_be(0)


def trace_beside(running, desk, by, pid, program="gputrace"):
    """A trace by a gputrace that is not this process's child."""
    running.ask("finish")
    with tracer(desk, "-p", pid, by=by, program=program) as traced:
        wait_logged(desk, logfile.says_ready)
        works(running, desk)
        started = {each: parent(each) for each in tracing.marked(traced.mark) if command_line(each)[0] == str(desk / program)}
        (first,) = set(started) - {each for each in started if started[each] in started}
        os.kill(first, signal.SIGINT)
        done = traced.end().must_be(0)
    return must_be_whole(desk, done)


def test_root_of_a_container_is_not_said_to_have_capabilities_of_its_file(desk):
    """From a container of root without capabilities."""
    less = ("setpriv", "--bounding-set=-all")
    with target(desk, by=AS_ROOT[len(DOCKER) + 1:]) as running:
        done = tracing.command(desk, *less, desk / "gputrace", "--way", "agent", "-p", running.pid).must_be(1)
        cause = "it is root with capabilities that gputrace lacks: run gputrace in the same container"
        assert done.stderr == f"gputrace: cannot look into process {running.pid}: {cause}\n"
        assert cause in doctor(desk, running.pid, less)
        running.end().must_be(0)


@pytest.mark.parametrize("by", ((*ROOTLESS, *DOCKER), ROOTLESS), ids=("Docker's filter", "no filter"))
def test_from_outside_a_rootless_container_its_user_is_sent_inside(desk, by):
    with container(desk, by) as running:
        assert "run gputrace in " in refused(desk, running, by=(AS_USER,))


# ---- sidecars: the same user and processes, other files --------------------------------------------------------------


@pytest.fixture
def sidecar(desk):
    """(a program whose files are not the target's, command prefix of the target, which lacks these files)"""
    (desk / "beside").mkdir()
    for path in (machine.GPUTRACE, machine.AGENT):
        shutil.copy(path, desk / "beside")
    hide = 'mount -t tmpfs none "$1/beside"; shift; exec "$@"'
    return "beside/gputrace", ("unshare", "--mount", "sh", "-c", hide, "sh", desk)


@pytest.mark.parametrize("filtered", ((), DOCKER), ids=("no filter", "Docker's filter"))
def test_a_sidecar_sees_it_whole_each_time(desk, sidecar, filtered):
    """The process maps a file that is not in its own root; the second trace finds the agent of the first."""
    program, hidden = sidecar
    with target(desk, by=(*hidden, AS_USER, *filtered)) as running:
        for _ in range(2):
            trace_beside(running, desk, (AS_USER, *filtered), running.pid, program)
        assert "is in the process and can be woken" in doctor(desk, running.pid, (AS_USER, *filtered), program)
        running.end().must_be(0)


def test_an_agent_of_another_build_is_told_from_its_own(desk, sidecar):
    program, hidden = sidecar
    (desk / "other").mkdir()
    shutil.copy(machine.GPUTRACE, desk / "other")
    build = bytes.fromhex(tracing.command(desk, "readelf", "-n", machine.AGENT).stdout.partition("Build ID: ")[2].split()[0])
    agent = machine.AGENT.read_bytes()
    assert agent.count(build) == 1
    (desk / "other" / machine.AGENT.name).write_bytes(agent.replace(build, build[::-1]))
    with target(desk, by=(*hidden, AS_USER)) as running:
        trace_beside(running, desk, (AS_USER,), running.pid, program)
        said = refused(desk, running, by=(AS_USER,), program="other/gputrace")
    assert "it has another build of the agent, whose file cannot be read from here" in said
