# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace dump: programs that hang in many ways report the thread to blame; the dump names it, on every CPython."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import time

import fake_python
import machine
import pytest
import tracing

HANGS = machine.PROGRAMS / "hangs.py"
MOVES, FAILED, USAGE, STILL = 0, 1, 2, 4
BETWEEN_LOOKS_NS = 500000000
HALF_S = r"(0\.[5-9]|[1-9]\d*\.\d) s"  # half a second, or more on a busy machine

# What each role waits for: the kind, and a pattern of the text ({ROLE} is a thread, {ROLE.pid} a process).
WAITS = {
    "cycle": {"one": ("lock", "threading.Lock, which thread {two} holds in"),
              "two": ("lock", "threading.Lock, which thread {one} holds in")},
    "holder": {"holder": ("timer", "sleeps"), "waiter": ("lock", "threading.Lock, which thread {holder} holds in")},
    "reentrant": {"holder": ("timer", "sleeps"), "waiter": ("lock", "threading.RLock, which thread {holder} holds in")},
    "itself": {"waiter": ("lock", "threading.Lock that it holds itself")},
    "gil": {"holder": ("timer", "sleeps"), "waiter": ("gil", "the GIL, which thread {holder} holds")},
    "stopped": {"worker": ("stopped", "is stopped by a signal"),
                "waiter": ("file", r"to read from fd \d+, a pipe, whose other end process {worker.pid} \(.*, stopped\) has")},
    "pipe": {"child": ("file", "to write to fd 1, a pipe, whose other end process {waiter.pid}"),
             "waiter": ("child", "waits for child {child.pid}")},
    "zombie": {"waiter": ("file", "a pipe, whose other end no process but this one has")},
    "mutex": {"waiter": ("mutex", "a mutex, whose owner, thread {owner}, has ended without unlocking it")},
    "owned": {"owner": ("timer", "sleeps"), "waiter": ("mutex", "a mutex, which thread {owner} holds")},
    "forked": {"waiter": ("lock", "threading.Lock that no thread of this process holds: process {parent.pid} forked it")},
    "empty": {"waiter": ("lock", "an item of a queue")},
    "barrier": {"waiter": ("lock", "at a threading.Barrier"), "other": ("lock", "at a threading.Barrier")},
    "event": {"waiter": ("lock", "a threading.Event to be set")},
    "imports": {"worker": ("import", "module ring, which thread {waiter} imports"),
                "waiter": ("join", "the end of thread {worker}")},
    "sockets": {"child": ("timer", "sleeps"),
                "waiter": ("file", r"to read from fd \d+, a socket, whose other end process {child.pid}")},
    "tcp": {"child": ("file", "whose other end process {waiter.pid}"),
            "waiter": ("file", "whose other end process {child.pid}")},
    "sigstop": {"waiter": ("stopped", "is stopped by a signal")},
    "sleeps": {"waiter": ("timer", "sleeps")},
    "parked": {"waiter": ("futex", "waits at a futex$")},
    "endless": {"waiter": ("timer", "sleeps$")},
    "forgets": {"waiter": ("file", r"waits for files \(poll\)$")},
    "tasks": {"waiter": ("file", "epoll_wait|to read from")},
    "coroutine": {"waiter": ("file", "epoll_wait|to read from")},
    "deep": {"waiter": ("timer", "sleeps")},
    "exits": {"worker": ("timer", "sleeps"), "waiter": ("join", "end of thread {worker}, which is (no daemon and is )?at sleep ")},
    "mp_lock": {"waiter": ("lock", "a multiprocessing.Lock, which another process may hold")},
    "mp_acquire": {"lock": ("lock", "a multiprocessing.Lock, which another process may hold$"),
                   "rlock": ("lock", "a multiprocessing.RLock, which another process may hold$"),
                   "semaphore": ("lock", "a multiprocessing.Semaphore, which another process may hold$")},
    "mp_semaphore": {"waiter": ("lock", "a multiprocessing.Semaphore,")},
    "mp_event": {"waiter": ("lock", "a multiprocessing.Event to be set")},
    "pool": {"one": ("lock", r"waits at .*<lambda> \(.*hangs.py:\d+\) for a result of its own pool few threads, all of whose 2 threads wait for such"),
             "two": ("lock", "its own pool few threads, all of whose 2 threads wait for such: the pool waits for itself$"),
             "waiter": ("lock", "a result of the pool few threads, all of whose 2 threads")},
    "pool_computes": {"worker": ("timer", "sleeps"), "waiter": ("lock", "a Future, for which thread {worker} works at sleep"),
                      "other": ("lock", "a Future that no thread of the pool few threads has begun$")},
    "mp_pool": {"one": ("lock", "its own pool multiprocessing.pool.ThreadPool, whose only thread waits for such: the pool"),
                "waiter": ("lock", "a result of the pool multiprocessing.pool.ThreadPool")},
    "mp_barrier": {"waiter": ("lock", "at a multiprocessing.Barrier")},
}
# What each task of the program `tasks` awaits: the kind, and a pattern of the text ({ROLE} is that task's name).
TASKS = {
    "main": ("future", "waits for a Future$"), "future": ("future", "waits for a Future$"), "unnamed": ("future", "waits for a Future$"),
    "eager": ("future", "waits for a Future$"), "generator": ("future", "waits for a Future$"),
    "lock": ("lock", "waits for an asyncio.Lock$"), "event": ("event", "an asyncio.Event to be set"),
    "queue": ("queue", "waits for an item of a queue"), "join": ("queue", "until all items of a queue are done"),
    "semaphore": ("semaphore", "waits for an asyncio.Semaphore"), "condition": ("condition", "waits to be notified"),
    "sleep": ("sleep", r"sleeps for 100000 s \(asyncio.sleep\)"), "one": ("task", "waits for task {two}$"),
    "two": ("task", "waits for task {one}$"), "itself": ("tasks", r"1 of 1 tasks and Futures \(asyncio.gather\): task {itself}$"),
    "gather": ("tasks", r"2 of 2 tasks and Futures \(asyncio.gather\): task {event}, task {queue}$"),
    "limit": ("task", "task {event}$"),
}
TASK_CYCLES = {"one", "two", "itself"}
# Threads in a cycle, and threads that others wait for and that wait for no other thread.
CYCLES = {"cycle": {"one", "two"}, "itself": {"waiter"}, "pipe": {"child", "waiter"}, "imports": {"worker", "waiter"},
          "tcp": {"child", "waiter"}, "pool": {"one", "two"}, "mp_pool": {"one"}}
ROOTS = {"holder": {"holder"}, "reentrant": {"holder"}, "gil": {"holder"}, "stopped": {"worker"}, "owned": {"owner"},
         "forked": {"waiter"}, "sockets": {"child"}, "tasks": {"waiter"}, "exits": {"worker"},
         "pool_computes": {"worker"}}


def lines_at():
    """{(kind, role): line} by the "# at ROLE" marks in the program."""
    found, kind = {}, None
    for number, line in enumerate(HANGS.read_text().splitlines(), 1):
        kind = (re.match(r"def (\w+)", line) or [None, kind])[1]
        mark = re.search(r"# at (\w+)", line)
        if mark:
            found[kind, mark[1]] = number
    return found


LINES = lines_at()


class Program:
    """One hanging program, and the roles and tasks that it reports."""

    def __init__(self, python, kind, *arguments):
        self.kind = kind
        self.process = subprocess.Popen([python, HANGS, kind, *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.roles = json.loads(self.process.stdout.readline())
        self.tasks = json.loads(self.process.stdout.readline()) if kind == "tasks" else {}
        # the scripts of tests/roots run the interpreter in another process
        self.pid = next((pid for pid, _ in self.roles.values() if pid == self.process.pid), None) or self.process.pid

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def dump(*arguments, **more):
    return subprocess.run([machine.GPUTRACE, "dump", *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=tracing.PATIENCE_S, **more)


def dump_json(*arguments):
    done = dump(*arguments, "--format", "json")
    assert done.returncode in (MOVES, STILL), done.stderr
    return done.returncode, json.loads(done.stdout)


def dump_until(condition, *pids):
    """The dump, taken once the condition holds for it: programs say where they will hang before they do."""
    looked = []

    def holds():
        looked[:] = dump_json("-p", ",".join(map(str, pids)))
        return condition(looked[1])

    tracing.until(holds)
    return looked


def dump_still(*pids):
    """The dump, taken once all these processes hang."""
    code, found = dump_until(lambda found: not any(process["moves"] for process in found["processes"]), *pids)
    assert code == STILL
    return found


@pytest.fixture(scope="module")
def hangs(every_python, tmp_path_factory):
    """All programs at once, and one dump of all of them."""
    # 3.6 has no _PyRuntime to tell where its GIL is.  Its asyncio tasks are not known either, nor a pool's queue; before
    # 3.8 a result of multiprocessing.pool does not say of which pool it is.
    without = {"3.6": {"gil", "tasks", "pool", "pool_computes", "mp_pool"}, "3.7": {"mp_pool"}}
    left_out = set().union(*(kinds for version, kinds in without.items() if re.search(rf"(/|python){version}\b", str(every_python))))
    kinds = [kind for kind in WAITS if kind not in left_out]
    programs = {kind: Program(every_python, kind, tmp_path_factory.mktemp(kind)) for kind in kinds}
    try:
        yield programs, dump_still(*(program.pid for program in programs.values()))
    finally:
        for program in programs.values():
            program.end()


def threads_of(found):
    return {(process["pid"], thread["tid"]): thread for process in found["processes"] for thread in process["threads"]}


def ids(nodes):
    return {(node["pid"], node["tid"]) for node in nodes}


def family_of(program, found):
    family = {program.pid}
    for _ in found["processes"]:
        family |= {process["pid"] for process in found["processes"] if process["parent"] in family}
    return family


def inner_line(thread):
    """The innermost line of the program itself, without its sleep()."""
    return next((frame["line"] for frame in thread["frames"]
                 if frame.get("file", "").endswith("hangs.py") and frame["function"] != "sleep"), None)


@pytest.mark.parametrize("kind", WAITS)
def test_each_thread_s_wait_and_line_are_what_the_program_says(hangs, kind):
    programs, found = hangs
    if kind not in programs:
        return
    program, threads = programs[kind], threads_of(found)
    words = {role: tid for role, (_, tid) in program.roles.items()}
    for role, (wait, text) in WAITS[kind].items():
        if role not in program.roles:
            continue
        thread = threads[tuple(program.roles[role])]
        for name, (pid, tid) in {**program.roles, "parent": (program.pid, 0)}.items():
            text = text.replace("{%s}" % name, str(tid)).replace("{%s.pid}" % name, str(pid))
        assert thread["wait"]["kind"] == wait and re.search(text, thread["wait"]["text"]), (role, words, thread)
        if (kind, role) in LINES:
            assert inner_line(thread) == LINES[kind, role], (role, thread)
        assert not thread["torn"] and not thread["unreadable"] and not thread["moves"]


@pytest.mark.parametrize("kind", WAITS)
def test_who_is_to_blame_is_named_and_no_one_else(hangs, kind):
    programs, found = hangs
    if kind not in programs:
        return
    program = programs[kind]
    family = family_of(program, found)
    cycles = [ids(cycle) for cycle in found["cycles"] if {node["pid"] for node in cycle} & family]
    roots = {(root["thread"]["pid"], root["thread"]["tid"]) for root in found["roots"]
             if root["thread"]["pid"] in family}
    assert cycles == ([{tuple(program.roles[role]) for role in CYCLES[kind]}] if kind in CYCLES else [])
    assert roots == {tuple(program.roles[role]) for role in ROOTS.get(kind, ())}
    in_cycles = {key for key, thread in threads_of(found).items() if thread["in_cycle"] and key[0] in family}
    assert in_cycles == set().union(*cycles)


def test_a_thread_that_has_waited_between_the_looks_is_reported_so_and_one_that_woke_is_not(hangs):
    programs, found = hangs
    threads = threads_of(found)
    for kind, program in programs.items():
        for role in set(WAITS[kind]) & set(program.roles):
            thread = threads[tuple(program.roles[role])]
            if thread["wait"]["kind"] == "gil":  # it wakes up every 5 ms
                assert thread["wait"]["for_ns"] is None and thread["switches"], (kind, role, thread)
            else:
                assert BETWEEN_LOOKS_NS <= thread["wait"]["for_ns"] < 60e9 and not thread["run_ns"], (kind, role, thread)


def test_tasks_of_asyncio_are_what_the_program_says(hangs):
    programs, found = hangs
    if "tasks" not in programs:
        said = {process["pid"]: process["no_tasks"] for process in found["processes"]}
        assert re.search("where CPython 3.6.* keeps them is not known", said[programs["coroutine"].pid])
        return
    program = programs["tasks"]
    (process,) = (process for process in found["processes"] if process["pid"] == program.pid)
    tasks = {task["id"]: task for task in process["tasks"]}
    assert set(tasks) == {number for number, _, _ in program.tasks.values()} and process["tasks_left_out"] == 0
    words = {role: name or f"0x{number:x}" for role, (number, _, name) in program.tasks.items()}
    for role, (number, awaited, name) in program.tasks.items():
        task, (kind, text) = tasks[number], TASKS[role]
        for other, said in words.items():
            text = text.replace("{%s}" % other, said)
        assert task["kind"] == kind and re.search(text, task["text"]), (role, task)
        assert task["name"] == name or (name is None and role == "unnamed"), (role, task)
        assert task["awaits"] == awaited and task["in_cycle"] == (role in TASK_CYCLES) and not task["torn"], (role, task)
        own = [frame["line"] for frame in task["frames"] if frame["file"].endswith("hangs.py")]
        assert own[0] == LINES["tasks", {"eager": "future", "unnamed": "future"}.get(role, role)], (role, task)
        assert task["tid"] == program.roles["waiter"][1]
    thread = threads_of(found)[tuple(program.roles["waiter"])]
    assert thread["python_name"] == "a loop's thread"
    assert [process["pid"] for process in found["processes"] if process["tasks"]].count(program.pid) == 1


def test_a_child_that_has_ended_and_was_not_waited_for_is_named(hangs):
    programs, found = hangs
    said = {process["pid"]: process["ended_children"] for process in found["processes"]}
    program = programs["zombie"]
    assert said[program.pid].startswith(f"{program.roles['child'][0]} (")
    assert all(children is None for pid, children in said.items() if pid != program.pid)


def test_of_a_deep_stack_the_inner_and_the_outermost_frames_are_kept(hangs):
    programs, found = hangs
    thread = threads_of(found)[tuple(programs["deep"].roles["waiter"])]
    frames = thread["frames"]
    (left_out,) = (frame["left_out"] for frame in frames if "left_out" in frame)
    assert len(frames) - 1 + left_out == 900 + 4  # one more recurse, sleep, deep, the module
    assert frames[-1]["function"] == "<module>" and frames[0]["function"].endswith("sleep")


# ---- blocked in the kernel ------------------------------------------------------------------------------------

@contextlib.contextmanager
def running(kind, *arguments, python=None):
    program = Program(python or machine.any_python(), kind, *arguments)
    try:
        yield program
    finally:
        program.end()


@contextlib.contextmanager
def started(command, **environment):
    """The pid of a program that prints "ready"; it is killed at the end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **environment}) as process:
        try:
            assert b"ready" in process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


def test_a_frozen_cgroup_is_named(cgroup):
    folder, freeze = cgroup
    with running("sleeps") as program:
        (folder / "cgroup.procs").write_text(str(program.pid))
        assert "freezer" not in tracing.gputrace("/", "doctor", "-p", program.pid).stdout
        freeze(True)
        try:
            (thread,) = threads_of(dump_still(program.pid)).values()
            doctor = " ".join(tracing.gputrace("/", "doctor", "-p", program.pid).stdout.split())
        finally:
            freeze(False)
            (folder.parent / "cgroup.procs").write_text(str(program.pid))
    assert thread["wait"]["kind"] == "frozen" and "frozen by its cgroup" in thread["wait"]["text"]
    assert "freezer limited its cgroup is frozen: nothing of it runs, and the agent cannot come in, until that is thawed" in doctor


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    return machine.compile_program(machine.PROGRAMS / "serves_file.c", tmp_path_factory.mktemp("server") / "serves_file")


@contextlib.contextmanager
def served(server, folder):
    """A FUSE file whose reads are never answered."""
    mount = folder / "mount"
    mount.mkdir()
    with tracing.Running([server, mount, "silent", "-"], folder) as serving:
        serving.wait_line("ready")
        try:
            yield mount / "silent"
        finally:
            serving.process.stdin.close()
            serving.process.stdin = None
            serving.process.wait(tracing.PATIENCE_S)
            subprocess.run(["umount", "-l", mount], stderr=subprocess.DEVNULL, check=False)


READS = "import sys\nopened = open(sys.argv[1], 'rb', 0)\nprint('ready', flush=True)\nopened.read(1)\n"


def test_a_file_system_that_does_not_answer_is_named_with_the_kernel_s_word(server, public):
    with served(server, public) as path:
        reader = subprocess.Popen([*tracing.AS_NOBODY, machine.SYSTEM_PYTHON, "-c", READS, path], stdout=subprocess.PIPE, text=True)
        reader.stdout.readline()
        found = dump_still(reader.pid)
        reader.kill()
    reader.wait()
    reader.stdout.close()
    (thread,) = threads_of(found).values()
    assert thread["wait"]["kind"] == "file" and str(path) in thread["wait"]["text"]
    assert "fuse" in thread["wchan"] or "request_wait_answer" in thread["wchan"]
    assert thread["frames"][0]["line"] == 4


def test_a_process_whose_memory_does_not_answer_is_given_up_and_its_threads_are_there(server, public):
    """The state of its interpreter is in a page of a FUSE file."""
    liar = fake_python.build("3.12", public / "python3.12")
    liar.chmod(0o755)
    library = public / "libcudart.so.99"
    library.write_bytes(machine.cudart().read_bytes())
    library.chmod(0o755)
    with served(server, public) as waiting, \
            started([*tracing.AS_NOBODY, liar, "runtime_waits", library, "1000000"], WAITING_FILE=str(waiting)) as pid:
        done = dump("-p", pid, "--format", "json")
        watcher = when("-p", pid)
        warned = watcher.stderr.readline()
        watcher.send_signal(signal.SIGINT)
        watcher.communicate(timeout=tracing.PATIENCE_S)
    assert re.fullmatch(rf"gputrace: .*pid {pid}: .* do not answer; until it can be read, no hang of it is seen\n", warned), warned
    assert done.returncode == FAILED and "its memory or its files do not answer" in done.stderr
    (process,) = json.loads(done.stdout)["processes"]
    assert not process["answers"] and "do not answer" in process["no_python"] and process["threads"]


# ---- lying programs ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("lie", ["endless_frames", "frame_is_its_own_caller", "caller_in_kernel", "endless_threads",
                                 "endless_interpreters", "endless_names", "negative_names", "names_in_kernel", "code_is_no_code",
                                 "names_that_command_terminals", "thread_in_kernel"])
@pytest.mark.parametrize("version", ["3.8", "3.12", "3.14"])
def test_an_interpreter_that_lies_ends_nothing_and_its_text_is_safe(version, lie, cudart, tmp_path):
    liar = fake_python.build(version, tmp_path / f"python{version}")
    with started([liar, lie, cudart, "1000000"]) as pid:
        done = dump("-p", pid, "--locals")
    assert done.returncode in (MOVES, STILL), done.stderr
    assert f"process {pid}: " in done.stdout
    assert not [c for c in done.stdout if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"]
    if lie in ("endless_frames", "frame_is_its_own_caller", "caller_in_kernel"):
        assert "its list of Python frames cannot be read to its end" in done.stdout


def test_tasks_that_lie_end_nothing_and_their_text_is_safe():
    with running("lying_tasks") as program:
        found = dump_still(program.pid)
        text = dump("-p", program.pid).stdout
    (process,) = found["processes"]
    assert process["tasks"] and process["tasks_left_out"] and threads_of(found)[tuple(program.roles["waiter"])]["frames"]
    assert f"{process['tasks_left_out']} more tasks of asyncio were left out" in text
    assert not [c for c in text if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"]
    assert max(map(len, text.splitlines())) < 1000


# ---- effects on the process ---------------------------------------------------------------------------------------

def refuse(*numbers):
    """For preexec_fn: a seccomp filter that kills a program that makes one of these system calls (x86-64)."""
    load, jump_equal, answer = 0x20, 0x15, 0x06
    rows = [(load, 0, 0, 0)]
    for number in numbers:
        rows += [(jump_equal, 0, 1, number), (answer, 0, 0, 0x80000000)]  # SECCOMP_RET_KILL_PROCESS
    rows.append((answer, 0, 0, 0x7fff0000))
    program = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *row) for row in rows))
    header = ctypes.create_string_buffer(struct.pack("<H6xQ", len(rows), ctypes.addressof(program)))
    if ctypes.CDLL(None, use_errno=True).prctl(22, 2, header, 0, 0):  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        raise OSError(ctypes.get_errno(), "seccomp")


PTRACE, TKILL, TGKILL, WRITE_TO, BPF, PERF = 101, 200, 234, 311, 321, 298


def test_a_program_that_works_moves_and_is_neither_traced_signalled_nor_written_to():
    """The filter kills gputrace at the first ptrace(2), write to another process's memory, BPF call or perf event."""
    with running("moves") as program:
        done = dump("-p", program.pid, preexec_fn=lambda: refuse(PTRACE, TKILL, TGKILL, WRITE_TO, BPF, PERF))
        assert done.returncode == MOVES, done.stderr
    assert "; it moves" in done.stdout and "; gets on" in done.stdout


def test_a_program_that_computes_and_gets_no_cpu_does_not_stand_still():
    cpu = {min(os.sched_getaffinity(0))}
    with started([machine.any_python(), "-c", "print('ready', flush=True)\nwhile True: pass"]) as starved, \
            started([machine.any_python(), "-c", "print('ready', flush=True)\nwhile True: pass"]) as busy:
        for pid in (starved, busy):
            os.sched_setaffinity(pid, cpu)
        os.setpriority(os.PRIO_PROCESS, busy, -20)
        os.sched_setscheduler(starved, os.SCHED_IDLE, os.sched_param(0))
        code, found = dump_json("-p", starved)
    assert code == MOVES and found["processes"][0]["moves"], found


def test_who_may_not_read_a_process_is_reported_so(public):
    with running("sleeps") as program:
        done = tracing.command(public, *tracing.AS_NOBODY, public / "gputrace", "dump", "-p", program.pid)
    done.must_be(FAILED)
    assert f"pid {program.pid}: may not be read: it is another user's, and the capabilities to look into it are missing" in done.stderr


def test_a_program_with_capabilities_of_its_file_is_named_as_what_may_not_be_read(public):
    sleep = public / "sleep"
    shutil.copy("/usr/bin/sleep", sleep)
    sleep.chmod(0o755)
    tracing.command(public, "setcap", "cap_net_raw+ep", sleep).must_be(0)
    with tracing.Running([*tracing.AS_NOBODY, sleep, "100"], public) as program:
        tracing.until(lambda: os.path.basename(os.readlink(f"/proc/{program.process.pid}/exe")) == "sleep")
        done = tracing.command(public, *tracing.AS_NOBODY, public / "gputrace", "dump", "-p", program.process.pid).must_be(FAILED)
        program.process.kill()
    assert "its program has capabilities (setcap) that gputrace lacks, so only root may look into it" in done.stderr


def test_a_user_may_look_into_a_process_of_his_own(public):
    process = subprocess.Popen([*tracing.AS_NOBODY, machine.SYSTEM_PYTHON, "-c", "print(1, flush=True); import time; time.sleep(1000)"],
                               stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    dump_still(process.pid)
    done = tracing.command(public, *tracing.AS_NOBODY, public / "gputrace", "dump", "-p", process.pid)
    process.kill()
    process.wait()
    process.stdout.close()
    assert done.must_be(STILL) and "sleeps" in done.stdout and "<module> (<string>:1)" in done.stdout


@pytest.mark.parametrize("pid,said", ((4194303, "no such process"), (2, "a thread of the kernel, which runs no program")))
def test_what_is_no_process_is_refused(pid, said):
    done = dump("-p", pid)
    assert done.returncode == FAILED and f"pid {pid}: {said}" in done.stderr


def test_a_zombie_is_refused():
    process = subprocess.Popen(["true"])
    tracing.until(lambda: tracing.state(pathlib.Path(f"/proc/{process.pid}")) == "Z")
    done = dump("-p", process.pid)
    process.wait()
    assert done.returncode == FAILED and "has ended: a zombie, whose parent has not waited for it" in done.stderr


def test_a_process_without_python_has_its_threads():
    process = subprocess.Popen(["sleep", "1000"])
    found = dump_still(process.pid)
    process.kill()
    process.wait()
    (thread,) = threads_of(found).values()
    assert thread["wait"]["kind"] == "timer" and not thread["python"] and thread["frames"] == []


@pytest.mark.parametrize("words,said", (
    ((), "dump needs a process"), (("-p", "gpu", "--all"), "exclude each other"), (("-p", "x"), "is not a process id"),
    (("-p", "1", "--format", "csv"), "dump has text and json"), (("-p", "1", "--when", "hang=0.5s"), "hang=TIME is accepted, of 1 s or more"),
    (("-p", "1", "--when", "slow"), "hang=TIME is accepted"), (("-p", "1", "--keep"), "it needs --when hang=TIME")))
def test_what_cannot_be_meant_is_refused(words, said):
    done = dump(*words)
    assert done.returncode == USAGE and said in done.stderr


@pytest.mark.alone  # the whole machine is looked at, up to a number of processes
def test_all_that_have_python_or_cuda_are_found(cudart):
    code = "import ctypes, sys, time; ctypes.CDLL(sys.argv[1]); print(1, flush=True); time.sleep(1000)"
    process = subprocess.Popen([machine.any_python(), "-c", code, cudart], stdout=subprocess.PIPE)
    process.stdout.readline()
    # not their exit codes: another process of this machine may be one that cannot be read
    gpu, every = (json.loads(dump(*words, "--format", "json").stdout) for words in (("-p", "gpu"), ("--all",)))
    process.kill()
    process.wait()
    process.stdout.close()
    pids = [{one["pid"] for one in found["processes"]} for found in (gpu, every)]
    assert process.pid in pids[0] & pids[1] and os.getpid() in pids[1] - pids[0]


def test_for_people_alike_threads_are_one_block_and_the_guilty_thread_is_named():
    with running("crowd", 50) as crowd, running("holder") as held:
        still = dump_still(crowd.pid, held.pid)
        text = dump("-p", f"{crowd.pid},{held.pid}").stdout
    assert len(still["processes"]) == 2
    assert re.search(r"^  thread \d+ \S+, and 49 alike\n    sleeps", text, re.M), text
    (pid, holder), (_, waiter) = held.roles["holder"], held.roles["waiter"]
    assert f"\n  thread {waiter} " in text
    assert re.search(rf"^  1 thread waits for thread {holder} \S+ of process {pid}, which sleeps, .*hangs.py:\d+\)$", text, re.M), text


def test_of_ten_thousand_threads_each_one_and_the_holder_of_a_lock_are_seen():
    count = 5000
    with running("crowd_at_lock", count) as program:
        found = dump_still(program.pid)
    (process,) = found["processes"]
    lines = [inner_line(thread) for thread in process["threads"]]
    assert not process["threads_left_out"] and len(lines) == 2 * count + 2
    assert (lines.count(LINES["crowd_at_lock", "idle"]), lines.count(LINES["crowd_at_lock", "waiter"])) == (count, count)
    (root,) = found["roots"]
    assert (root["thread"]["tid"], root["waiting"]) == (program.roles["holder"][1], count)


def block_of(text, tid):
    """The block of the text output about a thread."""
    return re.search(rf"^  thread {tid} .*?(?=\n\n|\Z)", text, re.M | re.S)[0]


def test_how_long_a_thread_has_been_in_its_call_is_known_of_one_that_waits_all_the_time(kind_of_python):
    with running("wakes", python=kind_of_python) as program:
        def threads_in(found):
            return (threads_of(found)[tuple(program.roles[role])] for role in ("keeper", "waiter"))

        def sleep_and_wake(found):
            waits, wakes = threads_in(found)
            return waits["wait"]["for_ns"] and wakes["switches"] > 5

        began = time.monotonic()
        _, found = dump_until(sleep_and_wake, program.pid)
        longest_ns = (time.monotonic() - began) * 1e9
        text = dump("-p", program.pid).stdout
    waits, wakes = threads_in(found)
    assert BETWEEN_LOOKS_NS <= waits["wait"]["for_ns"] <= longest_ns
    assert wakes["wait"]["for_ns"] is None
    assert inner_line(waits) == LINES["wakes", "keeper"] and inner_line(wakes) == LINES["wakes", "waiter"]
    assert re.search(rf"^    sleeps.*; in this one call for {HALF_S} or more$", block_of(text, program.roles["keeper"][1]), re.M), text
    assert "one call" not in block_of(text, program.roles["waiter"][1])


def is_in_steps(found, program):
    """Whether the program has been in its call of CUDA at both looks."""
    thread = threads_of(found)[tuple(program.roles["waiter"])]
    return inner_line(thread) == LINES["cuda_steps", "waiter"] and thread["same_frames_ns"]


def test_of_a_call_of_cuda_that_wakes_it_is_known_that_the_frames_were_the_same(tmp_path):
    library = machine.compile_library(machine.PROGRAMS / "cuda_in_steps.c", tmp_path / "libcudart.so.99")
    with running("cuda_steps", library) as program:
        _, found = dump_until(lambda found: is_in_steps(found, program), program.pid)
        text = dump("-p", program.pid).stdout
    thread = threads_of(found)[tuple(program.roles["waiter"])]
    assert thread["wait"]["text"] == "waits in cudaStreamSynchronize (libcudart.so.99)"
    assert inner_line(thread) == LINES["cuda_steps", "waiter"]
    assert thread["wait"]["for_ns"] is None and thread["same_frames_ns"] >= BETWEEN_LOOKS_NS
    block = block_of(text, program.roles["waiter"][1])
    assert re.search(rf"waits in cudaStreamSynchronize .*; the same Python frames at each look for {HALF_S}$", block, re.M), text
    assert "one call" not in block


def test_a_stopped_thread_is_in_no_call_but_has_not_run():
    with running("sigstop") as program:
        dump_still(program.pid)
        text = dump("-p", program.pid).stdout
    assert re.search(rf"^    is stopped by a signal .*; has not run for {HALF_S} or more$", text, re.M), text


def test_for_people_a_loop_s_tasks_are_below_its_thread():
    with running("tasks") as program:
        dump_still(program.pid)
        text = dump("-p", program.pid).stdout
    (_, loop) = program.roles["waiter"]
    block = re.search(rf"^  thread {loop} \S+ \"a loop's thread\"\n.*?\n\n", text, re.M | re.S)[0]
    assert re.search(r"^    task (the \w+|0x\w+|Task-\d+), and [12] alike\n      waits for a Future\n        .*inner \(.*hangs.py:\d+\)$", block, re.M), text
    assert re.search(r"^    task the sleep\n      sleeps for 100000 s", block, re.M), text
    ends = text[text.index("who waits for whom"):]
    assert re.search(r"each of these waits for the next\n    task the (one|two) of process \d+ waits for task the (two|one), in .*\n    task the", ends), text
    assert re.search(r"a task waits for itself\n    task the itself of process", ends), text


@pytest.mark.parametrize("words,what", ((("-p", "gpu"), "CUDA"), (("--all",), "Python")))
def test_where_there_is_no_such_process_it_is_said(words, what, tmp_path):
    done = tracing.command(tmp_path, "unshare", "-pf", "--mount-proc", machine.GPUTRACE, "dump", *words).must_be(FAILED)
    assert f"no process has {what} loaded" in done.stderr


@contextlib.contextmanager
def on_the_simulated_gpu(kind):
    """Runs hangs.py on the simulated GPU; gives (pid, tid) of its waiting thread."""
    command = [machine.SIMGPU_RUN, machine.any_python(), HANGS, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "BUILD": str(machine.BUILD)}) as process:
        try:
            yield tuple(json.loads(process.stdout.readline())["waiter"])
        finally:
            process.kill()


@pytest.mark.parametrize("kind,calls", (("cuda", "cudaDeviceSynchronize|cuCtxSynchronize"), ("cuda_event", "cudaEventSynchronize|cuEventSynchronize"),
                                        ("cuda_stream", "cudaStreamSynchronize|cuStreamSynchronize")))
def test_a_call_of_cuda_that_does_not_return_is_named(kind, calls):
    """On the simulated GPU, where a runtime call waits inside a driver call, so either may be named."""
    with on_the_simulated_gpu(kind) as (pid, tid):
        found = dump_still(pid)
    thread = threads_of(found)[pid, tid]
    assert thread["wait"]["kind"] == "cuda"
    assert re.fullmatch(rf"waits in ({calls})(_v2)? \(libcuda(rt)?\.so\.\d+\)", thread["wait"]["text"])
    assert inner_line(thread) == LINES[kind, "waiter"]


def test_local_variables_are_what_the_program_has(every_python):
    with running("variables", python=every_python) as program:
        dump_still(program.pid)
        _, found = dump_json("-p", program.pid, "--locals")
        text = dump("-p", program.pid, "--locals").stdout
        without = dump("-p", program.pid).stdout
    (thread,) = (thread for thread in threads_of(found).values() if thread["python"])
    (frame,) = (frame for frame in thread["frames"] if frame["function"].endswith("sleeps_with"))
    assert frame["locals"] == {
        "small": "7", "negative": str(-(1 << 40)), "large": "<int of 4 digits of 30 bits>", "yes": "True", "no": "False",
        "ratio": "-0.5", "nothing": "None", "text": "'größe '", "long_text": "'" + "x" * 60 + "...'", "numbers": "<list of 3>",
        "pair": "<tuple of 2>", "table": "<dict of 1>", "few": "<set of 2>", "thing": "<Event>"}
    assert "\n          negative = -1099511627776\n" in text and "negative" not in without


# ---- when it hangs (--when) -------------------------------------------------------------------------------------

def when(*words, **more):
    return subprocess.Popen([machine.GPUTRACE, "dump", "--when", "hang=1s", *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


@pytest.mark.parametrize("kind", ("cycle", "stopped", "empty", "barrier", "imports", "pipe", "pool", "tcp", "sigstop", "rendezvous",
                                  "join_polls"))
def test_a_program_that_hangs_is_dumped_by_itself(kind, tmp_path):
    with running(kind, tmp_path) as program:
        dumped, said = when("-p", program.pid, "--format", "json").communicate(timeout=tracing.PATIENCE_S)
    (found,) = (process for process in json.loads(dumped)["processes"] if process["pid"] == program.pid)
    assert not found["moves"] and f"pid {program.pid}: has not got on for 1 s" in said


@pytest.mark.parametrize("kind", ("polls", "rendezvous"))
def test_waking_only_to_sleep_again_at_the_same_line_is_not_getting_on(kind, tmp_path):
    with running(kind, tmp_path) as program:
        found = dump_still(program.pid)
        thread = threads_of(found)[tuple(program.roles["waiter"])]
    assert (thread["wait"]["kind"], thread["wait"]["text"]) == ("timer", "wakes, and sleeps again at the same line")
    assert thread["switches"] and not thread["moves"] and inner_line(thread) == LINES[kind, "waiter"]


def test_whom_a_thread_waits_for_with_time_outs_is_known_of_a_program_that_was_watched():
    with running("join_polls") as program:
        dumped, said = when("-p", program.pid, "--format", "json").communicate(timeout=tracing.PATIENCE_S)
    found = json.loads(dumped)
    (root,) = found["roots"]
    assert (root["thread"]["tid"], root["waiting"]) == (program.roles["worker"][1], 1), said


def test_the_watch_knows_longer_waits_than_two_looks_do():
    with running("cycle") as program:
        began = time.monotonic()
        dumped, said = when("-p", program.pid, "--format", "json").communicate(timeout=tracing.PATIENCE_S)
        longest_ns = (time.monotonic() - began) * 1e9
        text = when("-p", program.pid).communicate(timeout=tracing.PATIENCE_S)[0]
    threads = threads_of(json.loads(dumped))
    for role in ("one", "two"):
        thread = threads[tuple(program.roles[role])]
        assert 1e9 <= thread["wait"]["for_ns"] <= longest_ns and 1e9 <= thread["same_frames_ns"] <= longest_ns, said
        assert re.search(r"; in this one call for [1-9]\d*\.\d s or more$", block_of(text, program.roles[role][1]), re.M), text


def test_the_watch_says_no_longer_wait_of_a_thread_that_woke_since(tmp_path):
    library = machine.compile_library(machine.PROGRAMS / "cuda_in_steps.c", tmp_path / "libcudart.so.99")
    with running("cuda_steps", library) as steps, running("cycle") as hung:
        dump_until(lambda found: is_in_steps(found, steps), steps.pid)
        dumped, _ = when("-p", f"{hung.pid},{steps.pid}", "--format", "json").communicate(timeout=tracing.PATIENCE_S)
    thread = threads_of(json.loads(dumped))[tuple(steps.roles["waiter"])]
    assert thread["wait"]["for_ns"] is None and thread["same_frames_ns"] >= 1e9, thread


def test_it_is_seen_on_each_python(every_python):
    with running("cycle", python=every_python) as program:
        watcher = when("-p", program.pid)
        dumped, said = watcher.communicate(timeout=tracing.PATIENCE_S)
    assert watcher.returncode == STILL and "a cycle: each of these waits for the next" in dumped, said


def test_what_waits_for_outside_sleeps_computes_or_has_a_child_that_does_is_no_hang(tmp_path):
    seconds = 4
    programs = [Program(machine.any_python(), "idle", kind, seconds) for kind in ("server", "steps", "child", "computes")]
    environment = {**os.environ, "BUILD": str(machine.BUILD)}
    kernel = [machine.SIMGPU_RUN, machine.any_python(), HANGS, "cuda", f"long_{seconds}000000us"]
    with subprocess.Popen(kernel, stdout=subprocess.PIPE, env=environment) as gpu:
        (pid, _) = json.loads(gpu.stdout.readline())["waiter"]
        watcher = when("-p", ",".join(str(one) for one in (pid, *(program.pid for program in programs))))
        assert "watching" in watcher.stderr.readline()
        for program in programs:
            program.process.stdin.write("\n")
            program.process.stdin.flush()
        dumped, said = watcher.communicate(timeout=tracing.PATIENCE_S)
    for program in programs:
        program.end()
    assert (watcher.returncode, dumped) == (MOVES, ""), said
    assert "no hang was seen; what was watched has ended" in said


def test_with_keep_there_is_one_dump_for_each_hang():
    with running("twice") as program:
        watcher = when("-p", program.pid, "--keep")
        for _ in range(2):
            while not watcher.stdout.readline().startswith(f"process {program.pid}"):
                assert watcher.poll() is None
            program.process.stdin.write("\n")
            program.process.stdin.flush()
        dumped, said = watcher.communicate(timeout=tracing.PATIENCE_S)
    assert watcher.returncode == STILL and "process" not in dumped.replace("of process", ""), dumped
    assert said.count("has not got on for 1 s") == 2


def test_a_call_of_cuda_that_does_not_return_is_a_hang_after_ten_times_the_limit():
    with on_the_simulated_gpu("cuda") as (pid, _):
        dumped, said = when("-p", pid).communicate(timeout=tracing.PATIENCE_S)
    assert f"pid {pid}: runs, or waits in a CUDA call, at the same lines for 10 s" in said
    assert f"process {pid}" in dumped


def test_ctrl_c_ends_the_watch():
    with running("sleeps") as program:
        watcher = when("-p", program.pid)
        assert "watching" in watcher.stderr.readline()
        watcher.send_signal(signal.SIGINT)
        dumped, said = watcher.communicate(timeout=tracing.PATIENCE_S)
    assert (watcher.returncode, dumped, said) == (MOVES, "", "gputrace: no hang was seen\n")


def test_files_that_merge_cannot_take_are_refused_by_name(tmp_path):
    def refused(words, *arguments):
        assert words in tracing.gputrace(tmp_path, "merge", *arguments).must_be(FAILED).stderr

    program = subprocess.Popen(["sleep", "100"])
    with program:
        whole, cut, other = (tmp_path / name for name in ("whole.json", "cut.json", "other.json"))
        whole.write_text(dump("-p", program.pid, "--format", "json").stdout)
        program.kill()
    cut.write_text(whole.read_text()[:-20])
    other.write_text('{"traceEvents": []}')
    refused("no process of these dumps is a rank of a distributed job", whole)
    refused("cut.json: ends in the middle, or is damaged", whole, cut)
    refused("other.json: is not what gputrace dump --format json writes", whole, other)
    refused("--output all.json: dumps have no timeline", whole, "-o", "all.json")
    refused("--format csv: of dumps there are text and json", whole, "--format", "csv")
    report = tracing.gputrace(tmp_path, "report", whole).must_be(FAILED)
    assert "whole.json: is what gputrace dump has written: gputrace merge takes it" in report.stderr
