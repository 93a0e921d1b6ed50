# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace -- COMMAND until COMMAND's end: signals reach it, gputrace stays as long as it does and ends as it did."""

import contextlib
import fcntl
import json
import os
import pathlib
import signal

import machine
import pytest
import reading
import tracing

SIGNALS = machine.PROGRAMS / "says_signals.py"
F_SETPIPE_SZ = 1031

# Starts a program as the first process of a container: it has process ids of its own.
AS_FIRST = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
# The same behind another program that is the first one.
BEHIND = {"first": [], "sh -c": ["sh", "-c", '"$@"; exit $?', "sh"]}


def quick(*options):
    return [machine.GPUTRACE, "--agent", "off", *options]


def first(*options):
    return [*AS_FIRST, machine.GPUTRACE, *options]


def children(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def goes_on(running):
    """Waits for what gputrace says once its outputs are made and the command still runs."""
    return running.wait_line("goes on: gputrace ends with it", "stderr")


# ---- the exit status ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("way", [[], ["--way", "agent"]], ids=["bpf", "agent"])
@pytest.mark.parametrize("script, status", [("exit 0", 0), ("exit 1", 1), ("exit 7", 7), ("kill -KILL $$", 128 + 9), ("kill -SYS $$", 128 + 31)])
def test_the_exit_status_is_the_command_s(tmp_path, way, script, status):
    done = tracing.gputrace(tmp_path, *way, "-o", "trace.json", "--", "sh", "-c", script).must_be(status)
    assert (tmp_path / "trace.json").exists()
    if status == 128 + 31:
        assert "sh was killed by SIGSYS (Bad system call)" in done.stderr


def test_a_shell_whose_command_was_killed_says_by_which_signal(tmp_path):
    done = tracing.command(tmp_path, *quick("--", "sh", "-c", "sh -c 'kill -SEGV $$'; exit $?")).must_be(128 + 11)
    assert "sh exited with status 139, as a shell does after SIGSEGV" in done.stderr


def test_the_trace_of_a_job_that_failed_is_judged_by_the_job(tmp_path):
    """An incomplete trace has a status of its own only if the command ended well."""
    tracing.command(tmp_path, *quick("--min-complete", "99", "--", "true")).must_be(3)
    tracing.command(tmp_path, *quick("--min-complete", "99", "--", "sh", "-c", "exit 9")).must_be(9)


def test_why_has_the_command_s_status_too(tmp_path):
    tracing.gputrace(tmp_path, "why", "--agent", "off", "--", "sh", "-c", "exit 5").must_be(5)


BEFORE = {
    "a folder that is missing": (["-o", "no/such/x.json"], ["true"], tracing.OWN_FAILURE, "its directory does not exist"),
    "no such command": ([], ["no-such-command"], 127, "command not found"),
    "no permission": ([], ["./data"], 126, "cannot be executed"),
    "no interpreter": ([], ["./script"], 127, "cannot be executed"),
    "a folder": ([], ["/tmp"], 126, "/tmp: cannot be executed: it is a folder: name a program in it"),
}


@pytest.mark.parametrize("name", BEFORE)
def test_what_fails_before_the_command_has_a_status_and_a_line_of_its_own(tmp_path, name):
    (tmp_path / "data").write_text("data")
    (tmp_path / "script").write_text("#!/no/such/interpreter\n")
    (tmp_path / "script").chmod(0o755)
    options, command, status, line = BEFORE[name]
    done = tracing.command(tmp_path, *quick(*options, "--", *command)).must_be(status)
    assert line in done.stderr


@pytest.mark.parametrize("script, status", [("exit 0", tracing.OWN_FAILURE), ("exit 6", 6)])
def test_an_output_that_fails_beside_the_command_does_not_hide_the_command_s_failure(tmp_path, script, status):
    (tmp_path / "out").mkdir()
    done = tracing.command(tmp_path, *quick("-o", "out/x.json", "--", "sh", "-c", f"rm -r out; {script}")).must_be(status)
    assert "out/x.json: not written" in done.stderr


def test_children_that_the_caller_does_not_wait_for_do_not_hide_the_end(tmp_path):
    """Where SIGCHLD is ignored, as below some servers, the kernel keeps no status: gputrace asks for it again."""
    script = "import signal, sys; print(signal.getsignal(signal.SIGCHLD)); sys.exit(4)"
    done = tracing.command(tmp_path, *quick("--", machine.any_python(), "-c", script),
                           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)).must_be(4)
    assert done.stdout.splitlines()[0] in ("1", "Handlers.SIG_IGN")  # the command has what the caller gave it


# ---- staying --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("way", [[], ["--way", "agent"]], ids=["bpf", "agent"])
def test_after_the_duration_outputs_are_written_and_gputrace_stays(tmp_path, way):
    command = [machine.GPUTRACE, *way, "-d", "200ms", "-o", tmp_path / "trace.json", "--", "sh", "-c", "echo ready; read line; exit 8"]
    with tracing.Running(command, tmp_path) as running:
        goes_on(running)
        assert reading.trace_of(tmp_path / "trace.json")["gputrace"]["receipt"]
        assert running.process.poll() is None
        running.process.stdin.write("end\n")
        running.end().must_be(8)


def test_an_export_on_standard_output_ends_with_the_trace(tmp_path):
    """The next program of the pipe gets its end of file while the command runs on."""
    command = quick("-d", "200ms", "-o", "-", "--format", "json", "--", "sh", "-c", "read line")
    with tracing.Running(command, tmp_path) as running:
        assert '"traceEvents"' in running.process.stdout.read()
        assert running.process.poll() is None
        running.end().must_be(1)  # of read, at the end of its input


# ---- signals --------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def signalled(folder, *options, traced=quick, heeds=()):
    """gputrace with a command that says which signals it gets, and ends at those of `heeds`; none is ignored, as by nohup(1)."""
    command = ["env", "--default-signal", *traced(*options, "-o", folder / "trace.json"), "--", machine.any_python(), SIGNALS, *heeds]
    with tracing.Running(command, folder) as running:
        running.wait_line("ready")
        yield running


PASSED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"]


@pytest.mark.parametrize("name", PASSED)
def test_a_signal_reaches_the_command_while_it_is_traced(tmp_path, name):
    with signalled(tmp_path, heeds=[name]) as running:
        running.process.send_signal(getattr(signal, name))
        running.wait_line(f"got {name}")
        running.end().must_be(40)
    assert (tmp_path / "trace.json").exists()


@pytest.mark.parametrize("name", PASSED)
def test_a_signal_reaches_the_command_after_the_trace(tmp_path, name):
    with signalled(tmp_path, "-d", "100ms", heeds=[name]) as running:
        goes_on(running)
        running.process.send_signal(getattr(signal, name))
        running.wait_line(f"got {name}")
        running.end().must_be(40)


@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGUSR1"])
@pytest.mark.parametrize("options", [[], ["-d", "100ms"]], ids=["traced", "after"])
def test_a_signal_that_the_caller_ignores_reaches_a_command_that_handles_it(tmp_path, name, options):
    """A shell without job control has the jobs in its background ignore SIGINT and SIGQUIT."""
    def traced(*more):
        return ["env", f"--ignore-signal={name}", *quick(*more)]
    with signalled(tmp_path, *options, traced=traced, heeds=[name]) as running:
        if options:
            goes_on(running)
        running.process.send_signal(getattr(signal, name))
        running.wait_line(f"got {name}")
        running.end().must_be(40)
    assert (tmp_path / "trace.json").exists()


def test_a_command_that_takes_long_to_end_has_its_outputs_before(tmp_path):
    """A checkpoint at SIGTERM takes longer than gputrace waits with the trace's end."""
    with signalled(tmp_path, heeds=["SIGUSR1"]) as running:
        running.process.send_signal(signal.SIGTERM)
        running.wait_line("got SIGTERM")
        goes_on(running)
        assert (tmp_path / "trace.json").exists()
        running.process.send_signal(signal.SIGUSR1)
        running.end().must_be(40)


def test_a_second_signal_leaves_outputs_out_and_not_the_command(tmp_path):
    with signalled(tmp_path, heeds=["SIGUSR1"]) as running:
        for _ in range(2):
            running.send_apart(signal.SIGTERM)
            running.wait_line("got SIGTERM")
        assert "the trace is in" in running.wait_line("interrupted twice: no outputs are written", "stderr")
        goes_on(running)
        running.process.send_signal(signal.SIGUSR1)
        running.end().must_be(40)
    assert not (tmp_path / "trace.json").exists()


def test_a_signal_after_the_duration_leaves_no_output_out(tmp_path):
    """A container is stopped while outputs are written: the first signal is for the command."""
    labels = [word for number in range(30) for word in ("--label", f"key{number}={'x' * 240}")]
    command = quick("-d", "100ms", *labels, "-o", tmp_path / "trace.gpt", "-o", "-", "--format", "json", "--", machine.any_python(),
                    SIGNALS, "SIGTERM")
    with tracing.Running(command, tmp_path) as running:
        fcntl.fcntl(running.process.stdout, F_SETPIPE_SZ, 4096)
        running.wait_line("ready", "stderr")
        tracing.until((tmp_path / "trace.gpt").exists)  # the export follows, and waits until the test reads
        running.process.send_signal(signal.SIGTERM)
        running.wait_line("got SIGTERM", "stderr")
        trace = json.loads(running.process.stdout.read())
        assert len(trace["gputrace"]["labels"]) == 30
        assert "abandoned" not in running.end().must_be(40).stderr


def test_timeout_which_sends_two_signals_at_once_leaves_no_output_out(tmp_path):
    for _ in range(5):
        tracing.command(tmp_path, "timeout", "0.7", *quick("-o", "trace.json", "--", "sleep", "1000")).must_be(124)
        (tmp_path / "trace.json").unlink()


# ---- as the first process of a container ----------------------------------------------------------------------------

@pytest.mark.parametrize("behind", BEHIND)
def test_as_the_first_process_the_program_outlives_the_duration(tmp_path, behind):
    traced = [machine.GPUTRACE, "-d", "200ms", "-o", tmp_path / "trace.json", "--", "sh", "-c", "echo ready; read line; echo checkpoint; exit 6"]
    with tracing.Running([*AS_FIRST, *BEHIND[behind], *traced], tmp_path) as running:
        goes_on(running)
        running.process.stdin.write("end\n")
        done = running.end().must_be(6)
    assert "checkpoint" in done.stdout + "".join(running.said)
    assert (tmp_path / "trace.json").exists()


@pytest.mark.parametrize("name", PASSED)
@pytest.mark.parametrize("options", [[], ["-d", "100ms"]], ids=["traced", "after"])
def test_as_the_first_process_it_passes_signals_on(tmp_path, name, options):
    with signalled(tmp_path, *options, traced=first, heeds=[name]) as running:
        if options:
            goes_on(running)
        (pid,) = children(running.pid)
        os.kill(pid, getattr(signal, name))
        running.wait_line(f"got {name}")
        running.end().must_be(40)
    assert (tmp_path / "trace.json").exists()


def test_a_shell_that_is_the_first_process_and_executes_gputrace_passes_signals_on(tmp_path):
    """A shell that only starts it keeps them: the page about containers says exec."""
    with signalled(tmp_path, traced=lambda *options: [*AS_FIRST, "sh", "-c", 'exec "$@"', "sh", machine.GPUTRACE, *options], heeds=["SIGTERM"]) as running:
        (pid,) = children(running.pid)
        os.kill(pid, signal.SIGTERM)
        running.wait_line("got SIGTERM")
        running.end().must_be(40)


ORPHANS = """
import os, pathlib, time
def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None
pids = []
for _ in range(20):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        orphan = os.fork()
        if not orphan:
            os._exit(0)
        os.write(write, str(orphan).encode())
        os._exit(0)
    os.waitpid(child, 0)
    pids.append(int(os.read(read, 16)))
while any(map(state, pids)):
    time.sleep(0.01)
print("parents", os.getppid() > 1, "all are gone", flush=True)
"""


def test_as_the_first_process_it_leaves_no_zombie(tmp_path):
    done = tracing.command(tmp_path, *first("--", machine.any_python(), "-c", ORPHANS)).must_be(0)
    assert "all are gone" in done.stdout


def test_as_the_first_process_a_gputrace_that_is_killed_takes_nothing_with_it(tmp_path):
    """As when the machine is out of memory: the program goes on, and its status is the container's."""
    with signalled(tmp_path, traced=first, heeds=["SIGTERM"]) as running:
        (pid,) = children(running.pid)
        (tracer,) = children(pid)
        os.kill(tracer, signal.SIGKILL)
        tracing.until(lambda: tracer not in children(pid))
        os.kill(pid, signal.SIGUSR1)
        running.wait_line("got SIGUSR1")
        os.kill(pid, signal.SIGTERM)
        done = running.end().must_be(40)
    assert "gputrace was killed by SIGKILL: the command goes on untraced" in done.stderr
