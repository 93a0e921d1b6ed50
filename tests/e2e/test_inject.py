# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The agent in processes that already run: what it sees, where it cannot get in, and what it leaves behind."""

import contextlib
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import time

import chrome_invariants as chrome
import logfile
import machine
import pytest
import reading
import tracing
from reading import simulated


STARTING, RUNNING = 1, 2  # enum gpt_agent_life


def mapped_agents(pid):
    """Paths of the agents that a process has mapped."""
    with open(f"/proc/{pid}/maps") as maps:
        return {line.split(maxsplit=5)[5].strip() for line in maps if "libgputrace-agent" in line}


def mapped_inodes(pid):
    return {os.stat(f"/proc/{pid}/map_files/{line.split()[0]}").st_ino
            for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines() if "libgputrace-agent" in line}


def notes(folder):
    return " ".join(reading.trace_of(folder / "trace.json")["gputrace"]["notes"])


def sent(truth):
    return [op for op in simulated.work(simulated.load(truth)) if op["fate"] == "sent"]


def operations_sent(truth):
    """Their number, of a program that still runs."""
    return truth.read_bytes().count(b'"fate":"sent"')


def launches(truth):
    return [call for call in reading.simulated_launches(simulated.load(truth))]


def assert_all_timed(folder, trace, program):
    """Every launch that the program knows of has its GPU time, under its line."""
    truth = reading.program(folder / program)
    assert reading.trace_line_ns(trace) == reading.truth_line_ns(truth)
    receipt = reading.receipt(trace)
    assert receipt["launches_joined"] == receipt["launches_expected"]
    assert reading.losses(trace) == {}


def trace_once(target, folder, number=0):
    """Traces an obedient program once and checks the GPU times."""
    target.ask("finish")
    target.ask("forget")
    with tracing.Tracer(folder, "-p", target.pid) as tracer:
        tracer.wait_logged(logfile.says_ready)
        target.ask("steps 3")
        target.ask("finish")
        target.ask(f"truth {folder}/program-{number}.json")
        done = tracer.interrupt().must_be(0)
    assert_all_timed(folder, reading.trace_of(folder / "trace.json"), f"program-{number}.json")
    return done


def wait_stopped(pid):
    """The agent may still be about to end when gputrace has its last records."""
    tracing.until(lambda: tracing.agent_status(pid)[0] == 0)


def test_a_process_that_already_runs_has_gpu_times(tmp_path, kind_of_python):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json", python=kind_of_python) as target:
        target.ask("steps 2")
        trace_once(target, tmp_path)


def test_a_process_whose_first_thread_has_ended_has_gpu_times(tmp_path):
    """/proc/PID has no memory, files or stack any more; those of its other threads remain."""
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        target.ask("leave")
        assert tracing.state(pathlib.Path(f"/proc/{target.pid}")) == "Z"
        trace_once(target, tmp_path)
        target.end().must_be(0)


def test_each_later_trace_has_them_too_and_the_agent_comes_once(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        for number in range(4):
            trace_once(target, tmp_path, number)
        assert len(mapped_agents(target.pid)) == 1


def test_each_launch_while_the_agent_begins_is_there_once(tmp_path):
    """The agent gets callbacks before it reports that; meanwhile symbol probes see a runtime and its driver call."""
    gate = tmp_path / "gate"
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json", env={"SIMGPU_CALLBACK_GATE": gate}) as target:
        target.ask("steps 1")
        target.ask("finish")
        target.ask("forget")
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            def is_seen_by_both(log):
                target.ask("steps 1")
                return logfile.has_call_seen_by_both(log)

            tracer.wait_logged(is_seen_by_both)
            target.ask("threads 4 2")
            gate.touch()
            tracer.wait_logged(logfile.says_ready)
            target.ask("threads 4 2")
            target.ask("finish")
            target.ask(f"truth {tmp_path}/program.json")
            tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    truth = reading.program(tmp_path / "program.json")
    receipt = reading.receipt(trace)
    assert receipt["launches"] == receipt["launches_expected"] == sum(entry["count"] for entry in truth["stacks"])
    assert reading.trace_stacks(trace, reading.truth_calls(truth), truth["pid"]) == reading.truth_stacks(truth)
    assert_all_timed(tmp_path, trace, "program.json")


def assert_others_were_under_way(trace, entries):
    """GPU work without a launch belongs to calls that CUPTI saw before the agent began to receive callbacks."""
    calls = {call["corr"]: call for call in simulated.calls(entries)}
    operations = chrome.events(trace, *chrome.GPU)
    others = [calls[reading.cupti_correlation(op)] for op in operations if op["args"].get("launch") == "before the trace"]
    joined = [calls[reading.cupti_correlation(op)] for op in operations if "launch" not in op["args"]]
    first_return = min(call["exit"] for call in joined)
    assert all(call["enter"] < first_return for call in others)
    receipt = reading.receipt(trace)
    assert len(others) == receipt["gpu_operations_before"] == receipt["gpu_operations"] - receipt["gpu_operations_joined"]


def test_a_training_program_with_graphs_is_attached_in_the_middle(tmp_path):
    """Graphs that were captured and instantiated before have GPU times, too."""
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--until", tmp_path / "enough", "--graph", "--threads", 2]
    with tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", *program), tmp_path) as running:
        running.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            tracer.wait_logged(logfile.says_ready)
            before = operations_sent(tmp_path / "gpu.json")
            tracing.until(lambda: operations_sent(tmp_path / "gpu.json") > before + 4000)
            (tmp_path / "enough").touch()
            tracer.process.wait(tracing.PATIENCE_S)  # gputrace ends with the program
            tracer.end().must_be(0)
        running.process.wait(tracing.PATIENCE_S)
    trace = reading.trace_of(tmp_path / "trace.json")
    operations = sent(tmp_path / "gpu.json")
    assert len(operations) > 1000 and any(op["graph"] for op in operations)
    reading.assert_has_those_of_the_recording(trace, operations, tmp_path / "trace.gpt")
    assert_others_were_under_way(trace, simulated.load(tmp_path / "gpu.json"))
    receipt = reading.receipt(trace)
    assert receipt["launches_expected"] == receipt["launches_joined"] > 1000


def test_whether_the_agent_works_is_not_reported_by_the_name_of_a_thread(tmp_path):
    """Threads that CUPTI makes inherit the name of the calling thread, and stay."""
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        trace_once(target, tmp_path, 0)
        target.ask("sleeper gputrace-agent")
        trace_once(target, tmp_path, 1)
        wait_stopped(target.pid)
        assert tracing.agent_status(target.pid) == (0, 2)


def test_an_agent_that_says_that_it_works_is_left_alone_and_the_report_says_so(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        trace_once(target, tmp_path)
        wait_stopped(target.pid)
        with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(tracing.agent_status_address(target.pid) + 4)
            memory.write(bytes([RUNNING]))
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("steps 2")
            done = tracer.interrupt().must_be(0)
    said = "the agent could not be let in: its agent is at work, for another gputrace or still for an earlier trace"
    assert said in notes(tmp_path) and said in " ".join(done.stdout.split())


def test_what_keeps_the_agent_out_when_the_trace_ends_is_reported(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        os.kill(target.pid, signal.SIGSTOP)
        tracing.until(lambda: tracing.state(pathlib.Path(f"/proc/{target.pid}")) == "T")
        tracing.gputrace(tmp_path, "-p", target.pid, "-d", "50ms", "-o", tmp_path / "trace.json").must_be(0)
        os.kill(target.pid, signal.SIGCONT)
    assert f"pid {target.pid}: no GPU times, the agent could not be let in: it is stopped" in notes(tmp_path)


# System calls (x86-64) that a program needs which has threads, allocates, computes, reads and writes.
FEW_CALLS = {
    "read": 0, "write": 1, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13,
    "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35,
    "getpid": 39, "exit": 60, "ftruncate": 77, "gettid": 186, "futex": 202, "restart_syscall": 219,
    "clock_nanosleep": 230, "exit_group": 231,
}


def pids_controller():
    """The root folder of cgroup v1 or v2 in which groups have pids.max, or None."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, folder, kind, options = line.split()[:4]
        folder = pathlib.Path(folder)
        if (kind == "cgroup" and "pids" in options.split(",") or
                kind == "cgroup2" and "pids" in (folder / "cgroup.subtree_control").read_text().split()):
            return folder
    return None


@contextlib.contextmanager
def no_further_threads(pid):
    """Puts the process in a cgroup in which no more threads can be made."""
    group = pids_controller() / f"gputrace-test-{pid}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(pid))
        (group / "pids.max").write_text((group / "pids.current").read_text())
        yield
    finally:
        tracing.until(lambda: not (group / "cgroup.procs").read_text())  # until its processes have ended
        group.rmdir()


@pytest.mark.parametrize("limit", ("RLIMIT_AS", "RLIMIT_NPROC", "pids.max"))
def test_a_limit_by_which_the_agent_has_no_thread_is_named(tmp_path, limit):
    if limit == "pids.max" and not pids_controller():
        pytest.skip("no cgroup with a pids.max can be made here")
    with contextlib.ExitStack() as limited, tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        target.ask("steps 1")
        if limit == "pids.max":
            limited.enter_context(no_further_threads(target.pid))
        else:
            target.ask(f"limit {limit}")
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            tracer.wait_logged(logfile.says_failed)
            target.ask("steps 1")
            done = tracer.interrupt()
        target.ask("steps 1")
        assert target.end().code == 0
    done.must_be(0)
    (said,) = [text for text in done.stdout.split("\n\n") if text.startswith(f"No GPU times for pid {target.pid}")]
    said = " ".join(said.split())
    assert "there was no memory or thread for the agent" in said and limit in said and "To get them: raise that limit" in said
    assert limit == "RLIMIT_AS" or "no thread: there are too many, RLIMIT_NPROC (ulimit -u) or pids.max of its cgroup" in said


def test_a_program_that_filters_its_system_calls_while_it_is_traced_keeps_working(tmp_path):
    """The filter also holds for threads of the agent and the simulated CUPTI (TSYNC): other calls kill the program."""
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            tracer.wait_logged(logfile.says_ready)
            target.ask("steps 2")
            target.ask("allow_only " + " ".join(map(str, FEW_CALLS.values())))
            target.ask("steps 50")
            target.ask("finish")
            tracer.interrupt().must_be(0)
        trace = reading.trace_of(tmp_path / "trace.json")
        assert reading.trace_operations(trace) == reading.simulated_operations(sent(tmp_path / "gpu.json"))
        wait_stopped(target.pid)
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("steps 2")
            tracer.interrupt().must_be(0)
        assert "the agent could not be let in" in notes(tmp_path)
        target.ask("steps 2")


def test_an_agent_that_came_with_the_driver_is_woken(tmp_path):
    """No gputrace listened when the agent was loaded: it did nothing and has no thread."""
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json", env={"CUDA_INJECTION64_PATH": machine.AGENT}) as target:
        assert len(mapped_agents(target.pid)) == 1 and not tracing.has_thread(target.pid)
        trace_once(target, tmp_path)
        assert len(mapped_agents(target.pid)) == 1


@pytest.mark.parametrize("content", (None, "no library\n"))
def test_a_process_whose_driver_cannot_bring_the_agent_is_entered(tmp_path, content):
    """Its CUDA_INJECTION64_PATH names a file that is not there, or that cannot be loaded."""
    named = tmp_path / "elsewhere/libgputrace-agent.so"
    named.parent.mkdir()
    if content:
        named.write_text(content)
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json", env={"CUDA_INJECTION64_PATH": named}) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            if content:  # its first call shows that the file cannot be loaded
                target.ask("steps 1")
            tracing.wait_agent(target.pid)
            tracer.interrupt().must_be(0)
        trace_once(target, tmp_path)


def test_a_process_that_has_yet_to_start_cuda_gets_the_agent_from_its_driver(tmp_path):
    with tracing.target(tmp_path, "late", truth=tmp_path / "gpu.json", env={"CUDA_INJECTION64_PATH": machine.AGENT}) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("load_simulated")
            tracer.wait_logged(logfile.says_ready)
            target.ask("steps 3")
            target.ask("finish")
            target.ask(f"truth {tmp_path}/program.json")
            assert mapped_agents(target.pid) == {str(machine.AGENT)}
            tracer.interrupt().must_be(0)
    assert_all_timed(tmp_path, reading.trace_of(tmp_path / "trace.json"), "program.json")


def test_an_agent_of_another_version_is_left_alone_and_named(tmp_path):
    other = tmp_path / "libgputrace-agent.so"
    source = tmp_path / "other.c"
    source.write_text("int InitializeInjection(void) { return 1; }\n"
                      "const unsigned gputrace_agent_abi = 4711; void gputrace_agent_start(void) { __builtin_trap(); }\n")
    machine.compile_library(source, other)
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json", env={"CUDA_INJECTION64_PATH": other}) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("steps 2")
            tracer.interrupt().must_be(0)
        assert mapped_agents(target.pid) == {str(other)}
    assert f"agent of another version of gputrace ({other})" in notes(tmp_path)


def test_nothing_is_left_but_the_library(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        files = sorted(os.listdir(f"/proc/{target.pid}/fd"))
        trace_once(target, tmp_path)
        tracing.wait_threads_gone(target.pid)
        assert sorted(os.listdir(f"/proc/{target.pid}/fd")) == files
        assert mapped_inodes(target.pid) == {os.stat(machine.AGENT).st_ino}  # the file itself, no copy


def test_agent_off_keeps_it_out(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        with tracing.Tracer(tmp_path, "-p", target.pid, "--agent", "off") as tracer:
            target.ask("steps 2")
            tracer.interrupt().must_be(0)
        assert mapped_agents(target.pid) == set()


def test_cuda_is_not_started_before_the_program_does(tmp_path):
    """A process that has started CUDA cannot fork workers that use it."""
    with tracing.target(tmp_path, "late", truth=tmp_path / "gpu.json") as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            tracing.wait_agent(target.pid)
            target.process.stdin.write("started\n")
            target.process.stdin.flush()
            assert target.wait_line("started").split()[1] == "False"
            target.wait_line("done")
            target.ask("load_simulated")
            tracing.until(lambda: tracing.agent_status(target.pid)[0] != STARTING)
            target.ask("steps 2")
            target.ask("finish")
            target.ask("forget")
            target.ask("steps 3")
            target.ask("finish")
            target.ask(f"truth {tmp_path}/program.json")
            tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    seen, truth = reading.trace_line_ns(trace), reading.truth_line_ns(reading.program(tmp_path / "program.json"))
    assert set(seen) == set(truth) and all(seen[line] >= truth[line] for line in truth)


def test_asyncio_with_one_thread_is_entered(tmp_path):
    """It waits in epoll_wait with time-outs, which start over after a stop: it is entered at the start of a wait."""
    program = tmp_path / "program.py"
    program.write_text(
        "import asyncio, sys\n"
        f"sys.path[:0] = ['{machine.WORKLOADS}']\n"
        "import gpu, model\n"
        "async def main():\n"
        "    print('ready', flush=True)\n"
        "    while not sys.stdin in __import__('select').select([sys.stdin], [], [], 0)[0]:\n"
        "        model.attention(None, 3)\n"
        "        await asyncio.sleep(0.02)\n"
        "gpu.setup()\n"
        "asyncio.run(main())\n")
    with tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), program), tmp_path) as running:
        running.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            tracer.wait_logged(lambda log: logfile.gpu_operations_since(log, 0) > 20)
            tracer.interrupt().must_be(0)
        running.end().must_be(0)
    receipt = reading.receipt(reading.trace_of(tmp_path / "trace.json"))
    assert receipt["launches_expected"] == receipt["launches_joined"] > 20


# ---- other namespaces -------------------------------------------------------------------------------

WORLDS = {
    "mount": ["unshare", "--mount"],
    "pid": ["unshare", "--mount", "--pid", "--fork"],
    "user": [*tracing.AS_NOBODY, "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork"],
}


@pytest.fixture
def open_folder():
    """A folder that any user may enter and write to."""
    import tempfile
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    for name in ("simgpu", "out", "root"):
        (folder / name).mkdir()
        (folder / name).chmod(0o777)
    for library in machine.SIMGPU.glob("lib*.so.*"):
        if not library.name.endswith(".map"):
            shutil.copy(library, folder / "simgpu")
    shutil.copytree(machine.ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def inner_process(pid):
    """The innermost child of a chain of unshare, sh and chroot."""
    while True:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not children:
            return pid
        pid = int(children[0])


@pytest.mark.parametrize("world", WORLDS)
def test_a_process_in_another_world_with_a_read_only_root(open_folder, tmp_path, world):
    """It cannot see the agent's file, and there is no place for a copy."""
    command = [*WORLDS[world], open_folder / "tests/e2e/programs/another_world.sh", open_folder / "root",
               open_folder / "simgpu", open_folder / "tests", open_folder / "out",
               "/bin/sh", "/tests/simgpu/simgpu-run", "--truth", "/out/gpu.json",
               "/usr/bin/python3", "/tests/e2e/programs/obedient.py"]
    with tracing.Running(command, "/", env={"SIMGPU_LIBRARIES": "/simgpu", "TMPDIR": "/tmp"}) as running:
        ready = running.wait_line("ready")
        running.pid = inner_process(running.pid)
        if world != "mount":
            assert ready.split()[1] != str(running.pid)
        assert not os.path.exists(f"/proc/{running.pid}/root{machine.AGENT}")
        running.ask("forget")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            tracer.wait_logged(logfile.says_ready)
            running.ask("steps 3")
            running.ask("finish")
            running.ask("truth /out/program.json")
            tracer.interrupt().must_be(0)
        shutil.copy(open_folder / "out/program.json", tmp_path)
        tracing.wait_threads_gone(running.pid)
        assert os.listdir(open_folder / "out") in (["gpu.json", "program.json"], ["program.json", "gpu.json"])
        running.end()
    assert_all_timed(tmp_path, reading.trace_of(tmp_path / "trace.json"), "program.json")


# ---- where it is refused -------------------------------------------------------------------------------

def refusal_of(folder, pid):
    """The notes of a trace of the process."""
    with tracing.Tracer(folder, "-p", pid) as tracer:
        tracer.interrupt()
    return notes(folder)


@pytest.mark.parametrize("kind, compiler, flags, why", (
    ("static", None, ["-static"], "statically linked"),
    ("musl", "musl-gcc", [], "musl"),
))
def test_a_program_without_glibc_is_refused_with_a_word(tmp_path, kind, compiler, flags, why):
    if compiler and not shutil.which(compiler):
        pytest.skip(f"no {compiler} (Debian package musl-tools)")
    program = machine.compile_program(machine.PROGRAMS / "maps_only.c", tmp_path / kind, *flags, compiler=compiler)
    with tracing.Running([program, machine.SIMGPU / "libcuda.so.1"], tmp_path) as running:
        running.wait_line("ready")
        assert why in refusal_of(tmp_path, running.pid)
        running.end().must_be(0)


def test_a_process_in_a_debugger_is_left_to_it(tmp_path):
    debugger = tmp_path / "debugger.py"
    debugger.write_text("import ctypes, os, sys\n"
                        "trace = ctypes.CDLL(None).ptrace\n"
                        "print('seized', trace(0x4206, int(sys.argv[1]), None, None), flush=True)\n"
                        "sys.stdin.readline()\n")
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        with tracing.Running(["python3", debugger, target.pid], tmp_path) as debugging:
            debugging.wait_line("seized 0")
            assert f"held by a debugger (pid {debugging.pid})" in refusal_of(tmp_path, target.pid)
        trace_once(target, tmp_path)


def test_a_process_without_a_free_signal_is_refused_and_not_one_call_of_it_is_ended(tmp_path):
    program = machine.compile_program(machine.PROGRAMS / "handles_signals.c", tmp_path / "program", "-pthread")
    with tracing.Running([program, machine.SIMGPU / "libcuda.so.1"], tmp_path) as running:
        running.wait_line("ready")
        why = refusal_of(tmp_path, running.pid)
        assert running.end().must_be(0).stdout == "interrupted 0\n"
    assert "it handles SIGURG, SIGWINCH and SIGCHLD" in why


# One Python for each glibc: this machine's, Debian 11's (2.31), Debian 13's (2.41), and unstable's.
LIBCS = {"system": machine.any_python, **{version: functools.partial(machine.root_python, version)
                                          for version in ("3.9", "3.13", "3.15")}}

SMALL_STACKS = """import ctypes, sys
ctypes.CDLL(sys.argv[1])
sys.exit(ctypes.CDLL(sys.argv[2]).small_stacks(int(sys.argv[3])))
"""


@pytest.mark.parametrize("own", (False, True))
@pytest.mark.parametrize("version", LIBCS)
def test_small_stacks_of_a_program_are_not_used(tmp_path, version, own):
    """Many stacks in one mapping, as of fibers: a thread is entered only on the stack that it was created with."""
    library = machine.compile_library(machine.PROGRAMS / "small_stacks.c", tmp_path / "small_stacks.so", "-pthread",
                                      "-Wl,-z,now")  # lazy binding takes 3 KB of stack
    program = [LIBCS[version](), "-c", SMALL_STACKS, machine.SIMGPU / "libcuda.so.1", library, int(own)]
    with tracing.Running(program, tmp_path) as running:
        running.wait_line("ready")
        pid = inner_process(running.pid)
        with tracing.Tracer(tmp_path, "-p", pid) as tracer:
            if own:
                tracing.until(lambda: mapped_agents(pid))
            tracer.interrupt()
        why = notes(tmp_path)
        entered = mapped_agents(pid) != set()
        assert running.end().must_be(0).stdout == "overrun 0\n"
    assert entered == own
    assert ("not known to be their own" in why) == (not own)


TIMES = int(os.environ.get("GPUTRACE_TEST_TIMES", 2))


CAME_IN = "the agent came in"


def let_in_once(folder, pid):
    """Traces the program until the agent has come in, however long that takes."""
    tracing.wait_threads_gone(pid)
    with tracing.Tracer(folder, "-p", pid) as tracer:
        if not any(CAME_IN in line for line in tracer.said):
            tracer.wait_line(CAME_IN, "stderr")
        tracer.interrupt().must_be(0)
    return True


def trace_shortly(folder, pid):
    """Returns whether the agent came in."""
    done = tracing.gputrace(folder, "-v", "-p", pid, "-d", "300ms", "-o", folder / "trace.json").must_be(0)
    return CAME_IN in done.stderr


def assert_goes_on(folder, running, traces, traced):
    """Traces the program several times, and on until the agent has come in once; it goes on each time.  Returns how often
    the agent came in."""
    running.wait_line("ready")
    pid, came = inner_process(running.pid), 0
    for number in range(10 * traces):
        if number >= traces and came:
            break
        came += traced(folder, pid)
        running.process.stdin.write("\n")
        running.process.stdin.flush()
        running.wait_line("goes on")
    running.end().must_be(0)
    return came


CALL = "import ctypes, sys\nctypes.CDLL(sys.argv[1])\ngetattr(ctypes.CDLL(sys.argv[2]), sys.argv[3])()\n"


SPINS = """#include <stddef.h>
#include <unistd.h>
void *malloc(size_t size) { (void)size; return NULL; }
void spin(void) { if (write(1, "ready\\n", 6) == 6) for (volatile unsigned i = 0;; i++); }
"""


def test_a_thread_that_never_leaves_a_library_with_an_allocator_is_not_caught(tmp_path):
    source = tmp_path / "spins.c"
    source.write_text(SPINS)
    library = machine.compile_library(source, tmp_path / "spins.so", "-fno-builtin")
    program = [machine.any_python(), "-c", CALL, machine.SIMGPU / "libcuda.so.1", library, "spin"]
    with tracing.Running(program, tmp_path) as running:
        running.wait_line("ready")
        assert " be caught at a safe point" in refusal_of(tmp_path, running.pid)


@pytest.mark.parametrize("version", LIBCS)
def test_a_program_that_forks_all_the_time_goes_on(tmp_path, version):
    """Its fork handlers wait for locks of the borrowed thread; glibc 2.31 holds a lock while they run."""
    library = machine.compile_library(machine.PROGRAMS / "fork_locks.c", tmp_path / "fork_locks.so", "-pthread")
    program = [LIBCS[version](), "-c", CALL, machine.SIMGPU / "libcuda.so.1", library, "fork_locks"]
    with tracing.Running(program, tmp_path) as running:
        assert assert_goes_on(tmp_path, running, TIMES, let_in_once) == TIMES


@pytest.mark.parametrize("version", LIBCS)
def test_an_allocator_is_not_called_by_a_thread_that_is_in_it(tmp_path, version):
    library = machine.compile_library(machine.PROGRAMS / "locking_malloc.c", tmp_path / "locking_malloc.so", "-pthread")
    program = [LIBCS[version](), "-c", CALL, machine.SIMGPU / "libcuda.so.1", library, "locking_malloc"]
    with tracing.Running(program, tmp_path, {"LD_PRELOAD": library}) as running:
        assert assert_goes_on(tmp_path, running, TIMES, trace_shortly) > 0


def test_agent_require_fails_where_it_cannot_go(tmp_path):
    program = machine.compile_program(machine.PROGRAMS / "maps_only.c", tmp_path / "static", "-static")
    with tracing.Running([program, machine.SIMGPU / "libcuda.so.1"], tmp_path) as running:
        running.wait_line("ready")
        done = tracing.gputrace(tmp_path, "-p", running.pid, "--agent", "require", "-o", tmp_path / "t.json")
        done.must_be(1)
        assert "--agent require" in done.stderr and "statically linked" in done.stderr
        running.end().must_be(0)


# ---- what doctor predicts -----------------------------------------------------------------------------

def doctor_lines(folder, pid):
    """{what: (health, text)}: doctor's lines about one process."""
    done = tracing.gputrace(folder, "doctor", "-p", pid)
    lines = done.stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"pid {pid} "))
    return {line[:16].strip(): (line[16:25].strip(), line[25:]) for line in lines[start + 1:]}


def test_doctor_says_whether_the_agent_can_come_in_and_stops_nothing(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        health, text = doctor_lines(tmp_path, target.pid)["agent"]
        assert health == "ok" and text.startswith("can come in by thread ")
        assert mapped_agents(target.pid) == set()
        trace_once(target, tmp_path)
        wait_stopped(target.pid)
        health, text = doctor_lines(tmp_path, target.pid)["agent"]
        assert health == "ok" and "can be woken" in text


def test_doctor_says_what_keeps_the_agent_out(tmp_path):
    program = machine.compile_program(machine.PROGRAMS / "maps_only.c", tmp_path / "static", "-static")
    with tracing.Running([program, machine.SIMGPU / "libcuda.so.1"], tmp_path) as running:
        running.wait_line("ready")
        assert doctor_lines(tmp_path, running.pid)["agent"] == (
            "limited", "cannot come in: it is statically linked: there is no loader in it")
        running.end().must_be(0)


@pytest.fixture
def cuda(tmp_path):
    """An empty cudart of CUDA 12 in a folder like a wheel's, and an empty folder for CUPTI."""
    wheel = tmp_path / "nvidia/cuda_runtime/lib"
    wheel.mkdir(parents=True)
    (tmp_path / "nvidia/cuda_cupti/lib").mkdir(parents=True)
    (tmp_path / "empty.c").write_text("int nothing;\n")
    return machine.compile_library(tmp_path / "empty.c", wheel / "libcudart.so.12")


def cupti_said(folder, cudart, **env):
    program = ["python3", "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('ready', flush=True); input()", cudart]
    with tracing.Running(program, folder, env) as running:
        running.wait_line("ready")
        return doctor_lines(folder, running.pid)["CUPTI"]


def test_doctor_names_the_cupti_beside_the_libcudart_of_the_process(tmp_path, cuda):
    for name in ("libcupti.so.12", "libcupti.so.13"):
        (tmp_path / "nvidia/cuda_cupti/lib" / name).write_text("")
    health, text = cupti_said(tmp_path / "nvidia", cuda)
    assert health == "ok" and text.startswith("libcupti.so.12 lies beside its libcudart: /")


def test_doctor_says_when_only_a_cupti_of_another_cuda_is_there(tmp_path, cuda):
    toolkit = tmp_path / "t"
    (toolkit / "lib64").mkdir(parents=True)
    (toolkit / "lib64/libcupti.so.13").write_text("")
    health, text = cupti_said(tmp_path, cuda, CUDA_HOME=toolkit, GPUTRACE_CUPTI="")
    assert health == "limited"
    assert text.startswith("libcupti.so.13, for a libcudart of CUDA 12, is that of its CUDA_HOME")


# ---- again and again, and killed ------------------------------------------------------------------------

def figures(pid):
    """Numbers that may not grow: threads, descriptors, mappings."""
    with open(f"/proc/{pid}/maps") as maps:
        mappings = sum(1 for _ in maps)
    return len(os.listdir(f"/proc/{pid}/task")), len(os.listdir(f"/proc/{pid}/fd")), mappings


def resident_kb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def busy(folder, threads=4):
    program = [machine.any_python(), machine.PROGRAMS / "busy.py", threads, folder / "program.json"]
    running = tracing.Running(tracing.on_simgpu(folder / "gpu.json", *program), folder)
    running.wait_line("ready")
    return running


def assert_right(running, folder):
    running.process.stdin.write("\n")
    running.process.stdin.flush()
    running.wait_line("right")
    running.end().must_be(0)
    truth = reading.program(folder / "program.json")
    assert reading.simulated_line_ns(simulated.load(folder / "gpu.json")) == reading.truth_line_ns(truth)


CYCLES = int(os.environ.get("GPUTRACE_TEST_CYCLES", 12))
WARM_UP = 8  # the first traces fill caches: stacks of threads, arenas, CUPTI's own


def test_a_busy_process_is_attached_and_left_again_and_again(tmp_path):
    came = 0
    with busy(tmp_path) as running:
        for number in range(CYCLES):
            if number == WARM_UP:
                warm, kb = figures(running.pid), resident_kb(running.pid)
            done = tracing.gputrace(tmp_path, "-v", "-p", running.pid, "-d", "50ms", "-o", tmp_path / "trace.json")
            done.must_be(0)
            came += "the agent came in" in done.stderr
            tracing.wait_threads_gone(running.pid)
        threads, files, mappings = figures(running.pid)
        assert (threads, files) == warm[:2]
        assert mappings <= warm[2] + 16  # malloc's own arenas come and go
        assert resident_kb(running.pid) < kb + 40 * CYCLES + 20000
        assert_right(running, tmp_path)
    assert came >= CYCLES * 0.9


KILLS = int(os.environ.get("GPUTRACE_TEST_KILLS", 20))


def test_a_busy_process_ends_right_when_gputrace_is_killed_again_and_again(tmp_path):
    import random
    moments = random.Random(20240607)
    with busy(tmp_path) as running:
        for number in range(KILLS):
            command = [machine.GPUTRACE, "-p", str(running.pid), "-o", str(tmp_path / "trace.json")]
            tracer = subprocess.Popen(command, env=tracing.environment(tmp_path), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            time.sleep(moments.uniform(0, 0.5))  # any moment: while it attaches, lets the agent in or traces
            if number % 3 == 0:  # while it leaves
                tracer.send_signal(signal.SIGINT)
                time.sleep(moments.uniform(0, 0.1))
            tracer.kill()
            tracer.wait()
        tracing.wait_threads_gone(running.pid)
        assert_right(running, tmp_path)
