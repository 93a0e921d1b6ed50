# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Wrong input: one clear line on standard error that names it, the right exit code, nothing half-written."""

import contextlib
import errno
import gzip
import json
import marshal
import os
import pickle
import platform
import re
import resource
import shutil
import signal
import sqlite3
import subprocess

import logfile
import machine
import pytest
import tracing

FAILED, USAGE, INCOMPLETE, OWN_FAILURE = 1, 2, 3, tracing.OWN_FAILURE
NO_SUCH_PID = 4194303  # PID_MAX_LIMIT - 1 of 64-bit kernels: never given out in practice


def assert_one_line(done, code, *needles):
    """Nothing on standard output; on standard error one line of gputrace with every needle in it."""
    done.must_be(code)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, repr(done)
    assert lines[0].startswith("gputrace: ")
    for needle in needles:
        assert needle in lines[0]


def assert_empty(folder):
    assert [path.name for path in folder.iterdir()] == []


@pytest.mark.parametrize("arguments, needles", [
    (["-d", "0", "--", "true"], ["--duration 0:", "above 0"]),
    (["-d", "0s", "--", "true"], ["--duration 0s:", "above 0"]),
    (["-d", "-1s", "--", "true"], ["--duration -1s:", "above 0"]),
    (["-d", "soon", "--", "true"], ["--duration soon:", "500ms"]),
    (["-d", "10x", "--", "true"], ["--duration 10x:", "500ms"]),
    (["-d", "1e9s", "--", "true"], ["--duration 1e9s:"]),
    (["-d"], ["--duration", "10s"]),
    (["-p", "0"], ["--pid 0", "not a process id"]),
    (["-p", "-5"], ["--pid -5", "not a process id"]),
    (["-p", "python"], ["--pid python", "not a process id"]),
    (["-p", "1,,2"], ["--pid 1,,2", "not a process id"]),
    (["-p", "99999999999"], ["--pid 99999999999", "not a process id"]),
    (["-p", "1", "--", "true"], ["--pid", "true"]),
    (["-o", "trace.xml", "--", "true"], ["trace.xml", "suffix", ".json"]),
    (["-o", "trace", "--", "true"], ["trace", "suffix", ".json"]),
    (["-o", "trace-%p.gpt", "--", "true"], ["trace-%p.gpt", "%p"]),
    (["-o", "%p/trace.json", "--", "true"], ["%p/trace.json", "%p"]),
    (["-o", "trace-%r.gpt", "--", "true"], ["trace-%r.gpt", "%r", "ranks"]),
    (["-o", "%r/trace.json", "--", "true"], ["%r/trace.json", "%r"]),
    (["-o", "-", "--", "true"], ["--output -", "--format"]),
    (["--format", "bmp", "--", "true"], ["--format bmp", "folded"]),
    (["--format", "folded", "--", "true"], ["--format folded", "--output -"]),
    (["--capture-range", "nvtx", "--", "true"], ["--capture-range nvtx", "cudaProfilerApi"]),
    (["--capture-range-end", "repeat", "--", "true"], ["--capture-range-end repeat", "needs --capture-range"]),
    (["-M", "run", "--", "true"], ["--label run", "-M run=17"]),
    (["-M", "=17", "--", "true"], ["--label =17", "-M run=17"]),
    (["-M", "run=" + 300 * "1", "--", "true"], ["--label run=1111", "256 bytes"]),
    (["-M", "run=1\n2", "--", "true"], ["--label", "control characters"]),
    (["-M", "run=1", "-M", "run=2", "--", "true"], ["--label run=2", "run has a value, 1"]),
    ([word for number in range(33) for word in ("-M", f"l{number}=1")] + ["--", "true"], ["--label l32=1", "at most 32 labels"]),
    (["--metric", "watts", "--", "true"], ["--metric watts", "launches"]),
    (["--agent", "maybe", "--", "true"], ["--agent maybe", "require"]),
    (["--min-complete", "101", "--", "true"], ["--min-complete 101", "100"]),
    (["--min-complete", "-1", "--", "true"], ["--min-complete -1", "100"]),
    (["--buffer", "3M", "--", "true"], ["--buffer 3M", "power of two"]),
    (["--frobnicate"], ["--frobnicate"]),
    (["-x"], ["-x"]),
    (["--"], ["command is missing"]),
    ([""], ["command", "empty"]),
    (["export", "x.gpt"], ["export", "-o"]),
    (["export"], ["export needs an output", "gputrace export -o trace.json"]),
    (["merge"], ["merge needs a log", "gputrace merge FILE.gpt"]),
    (["doctor", "now"], ["now", "-p PID"]),
    (["true"], ["no subcommand 'true'", "gputrace -- true"]),
])
def test_a_wrong_command_line_is_reported_in_one_line(tmp_path, arguments, needles):
    assert_one_line(tracing.gputrace(tmp_path, *arguments), USAGE, *needles)
    assert_empty(tmp_path)


@pytest.mark.parametrize("arguments, code, needles", [
    (["-p", str(NO_SUCH_PID)], FAILED, [f"--pid {NO_SUCH_PID}", "no such process"]),
    (["--", "no-such-program"], 127, ["no-such-program", "not found"]),
    (["--", "/nowhere/program"], 127, ["/nowhere/program", "not found"]),
    (["--", "/etc/passwd"], 126, ["/etc/passwd", "Permission denied"]),
    (["-o", "/nowhere/trace.json", "--", "true"], OWN_FAILURE, ["/nowhere/trace.json", "directory does not exist"]),
    (["-o", "/proc/trace.json", "--", "true"], OWN_FAILURE, ["/proc/trace.json", "cannot be written"]),
    (["-o", "/proc/trace.gpt", "--", "true"], OWN_FAILURE, ["/proc/trace.gpt", "cannot be written"]),
    (["-o", "/dev/null/trace.json", "--", "true"], OWN_FAILURE, ["/dev/null/trace.json", "cannot be written"]),
    (["report", "nowhere.gpt"], FAILED, ["nowhere.gpt", "No such file"]),
    (["report", "/tmp"], FAILED, ["/tmp", "is a folder: name a file that is in it"]),
    (["report", "/dev/zero"], FAILED, ["/dev/zero", "not a regular file"]),
])
def test_what_cannot_be_had_is_reported_in_one_line(tmp_path, arguments, code, needles):
    assert_one_line(tracing.gputrace(tmp_path, *arguments), code, *needles)
    assert_empty(tmp_path)


def test_a_zombie_cannot_be_traced(tmp_path):
    child = subprocess.Popen(["true"])
    tracing.until(lambda: tracing.state(tracing.Path(f"/proc/{child.pid}")) == "Z")
    assert_one_line(tracing.gputrace(tmp_path, "-p", child.pid), FAILED, f"--pid {child.pid}", "ended")
    child.wait()


def test_a_process_that_never_called_cuda_ends_the_trace_with_its_end(tmp_path):
    with tracing.Running(["cat"], tmp_path) as short, tracing.Tracer(tmp_path, "-p", short.pid) as tracer:
        short.end().must_be(0)
        done = tracer.end().must_be(0)
    assert "no traced process is left" in done.stderr
    assert (tmp_path / "trace.json").exists()


def test_a_thread_is_not_taken_for_a_process(cudart, tmp_path):
    with tracing.target(tmp_path, cudart) as target:
        (thread,) = {int(name) for name in os.listdir(f"/proc/{target.pid}/task")} - {target.pid}
        done = tracing.gputrace(tmp_path, "-p", thread)
    assert_one_line(done, FAILED, f"--pid {thread}", f"thread of process {target.pid}")


def test_a_process_without_cuda_is_said_to_have_none(tmp_path):
    with tracing.Running(["sleep", "60"], tmp_path) as sleep:
        done = tracing.gputrace(tmp_path, "-d", "300ms", "-p", sleep.pid).must_be(0)
        assert f"no CUDA library is mapped in pid {sleep.pid}" in done.stderr
        assert "0 launches recorded" in done.stdout


def test_no_call_at_all_is_incomplete_when_completeness_was_asked_for(tmp_path):
    done = tracing.gputrace(tmp_path, "--min-complete", "1", "--", "true")
    done.must_be(INCOMPLETE)
    assert "no CUDA call was seen" in done.stderr


def test_without_root_the_missing_capabilities_are_named(public):
    for code, arguments in ((FAILED, ["-d", "1s"]), (OWN_FAILURE, ["--way", "bpf", "-o", "trace.json", "--", "true"])):
        done = tracing.command(public, *tracing.AS_NOBODY, public / "gputrace", *arguments)
        assert_one_line(done, code, "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE", "sudo")


def test_only_the_capabilities_that_are_missing_are_named(public):
    some = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
    done = tracing.command(public, *some, public / "gputrace", "-d", "1s")
    assert_one_line(done, FAILED, "not permitted: CAP_SYS_PTRACE missing")


def test_an_old_kernel_is_named(tmp_path):
    done = tracing.command(tmp_path, "setarch", "--uname-2.6", machine.GPUTRACE, "-d", "1s")
    assert_one_line(done, FAILED, "Linux 5.10 or newer is needed; this is 2.6")


BPF = 321  # the system call, x86-64


def test_a_kernel_without_bpf_is_named(tmp_path):
    done = tracing.command(tmp_path, machine.GPUTRACE, "-d", "1s", preexec_fn=tracing.refusing(BPF, errno.ENOSYS))
    assert_one_line(done, FAILED, "this kernel has no BPF")


OLD_PROGRAM = """import ctypes, sys
rt = ctypes.CDLL(sys.argv[1])
print("ready"); sys.stdout.flush()
for line in iter(sys.stdin.readline, ""):
    for i in range(50): rt.cudaGraphLaunch(None, None)
    print("done"); sys.stdout.flush()
"""


@pytest.fixture
def old_python():
    python = max(machine.PYENV.glob("versions/2.7.*/bin/python"), default=None)
    if not python:
        pytest.skip(f"no CPython 2.7 under {machine.PYENV}")
    return python


def test_an_unknown_python_is_named_and_its_launches_are_counted(cudart, tmp_path, old_python):
    python, version = old_python, "2.7"
    with tracing.Running([python, "-c", OLD_PROGRAM, cudart], tmp_path) as target:
        target.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            tracer.wait_logged(logfile.has_note, "no Python stacks")
            target.ask("launch")
            done = tracer.interrupt().must_be(0)
    (note,) = [line for line in done.stdout.splitlines() if "no Python stacks" in line]
    assert f"pid {target.pid}" in note and version in note
    assert "50 launches recorded, 0 lost; 0.0 % of launches under a Python line" in done.stdout


def test_an_unknown_python_that_ends_at_once_is_named_too(cudart, tmp_path, old_python):
    program = [old_python, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1]).cudaFree(None)", cudart]
    done = tracing.gputrace(tmp_path, "--", *program).must_be(0)
    assert done.stdout.count("no Python stacks") == 1


# ---- where files go ----------------------------------------------------------------------------

LAUNCHING = ("--agent", "off")


def launching(folder, cudart, *options, env=None, **more):
    program = [machine.any_python(), machine.WORKLOADS / "real_cudart.py", cudart, "--steps", 100]
    return tracing.gputrace(folder, *options, *LAUNCHING, "--", *program, env=env, **more)


def test_nothing_temporary_is_left_beside_the_outputs(cudart, tmp_path):
    launching(tmp_path, cudart, *tracing.outputs(tmp_path, "a.json", "a.json.gz", "a.folded", "a.gpt")).must_be(0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.folded", "a.gpt", "a.json", "a.json.gz"]


def test_outputs_belong_to_the_user_who_called_sudo(cudart, tmp_path):
    env = {"SUDO_UID": 12345, "SUDO_GID": 23456}
    files = tracing.outputs(tmp_path, "a.json", "a.gpt", "a-%p.folded")
    launching(tmp_path, cudart, *files, "--as-root", env=env).must_be(0)
    owners = {(path.stat().st_uid, path.stat().st_gid) for path in tmp_path.iterdir()}
    assert owners == {(12345, 23456)}
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("name", ["link.json", "link.gpt"])
def test_a_link_of_another_user_is_not_followed(cudart, tmp_path, name):
    victim, link = tmp_path / "victim", tmp_path / name
    victim.write_text("precious")
    link.symlink_to(victim)
    os.chown(link, 12345, 12345, follow_symlinks=False)
    done = launching(tmp_path, cudart, "-o", link)
    assert_one_line(done, OWN_FAILURE, str(link), "symbolic link that belongs to someone else")
    assert victim.read_text() == "precious" and link.is_symlink()


def test_a_folder_behind_a_link_of_another_user_is_not_written_to(cudart, tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    os.chown(link, 12345, 12345, follow_symlinks=False)
    done = launching(tmp_path, cudart, "-o", link / "trace.json")
    assert_one_line(done, OWN_FAILURE, str(link / "trace.json"), "symbolic link that belongs to someone else")
    assert_empty(tmp_path / "real")


def test_a_link_of_ones_own_is_followed(cudart, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    launching(tmp_path, cudart, "-o", tmp_path / "link/trace.folded").must_be(0)
    assert (tmp_path / "real/trace.folded").stat().st_size > 0


@pytest.fixture
def small_disk(tmp_path, request):
    """A file system of 256 KB, or of the size that a test gives."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = getattr(request, "param", "256k")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "gputrace-test", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_pipe_without_room_for_its_copy_says_so(tmp_path, small_disk):
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as cat:
        done = subprocess.run([machine.GPUTRACE, "report", "-"], stdin=cat.stdout, capture_output=True, text=True,
                              env={**os.environ, "TMPDIR": str(small_disk)})
        cat.kill()
    assert done.returncode == 1
    assert "standard input: cannot be copied to a temporary file: No space left on device: name a folder with room for it in TMPDIR" in done.stderr


@pytest.mark.parametrize("small_disk", ["64k"], indirect=True)
def test_when_the_disk_of_the_log_is_full_the_log_up_to_there_survives(cudart, tmp_path, small_disk):
    with tracing.target(tmp_path, cudart) as target:
        with tracing.Tracer(small_disk, "-p", target.pid, names=()) as tracer:
            target.ask("steps 5")
            tracer.wait_logged(logfile.has_calls)
            while tracer.process.poll() is None:
                target.ask("steps 100")
            done = tracer.end().must_be(FAILED)
        target.ask("steps 1")  # the program is not affected
    assert "the log could not be written any further (No space left on device): the trace ends here" in done.stderr
    report = tracing.gputrace(tmp_path, "report", small_disk / "trace.gpt").must_be(INCOMPLETE)
    assert "Cut short" in report.stdout and "attention" in report.stdout
    assert [path.name for path in small_disk.iterdir()] == ["trace.gpt"]


@pytest.mark.parametrize("small_disk", ["64k"], indirect=True)
def test_when_the_disk_of_a_temporary_log_is_full_the_log_up_to_there_is_kept_and_named(cudart, tmp_path, small_disk):
    with tracing.target(tmp_path, cudart) as target:
        with tracing.Running([machine.GPUTRACE, "-v", "-p", target.pid], small_disk) as tracer:
            tracer.wait_line("gputrace: tracing", "stderr")
            while tracer.process.poll() is None:
                target.ask("steps 100")
            done = tracer.end().must_be(FAILED)
    (kept,) = small_disk.iterdir()
    assert f"the recording ended early; the trace is in {kept}: gputrace report {kept}" in done.stderr
    assert "Cut short" in tracing.gputrace(tmp_path, "report", kept).must_be(INCOMPLETE).stdout


def test_when_the_disk_of_an_output_is_full_the_log_survives_and_the_message_says_where(cudart, tmp_path, small_disk):
    output = small_disk / "trace.json"
    output.write_text("the one before")
    done = launching(tmp_path, cudart, "-o", output).must_be(OWN_FAILURE)
    assert f"{output}: not written: No space left on device" in done.stderr
    (kept,) = tmp_path.glob("gputrace-*.gpt")
    assert f"not everything could be written; the trace is in {kept}: gputrace report {kept}" in done.stderr
    assert "Block.forward" in tracing.gputrace(tmp_path, "report", kept).must_be(0).stdout
    assert output.read_text() == "the one before"
    assert [path.name for path in small_disk.iterdir()] == ["trace.json"]


def of_at_most(kb):
    """For preexec_fn: the greatest size of a file, ulimit -f."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kb << 10, kb << 10))


def test_a_limit_of_file_sizes_ends_the_log_and_is_named(cudart, tmp_path):
    program = [machine.any_python(), machine.WORKLOADS / "real_cudart.py", cudart, "--steps", 2000]
    done = tracing.gputrace(tmp_path, "-o", "trace.gpt", *LAUNCHING, "--", *program, preexec_fn=of_at_most(40))
    done.must_be(OWN_FAILURE)  # the command ended with 0
    assert ("trace.gpt: the trace ends here, as the log could not be written any further: File too large: the limit is 40 KB a file "
            "(ulimit -f): raise it, as by ulimit -f unlimited") in done.stderr
    assert "Cut short" in tracing.gputrace(tmp_path, "report", "trace.gpt").must_be(INCOMPLETE).stdout


def test_a_limit_of_file_sizes_that_an_output_reaches_is_named(cudart, tmp_path):
    launching(tmp_path, cudart, "-o", tmp_path / "trace.gpt").must_be(0)
    done = tracing.gputrace(tmp_path, "export", "trace.gpt", "-o", "big.json", preexec_fn=of_at_most(50))
    assert_one_line(done, FAILED, "big.json: not written: File too large: the limit is 50 KB a file (ulimit -f): raise it")


@pytest.mark.parametrize("way, most, what", [
    ("bpf", 7, "true: "), ("bpf", 25, "a trace takes "), ("bpf", 72, "a trace takes "), ("bpf", 84, "a trace takes "),
    ("bpf", 100, "a trace takes "), ("agent", 7, "true: "), ("agent", 16, "a trace takes 32 open files: "), ("agent", 31, "a trace takes 32 open files: ")])
def test_too_few_descriptors_are_named_with_their_limit(tmp_path, way, most, what):
    """Between none and enough of them files of /proc cannot be opened, as if their processes had ended."""
    done = tracing.gputrace(tmp_path, "--way", way, "--", "true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
    done.must_be(OWN_FAILURE)
    assert what in done.stderr and f"Too many open files: the limit is {most} (ulimit -n): raise it, as by ulimit -n 4096, before gputrace" in done.stderr


@pytest.mark.parametrize("way", ("bpf", "agent"))
@pytest.mark.parametrize("mb", (20, 40, 70, 90, 150, 400))
def test_too_little_memory_is_named_with_its_limit_or_is_enough(tmp_path, way, mb):
    done = tracing.gputrace(tmp_path, "--way", way, "-o", "trace.gpt", "--", "sh", "-c", "exit 7",
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (mb << 20, mb << 20)))
    if done.code == 7:  # the command's
        if "(ulimit -v)" not in done.stderr:
            tracing.gputrace(tmp_path, "report", "trace.gpt").must_be(0)
        return
    done.must_be(OWN_FAILURE)
    assert f"Cannot allocate memory: the limit is {mb << 10} KB of memory (ulimit -v): raise it, as by ulimit -v unlimited" in done.stderr
    assert mb < 400


def with_processes(most):
    """For preexec_fn: a user without processes, whose limit of processes and threads (ulimit -u) is that number."""
    def become():
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
        os.setgroups([])
        os.setresgid(54321, 54321, 54321)
        os.setresuid(54321, 54321, 54321)
    return become


def test_too_few_processes_and_threads_are_named_with_their_limit(desk):
    """No thread for the log is not a full disk.  One more with each run, until there are enough."""
    said = []
    for most in range(1, 16):
        done = tracing.command(desk, desk / "gputrace", "--no-keep", "--way", "agent", "-o", f"{most}.gpt", "--", "sh", "-c", "exit 7",
                               preexec_fn=with_processes(most))
        said.append(done.stderr)
        assert "disk" not in done.stderr
        if done.code == 7 and "ulimit" not in done.stderr:
            break
        assert f"no more processes and threads are allowed: the limit is {most} for a user (ulimit -u), or pids.max of the cgroup" in done.stderr
    assert 2 < most < 15
    assert any("as the thread that writes the log" in text for text in said), said


def test_a_file_that_is_there_is_replaced_only_by_a_whole_one(cudart, tmp_path):
    output = tmp_path / "trace.folded"
    output.write_text("old")
    before = output.stat().st_ino
    launching(tmp_path, cudart, "-o", output).must_be(0)
    assert output.stat().st_ino != before and "old" not in output.read_text()


def test_a_second_ctrl_c_abandons_the_export_and_neither_target_nor_log(cudart, tmp_path):
    with tracing.target(tmp_path, cudart) as target:
        arguments = ["-o", "-", "--format", "json", "-o", tmp_path / "trace.gpt", "-p", target.pid]
        with tracing.Running([machine.GPUTRACE, "-v", *arguments], tmp_path) as tracer:
            tracer.wait_line("gputrace: tracing", "stderr")
            target.ask("steps 100")  # far more JSON than a pipe holds
            tracer.send_apart(signal.SIGINT)
            tracer.process.stdout.read(1)  # the export has begun, and waits until the test reads on
            tracer.process.send_signal(signal.SIGINT)
            tracer.process.wait(tracing.PATIENCE_S)
            assert tracer.process.returncode == FAILED
            assert "abandoned: not all outputs were written; gputrace export makes them" in tracer.process.stderr.read()
        target.ask("steps 1")
        target.end().must_be(0)
    assert "Block.forward" in tracing.gputrace(tmp_path, "report", tmp_path / "trace.gpt").must_be(0).stdout


@pytest.fixture
def full_pipe():
    """The write end of a full pipe that no one reads."""
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(ends[1], bytes(4096))
    os.set_blocking(ends[1], True)
    yield ends[1]
    for end in ends:
        os.close(end)


@pytest.mark.parametrize("words", (["report"], ["export", "-o", "-", "--format", "json"],
                                   ["export", "-o", "-", "--format", "json.gz"], ["export", "-o", "-", "--format", "gpt"]),
                         ids=" ".join)
def test_a_ctrl_c_right_before_a_write_that_blocks_is_not_lost(cudart, tmp_path, full_pipe, words):
    """The signal alone ends gputrace, without an alarm or a second signal."""
    launching(tmp_path, cudart, "-o", tmp_path / "trace.gpt").must_be(0)
    shim = machine.compile_library(machine.PROGRAMS / "signal_before_write.c", tmp_path / "shim.so")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    try:
        done = subprocess.Popen([machine.GPUTRACE, words[0], tmp_path / "trace.gpt", *words[1:]], stdout=full_pipe,
                                stderr=subprocess.PIPE, text=True, env={**os.environ, "LD_PRELOAD": str(shim)})
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    with done:
        try:
            assert done.wait(tracing.PATIENCE_S) == FAILED
        finally:
            done.kill()


def test_doctor_finds_what_a_trace_needs(tmp_path):
    done = tracing.gputrace(tmp_path, "doctor").must_be(0)
    assert not [line for line in done.stdout.splitlines() if line.startswith("missing")]


FEATURES_SINCE = {  # {feature: (kernel that has it first, text if present, text if absent)}
    "attach cookies": ((5, 15), "probes know which they are", "each call is looked up by its probe's place, slower; Linux 5.15"),
    "bpf_loop": ((5, 17), "stacks are walked in one go", "stacks are walked by older programs, slower; Linux 5.17 has it"),
    "uprobe.multi": ((6, 6), "all probes of a file at once", "probes go in and out one by one: starts and ends slower; Linux 6.6"),
    "uprobe.session": ((6, 13), "there, and not needed", "Linux 6.13 has it; nothing depends on it"),
    "fast nop5": ((6, 18), "the agent's probes take the fast way", "the agent's probes cost twice as much; Linux 6.18 on x86-64")}


@pytest.mark.kernels
def test_doctor_says_what_this_kernel_lacks(tmp_path):
    kernel = tuple(int(number) for number in platform.release().split("-")[0].split(".")[:2])
    done = tracing.gputrace(tmp_path, "doctor").must_be(0)
    found = {name: re.search(rf"^{name} +(\w+) +(.*)", done.stdout, re.MULTILINE).groups() for name in FEATURES_SINCE}
    assert found == {name: ("ok", there) if kernel >= since else ("limited", absent)
                     for name, (since, there, absent) in FEATURES_SINCE.items()}


def test_doctor_says_what_can_be_traced_in_a_process(cudart, every_python, tmp_path):
    version = subprocess.check_output([every_python, "-c", "import sys; print(sys.version.split()[0])"], text=True)
    with tracing.target(tmp_path, cudart, python=every_python) as target:
        done = tracing.gputrace(tmp_path, "doctor", "-p", target.pid).must_be(0)
    assert re.search(rf"^  Python +ok +{version.strip()}", done.stdout, re.MULTILINE)
    assert re.search(r"^  CUDA +ok +libcudart.so.13", done.stdout, re.MULTILINE)


def test_doctor_without_root_says_what_is_missing(public):
    done = tracing.command(public, *tracing.AS_NOBODY, public / "gputrace", "doctor").must_be(0)
    assert "missing" in done.stdout and "CAP_BPF" in done.stdout
    assert "only the agent alone works here, for gputrace -- COMMAND and your own processes" in done.stderr


@pytest.mark.parametrize("name,begin,said", (
    ("page.html", b"\n<!DOCTYPE html>\n<html>", "is an HTML page, to be looked at in a browser; if gputrace made it, report and export read the log"),
    ("trace.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "`git lfs pull`"),
    ("run.nvvp", b'<?xml version="1.0"?><a/>', "is XML"),
    ("report1.nsys-rep", b"\0\1\2\3 not known \xff", "`nsys export --type sqlite FILE`"),
    ("report1.qdrep", b"\x07any", "`nsys export --type sqlite FILE`"),
    ("kernels.ncu-rep", b"NVR\0\4\0\0\0", "Nsight Compute"),
    ("host.xplane.pb", b"\x0a\x12abc", "JAX or TensorFlow"),
    ("own.pftrace", b"\x0a\x05hello", "is a trace for Perfetto, to be looked at in its UI; if gputrace made it, report and export read the log that it was made from"),
    ("own.arrow", b"ARROW1\0\0", "is an Arrow file, for pyarrow and pandas; if gputrace made it, report and export read the log that it was made from"),
    ("own.folded", b"main;step;kernel 12\n", "has folded stacks, for flamegraph.pl; if gputrace made it, report and export read the log that it was made from"),
    ("own.svg", b"<svg xmlns=", "is an SVG picture, to be looked at in a browser; if gputrace made it, report and export read the log that it was made from"),
    ("own.pickle", b"\x80\2}(X\x08\0\0\0segments", "is a snapshot of PyTorch's memory, for pytorch.org/memory_viz; if gputrace made it, report and export read the log"),
    ("own.prof", b"{(\5\0\0\0abcde", "is a profile of Python, for pstats; if gputrace made it, report and export read the log that it was made from"),
    ("any.pickle", pickle.dumps({"a": 1}), "is a pickle of Python, which has no times of a GPU"),
    ("cprofile.prof", marshal.dumps({("a.py", 1, "f"): (1, 1, 0.5, 0.5, {})}), "is a profile of Python, for pstats"),
    ("any.prof", b"x", "it is neither a gputrace log nor a trace in a form that gputrace reads"),
    ("any.folded", b"x", "it is neither a gputrace log nor a trace in a form that gputrace reads"),
    ("empty.prof", b"", "it is empty"),
    ("empty.nsys-rep", b"", "it is empty"),
    ("own.speedscope.json", b'{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"gputrace@1"',
     "is a profile for speedscope; if gputrace made it, report and export read the log"),
    ("own.pb.gz", gzip.compress(b"\x0a\4\x08\1\x10\2\x0a\4\x08\3\x10\4"), "is a profile for pprof; if gputrace made it, report and export read the log"),
    ("report1.h5", b"\x89HDF\r\n\x1a\n", "is HDF5, as `nsys export --type hdf` writes it: `nsys export --type sqlite`"),
    ("kernels.parquet", b"PAR1\x15\4", "is Parquet, as `nsys export --type parquetdir` writes it: `nsys export --type sqlite`"),
    ("report1.json", b'{"data":["[Unknown]","[Max depth]"]}\n{"Type":79,"CudaEvent":{}}\n', "is JSON lines, as `nsys export --type json`"),
    ("report1.jsonl", b'{"Type":48,"TraceProcessEvent":{"startNs":"1"}}\n', "is JSON lines, as `nsys export --type json`"),
    ("perf.data", b"PERFILE2h\0\0", "is a recording of perf"),
    ("utf16.json", '\ufeff{"traceEvents":[]}'.encode("utf-16-le"), "is text in UTF-16: `iconv -f UTF-16 -t UTF-8`"),
    ("et.json", b'{\n  "schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}', "is an execution trace of PyTorch"),
    ("old.json", b'[{"name": "aten::add", "ph": "X", "ts": 12.1, "dur": 3.0, "tid": 1, "pid": "CPU functions", "args": {}}]',
     "is of PyTorch's old profiler (torch.autograd.profiler), which has times of ops and none of kernels: torch.profiler's"),
    ("old.json.gz", gzip.compress(b'[{"name":"k","ph":"X","ts":1,"dur":3,"tid":0,"pid":"CUDA functions","args":{}}]'),
     "is of PyTorch's old profiler"),
    ("kernels.csv", b'"ID","Kernel Name"\n"0","k"\n', "it is neither a gputrace log nor a trace in a form that gputrace reads"),
    ("stacks.txt", b"a;b 12\n", "it is neither a gputrace log nor a trace in a form that gputrace reads"),
    ("tables.json", b'{"schema": "gputrace-tables", "version": 1,', "has tables of a report"),
    ("all.gpt.gz", gzip.compress(b"GPTRACE\0"), "is packed with gzip: unpack it with `gzip -d`"),
    ("ranks.tar.gz", gzip.compress(b"rank0.json".ljust(257, b"\0") + b"ustar\00000".ljust(255, b"\0")), "is a tar archive"),
    ("packed.zip", b"PK\3\4rest", "is a ZIP archive: unpack it, and name the file that was in it"),
    ("all.gpt.zst", b"\x28\xb5\x2f\xfdrest", "is packed with zstd: unpack it with `zstd -d`"),
    ("all.gpt.xz", b"\xfd7zXZ\0", "is packed with xz: unpack it with `xz -d`"),
    ("all.gpt.bz2", b"BZh91AY", "is packed with bzip2: unpack it with `bzip2 -d`"),
))
def test_a_file_that_is_not_read_is_named_with_what_helps(tmp_path, name, begin, said):
    (tmp_path / name).write_bytes(begin)
    assert_one_line(tracing.gputrace(tmp_path, "report", tmp_path / name), FAILED, f"{name}: ", said)


def a_trace_of_torch_profiler(more=()):
    event = {"ph": "X", "pid": 11, "tid": 11, "ts": 10.0, "dur": 5}
    return dict(more) | {"traceEvents": [
        event | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": {"correlation": 1}},
        event | {"cat": "kernel", "name": "k", "pid": 0, "args": {"device": 0, "stream": 7, "correlation": 1}}]}


@pytest.mark.parametrize("format", ("folded", "speedscope", "pprof", "pstats", "pftrace", "arrow", "html", "svg"))
def test_what_gputrace_exports_and_does_not_read_is_named_with_what_helps(tmp_path, format):
    (tmp_path / "t.json").write_text(json.dumps(a_trace_of_torch_profiler()))
    suffix = {"speedscope": "speedscope.json", "pprof": "pb.gz", "pstats": "prof"}.get(format, format)
    tracing.gputrace(tmp_path, "export", tmp_path / "t.json", "-o", tmp_path / f"own.{suffix}").must_be(0)
    assert_one_line(tracing.gputrace(tmp_path, "report", tmp_path / f"own.{suffix}"), FAILED, "if gputrace made it, report and export read the log")


def test_what_it_exports_and_reads_says_where_it_is_from(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(a_trace_of_torch_profiler()))
    tracing.gputrace(tmp_path, "export", tmp_path / "t.json", "-o", tmp_path / "own.sqlite").must_be(0)
    tracing.gputrace(tmp_path, "export", tmp_path / "own.sqlite", "-o", tmp_path / "again.json").must_be(0)
    for name, form in (("own.sqlite", "an .sqlite file"), ("again.json", "a Chrome trace")):
        report = " ".join(tracing.gputrace(tmp_path, "report", tmp_path / name).must_be(0).stdout.split())
        assert f"Recorded by torch.profiler (Kineto), written by gputrace ({form}). Not recorded" in report


def a_packed_trace(launches):
    trace = a_trace_of_torch_profiler()
    trace["traceEvents"] += [dict(trace["traceEvents"][0], ts=20.0 + number / 7, args={"correlation": 2 + number})
                             for number in range(launches - 1)]
    return gzip.compress(json.dumps(trace).encode())


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0xff]) + data[at + 1:]


@pytest.mark.parametrize("damage,said,all_read", (
    (lambda packed: packed[:len(packed) // 2], "the packed file is cut", False),
    (lambda packed: packed[:-8], "the packed file is cut", True),
    (lambda packed: flipped(packed, len(packed) // 2), "the packed file is damaged", False),
    (lambda packed: flipped(packed, len(packed) - 6), "the packed file is damaged", True)),
    ids=("cut", "without its checksum", "a wrong byte", "a wrong checksum"))
def test_a_packed_file_that_is_cut_or_damaged_says_how_much_of_it_was_read(tmp_path, damage, said, all_read):
    (tmp_path / "t.json.gz").write_bytes(damage(a_packed_trace(20000)))
    done = tracing.gputrace(tmp_path, "report", tmp_path / "t.json.gz").must_be(tracing.INCOMPLETE)
    found = re.search(rf"{said}: (\d+) events were read.*copy it again", " ".join(done.stdout.split()))
    assert found and (int(found[1]) == 20001 if all_read else 5000 < int(found[1]) <= 20001), done.stdout
    assert "t.json.gz was cut short or is damaged" in done.stderr
    tracing.gputrace(tmp_path, "why", tmp_path / "t.json.gz").must_be(tracing.INCOMPLETE)


@pytest.mark.parametrize("end", (b"", b"no gzip", bytes(512)), ids=("nothing", "garbage", "zeros"))
def test_what_follows_a_packed_file_is_ignored_as_gzip_does(tmp_path, end):
    packed = a_packed_trace(3)
    half = gzip.compress(gzip.decompress(packed)[:100]) + gzip.compress(gzip.decompress(packed)[100:])
    for data in (packed, half):
        (tmp_path / "t.json.gz").write_bytes(data + end)
        done = tracing.gputrace(tmp_path, "report", tmp_path / "t.json.gz").must_be(0)
        assert "damaged" not in done.stdout + done.stderr


@pytest.mark.parametrize("damage,said", (
    (lambda packed: packed[:2], "is packed with gzip and cut"), (lambda packed: packed[:12], "is packed with gzip and cut"),
    (lambda packed: flipped(packed, 3), "is packed with gzip and damaged")), ids=("magic", "header", "a wrong header"))
def test_a_packed_file_of_which_nothing_is_left_is_said_to_be_cut_or_damaged(tmp_path, damage, said):
    (tmp_path / "t.json.gz").write_bytes(damage(a_packed_trace(3)))
    for command in ("report", "why"):
        assert_one_line(tracing.gputrace(tmp_path, command, tmp_path / "t.json.gz"), FAILED, f"t.json.gz: {said}",
                        "copy it again (`gzip -t` checks it)")


@contextlib.contextmanager
def a_database(path, mode):
    """A program that has changed its database, and ended before the change was in it."""
    tracing.gputrace(path.parent, "export", path.parent / "t.json", "-o", path).must_be(0)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute(f"PRAGMA journal_mode={mode}")
        base.execute("PRAGMA cache_size=1")
        base.execute("BEGIN")
        base.execute("CREATE TABLE more(a)")
        base.executemany("INSERT INTO more VALUES(?)", [(b"x" * 1000,)] * 1000)
        if mode == "wal":
            base.execute("COMMIT")
        yield base


@pytest.mark.parametrize("mode,end,said,cure", (
    ("wal", "-wal", "has changes that are only in its write-ahead log", "PRAGMA wal_checkpoint(TRUNCATE)"),
    ("delete", "-journal", "was left in the middle of a change", "PRAGMA user_version")), ids=("wal", "journal"))
def test_a_database_with_changes_beside_it_is_not_read_without_them(tmp_path, mode, end, said, cure):
    (tmp_path / "t.json").write_text(json.dumps(a_trace_of_torch_profiler()))
    left, beside = tmp_path / "left.sqlite", tmp_path / f"left.sqlite{end}"
    with a_database(tmp_path / "x.sqlite", mode):
        shutil.copy(tmp_path / "x.sqlite", left)
        shutil.copy(tmp_path / f"x.sqlite{end}", beside)
    (tmp_path / "link.sqlite").symlink_to(left)
    for command, name in (("report", left), ("why", left), ("diff", left), ("report", tmp_path / "link.sqlite")):
        more = [left] if command == "diff" else []
        assert_one_line(tracing.gputrace(tmp_path, command, name, *more), FAILED, f"{name.name}: {said}", cure)
    with left.open() as stdin:
        done = subprocess.run([machine.GPUTRACE, "report", "-"], stdin=stdin, capture_output=True, text=True)
    assert done.returncode == FAILED and f"standard input: {said}" in done.stderr
    with contextlib.closing(sqlite3.connect(left)) as base:
        base.execute(cure).fetchall()
    tracing.gputrace(tmp_path, "report", left).must_be(0)
    for harmless in (b"", b"\0" * 4096, b"\x37\x7f\x06\x82" + bytes(28)):
        beside.write_bytes(harmless)
        tracing.gputrace(tmp_path, "report", left).must_be(0)


def test_a_journal_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(a_trace_of_torch_profiler()))
    tracing.gputrace(tmp_path, "export", tmp_path / "t.json", "-o", tmp_path / "x.sqlite").must_be(0)
    (tmp_path / "x.sqlite-wal").symlink_to("any")
    assert_one_line(tracing.gputrace(tmp_path, "report", tmp_path / "x.sqlite"), FAILED,
                    "x.sqlite-wal beside it, which may have changes and cannot be read", "read both as the user who may")


def test_a_trace_of_jax_is_named_as_one_also_when_packed(tmp_path):
    trace = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "X", "pid": 1, "tid": 2, "ts": 1.5, "dur": 2, "name": "fusion", "args": {"hlo_op": "fusion"}}]}
    (tmp_path / "t.trace.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode()))
    assert_one_line(tracing.gputrace(tmp_path, "report", tmp_path / "t.trace.json.gz"), FAILED,
                    "is a trace of JAX or TensorFlow")


def test_the_rank_of_a_file_of_torch_profiler_is_kept(tmp_path):
    trace = a_trace_of_torch_profiler({"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}})
    (tmp_path / "t.json").write_text(json.dumps(trace))
    tracing.gputrace(tmp_path, "export", tmp_path / "t.json", "-o", tmp_path / "x.json", "-o",
                     tmp_path / "rank-%r.json").must_be(0)
    for name in ("x.json", "rank-3.json"):
        about = json.loads((tmp_path / name).read_text())["distributedInfo"]
        assert (about["rank"], about["world_size"]) == (3, 8), name
    merged = tracing.gputrace(tmp_path, "merge", tmp_path / "t.json").must_be(0)
    assert re.search(r"^ +3 .* 11$", merged.stdout, re.M), merged.stdout


def test_a_log_without_a_subcommand_is_said_to_be_one(tmp_path):
    (tmp_path / "all.gpt").write_bytes(b"")
    assert_one_line(tracing.gputrace(tmp_path, "all.gpt"), USAGE, "'all.gpt' is a file: gputrace report all.gpt")
