# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace -- COMMAND: no parent sees a stop, whatever program stands between, and the first launch is seen."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import logfile
import machine
import pytest
import pythons
import reading
import tracing

# Number of starts of a program that launches at once through its own library; make check-hold has thousands.
STARTS = int(os.environ.get("GPUTRACE_STARTS", "20"))


def launches(folder):
    """Recorded launches, all of which are of loads.py."""
    stacks = reading.trace_stacks(reading.trace_of(folder / "trace.json"), {"cudaLaunchKernel"})
    assert all("/loads.py(" in stack for _, stack in stacks)
    return sum(stacks.values())


def notes(folder):
    return reading.trace_of(folder / "trace.json")["gputrace"]["notes"]


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    return machine.compile_library(machine.PROGRAMS / "stub_cudart.c", tmp_path_factory.mktemp("stub") / "stub.so")


def new_library(stub, folder):
    """Makes FOLDER/new/libcudart.so.13, a file that gputrace has not seen before."""
    (folder / "new").mkdir(parents=True)
    shutil.copy(stub, folder / "new/libcudart.so.13")
    return folder


@pytest.fixture
def loads(stub, public):
    """A command that any user may run, and that launches once through a new library."""
    shutil.copy(machine.PROGRAMS / "loads.py", public)
    return [machine.SYSTEM_PYTHON, public / "loads.py", new_library(stub, public / "libraries")]


@pytest.mark.kernels
def test_no_parent_sees_a_stop_and_no_launch_is_missed(stub, tmp_path):
    for number in range(STARTS):
        new_library(stub, tmp_path / f"libraries/{number:04}")
    python = os.path.realpath(machine.any_python())
    done = tracing.trace(tmp_path, [python, machine.PROGRAMS / "watches.py", tmp_path / "libraries", python, "-S",
                                    machine.PROGRAMS / "loads.py"], "--agent", "off")
    assert done.stdout.splitlines()[STARTS * 2] == "stops 0"
    assert launches(tmp_path) == STARTS
    assert not [note for note in notes(tmp_path) if "may be missing" in note]


def quoted(command):
    return " ".join(shlex.quote(str(word)) for word in command)


def runs(path, program):
    try:
        return os.readlink(path / "exe") == program
    except OSError:  # it has ended
        return False


def is_held_or_over(mark, program):
    """Whether each process that runs the program is stopped by a tracer; true if none is left."""
    found = [path for path in (Path("/proc", str(pid)) for pid in tracing.marked(mark)) if runs(path, program)]
    return all(tracing.state(path) == "t" for path in found)


@contextlib.contextmanager
def whole_process_stopped(pid):
    """Nothing that shares its memory with gputrace runs: as when a fork of a large one has that memory locked."""
    os.kill(pid, signal.SIGSTOP)
    try:
        tracing.until(lambda: all(tracing.state(task) == "T" for task in Path(f"/proc/{pid}/task").iterdir()))
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("stopped", (tracing.first_thread_stopped, whole_process_stopped))
def test_a_program_that_gputrace_has_not_looked_at_waits_before_its_first_launch(stub, tmp_path, stopped):
    """Also if its library already has probes because another program has mapped it."""
    python = os.path.realpath(machine.any_python())
    loads = [python, "-S", machine.PROGRAMS / "loads.py", new_library(stub, tmp_path / "libraries")]
    twice = f"{quoted(loads)}; read line; exec {quoted(loads)}"
    command = [machine.GPUTRACE, "--agent", "off", *tracing.outputs(tmp_path, "trace.gpt", "trace.json"), "--", "/bin/sh", "-c", twice]
    with tracing.Running(command, tmp_path) as running:
        running.wait_line("loaded")
        with stopped(running.pid):
            running.process.stdin.write("go on\n")
            running.wait_line("ready")
            tracing.until(lambda: is_held_or_over(running.mark, python))
        running.end().must_be(0)
    assert launches(tmp_path) == 2


def test_a_program_that_opens_python_late_has_a_stack_at_its_first_launch(cudart, tmp_path):
    """gputrace examined it before it had Python; libcudart already has probes because another program has mapped it."""
    program, environment = pythons.opened("3.12", tmp_path)
    other = [machine.any_python(), "-c", f"import ctypes, time; ctypes.CDLL('{cudart}'); print('mapped', flush=True); time.sleep(600)"]
    late = [*program, "1", machine.PROGRAMS / "embedded.py", cudart, tmp_path / "truth.json"]
    both = f"{quoted(other)} & read line; {quoted(late)}; kill $!"
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.gpt", "trace.json"), "--", "/bin/sh", "-c", both]
    with tracing.Running(command, tmp_path, env={**environment, "EMBEDDED_WAITS": "1"}) as running:
        running.wait_line("mapped")
        running.process.stdin.write("start it\n")
        pid = int(running.wait_line("ready").split()[1])
        tracing.until(lambda: any(logfile.has_process(log, pid) for log in tmp_path.glob("trace.gpt.part-*")))
        with tracing.first_thread_stopped(running.pid):
            running.process.stdin.write("go on\n")
            tracing.until(lambda: is_held_or_over(running.mark, str(program[0])))
        running.end().must_be(0)
    made = [event for event in reading.chrome.events(reading.trace_of(tmp_path / "trace.json"), "cuda_runtime")
            if event["name"] == "cudaLaunchKernel"]
    assert made and [event for event in made if "Call stack" not in event["args"]] == []


def test_programs_that_become_others_which_map_the_same_library_miss_no_call(tmp_path):
    """Each maps the driver at once, while no other process has it: 100 in a row, to hit any moment."""
    tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *["env"] * 100, "true"), "--agent", "off")
    assert not notes(tmp_path)


# Each waits for its child with WUNTRACED, and if the child stops, it stops itself, reports it or hangs.
BETWEEN = {
    "sudo": lambda command: ["sudo", "-n", "-u", "nobody", *command],
    "su": lambda command: ["su", "-s", "/bin/sh", "nobody", "-c", quoted(command)],
    "runuser": lambda command: ["runuser", "-u", "nobody", "--", *command],
    "nsenter": lambda command: ["nsenter", "--pid", "--target", os.getpid(), *command],
    "unshare": lambda command: ["unshare", "--pid", "--fork", "--mount-proc", *command],
    "script": lambda command: ["script", "-qec", quoted(command), "/dev/null"],
    "job control": lambda command: ["bash", "-c", f"set -m; {quoted(command)}; echo status $?"],
}


@pytest.mark.parametrize("between", BETWEEN)
def test_a_command_behind_one_that_waits_for_stops_runs_to_its_end(tmp_path, loads, stub, between):
    """Beside other work the thread that stops processes may be late, which is said: then once more, with a new library."""
    for number in range(3):
        done = tracing.trace(tmp_path, BETWEEN[between](loads), "--agent", "off")
        assert "loaded 1" in done.stdout and "Stopped" not in done.stdout + done.stderr
        late = [note for note in notes(tmp_path) if "may be missing" in note]
        assert late or launches(tmp_path) == 1
        if not late:
            return
        loads[-1] = new_library(stub, loads[1].parent / f"libraries-{number}")
    pytest.fail(f"late three times: {late}")


@pytest.mark.parametrize("debugger", [("gdb", "-q", "-batch", "-ex", "run", "--args"), ("strace", "-f", "-o", "/dev/null")],
                         ids=lambda words: words[0])
def test_what_another_tracer_holds_is_not_held_and_the_receipt_says_so(tmp_path, loads, debugger):
    done = tracing.trace(tmp_path, [*debugger, *loads], "--agent", "off")
    assert "loaded 1" in done.stdout
    assert "calls may be missing: libcudart.so.13 was mapped" in done.stdout
    (note,) = [note for note in notes(tmp_path) if "may be missing" in note]
    assert note.endswith("as another tracer holds the process")


@contextlib.contextmanager
def stopper_stopped(pid):
    """gputrace's process that stops threads does not run: as when the kernel lets others go first."""
    (stopper,) = [child for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
                  if Path(f"/proc/{child}/comm").read_text().strip() == "gputrace-stop"]
    with whole_process_stopped(stopper):
        yield


def test_a_process_that_ends_before_it_could_be_stopped_is_said_to_miss_calls(tmp_path, loads):
    """The end of the process is all that gputrace sees of it after the mapping."""
    launcher = f"echo ready; read line; {quoted(loads)}; read line || true"
    command = [machine.GPUTRACE, "--agent", "off", *tracing.outputs(tmp_path, "trace.gpt", "trace.json"), "--", "/bin/sh", "-c", launcher]
    with tracing.Running(command, tmp_path) as running:
        running.wait_line("ready")
        with stopper_stopped(running.pid):
            running.process.stdin.write("go on\n")
            running.wait_line("loaded")
            tracing.until(lambda: not any(runs(Path("/proc", str(pid)), os.path.realpath(loads[0])) for pid in tracing.marked(running.mark)))
            tracing.until(lambda: any(logfile.exits(log) for log in tmp_path.glob("trace.gpt.part-*")))
        done = running.end().must_be(0)
    (note,) = [note for note in notes(tmp_path) if "may be missing" in note]
    assert "calls may be missing: libcudart.so.13 was mapped" in note and note in done.stdout.replace("\n  ", " ")


class Terminal:
    """gputrace -- COMMAND in a terminal of its own (tmux), as typed."""

    def __init__(self, folder, *command):
        self.folder, self.screen = folder, folder / "screen"
        self.tmux = ["tmux", "-S", folder / "tmux", "-f", "/dev/null"]
        traced = [machine.GPUTRACE, *tracing.outputs(folder, "trace.json"), "--agent", "off", "--", *command]
        # gputrace starts at C-d, when pipe-pane records: the screen has its output from the first word on.
        self.do("new-session", "-d", "-x", "120", "-y", "50", f"cat; exec {quoted(traced)} 2>&1")
        self.do("pipe-pane", f"cat >{self.screen}")
        self.type("C-d")

    def do(self, *words):
        return tracing.command(self.folder, *self.tmux, *words)

    def type(self, *keys):
        self.do("send-keys", *keys).must_be(0)

    def says(self, text):
        tracing.until(lambda: self.screen.exists() and text.encode() in self.screen.read_bytes())

    def interrupt(self):
        """Ctrl-C once the prompt waits for input: a Python that has only just shown it notices at the next key."""
        gputrace = int(self.do("display-message", "-p", "#{pane_pid}").must_be(0).stdout)
        tracing.until(lambda: any(waits_for_input(Path("/proc", pid)) for pid in
                                  Path(f"/proc/{gputrace}/task/{gputrace}/children").read_text().split()))
        self.type("C-c")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.do("kill-server")


def waits_for_input(process):
    read, poll, select, pselect, ppoll = "0", "7", "23", "270", "271"
    try:
        return (process / "syscall").read_text().split()[0] in (read, poll, select, pselect, ppoll) and "python" in os.readlink(process / "exe")
    except OSError:  # it has ended
        return False


def test_a_shell_with_job_control_on_a_terminal_sees_no_stop(tmp_path, loads):
    with Terminal(tmp_path, "bash", "--norc", "-i") as terminal:
        terminal.type(f"{quoted(loads)}; echo status-$?; exit", "Enter")
        tracing.until((tmp_path / "trace.json").exists)
        terminal.says("status-0")  # the terminal may show it later
        said = terminal.screen.read_text()
    assert "loaded 1" in said and "status-0" in said and "Stopped" not in said
    assert launches(tmp_path) == 1


def test_a_prompt_that_handles_ctrl_c_keeps_the_terminal_and_is_traced_on(tmp_path, loads):
    with Terminal(tmp_path, loads[0], "-q") as terminal:
        terminal.says(">>> ")
        terminal.interrupt()
        terminal.says("goes on after Ctrl-C, and so does the trace")
        terminal.type(f"import sys; sys.argv = ['', '{loads[2]}']; exec(compile(open('{loads[1]}').read(), '/loads.py', 'exec'))",
                      "Enter")
        terminal.says("loaded 1\r\n")
        terminal.type("exit()", "Enter")
        tracing.until((tmp_path / "trace.json").exists)
    assert launches(tmp_path) == 1


def test_a_prompt_is_not_left_behind_where_ctrl_c_ends_the_trace(tmp_path):
    with Terminal(tmp_path, machine.SYSTEM_PYTHON, "-q") as terminal:
        terminal.says(">>> ")
        terminal.interrupt()
        terminal.says("KeyboardInterrupt")
        time.sleep(tracing.APART_S)
        terminal.interrupt()
        terminal.says("gputrace ends with it")
        assert (tmp_path / "trace.json").exists()
        terminal.type("print(6 * 7)", "Enter")
        terminal.says("42\r\n")
        terminal.type("exit()", "Enter")


def test_the_trace_goes_on_while_what_a_launcher_has_started_lives(tmp_path, loads):
    os.mkfifo(tmp_path / "go")
    launcher = ["sh", "-c", f"(read line <{tmp_path}/go; exec {quoted(loads)}) & echo $!"]
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.json"), "--agent", "off", "--", *launcher]
    with tracing.Running(command, tmp_path, stdin=tracing.subprocess.DEVNULL) as running:
        said = running.wait_line("which it has started, goes on and is traced", "stderr")
        (tmp_path / "go").write_text("go\n")
        done = running.end().must_be(0)
    assert f"pid {done.stdout.split()[0]}," in said
    assert launches(tmp_path) == 1


HELPERS = """
import multiprocessing, multiprocessing.shared_memory, sys
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)  # known to the resource tracker
    worker = context.Process(target=print, args=("worker",))
    worker.start()
    worker.join()
    shared.close()
    shared.unlink()
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_helpers_of_multiprocessing_that_end_by_themselves_are_not_said_to_go_on(tmp_path, method):
    (tmp_path / "helpers.py").write_text(HELPERS)
    for _ in range(5):  # they end a moment after the command
        done = tracing.command(tmp_path, machine.GPUTRACE, "--agent", "off", "--", machine.any_python(), "helpers.py", method)
        assert "worker" in done.must_be(0).stdout and "goes on and is traced" not in done.stderr


def test_ctrl_c_ends_the_trace_of_what_a_launcher_has_left(tmp_path):
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.json"), "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"]
    with tracing.Running(command, tmp_path, stdin=tracing.subprocess.DEVNULL) as running:
        running.wait_line("goes on and is traced", "stderr")
        left = int(running.wait_line(""))
        running.end(tracing.signal.SIGINT)
        tracing.until(lambda: tracing.state(machine.pathlib.Path(f"/proc/{left}")) == "S")  # it may only just have started
    assert (tmp_path / "trace.json").exists()


def test_under_nohup_a_trace_outlives_its_terminal(cudart, tmp_path):
    with tracing.target(tmp_path, cudart) as target:
        command = ["nohup", machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.json"), "-v", "-p", target.pid]
        with tracing.Running(command, tmp_path, stdin=tracing.subprocess.DEVNULL) as running:
            running.wait_line("gputrace: tracing", "stderr")
            target.ask("forget")
            running.process.send_signal(tracing.signal.SIGHUP)
            with open(f"/proc/{running.pid}/status") as status:
                pending = next(int(line.split()[1], 16) for line in status if line.startswith("ShdPnd"))
            assert not pending  # an ignored signal does not stay pending
            target.ask("steps 3")
            target.ask(f"truth {tmp_path}/truth.json")
            running.end(tracing.signal.SIGINT).must_be(0)
    truth = reading.program(tmp_path / "truth.json")
    assert reading.trace_stacks(reading.trace_of(tmp_path / "trace.json"), {"cudaLaunchKernel"}) == reading.truth_stacks(truth)


def under_sudo(folder, path, *arguments):
    """Runs gputrace as sudo does for nobody, with sudo's PATH; the shell has the environment of sudo's caller."""
    as_sudo = ["env", "SUDO_USER=nobody", "SUDO_UID=65534", "SUDO_GID=65534", "PATH=/usr/bin:/bin", machine.GPUTRACE]
    line = quoted([*as_sudo, "-q", *tracing.outputs(folder, "trace.json"), "--agent", "off", *arguments])
    return tracing.command(folder, "sh", "-c", f"{line}; exit $?", env={"PATH": f"{path}:/usr/bin:/bin"})


@pytest.fixture
def environment(public):
    """A folder like a virtual environment's bin, with a program that prints its user."""
    (public / "bin").mkdir()
    program = public / "bin/who-runs-this"
    program.write_text('#!/bin/sh\necho "user $(id -u), groups $(id -G), home $HOME, $(id -un), sudo ${SUDO_UID-none}"\n')
    program.chmod(0o755)
    return public / "bin"


def test_under_sudo_a_command_is_found_by_the_callers_path_and_runs_as_the_caller(tmp_path, environment):
    done = under_sudo(tmp_path, environment, "--", "who-runs-this").must_be(0)
    assert "user 65534, groups 65534, home /nonexistent, nobody, sudo none" in done.stdout
    assert (tmp_path / "trace.json").stat().st_uid == 65534


def test_as_root_a_command_stays_root(tmp_path, environment):
    done = under_sudo(tmp_path, environment, "--as-root", "--", environment / "who-runs-this").must_be(0)
    assert "user 0, " in done.stdout and "sudo 65534" in done.stdout


def test_where_a_command_is_not_found_under_sudo_the_line_that_works_is_said(tmp_path, environment):
    done = under_sudo(tmp_path, environment, "--as-root", "--", "who-runs-this").must_be(127)
    assert 'sudo gputrace ... -- "$(command -v who-runs-this)" ...' in done.stderr


TRAIN = """
import ctypes, os, sys
class Dim3(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint) for name in "xyz"]
one = Dim3(1, 1, 1)
ctypes.CDLL(sys.argv[1]).cudaLaunchKernel(ctypes.c_void_p(4096), one, one, None, ctypes.c_size_t(0), None)
print("prefix", sys.prefix, "of user", os.getuid(), flush=True)
"""

# Mounts "$0" over the machine's sudoers(5) for the program that follows only.
WITH_SUDOERS = 'mount --bind "$0" /etc/sudoers && exec "$@"'


def test_the_readmes_line_from_a_virtual_environment_by_sudo_itself(public):
    """`sudo gputrace -o all.gpt -- python train.py`: sudo's PATH has gputrace, but not that python."""
    venv, work, library, sudoers = public / "venv", public / "work", public / "libcudart.so.13", public / "sudoers"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
    library.write_bytes(machine.cudart().read_bytes())
    sudoers.write_text(f'Defaults env_reset, secure_path="{public}:/usr/sbin:/usr/bin:/sbin:/bin"\nnobody ALL=(ALL) NOPASSWD: ALL\n')
    sudoers.chmod(0o440)
    work.mkdir()
    (work / "train.py").write_text(TRAIN)
    os.chown(work, 65534, 65534)
    done = tracing.command(work, "unshare", "--mount", "sh", "-c", WITH_SUDOERS, sudoers, *tracing.AS_NOBODY, "sudo", "-n", "gputrace",
                           "-o", "all.gpt", "--", "python", "train.py", library, env={"PATH": f"{venv}/bin:/usr/bin:/bin"})
    assert f"prefix {venv} of user 65534" in done.must_be(0).stdout
    assert "Incomplete: 1 launches recorded, 0 lost; 100.0 % of launches under a Python line" in done.stdout
    assert (work / "all.gpt").stat().st_uid == 65534


# gputrace sees that the environment was cleaned only when it examines the process.
CLEANED = {
    "env": ["env", "-u", "CUDA_INJECTION64_PATH"],
    "sudo": ["sudo", "-n", "--preserve-env=LD_PRELOAD,SIMGPU_TRUTH,BUILD"],
}


@pytest.mark.parametrize("cleaned", CLEANED)
def test_a_program_behind_a_cleaned_environment_gets_the_agent(tmp_path, cleaned):
    program = [*CLEANED[cleaned], machine.any_python(), machine.WORKLOADS / "train.py", "--until", tmp_path / "enough"]
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.json"), "--"]
    with tracing.Running([*command, *tracing.on_simgpu(tmp_path / "gpu.json", *program)], tmp_path) as running:
        running.wait_line("ready")
        tracing.until(lambda: (tmp_path / "gpu.json").read_bytes().count(b'"fate":"sent"') > 2000)
        (tmp_path / "enough").touch()
        running.end().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    assert not [note for note in notes(tmp_path) if "could not be let in" in note]
    assert reading.receipt(trace)["gpu_operations_joined"] > 1000


@pytest.mark.parametrize("way", ("bpf", "agent"))
def test_the_program_of_a_command_begins_in_the_trace(tmp_path, way):
    """Its process is there before; only of a program that began in the trace a launch is known to be the first of its kernel."""
    tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.WORKLOADS / "train.py", "--steps", 3),
                  "--way", way)
    trace = reading.trace_of(tmp_path / "trace.json")
    launches = [event for event in trace["traceEvents"] if event.get("name") == "cudaLaunchKernel"]
    (process,) = [process for process in trace["gputrace"]["processes"] if process["shown as"] == launches[0]["pid"]]
    assert 0 < process["began_ns"] < min(event["ts"] for event in launches) * 1000
