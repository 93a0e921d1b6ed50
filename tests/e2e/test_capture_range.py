# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program selects what is recorded by cudaProfilerStart and cudaProfilerStop (--capture-range)."""

import json

import logfile
import machine
import pytest
import tracing

CAPTURE = ("--capture-range", "cudaProfilerApi")
INCOMPLETE = 3
SCHEDULE = 89  # the agent's record that it counts from now on


def program(folder, *words):
    return tracing.on_simgpu(folder / "gpu.json", machine.any_python(), machine.PROGRAMS / "captures.py", *words)


def fills(path):
    """(memset calls, memsets on the GPU) in a file."""
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    return (sum(event["name"] == "cudaMemsetAsync" for event in events),
            sum(event.get("cat") == "gpu_memset" for event in events))


def record(folder, *options, words):
    return tracing.gputrace(folder, *CAPTURE, *options, "-o", "trace.gpt", "--", *program(folder, *words))


def test_each_range_has_a_file_with_what_lies_in_it_and_the_log_has_no_more(tmp_path):
    words = [7, "start", 10, "stop", 200, "start", 20, "stop", 200, "start", 30, "stop", 200]
    done = record(tmp_path, "--capture-range-end", "repeat", "-o", "range.%c.json", words=words).must_be(0)
    assert [fills(tmp_path / f"range.{number}.json") for number in (1, 2, 3)] == [(10, 10), (20, 20), (30, 30)]
    assert sorted(path.name for path in tmp_path.glob("range.*")) == [f"range.{number}.json" for number in (1, 2, 3)]
    assert [f"Slice of the recording: capture range {number}" in done.stdout for number in (1, 2, 3)] == [True] * 3
    assert "from cudaProfilerStart to cudaProfilerStop" in done.stdout
    recorded = list(logfile.records(tmp_path / "trace.gpt", logfile.MEMSET))
    assert 60 <= len(recorded) < 667  # CUPTI is switched off while the program launches on
    tracing.gputrace(tmp_path, "export", "trace.gpt", "-o", "again.%c.json").must_be(0)
    assert (tmp_path / "again.2.json").read_bytes() == (tmp_path / "range.2.json").read_bytes()


def test_after_the_first_range_the_trace_ends_and_the_program_goes_on(tmp_path):
    with tracing.Running([machine.GPUTRACE, *CAPTURE, "-o", "one.json", "--", *program(
            tmp_path, "start", 10, "stop", "wait", "start", 20, "stop")], tmp_path) as tracer:
        tracer.wait_line("ready")
        tracer.wait_line("all ranges of --capture-range are recorded", "stderr")
        tracer.wait_line("goes on: gputrace ends with it", "stderr")
        tracer.process.stdin.write("\n")
        tracer.process.stdin.flush()
        done = tracer.end()
    assert done.code == 0 and fills(tmp_path / "one.json") == (10, 10)


def test_as_many_ranges_are_recorded_as_were_asked_for(tmp_path):
    words = ["start", 10, "stop", "start", 20, "stop", "start", 30, "stop"]
    record(tmp_path, "--capture-range-end", "repeat:2", "-o", "range.%c.json", words=words).must_be(0)
    assert sorted(path.name for path in tmp_path.glob("range.*")) == ["range.1.json", "range.2.json"]
    assert fills(tmp_path / "range.2.json") == (20, 20)


def test_a_start_in_a_range_and_a_stop_outside_of_one_change_nothing(tmp_path):
    words = [3, "stop", 3, "start", 5, "start", 5, "stop", 3, "stop", 3, "elsewhere", 20, "stop"]
    record(tmp_path, "--capture-range-end", "repeat", "-o", "range.%c.json", words=words).must_be(0)
    assert [fills(path) for path in sorted(tmp_path.glob("range.*"))] == [(10, 10), (20, 20)]


def test_a_range_that_is_the_first_thing_a_program_does_is_whole(tmp_path):
    record(tmp_path, "-o", "one.json", words=["start", 10, "stop"]).must_be(0)
    assert fills(tmp_path / "one.json") == (10, 10)


def test_a_range_may_begin_where_another_ends(tmp_path):
    words = [word for number in range(1, 31) for word in ("start", number, "stop")]
    record(tmp_path, "--capture-range-end", "repeat", "-o", "range.%c.json", words=words).must_be(0)
    assert [fills(tmp_path / f"range.{number}.json") for number in range(1, 31)] == [(number, number) for number in range(1, 31)]


def test_a_range_that_is_not_stopped_ends_with_the_program(tmp_path):
    record(tmp_path, "-o", "one.json", words=[3, "start", 10]).must_be(0)
    assert fills(tmp_path / "one.json") == (10, 10)


def test_a_program_without_ranges_is_said_to_have_none(tmp_path):
    done = record(tmp_path, "-o", "one.json", words=[10]).must_be(INCOMPLETE)
    assert "no call of cudaProfilerStart was seen" in done.stderr
    assert not (tmp_path / "one.json").exists()
    done = tracing.gputrace(tmp_path, "report", "trace.gpt").must_be(INCOMPLETE)
    assert "no call of cudaProfilerStart was seen" in done.stderr


def test_a_process_that_runs_already(tmp_path):
    with tracing.Running(program(tmp_path, 10, "wait", 3, "start", 20, "stop", 3), tmp_path) as target:
        target.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", target.pid, *CAPTURE, names=("one.json",)) as tracer:
            tracer.wait_logged(lambda log: any(logfile.records(log, SCHEDULE)))
            tracer.wait_logged(lambda log: any(one.values["state"] == logfile.READY for one in logfile.records(log, logfile.HELLO)))
            target.process.stdin.write("\n")
            target.process.stdin.flush()
            done = tracer.end()
        target.wait_line("through")
    assert done.code == 0 and fills(tmp_path / "one.json") == (20, 20)


def test_a_trace_without_ranges_beside_one_with_them_has_all_and_no_word_of_ranges(tmp_path):
    folders = [tmp_path / "ranges", tmp_path / "plain"]
    with tracing.Running(program(tmp_path, 10, "wait", 3, "start", 20, "stop", 3), tmp_path) as target:
        target.wait_line("ready")
        for folder in folders:
            folder.mkdir()
        with tracing.Tracer(folders[0], "-p", target.pid, *CAPTURE, names=("one.json",)) as ranges:
            ranges.wait_logged(lambda log: any(logfile.records(log, SCHEDULE)))
            with tracing.Tracer(folders[1], "-p", target.pid, names=("one.json", "one.gpt")) as plain:
                for tracer in (ranges, plain):
                    tracer.wait_logged(logfile.says_ready)
                target.process.stdin.write("\n")
                target.process.stdin.flush()
                whole, done = plain.end(), ranges.end()
        target.wait_line("through")
    assert (done.code, whole.code) == (0, 0), (done, whole)
    assert fills(folders[0] / "one.json") == (20, 20)
    assert fills(folders[1] / "one.json") == (26, 26)
    assert not any(logfile.records(folders[1] / "one.gpt", SCHEDULE))


@pytest.mark.torch
def test_the_ops_and_kernels_of_a_range_of_torch_cuda_profiler(tmp_path):
    code = """if True:
        import torch
        x = torch.ones(64, device="cuda")
        torch.sigmoid(x)
        with torch.cuda.profiler.profile():
            for _ in range(7): torch.sigmoid(x)
            torch.cuda.synchronize()
        torch.sigmoid(x)"""
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.tool("get-torch"), "-c", code)
    tracing.gputrace(tmp_path, *CAPTURE, "-o", "one.json", "--", *command).must_be(0)
    events = [event for event in json.loads((tmp_path / "one.json").read_text())["traceEvents"] if event["ph"] == "X"]
    assert sum(event["name"] == "aten::sigmoid" for event in events) == 7
    assert sum(event.get("cat") == "kernel" for event in events) == 7
