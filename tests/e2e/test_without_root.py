# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A trace by the agent alone: a user without capabilities gets the same as root, and no program is harmed."""

import collections
import os
import pathlib
import shutil
import signal

import chrome_invariants as chrome
import logfile
import machine
import pytest
import reading
import stacks
import tracing

AS_USER = machine.PROGRAMS / "as_user.sh"
DOCKER = ("/usr/bin/python3", machine.PROGRAMS / "docker_seccomp.py")
CUDART = machine.SIMGPU / "libcudart.so.13"
LAUNCHES = 4000


def as_user(folder, command, *options, prefix=(), flags=(), names=("trace.gpt", "trace.json"), **more):
    """Runs gputrace -- COMMAND as uid 1000 without capabilities."""
    return tracing.command(folder, AS_USER, *flags, *prefix, folder / "gputrace", *tracing.outputs(folder, *names), *options,
                           "--", *command, **more)


def trains(folder, *options, python="/usr/bin/python3", steps=50):
    program = [python, machine.WORKLOADS / "train.py", "--steps", str(steps), "--threads", "2", *options, "--truth",
               folder / "program.json"]
    return tracing.on_simgpu(folder / "gpu.json", *program)


def trees(folder, python):
    return tracing.on_simgpu(folder / "gpu.json", python, machine.PROGRAMS / "trees.py", CUDART, folder / "truth.json", LAUNCHES)


def launches(trace):
    """{tid: [stack of each launch, in order]}"""
    threads = collections.defaultdict(list)
    for event in sorted(chrome.events(trace, "cuda_runtime"), key=lambda event: event["ts"]):
        if event["name"] == "cudaLaunchKernel":
            threads[event["tid"]].append(reading.stack_of(event))
    return dict(threads)


def assert_whole(folder, done):
    """Every launch is there with its stack and its time, and the program behaved as without gputrace."""
    done.must_be(0)
    trace = reading.trace_of(folder / "trace.json")
    truth = reading.program(folder / "program.json")
    simulated = reading.simulated.load(folder / "gpu.json")
    calls = reading.truth_calls(truth)
    assert reading.trace_stacks(trace, calls, truth["pid"]) == reading.truth_stacks(truth)
    assert reading.trace_line_ns(trace) == reading.truth_line_ns(truth)
    assert reading.trace_kernel_ns(trace) == reading.simulated_kernel_ns(simulated)
    receipt = reading.receipt(trace)
    assert receipt["launches_joined"] == receipt["launches_expected"] == len(reading.simulated_launches(simulated))
    assert receipt["complete_percent"] == 100
    assert any("recorded without root" in note for note in trace["gputrace"]["notes"])


def test_every_stack_is_what_the_interpreter_says(kind_of_python, desk):
    """Random call trees on four threads; only root can start a Python in its own root."""
    if "roots" in str(kind_of_python):
        done = tracing.command(desk, desk / "gputrace", "--way", "agent", *tracing.outputs(desk, "trace.json"), "--",
                               *trees(desk, kind_of_python), env={"TMPDIR": desk})
    else:
        done = as_user(desk, trees(desk, kind_of_python), names=("trace.json",))
    done.must_be(0)
    expected, _ = stacks.recorded(desk / "truth.json")
    got = launches(reading.trace_of(desk / "trace.json"))
    assert stacks.count(expected) >= LAUNCHES
    assert {tid: [";".join(launch.frames) for launch in made] for tid, made in expected.items()} == got


def test_a_user_has_launches_lines_times_and_completeness(desk):
    assert_whole(desk, as_user(desk, trains(desk)))


def test_the_same_run_says_the_same_as_by_bpf(desk):
    """These are two runs: thread ids and times of day differ, but lines, kernels and durations are equal.  Samples and waits
    are by BPF only."""
    traces = []
    for way in ("bpf", "agent"):
        tracing.command(desk, desk / "gputrace", "--way", way, "--no-cpu", "--no-off-cpu", *tracing.outputs(desk, "trace.json"), "--", *trains(desk)).must_be(0)
        traces.append(reading.trace_of(desk / "trace.json"))
    assert reading.trace_line_ns(traces[0]) == reading.trace_line_ns(traces[1])
    assert sorted(map(tuple, launches(traces[0]).values())) == sorted(map(tuple, launches(traces[1]).values()))
    names = [{event["name"] for event in chrome.events(trace)} for trace in traces]
    assert {name for name in names[0] ^ names[1] if not name.startswith(("import ", "gc "))} == set()


@pytest.mark.parametrize("filtered", [DOCKER, (*DOCKER, "--kill", "process_vm_readv")], ids=("docker", "killed for a read"))
def test_a_filter_of_system_calls_lets_it_work(desk, filtered):
    assert_whole(desk, as_user(desk, trains(desk), prefix=filtered))


def test_a_filter_of_the_programs_own_is_not_met(desk):
    """The program's filter kills it at a call that the agent makes only where there is no filter."""
    assert_whole(desk, as_user(desk, [*DOCKER, "--kill", "close_range", *trains(desk)]))


def test_a_root_that_cannot_be_written_and_a_tmp_without_execution_are_enough(desk):
    """The agent is loaded from the only place that is writable and executable."""
    assert_whole(desk, as_user(desk, trains(desk), flags=("--read-only",), env={"HOME": "/nonexistent"}))


def test_a_program_that_closes_every_descriptor_is_traced_on(desk):
    program = ["/usr/bin/python3", machine.PROGRAMS / "closes_all.py", CUDART, "200"]
    done = as_user(desk, tracing.on_simgpu(desk / "gpu.json", *program)).must_be(0)
    assert "done" in done.stdout
    assert [len(made) for made in launches(reading.trace_of(desk / "trace.json")).values()] == [200]


def test_a_full_ring_is_counted(desk):
    """gputrace is stopped while the program launches: each lost record is counted."""
    program = trains(desk, "--until", desk / "stop")
    command = [AS_USER, desk / "gputrace", "-v", "--buffer", "64K", *tracing.outputs(desk, "trace.json"), "--", *program]
    with tracing.Running(command, desk) as running:
        running.wait_line("ready")
        running.process.send_signal(signal.SIGSTOP)
        launched = reading.count_of(desk / "gpu.json", reading.simulated_launches)
        tracing.until(lambda: launched() > 4000)
        running.process.send_signal(signal.SIGCONT)
        (desk / "stop").touch()
        done = running.end()
    assert done.code == 0, done
    receipt = reading.receipt(reading.trace_of(desk / "trace.json"))
    made = len(reading.simulated_launches(reading.simulated.load(desk / "gpu.json")))
    assert receipt["calls_lost"] > 0 and receipt["complete_percent"] < 100
    got = sum(map(len, launches(reading.trace_of(desk / "trace.json")).values()))
    assert got < made <= got + receipt["calls_lost"]


def test_a_program_goes_on_when_gputrace_is_killed(desk):
    program = trains(desk, "--until", desk / "stop")
    with tracing.Running([AS_USER, desk / "gputrace", "-v", *tracing.outputs(desk, "trace.gpt"), "--", *program], desk) as running:
        running.wait_line("ready")
        tracing.until(lambda: any(map(logfile.has_kernel, desk.glob("trace.gpt.part-*"))))
        (log,) = desk.glob("trace.gpt.part-*")
        (pid,) = (pid for pid in tracing.marked(running.mark) if "train.py" in command_line(pid))
        running.process.kill()
        running.process.wait(tracing.PATIENCE_S)
        launched = reading.count_of(desk / "gpu.json", reading.simulated_launches)
        before = launched()
        tracing.until(lambda: launched() > before + 1000)
        tracing.wait_agent_gone(pid)
        tracing.until(lambda: shared_kb(pid) == 0)
        (desk / "stop").touch()
        assert "steps" in running.wait_line("steps")
    truth = reading.program(desk / "program.json")
    assert reading.simulated_line_ns(reading.simulated.load(desk / "gpu.json")) == reading.truth_line_ns(truth)
    report = tracing.gputrace(desk, "report", log).must_be(3)
    assert "cut short" in report.stderr and "train.py" in report.stdout


def test_gputrace_ends_with_a_whole_log_when_the_program_is_killed(desk):
    program = trains(desk, "--until", desk / "stop")
    command = [AS_USER, desk / "gputrace", *tracing.outputs(desk, "trace.gpt", "trace.json"), "--", *program]
    with tracing.Running(command, desk) as running:
        running.wait_line("ready")
        launched = reading.count_of(desk / "gpu.json", reading.simulated_launches)
        tracing.until(lambda: launched() > 1100)  # a launch is in the GPU's record a moment before it is in gputrace's
        os.kill(next(pid for pid in tracing.marked(running.mark) if "train.py" in command_line(pid)), signal.SIGKILL)
        done = running.end()
    assert "was killed by SIGKILL (Killed)" in done.stderr
    assert sum(map(len, launches(reading.trace_of(desk / "trace.json")).values())) > 1000
    assert not [path for path in pathlib.Path("/dev/shm").glob("*gputrace*")]


def shared_kb(pid):
    """KB of its ring that the process keeps in memory."""
    kept, of_ring = 0, False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if "-" in line.split()[0]:
            of_ring = "gputrace-ring" in line
        elif line.startswith("Rss:") and of_ring:
            kept += int(line.split()[1])
    return max(kept - 8, 0)  # without the first two pages


def command_line(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return ""
    return " ".join(word.decode() for word in words) if b"--" not in words else ""


@pytest.mark.parametrize("arguments, text", [
    (["-p", "1"], "missing; sudo gives none here, as NoNewPrivs is set: run it as root, outside of this container; without root only your own processes can be recorded, and pid 1 belongs to user 0"),
    (["--way", "agent", "-p", "1"], "--way agent: without root only your own processes can be recorded, and pid 1 belongs to user 0"),
    (["--native", "--", "true"], "missing; sudo gives none here, as NoNewPrivs is set: run it as root, outside of this container; without that the agent alone records: it excludes --native"),
    ([], "run it as root, outside of this container; without that the agent alone records: a COMMAND, or processes of yours that are named (-p PID)"),
    (["--way", "agent"], "--way agent: a COMMAND, or processes of yours that are named (-p PID) or chosen (-p gpu, --container ...), not the whole machine"),
    (["--way", "agent", "--user", "root"], "--way agent: without root only your own processes can be recorded: run it as root for those of user 0"),
    (["--way", "agent", "--user", "0,1"], "--user: by the agent alone processes of one user are recorded: name one of them"),
    (["--way", "agent", "--native", "--", "true"], "--way agent: it excludes --native"),
    (["--way", "agent", "--cpu", "--", "true"], "--way agent: it excludes --cpu and --frequency"),
    (["--way", "agent", "--off-cpu", "--", "true"], "--way agent: it excludes --off-cpu"),
    (["--way", "agent", "--python-calls", "--", "true"], "--way agent: it excludes --python-calls"),
    (["--way", "agent", "--agent", "off", "--", "true"], "--way agent: it excludes --agent off"),
    (["--way", "bpf", "--", "true"], "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE missing")])
def test_what_cannot_be_had_without_root_is_said(desk, arguments, text):
    done = tracing.command(desk, AS_USER, desk / "gputrace", *arguments).must_be(tracing.OWN_FAILURE if "--" in arguments else 1)
    assert text in done.stderr, done


AS_1000 = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups")
NO_OTHERS = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


@pytest.mark.parametrize("by, sudo", [(AS_1000, True), ((AS_USER,), False), ((*AS_1000, "--bounding-set=-all"), False),
                                      ((*AS_1000, *NO_OTHERS), False)],
                         ids=("sudo", "NoNewPrivs", "bounding set", "own namespaces"))
def test_sudo_is_advised_only_where_it_gives_rights(desk, by, sudo):
    """Also by the report that root makes of the log later, elsewhere."""
    loses = tracing.on_simgpu(desk / "gpu.json", "/usr/bin/python3", machine.PROGRAMS / "loses_time.py", "python", desk / "truth.json")
    done = tracing.command(desk, *by, desk / "gputrace", "--no-keep", "-o", desk / "trace.gpt", "--", *loses).must_be(0)
    for said in (done.stdout, tracing.gputrace(desk, "report", "trace.gpt").must_be(0).stdout):
        assert "Most GPU time: " in said
        assert ("Next: sudo gputrace why -- COMMAND" in said) == sudo, said
        assert ("Next: gputrace " in said) != sudo, said


def test_an_unknown_way_is_refused(tmp_path):
    assert "--way ebpf: accepted are auto, bpf and agent" in tracing.gputrace(tmp_path, "--way", "ebpf", "--", "true").must_be(2).stderr


def test_a_command_without_cuda_is_said_to_have_loaded_no_agent(desk):
    done = as_user(desk, ["true"], names=()).must_be(0)
    assert "no process has loaded the agent" in " ".join(done.stdout.split())
    assert "recorded by the agent alone, as with --way agent" in done.stderr


def test_launches_of_pypy_are_not_said_to_be_of_no_python(desk):
    (desk / "pypy.c").write_text("int pypy_main_startup(void) { return 0; }\n")
    pypy = machine.compile_library(desk / "pypy.c", desk / "libpypy3.10-c.so")
    done = as_user(desk, ["env", f"LD_PRELOAD={pypy}", *tracing.on_simgpu(desk / "gpu.json", machine.SIMGPU / "launch", 5)]).must_be(0)
    assert "(thread launch: Python not supported" in done.stdout
    assert "no Python in the process" not in done.stdout
    assert "no Python stacks: it is PyPy, and gputrace reads the frames of CPython" in " ".join(done.stdout.split())


STARTS_CUDA = """import ctypes, sys
for name in ("libcuda.so.1", "libcudart.so.13", "libcupti.so.13"):
    library = ctypes.CDLL(f"{sys.argv[1]}/{name}", mode=ctypes.RTLD_GLOBAL)
print("cuInit", ctypes.CDLL(f"{sys.argv[1]}/libcuda.so.1").cuInit(0))
"""


def test_a_command_with_capabilities_of_its_file_is_said_to_take_no_agent(desk):
    """The agent reads the environment as secure_getenv(3) does, which gives nothing in such a program."""
    python = desk / "python3"
    shutil.copy(os.path.realpath("/usr/bin/python3"), python)
    python.chmod(0o755)
    tracing.command(desk, "setcap", "cap_net_raw+ep", python).must_be(0)
    done = tracing.command(desk, *AS_1000, desk / "gputrace", "--no-keep", "--", python, "-c", STARTS_CUDA, machine.SIMGPU).must_be(0)
    assert "cuInit 0\n" in done.stdout
    said = " ".join(done.stdout.split())
    assert "no process has loaded the agent: none started CUDA, " in said
    assert "or the program has more rights than its user (setcap), and takes no request from its environment" in said


def limited(option, number):
    """For a prefix: the rest runs with that limit, of files (-f) in KB."""
    return ("bash", "-c", f'ulimit {option} {number}; exec "$@"', "bash")


def test_a_limit_of_file_sizes_makes_the_rings_smaller(desk):
    """The kernel counts shared memory as a file."""
    done = as_user(desk, trains(desk, steps=2), prefix=limited("-f", 1000)).must_be(0)
    trace, truth = reading.trace_of(desk / "trace.json"), reading.program(desk / "program.json")
    assert reading.trace_stacks(trace, reading.truth_calls(truth), truth["pid"]) == reading.truth_stacks(truth)
    assert reading.trace_line_ns(trace) == reading.truth_line_ns(truth) != {}  # the simulated GPU's own file is larger
    assert "the limit of file sizes is 1000 KB (ulimit -f): each process has 512 KB for records instead of 8192" in done.stderr


def test_a_limit_of_file_sizes_that_leaves_no_ring_is_said_before_the_command_starts(desk):
    done = as_user(desk, ["touch", "ran"], prefix=limited("-f", 50)).must_be(tracing.OWN_FAILURE)
    assert ("no memory can be shared with the agents: File too large: the limit is 50 KB a file (ulimit -f): raise it, as by "
            "ulimit -f unlimited") in done.stderr
    assert not (desk / "ran").exists()
