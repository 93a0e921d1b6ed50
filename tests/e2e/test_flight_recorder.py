# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The flight recorder keeps the last seconds, and writes them when it is asked to, at a crash and at the end."""

import collections
import json
import os
import re
import resource
import signal
import subprocess
import time

import gptlog
import logfile
import machine
import pytest
import tracing

SPAN_S = 2
WAYS = pytest.mark.parametrize("way", ["bpf", "agent"])
KEPT = " s are kept: kill -USR1 "  # said when the recording has begun
END_WRITTEN, END_TARGETS_GONE = 7, 3  # enum gpt_end_reason


def program(folder, *words, name="said"):
    return tracing.on_simgpu(folder / f"{name}-gpu.json", machine.any_python(), machine.PROGRAMS / "numbers_fills.py", folder / name, *words)


def recorder(folder, *options, command, span=f"{SPAN_S}s", outputs=("trace.gpt", "trace.json")):
    return tracing.Running([machine.GPUTRACE, "--flight-recorder", span, *tracing.outputs(folder, *outputs), *options, "--", *command], folder)


def said(folder, name="said"):
    """{number: (before, after)} in s of CLOCK_MONOTONIC, by the program's own account."""
    lines = (folder / name).read_text().splitlines(keepends=True) if (folder / name).exists() else []
    rows = [line.split() for line in lines if line.endswith("\n")]
    return {int(number): (float(before), float(after)) for number, before, after in rows}


def wait_filling(folder, seconds, name="said"):
    """Until the program has filled for so long, and so more than the recorder keeps."""
    def is_long():
        fills = list(said(folder, name).values())
        return fills and fills[-1][0] - fills[0][0] > seconds
    tracing.until(is_long)


def span_of(log):
    """Start and end of a recording in s of CLOCK_MONOTONIC, and why it ended."""
    (end,) = logfile.records(log, logfile.END)
    return gptlog.Log(log).start_ns / 1e9, end.values["time_ns"] / 1e9, end.values["reason"]


def work_of(log):
    """{number: how often} of the fills on the GPU in a log, without those before its start, and how many kernels."""
    path = log.with_suffix(".exported.json")
    tracing.gputrace(log.parent, "export", log, "-o", path).must_be(0)
    events = json.loads(path.read_text())["traceEvents"]
    fills = collections.Counter(event["args"]["bytes"] for event in events if event.get("cat") == "gpu_memset")
    return fills, sum(event.get("cat") == "kernel" for event in events)


def assert_has_all_calls_of_its_time(folder, log, pid, name="said"):
    """Each call is in the log, once, also of a process that has crashed: what the GPU did of its last calls is not known."""
    start, end, _ = span_of(log)
    path = log.with_suffix(".calls.json")
    tracing.gputrace(folder, "export", log, "--process", pid, "-o", path)
    calls = sum(event.get("name") == "cudaMemsetAsync" for event in json.loads(path.read_text())["traceEvents"])
    fills = said(folder, name).values()
    inside = sum(before > start and after < end for before, after in fills)
    assert 100 < inside <= calls <= sum(after >= start and before <= end for before, after in fills) + 1


def assert_has_all_of_its_time(folder, log, name="said"):
    """Each fill and each kernel between start and end is in the log, once; none of another time is."""
    start, end, _ = span_of(log)
    fills, (found, kernels) = said(folder, name), work_of(log)
    inside = {number for number, (before, after) in fills.items() if before > start and after < end}
    around = {number for number, (before, after) in fills.items() if after >= start and before <= end}
    assert inside and inside <= set(found) <= around, (sorted(inside - set(found))[:9], sorted(set(found) - around)[:9])
    assert set(found.values()) == {1} and len(inside) <= kernels <= len(around)
    report = " ".join(tracing.gputrace(folder, "report", log).must_be(0).stdout.split())
    share = re.search(fr"Complete: ([\d,]+) of \1 launches joined, 0 lost; ([\d.]+) % of GPU time under a Python line", report)
    # work that was launched before the start may run in it, of which there is no call
    assert share and float(share.group(2)) > 99 and ("launched before the trace began" in report or share.group(2) in ("100", "100.0"))


def written(folder, running):
    """The file that the recorder says it has written."""
    line = running.wait_line(": written, the last", "stderr")
    return folder / line.split("gputrace: ")[-1].split(": written")[0], line


def write(folder, running):
    running.process.send_signal(signal.SIGUSR1)
    return written(folder, running)[0]


@WAYS
def test_a_signal_writes_each_launch_of_the_last_seconds_once_and_the_recording_goes_on(tmp_path, way):
    with recorder(tmp_path, "--way", way, command=program(tmp_path)) as running:
        running.wait_line(KEPT, "stderr")
        wait_filling(tmp_path, SPAN_S + 6)
        before = time.clock_gettime(time.CLOCK_MONOTONIC)
        first = write(tmp_path, running)
        after = time.clock_gettime(time.CLOCK_MONOTONIC)
        wait_filling(tmp_path, SPAN_S + 12)
        second = write(tmp_path, running)
        assert all(not path.stat().st_size for path in tmp_path.glob("trace.gpt.part-*"))  # it is in memory
        running.end().must_be(0)
    assert first != second and first.name.startswith("trace.2") and first.suffix == ".gpt"
    start, end, reason = span_of(first)
    assert abs(end - start - SPAN_S) < 1e-6 and before <= end <= after and reason == END_WRITTEN
    for log in (first, second, tmp_path / "trace.gpt"):
        assert_has_all_of_its_time(tmp_path, log)
    assert span_of(tmp_path / "trace.gpt")[2] == END_TARGETS_GONE
    assert "flight recorder: the last 2.0 s are here; the " in tracing.gputrace(tmp_path, "report", first).stdout
    assert work_of(tmp_path / "trace.gpt")[0][max(said(tmp_path))] == 1


def test_the_last_files_are_kept(tmp_path):
    with recorder(tmp_path, command=program(tmp_path), span=f"{SPAN_S}s,keep=2") as running:
        running.wait_line(KEPT, "stderr")
        wait_filling(tmp_path, 1)
        files = [write(tmp_path, running) for _ in range(3)]
        assert sorted(tmp_path.glob("trace.2*.gpt")) == sorted(files[1:]), files
        running.end().must_be(0)
    assert sorted(tmp_path.glob("trace*.gpt")) == sorted([*files[1:], tmp_path / "trace.gpt"])


def test_a_program_that_is_killed_leaves_its_last_seconds(tmp_path):
    with recorder(tmp_path, command=program(tmp_path)) as running:
        pid = int(running.wait_line("ready").split()[1])
        wait_filling(tmp_path, SPAN_S + 6)
        os.kill(pid, signal.SIGKILL)
        done = running.end()
    assert done.code == 128 + signal.SIGKILL
    assert_has_all_calls_of_its_time(tmp_path, tmp_path / "trace.gpt", pid)
    assert not list(tmp_path.glob("trace.2*.gpt"))  # the recording's own file has it


def test_a_process_that_crashes_while_others_go_on_has_a_file(tmp_path):
    command = program(tmp_path, name="one"), program(tmp_path, name="two")
    with tracing.Running(command[0], tmp_path) as crashing, tracing.Running(command[1], tmp_path) as other:
        crashing.wait_line("ready")
        other.wait_line("ready")
        with tracing.Running([machine.GPUTRACE, "--flight-recorder", f"{SPAN_S}s", *tracing.outputs(tmp_path, "trace.gpt"),
                              "-p", f"{crashing.pid},{other.pid}"], tmp_path) as running:
            running.wait_line(KEPT, "stderr")
            wait_filling(tmp_path, SPAN_S + 6, "one")
            crashing.process.stdin.write("segv\n")
            crashing.process.stdin.flush()
            log, line = written(tmp_path, running)
            assert f"pid {crashing.pid} (" in line and "ended by SIGSEGV" in line
            other.end()
            running.end().must_be(0)
    assert_has_all_calls_of_its_time(tmp_path, log, crashing.pid, "one")


def idle(running):
    running.process.stdin.write("idle\n")
    running.process.stdin.flush()


def test_a_gpu_without_work_makes_it_write_what_was_before_and_after(tmp_path):
    with recorder(tmp_path, "--trigger", "idle>600ms,before=500ms,after=1s,max=1/h", command=program(tmp_path), span="6s") as running:
        running.wait_line(KEPT, "stderr")
        wait_filling(tmp_path, 3)
        idle(running)
        log, line = written(tmp_path, running)
        since = max(said(tmp_path))
        idle(running)
        tracing.until(lambda: max(said(tmp_path)) > since + 1000)
        running.end().must_be(0)
    assert " left GPU 0 without work for 1." in line
    start, end, reason = span_of(log)
    times = sorted(time for times in said(tmp_path).values() for time in times)
    (gap,) = [(a, b) for a, b in zip(times, times[1:]) if b - a >= 1 and b < end]
    assert gap[0] - 0.6 < start < gap[0] and end > gap[1] and reason == END_WRITTEN
    assert_has_all_of_its_time(tmp_path, log)
    report = tracing.gputrace(tmp_path, "report", "trace.gpt").must_be(0).stdout
    assert "1 files that no one asked for were not written: 1 an hour are" in " ".join(report.split())
    assert len(list(tmp_path.glob("trace.2*.gpt"))) == 1


@pytest.mark.torch
def test_memory_of_pytorch_that_runs_out_makes_it_write(tmp_path):
    code = """if True:
        import sys, torch
        kept = torch.ones(1000, device="cuda")
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            torch.empty(1 << 46, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            print("out", flush=True)
        sys.stdin.readline()"""
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.tool("get-torch"), "-c", code)
    with recorder(tmp_path, "--trigger", "oom", command=command, span="20s", outputs=("trace.gpt",)) as running:
        running.wait_line("ready")
        running.process.stdin.write("go on\n")
        running.process.stdin.flush()
        running.wait_line("out")
        log, line = written(tmp_path, running)
        running.end().must_be(0)
    assert f" had not enough memory for {1 << 46} bytes of PyTorch's" in line
    out = [event for event in logfile.records(log, logfile.TORCH_MEMORY) if event.values["kind"] == 3]
    assert [event.values["bytes"] for event in out] == [1 << 46]


@pytest.mark.torch
def test_a_step_of_training_that_takes_long_makes_it_write(tmp_path):
    code = """if True:
        import sys, time, torch
        layer = torch.nn.Linear(8, 8, device="cuda")
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        def step(pause):
            layer(torch.ones(8, 8, device="cuda")).sum().backward()
            time.sleep(pause)
            optimizer.step()
        step(0)
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(20): step(0.01)
        begun = time.clock_gettime(time.CLOCK_MONOTONIC)
        step(4)
        print("slow", begun, time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
        sys.stdin.readline()"""
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.tool("get-torch"), "-c", code)
    with recorder(tmp_path, "--trigger", "step>3s,before=10s", command=command, span="30s", outputs=("trace.gpt",)) as running:
        running.wait_line("ready")
        running.process.stdin.write("go on\n")
        running.process.stdin.flush()
        _, begun, ended = running.wait_line("slow").split()
        log, line = written(tmp_path, running)
        running.end().must_be(0)
    took = float(line.split(" took ")[1].split()[0])
    assert 4 <= took < float(ended) - float(begun) + 2 and "a step of pid " in line
    start, end, _ = span_of(log)
    assert start < float(begun) and float(ended) < end + 1


@WAYS
def test_code_that_is_loaded_after_the_first_work_makes_it_write(tmp_path, way):
    """What the program loads before it has work for the GPU does not."""
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "loads_late.py")
    with recorder(tmp_path, "--way", way, "--trigger", "compile,before=2s", command=command, span="20s", outputs=("trace.gpt",)) as running:
        running.wait_line("ready")
        running.process.stdin.write("load\n")
        running.process.stdin.flush()
        _, begun, ended = running.wait_line("loaded").split()
        log, line = written(tmp_path, running)
        running.end().must_be(0)
    assert "compiled or loaded code for a GPU, within" in line
    start, end, reason = span_of(log)
    assert start < float(begun) and float(ended) < end and reason == END_WRITTEN
    assert len(list(tmp_path.glob("trace.2*.gpt"))) == 1


def test_steps_that_no_one_makes_are_said_to_be_missing(tmp_path):
    with recorder(tmp_path, "--trigger", "step>2s", command=program(tmp_path), outputs=("trace.gpt",)) as running:
        running.wait_line(KEPT, "stderr")
        done = running.end().must_be(0)
    assert "--trigger step: no step was seen: torch.profiler's steps are, and those of an optimizer" in done.stderr


def test_memory_that_is_too_small_shortens_what_is_kept_and_the_log_says_so(tmp_path):
    with recorder(tmp_path, command=program(tmp_path, "0"), span="1h,1M", outputs=("trace.gpt",)) as running:
        running.wait_line(KEPT, "stderr")
        for _ in range(20):
            wait_filling(tmp_path, 1 + 4 * _)
            log = write(tmp_path, running)
            if "its memory has no room for more" in tracing.gputrace(tmp_path, "report", log).stdout:
                break
        running.end().must_be(0)
    assert log.stat().st_size < 1.2e6
    assert_has_all_of_its_time(tmp_path, log)
    assert_has_all_of_its_time(tmp_path, tmp_path / "trace.gpt")


def test_a_file_that_cannot_be_written_is_said_and_the_next_one_is_whole(tmp_path):
    with recorder(tmp_path, command=program(tmp_path)) as running:
        running.wait_line(KEPT, "stderr")
        wait_filling(tmp_path, 2)
        resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        running.process.send_signal(signal.SIGUSR1)
        line = running.wait_line("not written: ", "stderr")
        assert "; the recording goes on: make that possible and send SIGUSR1 again" in line
        assert not list(tmp_path.glob("trace.2*"))
        resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        log = write(tmp_path, running)
        running.end().must_be(0)
    assert_has_all_of_its_time(tmp_path, log)


def test_the_signal_is_not_for_the_command_and_does_not_end_what_follows_the_trace(tmp_path):
    """The default action of SIGUSR1 ends a program that does not handle it."""
    with recorder(tmp_path, "-d", "500ms", command=program(tmp_path)) as running:
        running.wait_line("goes on: gputrace ends with it", "stderr")
        running.process.send_signal(signal.SIGUSR1)
        tracing.until(lambda: not tracing.is_pending(running.pid, signal.SIGUSR1))
        done = running.end().must_be(0)
    assert "through" in done.stdout + "".join(running.said)


def test_without_a_log_among_the_outputs_files_are_in_the_current_folder(tmp_path):
    with recorder(tmp_path, command=program(tmp_path), outputs=("trace.json",)) as running:
        running.wait_line(KEPT, "stderr")
        wait_filling(tmp_path, 1)
        log = write(tmp_path, running)
        running.end().must_be(0)
    assert log.name.startswith("gputrace-2") and log.exists() and (tmp_path / "trace.json").exists()


def test_a_folder_in_which_no_file_can_be_made_is_said_at_the_start(tmp_path):
    read_only = tmp_path / "read-only"
    read_only.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", str(read_only)], check=True)
    try:
        done = tracing.gputrace(read_only, "--flight-recorder", "2s", "--no-keep", "--", "true", env={"TMPDIR": str(tmp_path)})
        assert "--flight-recorder: gputrace-2" in done.stderr and "cannot be written: " in done.stderr
        assert done.code == tracing.OWN_FAILURE
    finally:
        subprocess.run(["umount", str(read_only)], check=True)
