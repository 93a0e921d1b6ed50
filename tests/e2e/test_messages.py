# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Messages where a trace cannot work or shows nothing: the state, its reason, and one remedy not tried yet."""

import ctypes
import errno
import os
import re
import socket
import subprocess

import machine
import pytest
import tracing

WITHOUT_CAPABILITIES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
WITHOUT_SYS = ("unshare", "-m", "sh", "-c", 'umount -l /sys && exec "$@"', "sh")
WITHOUT_TRACEFS = ("unshare", "-m", "sh", "-c", 'umount -ql /sys/kernel/tracing; exec "$@"', "sh")
EMPTY_SYS = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys && mkdir /sys/kernel && exec "$@"', "sh")
READ_ONLY = 'mount -t tmpfs -o ro none /var/tmp && mount -t tmpfs -o ro none /tmp && cd /tmp && '
ONLY_MEMORY = ("unshare", "-m", "sh", "-c", READ_ONLY + 'mount -t tmpfs none /dev/shm && exec "$@"', "sh")
NO_ROOM = ("unshare", "-m", "sh", "-c", READ_ONLY + 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', "sh")
BPF, MEMFD_CREATE, SETRESUID, LANDLOCK_CREATE_RULESET = 321, 319, 117, 444  # system calls, x86-64
IDLE = "Is the process idle"
START = "gputrace -- COMMAND"
CIRCLES = ("5.10 or newer", "CONFIG_", "libbpf")  # no kernel that is tested lacks any of these


def said(done):
    """The words of both streams, joined by single spaces."""
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("how, has, lacks", [
    (tracing.AS_NOBODY, ["capabilities missing CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE: run it with sudo",
                         "ring buffer missing not known: asking is not permitted"], CIRCLES),
    (WITHOUT_CAPABILITIES, ["CAP_SYS_PTRACE: root has lost them here", "--cap-add"], (*CIRCLES, "sudo")),
    ((*tracing.AS_NOBODY, *WITHOUT_CAPABILITIES[1:]), ["CAP_SYS_PTRACE: sudo gives none here, as this container lacks them", "--cap-add"],
     (*CIRCLES, "run it with sudo")),
    ((*tracing.AS_NOBODY, "unshare", "--user"), ["CAP_SYS_PTRACE: sudo gives none here, as this container lacks them"],
     (*CIRCLES, "run it with sudo")),
    (WITHOUT_SYS, ["BTF missing /sys/kernel/btf/vmlinux is not there: /sys is not mounted here: mount -t sysfs",
                   "uprobes missing /sys is not mounted here"], (*CIRCLES, "sudo"))],
                         ids=("plain user", "root without capabilities", "user of a container", "namespace of its own", "no /sys"))
def test_doctor_and_a_trace_say_what_is_missing_and_not_what_is_there(tmp_path, public, how, has, lacks):
    doctor = said(tracing.command(tmp_path, *how, public / "gputrace", "doctor").must_be(0))
    trace = said(tracing.command(tmp_path, *how, public / "gputrace", "--way", "bpf", "--", "true").must_be(tracing.OWN_FAILURE))
    assert "without BPF ok the agent alone records a COMMAND, and your own processes (-p PID)" in doctor
    assert all(text in doctor for text in has), doctor
    assert not [text for text in lacks if text in doctor + trace]
    assert trace.startswith("gputrace: ") and ("BTF cannot be read" in trace or "CAP_BPF" in trace)


@pytest.mark.parametrize("how, has", [
    (WITHOUT_TRACEFS, ["tracefs ok not mounted; gputrace opens one of its own"]),
    (EMPTY_SYS, ["a kernel with CONFIG_FTRACE is needed to be there for a command's first launch",
                 "uprobes missing a kernel with CONFIG_UPROBE_EVENTS is needed"])],
                         ids=("not mounted", "no such kernel"))
def test_doctor_says_what_the_kernel_lacks(tmp_path, how, has):
    doctor = said(tracing.command(tmp_path, *how, machine.GPUTRACE, "doctor"))
    assert all(text in doctor for text in has), doctor


def test_doctor_names_a_kernel_without_bpf_or_its_tracepoints(tmp_path):
    doctor = tracing.command(tmp_path, machine.GPUTRACE, "doctor", preexec_fn=tracing.refusing(BPF, errno.ENOSYS))
    assert "BPF missing the kernel is built without CONFIG_BPF_SYSCALL" in said(doctor)
    doctor = tracing.command(tmp_path, machine.GPUTRACE, "doctor", preexec_fn=tracing.refusing(BPF, errno.EINVAL))
    assert "tracepoints missing a kernel with CONFIG_BPF_EVENTS is needed" in said(doctor)


def test_doctor_says_whether_commands_that_read_files_are_confined(tmp_path):
    refused = tracing.refusing(LANDLOCK_CREATE_RULESET, errno.ENOSYS)
    doctor = said(tracing.command(tmp_path, machine.GPUTRACE, "doctor", preexec_fn=refused))
    assert "Landlock limited commands that read files are not confined; Linux 5.13 has it, where lsm= names it" in doctor
    version = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    if version > 0:
        doctor = said(tracing.command(tmp_path, machine.GPUTRACE, "doctor"))
        assert "Landlock ok commands that read files can only write their outputs" in doctor
        assert ("reach no other process" in doctor) == (version >= 6)


def test_where_no_memory_can_be_shared_the_agent_alone_records_nothing_and_says_so(tmp_path):
    refused = tracing.refusing(MEMFD_CREATE, errno.ENOSYS)
    doctor = said(tracing.command(tmp_path, machine.GPUTRACE, "doctor", preexec_fn=refused))
    assert "no memory can be shared (memfd_create, F_SEAL_FUTURE_WRITE; Linux 5.1): Function not implemented" in doctor
    alone = tracing.command(tmp_path, machine.GPUTRACE, "--way", "agent", "--", "true", preexec_fn=refused)
    assert "no memory can be shared with the agents: Function not implemented" in said(alone.must_be(tracing.OWN_FAILURE))


MAPS = """import mmap, sys
files = [open(path, "rb") for path in sys.argv[1:]]
maps = [mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ) for file in files]
print("ready", flush=True)
input()
"""


def test_doctor_names_pytorch_and_other_tools_in_a_process(tmp_path):
    torch, proton = (tmp_path / name for name in ("libtorch_cpu.so", "libproton.so"))
    for path in (torch, proton):
        path.write_bytes(bytes(4096))
    with tracing.Running([machine.any_python(), "-c", MAPS, torch, proton], tmp_path) as program:
        program.wait_line("ready")
        doctor = said(tracing.gputrace(tmp_path, "doctor", "-p", program.pid))
    assert f"PyTorch ok libtorch_cpu.so: --ops records its ops and steps, --memory its tensors: {torch}" in doctor
    assert "other tools limited Triton's Proton (libproton.so): where it holds CUPTI there are no GPU times" in doctor


@pytest.mark.parametrize("arguments, code, has", [
    (["-p", "1", "2"], 2, "'2' after --pid PID: several processes are one list, as in -p 41230,41231"),
    (["-p", "2"], 1, "--pid 2: is a thread of the kernel (kthreadd), which runs no program"),
    (["doctor", "-p", "2"], 1, "pid 2 missing a thread of the kernel, which runs no program")],
                         ids=("two words", "kernel thread", "doctor of one"))
def test_what_is_no_process_to_trace_is_said_to_be(tmp_path, arguments, code, has):
    assert has in said(tracing.gputrace(tmp_path, *arguments).must_be(code))


FILTERED = """import ctypes
filter = (ctypes.c_uint64 * 1)(0x7fff000000000006)  # BPF_RET: SECCOMP_RET_ALLOW
program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(filter))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
print("ready", flush=True)
input()
"""


def test_pypy_is_named(tmp_path):
    (tmp_path / "pypy.c").write_text("int pypy_main_startup(void) { return 0; }\n")
    pypy = machine.compile_library(tmp_path / "pypy.c", tmp_path / "libpypy3.10-c.so")
    program = machine.compile_program(machine.PROGRAMS / "maps_only.c", tmp_path / "program")
    with tracing.Running([program, pypy], tmp_path) as running:
        running.wait_line("ready")
        doctor = said(tracing.gputrace(tmp_path, "doctor", "-p", running.pid))
        trace = said(tracing.gputrace(tmp_path, "-p", running.pid, "-d", "1s"))
    assert "Python limited it is PyPy, and gputrace reads the frames of CPython: calls have no Python line" in doctor
    assert f"program (pid {running.pid}): no Python stacks: it is PyPy, and gputrace reads the frames of CPython" in trace


def test_doctor_says_that_a_filter_of_seccomp_does_not_matter(tmp_path):
    with tracing.Running([machine.any_python(), "-c", FILTERED], tmp_path) as filtered:
        filtered.wait_line("ready")
        assert "seccomp ok a filter: entry probes are not affected by it" in said(tracing.gputrace(tmp_path, "doctor", "-p", filtered.pid))


def test_doctor_in_a_container_says_where_to_run_it(tmp_path):
    doctor = said(tracing.command(tmp_path, "unshare", "-pf", "--mount-proc", machine.GPUTRACE, "doctor").must_be(0))
    assert "pid namespace missing a container's: run on the host, or start it with --pid=host" in doctor


def test_a_process_that_has_ended_and_that_nobody_has_waited_for_is_said_to_have(tmp_path):
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert f"--pid {child.pid}: has ended already" in said(tracing.gputrace(tmp_path, "-p", child.pid).must_be(1))
    child.wait()


@pytest.mark.parametrize("arguments, code, has", [
    (["--", "report", "all.gpt"], 127, "report: a subcommand comes first, its options after it: gputrace report ..."),
    (["-o", "of-%p.json", "--", "true"], 0, "of-%p.json: no process made a CUDA call or reported ops, so there is no file"),
    (["--", "train.py"], 127, "train.py: command not found in PATH: name it with its path, or after its interpreter (python train.py)"),
    (["--", "/etc/passwd"], 126, "/etc/passwd: cannot be executed: Permission denied: name its interpreter before it (python /etc/passwd)"),
    (["-p", "4194303"], 1, "--pid 4194303: no such process: ps -e lists those that run"),
    (["-o", "/nowhere/of.json", "--", "true"], tracing.OWN_FAILURE, "its directory does not exist: make it first"),
    (["report", "/dev/zero"], 1, "/dev/zero: is not a regular file, as a log is: gputrace -o FILE.gpt records one")],
                         ids=("subcommand after --", "no process", "not in PATH", "no program", "no pid", "no folder", "no log"))
def test_what_could_not_be_done_is_said_with_the_reason_and_what_to_do(tmp_path, arguments, code, has):
    assert has in said(tracing.gputrace(tmp_path, *arguments).must_be(code))


def test_where_no_temporary_log_can_be_written_the_folder_is_named(tmp_path):
    done = tracing.command(tmp_path, *NO_ROOM, machine.GPUTRACE, "--", "true", env={"TMPDIR": "/nowhere"}).must_be(tracing.OWN_FAILURE)
    assert ("/var/tmp: no log can be written there: Read-only file system; nor in /nowhere (No such file or directory), "
            "/tmp (Read-only file system), . (Read-only file system), /dev/shm (Read-only file system): name another with TMPDIR=FOLDER"
            ) in said(done)


def test_where_no_disk_can_be_written_the_log_is_in_memory_and_that_is_said(tmp_path):
    """As in a container with a read-only root: Docker makes /dev/shm in each."""
    done = tracing.command(tmp_path, *ONLY_MEMORY, machine.GPUTRACE, "--", "true", env={"TMPDIR": ""}).must_be(0)
    assert "the log is in memory (/dev/shm), as no folder on a disk can be written: name one with TMPDIR=FOLDER" in said(done)


def test_a_file_for_each_cycle_of_a_log_without_cycles_is_refused(tmp_path):
    tracing.gputrace(tmp_path, "-q", "-o", "t.gpt", "--", "true").must_be(0)
    done = tracing.gputrace(tmp_path, "export", "t.gpt", "-o", "of-%c.json").must_be(1)
    assert ("of-%c.json: %c is the number of a cycle, and no cycle of a schedule was asked for or recorded: "
            "leave it out of the name") in said(done)
    assert [path.name for path in tmp_path.iterdir()] == ["t.gpt"]


def test_view_that_cannot_give_up_the_rights_of_sudo_shows_nothing(tmp_path):
    tracing.gputrace(tmp_path, "-q", "-o", "t.gpt", "--", "true").must_be(0)
    done = tracing.command(tmp_path, machine.GPUTRACE, "view", "t.gpt", env={"SUDO_UID": 65534, "SUDO_GID": 65534},
                           preexec_fn=tracing.refusing(SETRESUID, errno.EPERM)).must_be(1)
    assert said(done) == "gputrace: view: cannot become the user who called sudo: Operation not permitted"


def test_a_port_that_is_taken_is_said_to_be_with_what_to_do(tmp_path):
    tracing.gputrace(tmp_path, "-q", "-o", "t.gpt", "--", "true").must_be(0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = tracing.gputrace(tmp_path, "view", "--port", port, "t.gpt").must_be(1)
    assert f"view: port {port}: Address already in use: leave --port out to take any that is free" in said(done)


CALLS = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).cudaDeviceSynchronize()"


@pytest.mark.parametrize("options, has, lacks", [
    ([], "see that CUDA starts there (nvidia-smi)", [START, "gputrace doctor"]),
    (["--agent", "off"], "the trace was taken with --agent off. To get them: record without it.",
     [START, "gputrace doctor", "nvidia-smi"])], ids=("no driver", "--agent off"))
def test_who_started_the_program_is_not_asked_to_start_it(cudart, tmp_path, options, has, lacks):
    program = [machine.any_python(), "-c", CALLS, cudart]
    report = said(tracing.gputrace(tmp_path, *options, "-o", "t.gpt", "--", *program).must_be(0))
    assert has in report and not [text for text in lacks if text in report], report


def test_a_program_that_has_ended_is_not_asked_whether_it_is_idle(tmp_path):
    report = said(tracing.gputrace(tmp_path, "-o", "t.gpt", "--", "true").must_be(0))
    why = said(tracing.gputrace(tmp_path, "why", "t.gpt"))
    for text in (report, why):
        assert "The process ended before the trace did" in text and IDLE not in text and "doctor" not in text


def test_a_program_that_goes_on_is(tmp_path):
    with tracing.Running(["sleep", "infinity"], tmp_path) as sleep:
        report = said(tracing.gputrace(tmp_path, "-p", sleep.pid, "-d", "100ms").must_be(0))
        why = said(tracing.gputrace(tmp_path, "why", "-p", sleep.pid, "-d", "100ms").must_be(0))
    for text in (report, why):
        assert f"{IDLE}, or does it hang? `gputrace dump -p {sleep.pid}` shows what its threads do and wait for" in text, text
        assert text.index("gputrace dump") < text.index("gputrace doctor")


def on_terminal(folder, *words):
    outer, terminal = os.openpty()
    subprocess.run(["stty", "cols", "100"], stdin=terminal, check=True)
    done = subprocess.run([machine.GPUTRACE, *map(str, words)], stdout=terminal, stdin=subprocess.DEVNULL,
                          env=tracing.environment(folder))
    os.close(terminal)
    assert done.returncode == 0
    return re.sub("\033\\[[0-9]*m", "", read_all(outer).replace("\r\n", "\n"))


def is_cut_from(shown, line):
    """Whether a terminal's line is that line, or as much of it as the width allows."""
    head, _, tail = shown.partition("...")
    return shown == line or ("..." in shown and line.startswith(head) and line.endswith(tail))


def test_a_report_on_a_terminal_is_short_and_names_the_tables_that_are_left_out(tmp_path):
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.WORKLOADS / "train.py", "--steps", 20)
    tracing.gputrace(tmp_path, "-q", "-o", "t.gpt", "--", *program).must_be(0)
    whole = tracing.gputrace(tmp_path, "report", tmp_path / "t.gpt").must_be(0).stdout
    short = on_terminal(tmp_path, "report", tmp_path / "t.gpt")
    assert len(short.splitlines()) <= 50 < len(whole.splitlines()), short
    verdict = zip(short.split("\n\n")[1].splitlines(), whole.split("\n\n")[1].splitlines(), strict=True)
    assert all(is_cut_from(shown, line) for shown, line in verdict), short
    left = re.search(r"\nLeft out:\s+((?:under\s+1\s+%:\s+|[a-z_]+[,;]\s+)*[a-z_]+)\.", short)[1]
    for name in re.findall(r"[a-z_]+(?=[,;]|$)", left):
        table = tracing.gputrace(tmp_path, "report", "t.gpt", "--table", name).must_be(0).stdout
        assert table.splitlines()[0] in whole and table.splitlines()[0] not in short, name
    titles = [line for line in whole.splitlines() if " by Python line" in line]
    every = on_terminal(tmp_path, "report", tmp_path / "t.gpt", "--all")
    assert titles and all(title in every for title in titles)
    for options in (["--all", "--table", "idle"], ["--all", "--tree"], ["--all", "--format", "csv", "--gpu-sum"]):
        assert "--all: is of the whole report" in tracing.gputrace(tmp_path, "report", "t.gpt", *options).must_be(2).stderr


def test_doctor_cuts_nothing_in_a_pipe_and_breaks_lines_on_a_terminal(tmp_path):
    with tracing.Running(["sh", "-c", "echo ready; read line", "x" * 200], tmp_path) as running:
        running.wait_line("ready")
        piped = tracing.gputrace(tmp_path, "doctor", "-p", running.pid).stdout
        outer, terminal = os.openpty()
        subprocess.run(["stty", "cols", "80"], stdin=terminal, check=True)
        done = subprocess.run([machine.GPUTRACE, "doctor", "-p", str(running.pid)], stdout=terminal, stdin=subprocess.DEVNULL,
                              env=tracing.environment(tmp_path))
        os.close(terminal)
        shown = read_all(outer).replace("\r\n", "\n")
    assert done.returncode == 0 and "x" * 200 in piped and "x" * 200 in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if "xx" not in line)
    assert shown.split() == piped.split()


def read_all(fd):
    """What is written to a terminal until no process has it open."""
    text = b""
    try:
        while True:
            text += os.read(fd, 65536)
    except OSError:  # EIO: the other end is closed
        os.close(fd)
        return text.decode()
