# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The user of a traced process can reach nothing through gputrace's processes: no file of the host, nothing to write to
or to control."""

import contextlib
import os
import pathlib
import shutil
import tempfile
import threading

import logfile
import machine
import pytest
import reading
import tracing

ATTACHES = 50
FEWEST_MET = ATTACHES // 5  # least number of file servers that the prowler must meet: it scans /proc all the time

# A uid that no other process of this machine has.
STRANGER = 200000 + os.getpid() % 100000
AS_STRANGER = ("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups")
WITHOUT_CAPABILITIES = ("/usr/bin/setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")

# {place: (command that enters it, whether it has its own root, command to run there first)}
PLACES = {
    "plain": (AS_STRANGER, False, ()),
    "container": (("unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork"), True,
                  WITHOUT_CAPABILITIES),
    "user": (("unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork"), True,
             WITHOUT_CAPABILITIES),
}


@pytest.fixture
def public():
    """A folder that any user may enter."""
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    for name in ("simgpu", "programs", "out", "root"):
        (folder / name).mkdir()
    for library in machine.SIMGPU.glob("libcuda.so.1"):
        shutil.copy(library, folder / "simgpu")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def descendants(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(found for child in children for found in descendants(int(child)))]


@contextlib.contextmanager
def orphans_reaped(name):
    """This process inherits what gputrace leaves behind.  A pid namespace in which such a process was does not end before
    that has been waited for."""
    over = threading.Event()

    def reap():
        while not over.wait(0.1):
            for children in pathlib.Path("/proc/self/task").glob("*/children"):
                for pid in children.read_text().split():
                    with contextlib.suppress(OSError):  # another thread has waited for it
                        if f"({name}) Z" in pathlib.Path(f"/proc/{pid}/stat").read_text():
                            os.waitpid(int(pid), 0)

    reaper = threading.Thread(target=reap)
    reaper.start()
    try:
        yield
    finally:
        over.set()
        reaper.join()


class Prowler:
    """programs/prowler.c in a place, and the processes that it starts as targets."""

    def __init__(self, public, place, env=None):
        before, own_root, inside = PLACES[place]
        programs = public / "programs"
        machine.compile_program(machine.PROGRAMS / "prowler.c", programs / "prowler")
        machine.compile_program(machine.PROGRAMS / "maps_only.c", programs / "maps_only")
        secret = public / "secret"
        secret.write_text("for root only\n")
        secret.chmod(0o600)
        root = [machine.PROGRAMS / "another_world.sh", public / "root", public / "simgpu", programs, public / "out"]
        here = {"programs": "/tests", "simgpu": "/simgpu"} if own_root else {n: public / n for n in ("programs", "simgpu")}
        command = [*before, *(root if own_root else ()), *inside, f"{here['programs']}/prowler", secret, ATTACHES,
                   f"{here['programs']}/maps_only", f"{here['simgpu']}/libcuda.so.1"]
        self.running = tracing.Running(command, "/", env)
        self.running.wait_line("ready")
        self.targets = [pid for pid in descendants(self.running.pid)
                        if pathlib.Path(f"/proc/{pid}/comm").read_text() == "maps_only\n"]
        assert len(self.targets) == ATTACHES
        (prowler,) = [pid for pid in descendants(self.running.pid)
                      if pathlib.Path(f"/proc/{pid}/comm").read_text() == "prowler\n"]
        # a file server lives for a millisecond: the prowler must run then, however busy the processors are
        os.sched_setscheduler(prowler, os.SCHED_FIFO, os.sched_param(1))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.running.__exit__(*error)

    def end(self):
        """(number of processes with the agent's file that it met, what it got from them)"""
        with orphans_reaped("gputrace-files"):
            lines = self.running.end().must_be(0).stdout.splitlines()
        return int(lines[-1].split()[1]), lines[:-1]


def agents_of(pid):
    """Inodes of the agents that a process has mapped."""
    return {int(line.split()[4]) for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
            if "libgputrace-agent" in line}


@pytest.mark.alone  # the prowler has a processor for itself
@pytest.mark.parametrize("place", PLACES)
def test_nothing_can_be_had_through_a_process_of_ours(public, tmp_path, place):
    with Prowler(public, place) as prowler:
        for _ in range(10):
            tracing.gputrace(tmp_path, "doctor", "-p", prowler.targets[0])
        with tracing.Tracer(tmp_path, "-p", ",".join(map(str, prowler.targets))) as tracer:
            tracing.until(lambda: all(agents_of(pid) for pid in prowler.targets))
            tracer.interrupt().must_be(0)
        assert [agents_of(pid) for pid in prowler.targets] == [{os.stat(machine.AGENT).st_ino}] * ATTACHES
        met, got = prowler.end()
    assert "\n".join(got) == ""
    assert met >= FEWEST_MET


FILE_SERVER_KILLED = "the process that serves it the agent's file was killed"


@pytest.mark.alone
def test_who_kills_the_file_server_keeps_the_agent_out_and_no_more(public, tmp_path):
    """gputrace reports it and goes on, and so do the targets."""
    with Prowler(public, "plain", env={"PROWLER_KILLS": "1"}) as prowler:
        with tracing.Tracer(tmp_path, "-p", ",".join(map(str, prowler.targets))) as tracer:
            prowler.running.wait_line("killed")
            done = tracer.interrupt().must_be(0)
        out = [pid for pid in prowler.targets if not agents_of(pid)]
        met, got = prowler.end()
    assert met > 0 and [line for line in got if not line.startswith("killed")] == []
    said = " ".join(reading.trace_of(tmp_path / "trace.json")["gputrace"]["notes"])
    assert FILE_SERVER_KILLED in said
    assert [pid for pid in out if f"pid {pid}: no GPU times" not in said] == [], repr(done)


FALSE_AGENT = """
#define SEMAPHORE(name) unsigned short name __attribute__((section(".probes")))
SEMAPHORE(gputrace_agent_semaphore);
SEMAPHORE(gputrace_agent_batch_semaphore);
void gputrace_agent_state(void) {}
void gputrace_agent_call(void) {}
void gputrace_agent_batch(void) {}
"""
LOADS = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('ready', flush=True); input()"


def test_what_a_false_agent_says_of_itself_holds_for_its_own_process(tmp_path):
    """An agent reports the address and size of its text; calls of CUPTI from there count as the agent's."""
    (tmp_path / "false").mkdir()
    (tmp_path / "false/agent.c").write_text(FALSE_AGENT)
    false = machine.compile_library(tmp_path / "false/agent.c", tmp_path / "false/libgputrace-agent.so")
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target, \
         tracing.Running(["python3", "-c", LOADS, false], tmp_path) as liar:
        liar.wait_line("ready")
        for pids in (target.pid, f"{target.pid},{liar.pid}"):  # the first trace loads CUPTI, the second probes it
            with tracing.Tracer(tmp_path, "-p", pids) as tracer:
                tracer.wait_logged(logfile.says_ready)
                target.ask("steps 3")
                target.ask("finish")
                tracer.interrupt()
    assert logfile.registrations(tmp_path / "trace.gpt") == [1]  # only the agent itself
