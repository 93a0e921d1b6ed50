# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Targets are not harmed: gputrace is killed at any moment, and nothing is left in a process afterwards."""

import os
import random
import signal
import time

import logfile
import machine
import pytest
import reading
import tracing

SEED = 20240607  # for the moments at which gputrace is killed
KILLS = range(20)

CODE = 4  # type of the log's records of code
STEPS = 120
TRAIN = (machine.WORKLOADS / "train.py", "--steps", STEPS, "--graph")


def moment(number, longest_s):
    """The number-th random pause, in seconds; not a limit that is tested."""
    return random.Random(SEED + number).uniform(0, longest_s)


def reap(pid):
    """Exit status of a process that this one inherited when its parent was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def children():
    """Pids of this process's children that have not ended."""
    pids = tracing.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {pid for pid in pids if tracing.state(tracing.Path("/proc") / pid) not in "ZX"}


def reap_orphans():
    """Exit statuses of all inherited processes that have ended."""
    codes = set()
    try:
        for pid, status in iter(lambda: os.waitpid(-1, os.WNOHANG), (0, 0)):
            codes.add(os.waitstatus_to_exitcode(status))
    except ChildProcessError:
        pass
    return codes


@pytest.fixture(autouse=True)
def no_probe_is_leaked():
    """The kernel logs a leaked probe if it was interrupted while it removed it."""
    with open("/dev/kmsg", "rb", buffering=0) as log:
        os.set_blocking(log.fileno(), False)
        os.lseek(log.fileno(), 0, os.SEEK_END)
        yield
        said = []
        try:
            while (line := log.read(8192)) is not None:
                said.append(line.decode(errors="replace"))
        except BrokenPipeError:  # older lines were overwritten
            pass
        assert [line for line in said if "leaking uprobe" in line] == []


def assert_right_result(truth, simulated):
    """The program did all its work, and so did its GPU."""
    assert truth["steps"] == STEPS
    assert reading.simulated_line_ns(simulated) == reading.truth_line_ns(truth)


@pytest.mark.parametrize("number", KILLS)
def test_a_command_ends_right_when_gputrace_is_killed(tmp_path, number):
    reap_orphans()  # left by other tests
    others = children()
    program = [machine.any_python(), *TRAIN, "--truth", tmp_path / "program.json"]
    program = tracing.on_simgpu(tmp_path / "gpu.json", *program)
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.json", "trace.gpt"), "--", *program]
    with tracing.Running(command, tmp_path) as running:
        if number % 2:  # half of them during training, the others at any time from the start on
            running.wait_line("ready")
        time.sleep(moment(number, 0.4))
        running.process.kill()
        running.process.wait(tracing.PATIENCE_S)
        tracing.wait_gone(running.mark)  # the command and the guard have ended
        said = "".join(running.said) + running.process.stdout.read()
    tracing.until(lambda: children() <= others)  # a process that is just ending has no environment with the mark
    codes = reap_orphans()
    if 127 not in codes and said:
        assert codes - {-signal.SIGKILL} == {0}  # gputrace's process that makes outputs dies with it
        assert said.splitlines()[:2] == ["ready", f"steps {STEPS}"]
        assert_right_result(reading.program(tmp_path / "program.json"), reading.simulated.load(tmp_path / "gpu.json"))
    else:
        # The command was not forked yet, or held and never executed; 1: a child that tested the kernel's features.
        # Gputrace's processes that make outputs and read tasks die with it.
        assert said == "" and codes <= {0, 1, 127, -signal.SIGKILL}
        assert not (tmp_path / "gpu.json").exists()


LIBRARIES = 30


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Many libcudart files: a command is held for a moment at each, so that its first launch is seen."""
    folder = tmp_path_factory.mktemp("libraries")
    stub = machine.compile_library(machine.PROGRAMS / "stub_cudart.c", folder.parent / "stub.so").read_bytes()
    for number in range(LIBRARIES):
        (folder / f"{number:03}").mkdir()
        (folder / f"{number:03}/libcudart.so.13").write_bytes(stub)
    return folder


def test_a_command_is_held_until_each_of_its_libraries_is_probed(tmp_path, libraries):
    tracing.trace(tmp_path, [machine.any_python(), machine.PROGRAMS / "loads.py", libraries], "--agent", "off")
    trace = reading.trace_of(tmp_path / "trace.json")
    stacks = reading.trace_stacks(trace, {"cudaLaunchKernel"})
    (((_, stack), count),) = stacks.items()
    assert count == LIBRARIES and "/loads.py(" in stack


@pytest.mark.parametrize("number", range(8))
def test_a_command_that_is_held_goes_on_when_gputrace_is_killed(tmp_path, libraries, number):
    reap_orphans()  # left by other tests
    others = children()
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.json"), "--agent", "off", "--", machine.any_python(),
               machine.PROGRAMS / "loads.py", libraries]
    with tracing.Running(command, tmp_path) as running:
        running.wait_line("ready")
        time.sleep(moment(number, 0.03))
        running.process.kill()
        running.process.wait(tracing.PATIENCE_S)
        tracing.wait_gone(running.mark)
        said = running.process.stdout.read()
    assert f"loaded {LIBRARIES}\n" in said
    tracing.until(lambda: children() <= others)
    assert reap_orphans() == {0}


@pytest.mark.parametrize("number", KILLS)
def test_a_running_process_ends_right_when_gputrace_is_killed(tmp_path, number):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.json"), "-p", target.pid]
        with tracing.Running(command, tmp_path) as running:
            time.sleep(moment(number, 0.3))
            for _ in range(number % 4):
                target.ask("steps 2")
            running.process.kill()
            running.process.wait(tracing.PATIENCE_S)
            target.ask("steps 5")
            tracing.wait_gone(running.mark)  # the guard has ended
        target.ask("finish")
        target.ask(f"truth {tmp_path}/program.json")
        target.end().must_be(0)
    truth = reading.program(tmp_path / "program.json")
    assert reading.simulated_line_ns(reading.simulated.load(tmp_path / "gpu.json")) == reading.truth_line_ns(truth)


def test_a_killed_gputrace_can_be_followed_by_another(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        for _ in range(3):
            with tracing.Tracer(tmp_path, "-p", target.pid) as killed:
                target.ask("steps 1")
                killed.process.kill()
                killed.process.wait(tracing.PATIENCE_S)
        target.ask("forget")
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("steps 5")
            target.ask(f"truth {tmp_path}/program.json")
            tracer.interrupt().must_be(0)
    stacks = reading.trace_stacks(reading.trace_of(tmp_path / "trace.json"), {"cudaLaunchKernel"})
    assert stacks == reading.truth_stacks(reading.program(tmp_path / "program.json"))


def killed_with_log(folder):
    """Kills a gputrace while it traces; gives the log that it left under its temporary name."""
    program = tracing.on_simgpu(folder / "gpu.json", machine.any_python(), machine.PROGRAMS / "obedient.py")
    command = [machine.GPUTRACE, *tracing.outputs(folder, "trace.gpt"), "--", *program]
    with tracing.Running(command, folder) as running:
        running.wait_line("ready")
        running.ask("steps 50")
        tracing.until(lambda: any(logfile.has_kernel(log) and logfile.says(log, CODE, b"Block.forward")
                                  for log in folder.glob("trace.gpt.part-*")))
        running.process.kill()
        running.process.wait(tracing.PATIENCE_S)
    (log,) = folder.glob("trace.gpt.part-*")
    return log


def test_the_log_of_a_killed_gputrace_can_be_read_up_to_there(tmp_path):
    log = killed_with_log(tmp_path)
    done = tracing.gputrace(tmp_path, "report", log).must_be(3)
    assert "was cut short" in done.stderr
    assert "Block.forward" in done.stdout


def injected(folder):
    """A running gputrace with a process that it started, which has the agent."""
    program = [*tracing.DEAF, *tracing.on_simgpu(folder / "gpu.json", machine.any_python(), machine.PROGRAMS / "obedient.py")]
    running = tracing.Running([machine.GPUTRACE, "-o", folder / "trace.json", "--", *program], folder)
    running.target_pid = int(running.wait_line("ready").split()[1])
    return running


@pytest.mark.kernels
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_the_agent_stops_when_no_one_listens_any_more(tmp_path, end):
    """This holds on Linux 6.18.15, too, which cannot undo fast probes."""
    with injected(tmp_path) as running:
        running.ask("steps 2")
        tracing.until(lambda: tracing.has_thread(running.target_pid))
        running.end_trace(end)
        tracing.wait_threads_gone(running.target_pid)
        running.ask("steps 2")
        running.ask("finish")
    work = reading.simulated.work(reading.simulated.load(tmp_path / "gpu.json"))
    assert work[0]["fate"] == "sent"
    assert {op["fate"] for op in work[-20:]} == {"unseen"}  # CUPTI has stopped recording


def test_a_command_goes_on_by_itself_after_the_duration(tmp_path):
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "obedient.py")
    command = [machine.GPUTRACE, "-d", "500ms", "-o", tmp_path / "trace.json", "--", *program]
    with tracing.Running(command, tmp_path) as running:
        running.wait_line("goes on: gputrace ends with it", "stderr")
        assert (tmp_path / "trace.json").exists()
        running.ask("steps 3")
        running.ask(f"truth {tmp_path}/program.json")
        running.end().must_be(0)
    assert reading.program(tmp_path / "program.json")["stacks"]


@pytest.mark.kernels
def test_a_command_has_the_limits_that_gputrace_was_started_with(tmp_path):
    script = 'ulimit -l 4096; ulimit -Sn 512; exec "$0" -q -- sh -c "ulimit -l; ulimit -n"'
    done = tracing.command(tmp_path, "sh", "-c", script, machine.GPUTRACE)
    assert done.stdout.splitlines()[:2] == ["4096", "512"]


def code_of(pid, path):
    """[(file offset, bytes in the process)] of the executable mappings of a file."""
    found = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5].strip() == str(path) and "x" in fields[1]:
                start, end = (int(text, 16) for text in fields[0].split("-"))
                memory.seek(start)
                found.append((int(fields[2], 16), memory.read(end - start)))
    assert found, f"{path} is not mapped"
    return found


def is_untouched(pid, path):
    """Whether the code in the process equals the file's."""
    data = path.read_bytes()
    return all(data[offset:offset + len(code)] == code[:len(data) - offset] for offset, code in code_of(pid, path))


@pytest.fixture
def copied_simgpu(tmp_path):
    """Copies of the simulated GPU's libraries, which no other trace on this machine probes."""
    folder = tmp_path / "simgpu"
    folder.mkdir()
    for library in machine.SIMGPU.glob("lib*.so.*"):
        if not library.name.endswith(".map"):
            (folder / library.name).write_bytes(library.read_bytes())
    return folder


def probed_files(folder):
    return [folder / "libcudart.so.13", folder / "libcuda.so.1"]


def test_no_probe_is_left_in_a_running_process(tmp_path, copied_simgpu):
    files = probed_files(copied_simgpu)
    env = {"SIMGPU_LIBRARIES": copied_simgpu}
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json", env=env) as target:
        assert all(is_untouched(target.pid, path) for path in files)
        with tracing.Tracer(tmp_path, "-p", target.pid, "--agent", "off") as tracer:
            target.ask("steps 2")
            assert not any(is_untouched(target.pid, path) for path in files)  # else this test proves nothing
            tracer.interrupt().must_be(0)
        assert [path.name for path in files if not is_untouched(target.pid, path)] == []


@pytest.mark.kernels
def test_no_probe_is_left_in_a_running_process_after_sigkill(tmp_path, copied_simgpu):
    files = probed_files(copied_simgpu)
    env = {"SIMGPU_LIBRARIES": copied_simgpu}
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json", env=env) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid, "--agent", "off") as tracer:
            target.ask("steps 2")
            assert not any(is_untouched(target.pid, path) for path in files)
            tracer.process.kill()
            tracer.process.wait(tracing.PATIENCE_S)
        target.ask("steps 1")
        tracing.until(lambda: all(is_untouched(target.pid, path) for path in files))


def test_no_probe_and_no_thread_is_left_where_the_agent_was(tmp_path, copied_simgpu):
    agent = tmp_path / "libgputrace-agent.so"
    agent.write_bytes(machine.AGENT.read_bytes())
    program = [*tracing.DEAF, *tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "obedient.py")]
    env = {"SIMGPU_LIBRARIES": copied_simgpu, "GPUTRACE_AGENT": agent}
    with tracing.Running([machine.GPUTRACE, "-o", tmp_path / "trace.json", "--", *program], tmp_path, env) as running:
        pid = int(running.wait_line("ready").split()[1])
        running.ask("steps 2")
        assert not is_untouched(pid, agent)
        running.end_trace(signal.SIGINT)
        running.ask("steps 2")
        assert [path.name for path in (agent, *probed_files(copied_simgpu)) if not is_untouched(pid, path)] == []
        tracing.wait_threads_gone(pid)


@pytest.mark.alone  # another test's trace may have probes in the same libpython
def test_the_interpreter_is_left_untouched(cudart, every_python, tmp_path):
    with tracing.target(tmp_path, cudart, python=every_python) as target:
        with open(f"/proc/{target.pid}/maps") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "python" in line and " r-xp " in line}
        paths = [tracing.Path(path) for path in paths if path.rpartition("/")[2].startswith(("libpython", "python3"))]
        assert paths
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("steps 2")
            tracer.interrupt().must_be(0)
        assert [path for path in paths if not is_untouched(target.pid, path)] == []


def test_ctrl_c_ends_the_trace_and_not_the_target(cudart, tmp_path):
    with tracing.target(tmp_path, cudart) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("steps 2")
            tracer.interrupt().must_be(0)
        target.ask("steps 2")
        target.end().must_be(0)
