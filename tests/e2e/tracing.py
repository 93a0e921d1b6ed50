# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs gputrace and its targets.  Waits for output of programs, never for a time; does not interpret output."""

import concurrent.futures
import contextlib
import ctypes
import functools
import os
import signal
import struct
import subprocess
import threading
import time
import uuid
from pathlib import Path

import machine

# For programs that hang: far above the longest wait, 80 s when ten others share the same two processors.
PATIENCE_S = 300

# Orphans of a killed gputrace become this process's children, so that it can get their exit status: prctl(2).
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

APART_S = 0.3  # two signals to a gputrace within 0.2 s are one request

# Starts a program that SIGINT and SIGTERM, which gputrace passes on, do not end: its trace ends by them, three seconds later.
DEAF = ("sh", "-c", """trap '' INT TERM; exec "$@\"""", "sh")

OWN_FAILURE = 125  # exit status of a gputrace with a command that fails itself

AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

DROPPED = ("NO_COLOR", "CUDA_INJECTION64_PATH", "LD_PRELOAD", "GPUTRACE_AGENT",
           "PYTHONUNBUFFERED")  # with it print writes a newline by itself, and other processes' output gets between
MARK = "GPUTRACE_TEST_MARK"


def environment(folder, **more):
    """The caller's environment without what would change a result; temporary logs go to the test's own folder."""
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    kept.update(BUILD=str(machine.BUILD), TMPDIR=str(folder), PYTHONDONTWRITEBYTECODE="1")
    kept.update({name: str(value) for name, value in more.items()})
    return kept


def on_simgpu(truth, *command):
    """The command on the simulated GPU, whose ground truth goes to a file."""
    return [machine.SIMGPU_RUN, "--truth", truth, *command]


def until(condition, patience_s=PATIENCE_S):
    """Waits for something that is bound to happen; how long it takes is not tested.  An expensive condition, such as
    reading a log, is tried less often, to leave the processor to the programs that are waited for."""
    end = time.monotonic() + patience_s
    while True:
        begin_s = time.thread_time()
        if condition():
            return
        assert time.monotonic() < end, f"waited {patience_s} s for something that did not happen"
        time.sleep(max(0.01, 3 * (time.thread_time() - begin_s)))


INCOMPLETE = 3  # exit code


class Done:
    """A gputrace that has ended."""

    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    def __repr__(self):
        return f"exit {self.code}\n{self.stdout[-2000:]}\n--- stderr\n{self.stderr[-2000:]}"

    def must_be(self, code):
        assert self.code == code, repr(self)
        return self

    def must_be_of_machine(self):
        """Of a trace of the whole machine: what other programs there do may make it incomplete."""
        assert self.code in (0, INCOMPLETE), repr(self)
        return self


def command(folder, *words, env=None, **more):
    """Runs a program to its end."""
    more.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([str(word) for word in words], cwd=folder, env=environment(folder, **(env or {})),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=PATIENCE_S,
                          **more)
    return Done(done.returncode, done.stdout, done.stderr)


def gputrace(folder, *arguments, **more):
    return command(folder, machine.GPUTRACE, *arguments, **more)


def outputs(folder, *names):
    """-o for each name, in the folder."""
    return [word for name in names for word in ("-o", Path(folder) / name)]


# For tests of calls and their stacks alone, in programs without a GPU: more programs of BPF, for the agent, samples and
# waits, cost the kernel's verifier more time than all else in a small trace.
CALLS_ALONE = ("--agent", "off")


def trace(folder, command, *options, env=None, names=("trace.gpt", "trace.json", "trace.folded")):
    """gputrace -- COMMAND with outputs in the folder; it must succeed."""
    return gputrace(folder, *outputs(folder, *names), *options, "--", *command, env=env).must_be(0)


def export_process(log, pid):
    """The Chrome trace of one process out of a log of the whole machine, on which others may do as much as they like."""
    log = Path(log)
    path = log.with_name(f"{log.stem}-{pid}.json")
    gputrace(log.parent, "export", log, "--process", pid, "-o", path).must_be_of_machine()
    return path


class Running:
    """A program that runs beside the test; killed at the end of the `with` block."""

    def __init__(self, command, folder, env=None, **more):
        self.mark = str(uuid.uuid4())
        more.setdefault("stdin", subprocess.PIPE)
        self.process = subprocess.Popen(
            [str(word) for word in command], cwd=folder, env=environment(folder, **{MARK: self.mark, **(env or {})}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, bufsize=1, **more)
        self.pid = self.process.pid
        self.said = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.kill_all()
        self.process.wait(PATIENCE_S)
        until(lambda: not any(is_guard(pid) for pid in marked(self.mark)))
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def wait_line(self, text, stream="stdout"):
        """Reads up to a line with the text and returns that line.  A program that never prints it is killed."""
        patience = threading.Timer(PATIENCE_S, self.kill_all)
        patience.start()
        try:
            for line in getattr(self.process, stream):
                self.said.append(line)
                if text in line:
                    return line
        finally:
            patience.cancel()
        raise AssertionError(f"{self.process.args}: ended, or waited {PATIENCE_S} s, before it said '{text}':\n" +
                             "".join(self.said) + self.process.stderr.read())

    def kill_all(self):
        """The guard of a killed gputrace ends by itself when it has removed the probes.  A process whose first thread
        has ended is not found, as its environment cannot be read."""
        for pid in {*marked(self.mark), *([self.pid] if self.process.poll() is None else [])}:
            if not is_guard(pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:  # it has ended meanwhile
                    pass

    def ask(self, text):
        """Sends one line to a program of programs/, which answers `done` when it has finished."""
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        self.wait_line("done")

    def end(self, end_signal=None):
        if end_signal:
            self.process.send_signal(end_signal)
        if self.process.stdin:
            self.process.stdin.close()
            self.process.stdin = None
        stdout, stderr = self.rest()
        return Done(self.process.returncode, stdout, "".join(self.said) + stderr)

    def send_apart(self, number):
        """Sends a signal from which the next one is told apart: it has been received, and APART_S have passed since."""
        self.process.send_signal(number)
        until(lambda: not is_pending(self.pid, number))
        time.sleep(APART_S)

    def end_trace(self, end_signal):
        """Ends the trace of a command that is DEAF, or kills gputrace."""
        self.process.send_signal(end_signal)
        if end_signal == signal.SIGKILL:
            self.process.wait(PATIENCE_S)
        else:
            self.wait_line("goes on: gputrace ends with it", "stderr")

    def rest(self):
        """The rest of both streams, including text buffered after a line that was waited for: communicate() would lose
        it."""
        patience = threading.Timer(PATIENCE_S, self.kill_all)
        patience.start()
        with concurrent.futures.ThreadPoolExecutor(2) as readers:
            said = list(readers.map(lambda pipe: pipe.read(), (self.process.stdout, self.process.stderr)))
        in_time = patience.is_alive()
        patience.cancel()
        assert in_time, f"{self.process.args}: waited {PATIENCE_S} s for its end:\n" + "".join(self.said + said)
        self.process.wait(PATIENCE_S)
        return said


class Tracer(Running):
    """A gputrace in the background, with FOLDER/trace.gpt and more outputs; when made, its probes are in place."""

    def __init__(self, folder, *arguments, names=("trace.json",), env=None, limit=None):
        """limit: number of files that it may have open."""
        self.folder = Path(folder)
        limited = ["prlimit", f"--nofile={limit}:{limit}"] if limit else []
        command = [*limited, machine.GPUTRACE, "-v", *outputs(folder, "trace.gpt", *names), *arguments]
        super().__init__(command, folder, env, stdin=subprocess.DEVNULL)
        self.wait_line("gputrace: tracing", "stderr")

    def wait_logged(self, condition, *arguments, patience_s=PATIENCE_S):
        """Waits until condition(log, *arguments) holds for the log, which is written at least once a second."""
        until(lambda: any(condition(log, *arguments) for log in self.folder.glob("trace.gpt.part-*")), patience_s)

    def interrupt(self):
        return self.end(signal.SIGINT)


def refusing(call, error):
    """For preexec_fn: a seccomp filter that makes a system call (by its number on x86-64) return an error."""
    load, jump_equal, answer = 0x20, 0x15, 0x06
    allow, refuse = 0x7fff0000, 0x00050000 | error
    code = b"".join(struct.pack("<HBBI", *row) for row in (
        (load, 0, 0, 0), (jump_equal, 0, 1, call), (answer, 0, 0, refuse), (answer, 0, 0, allow)))

    def refuse_it():
        program = ctypes.create_string_buffer(code)
        header = ctypes.create_string_buffer(struct.pack("<H6xQ", 4, ctypes.addressof(program)))
        if ctypes.CDLL(None, use_errno=True).prctl(22, 2, header, 0, 0):  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
            raise OSError(ctypes.get_errno(), "seccomp")

    return refuse_it


UPROBES = Path("/sys/bus/event_source/devices/uprobe")


@contextlib.contextmanager
def return_probe(library, function):
    """A uretprobe of another tool on the function, in every process that maps the library: perf_event_open(2)."""
    symbols = subprocess.run(["nm", "-D", str(library)], stdout=subprocess.PIPE, universal_newlines=True, check=True)
    (offset,) = [int(words[0], 16) for words in map(str.split, symbols.stdout.splitlines()) if words[-1].partition("@")[0] == function]
    path = ctypes.create_string_buffer(os.fsencode(library))
    retprobe = 1 << int((UPROBES / "format/retprobe").read_text().partition(":")[2])
    # struct perf_event_attr: type, size, config, ..., and at 56 the path and the offset in the file
    attr = struct.pack("<IIQ40xQQ40x", int((UPROBES / "type").read_text()), 112, retprobe, ctypes.addressof(path), offset)
    libc = ctypes.CDLL(None, use_errno=True)
    perf_event_open, every_process, one_processor, group = 298, -1, 0, -1
    event = libc.syscall(perf_event_open, attr, every_process, one_processor, group, 0)
    assert event >= 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        os.close(event)


PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WAIT_ALL = 17, 0x4206, 0x4207, 0x40000000  # ptrace(2), waitpid(2)


@contextlib.contextmanager
def first_thread_stopped(pid):
    """Stops the first thread of a child of this process; its other threads run on."""
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        assert libc.ptrace(request, pid, None, None) == 0, os.strerror(ctypes.get_errno())
    os.waitpid(pid, WAIT_ALL)
    try:
        yield
    finally:
        libc.ptrace(PTRACE_DETACH, pid, None, None)


def target(folder, *arguments, python=None, env=None, truth=None):
    """programs/obedient.py, ready for commands; on the simulated GPU if `truth` is given."""
    command = [python or machine.any_python(), machine.PROGRAMS / "obedient.py", *arguments]
    running = Running(on_simgpu(truth, *command) if truth else command, folder, env)
    running.wait_line("ready")
    return running


def marked(mark):
    """Live processes with the mark of a Running in their environment: the program and its descendants."""
    needle = f"{MARK}={mark}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (path / "environ").read_bytes().split(b"\0") and state(path) not in "ZX":
                found.append(int(path.name))
        except OSError:  # it has ended
            pass
    return found


def is_pending(pid, number):
    """Whether a signal was sent to the process, which has not received it yet."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return False
    return any(int(line.split()[1], 16) >> number - 1 & 1 for line in lines if line.startswith(("SigPnd:", "ShdPnd:")))


def is_guard(pid):
    return "gputrace-guard" in threads(pid)


def state(path):
    """State letter of proc(5)."""
    return (path / "stat").read_text().rpartition(")")[2].split()[0]


def memory_most_kb(pid):
    return next(int(line.split()[1]) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                if line.startswith("VmHWM"))


def agent_address(pid, name):
    """The address of a variable of the process's agent (agent.h)."""
    with open(f"/proc/{pid}/maps") as maps:
        base = next(int(line.split("-")[0], 16) for line in maps if "libgputrace-agent" in line)
    return base + next(int(line.split()[0], 16) for line in agent_symbols().splitlines() if line.endswith(f" {name}"))


@functools.lru_cache(None)
def agent_symbols():
    return subprocess.run(["nm", "-D", str(machine.AGENT)], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout


def agent_status_address(pid):
    """The address of its agent's struct gpt_agent_status, which begins with: bytes, life, sessions."""
    return agent_address(pid, "gputrace_agent_status")


def agent_counters(pid, name, count=1):
    """The agent's semaphores that enable its records: the kernel raises them."""
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(agent_address(pid, name))
        return struct.unpack(f"<{count}H", memory.read(2 * count))


def code_is_untouched(pid, name):
    """Whether a library's code in the process equals the code in its file: no probe is in it."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        parts = [line.split() for line in maps if line.rstrip().endswith(name)]
        for span, rights, offset, *_, path in parts:
            start, end = (int(word, 16) for word in span.split("-"))
            memory.seek(start)
            if "x" in rights and memory.read(end - start) != Path(path).read_bytes()[int(offset, 16):][:end - start]:
                return False
    assert parts, f"{name} is not mapped in {pid}"
    return True


def agent_status(pid):
    """(life, sessions begun) by its agent's status."""
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(agent_status_address(pid))
        return struct.unpack("<4xII", memory.read(12))


def agent_records(pid):
    """Whether an agent is at work in that process."""
    running = 2  # enum gpt_agent_life
    return "libgputrace-agent" in Path(f"/proc/{pid}/maps").read_text() and agent_status(pid)[0] == running


def threads(pid):
    """Names of its threads; none if the process has ended or is ending."""
    return [name for name, _ in named_threads(pid)]


def has_thread(pid, name="gputrace"):
    """Whether a thread's name begins so: gputrace-agent is an agent at work, gputrace-waits one that waits."""
    return any(thread.startswith(name) for thread in threads(pid))


def wait_agent(pid):
    until(lambda: has_thread(pid, "gputrace-agent"))


def wait_agent_gone(pid):
    until(lambda: not has_thread(pid, "gputrace-agent"))


def wait_threads_gone(pid):
    """Until no thread of gputrace's is left in the process, not even one that waits."""
    until(lambda: not has_thread(pid))


def wait_gone(mark):
    """Until the program with that mark, all its descendants and gputrace's guard have ended."""
    until(lambda: not marked(mark))


def named_threads(pid):
    """[(name, tid)] of its threads."""
    found = []
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            try:
                found.append((Path(f"/proc/{pid}/task/{tid}/comm").read_text().strip(), int(tid)))
            except OSError:  # the thread has ended
                pass
    except OSError:
        pass
    return found
