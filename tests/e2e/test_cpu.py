# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What has the CPU (--cpu): samples compared with the threads' own CPU clocks."""

import errno
import json
import marshal
import os
import re
import time
from pathlib import Path

import chrome_invariants as chrome
import machine
import pytest
import reading
import timelines
import tracing
from viewed import Viewed

# Sampling noise: 600 ms are some 300 samples at 499 Hz.
FREQUENCY = 499
TOLERANCE = 0.15
PERF_EVENT_OPEN = 298  # x86-64


def table(folder, name, *options, log="trace.gpt"):
    said = tracing.gputrace(folder, "report", "--format", "json", "--table", name, *options, log).must_be(0).stdout
    (table,) = json.loads(said)["tables"]
    return table["rows"]


def cpu_table(folder, log="trace.gpt"):
    return table(folder, "cpu_lines", log=log)


@pytest.fixture(scope="module")
def busy(kind_of_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("busy")
    with tracing.Running([kind_of_python, machine.PROGRAMS / "activity.py", folder / "truth.json"], folder) as program:
        program.wait_line("ready")
        with tracing.Tracer(folder, "-p", program.pid, "--agent", "off", "-F", FREQUENCY, names=()) as tracer:
            program.ask("busy")
            tracer.interrupt().must_be(0)
        program.end()
    return folder, reading.program(folder / "truth.json")


def by_function(rows, key="self_ns"):
    sums = {}
    for row in rows:
        name = row["line"].rpartition(" ")[2]
        sums[name] = sums.get(name, 0) + row[key]
    return sums


def test_each_function_has_the_cpu_time_that_its_thread_counted(busy):
    folder, truth = busy
    sums = by_function(cpu_table(folder))
    assert set(truth["cpu"]) == {"burns_in_main", "burns_in_thread", "burns_in_child"}
    for name, ns in truth["cpu"].items():
        assert abs(sums.get(name, 0) - ns) <= TOLERANCE * ns, (name, sums, truth["cpu"])


def test_no_line_has_more_itself_than_with_what_it_called(busy):
    folder, _ = busy
    for row in cpu_table(folder):
        assert row["total_ns"] >= row["self_ns"] and row["threads"] >= 1 and row["samples"] >= 1


def test_the_source_has_the_time_beside_its_lines_and_all_of_it(busy):
    folder, truth = busy
    rows, wanted = table(folder, "source_lines", "--lines"), cpu_table(folder)
    assert sum(row["self_sampled_ns"] for row in rows) == sum(row["self_ns"] for row in wanted)
    of_line = {(row["file"], row["line_number"]): (row["self_ns"], row["total_ns"]) for row in wanted if row["line_number"]}
    for row in rows:
        place = row["file"], row["line_number"]
        if place in of_line:
            assert (row["self_sampled_ns"], row["sampled_ns"]) == of_line[place], row
    for name, ns in truth["cpu"].items():
        own = sum(row["self_sampled_ns"] for row in rows if row["function"] == name)
        assert abs(own - ns) <= TOLERANCE * ns, (name, own, ns)
    without = {row["line"]: row["self_ns"] for row in wanted if not row["line_number"]}
    assert without == {row["function"]: row["self_sampled_ns"] for row in rows if not row["line_number"] and "not listed" not in row["function"]}


def test_the_tree_has_the_same_time_in_each_function_and_all_of_it(busy):
    folder, truth = busy
    rows = table(folder, "tree", "--tree", "--by", "cpu", "--min-percent", "0", "--show-all")
    wanted = sum(row["self_ns"] for row in cpu_table(folder))
    assert rows[0]["time_ns"] == wanted and rows[0]["kind"] == "all"
    assert sum(row["self_ns"] or 0 for row in rows) == wanted
    for name, ns in truth["cpu"].items():
        for key in ("time_ns", "self_ns"):
            found = sum(row[key] for row in rows if row["kind"] == "function" and row["name"] == name)
            assert abs(found - ns) <= TOLERANCE * ns, (name, key, found, ns)


def test_the_tree_has_samples_in_the_cuda_calls_in_which_the_timeline_has_them(tmp_path):
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "300", "--truth", tmp_path / "program.json"]
    tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *program), "-F", FREQUENCY, names=("trace.gpt", "trace.json"))
    trace = chrome.assert_valid(tmp_path / "trace.json")
    calls = [event for category in ("cuda_runtime", "cuda_driver") for event in chrome.events(trace, category)]
    expected, outside = {}, 0
    for sample in chrome.events(trace, "cpu_sample"):
        at, ns = sample["ts"] + sample["dur"], sample["args"]["period ns"]
        around = [call["name"] for call in calls if call["tid"] == sample["args"]["thread"] and call["ts"] <= at < call["ts"] + call["dur"]]
        for name in around:
            expected[name] = expected.get(name, 0) + ns
        outside += 0 if around else ns
    rows = table(tmp_path, "tree", "--tree", "--by", "cpu", "--min-percent", "0")
    found = {}
    for row in rows:
        if row["kind"] == "what" and row["name"] != "[self]":
            found[row["name"]] = found.get(row["name"], 0) + row["time_ns"]
    assert found == expected and expected and rows[0]["time_ns"] == outside + sum(found.values())


def test_folded_stacks_by_cpu_are_the_same_time(busy):
    folder, truth = busy
    tracing.gputrace(folder, "export", "--metric", "cpu", "-o", "cpu.folded", "trace.gpt").must_be(0)
    counts = reading.folded(folder / "cpu.folded")
    assert sum(counts.values()) == sum(row["self_ns"] for row in cpu_table(folder))
    below = sum(count for stack, count in counts.items() if "burn (activity.py" in stack)
    assert below >= (1 - TOLERANCE) * sum(truth["cpu"].values())


def test_profiles_have_the_same_time(busy):
    folder, _ = busy
    tracing.gputrace(folder, "export", "-o", "cpu.speedscope.json", "trace.gpt").must_be(0)
    profiles = json.loads((folder / "cpu.speedscope.json").read_text())["profiles"]
    (sampled,) = [profile for profile in profiles if profile["name"] == "CPU time (samples)"]
    assert sum(sampled["weights"]) == sum(row["self_ns"] for row in cpu_table(folder))


def test_prof_has_it_by_function_as_cprofile_does(busy):
    """Native code, as that of the interpreter, is its Python function's own time."""
    folder, truth = busy
    tracing.gputrace(folder, "export", "-o", "cpu.prof", "trace.gpt").must_be(0)
    tracing.gputrace(folder, "export", "--metric", "gpu", "-o", "gpu.prof", "trace.gpt").must_be(0)
    rows = cpu_table(folder)
    stats = marshal.loads((folder / "cpu.prof").read_bytes())
    assert abs(sum(own for _, _, own, _, _ in stats.values()) * 1e9 - sum(row["self_ns"] for row in rows)) < 10
    assert max(count for _, count, _, _, _ in stats.values()) == sum(row["samples"] for row in rows)
    found = {name: (own, under) for (file, _, name), (_, _, own, under, _) in stats.items() if file.endswith("activity.py")}
    for name, ns in truth["cpu"].items():
        for seconds in found[name]:
            assert abs(seconds * 1e9 - ns) <= TOLERANCE * ns, (name, found, truth["cpu"])
    whole = sum(truth["cpu"].values()) / 1e9
    assert found["burn"][1] >= (1 - TOLERANCE) * whole and found["burn"][0] <= 0.01 * whole  # it only calls
    assert list(marshal.loads((folder / "gpu.prof").read_bytes())) == [("~", 0, "<no GPU work>")]


def test_the_picture_of_it_has_the_same_time(busy):
    folder, _ = busy
    tracing.gputrace(folder, "export", "--metric", "cpu", "-o", "cpu.svg", "trace.gpt").must_be(0)
    said = re.search(r">CPU time by stack: ([\d.]+) s,", (folder / "cpu.svg").read_text()).group(1)
    assert said == f"{sum(row['self_ns'] for row in cpu_table(folder)) / 1e9:.2f}"


def test_the_timeline_has_a_slice_for_each_sample_beside_its_thread(busy):
    folder, truth = busy
    tracing.gputrace(folder, "export", "-o", "cpu.json", "-o", "cpu.pftrace", "trace.gpt").must_be(0)
    trace = chrome.assert_valid(folder / "cpu.json")
    slices = chrome.events(trace, "cpu_sample")
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert {rows[e["pid"], e["tid"]] for e in slices} == {f"thread {e['args']['thread']} samples" for e in slices}
    table = cpu_table(folder)
    assert sum(e["args"]["period ns"] for e in slices) == sum(row["self_ns"] for row in table)
    for name, ns in truth["cpu"].items():
        within = sum(e["args"]["period ns"] for e in slices if "Call stack" in e["args"] and name in reading.stack_of(e))
        assert abs(within - ns) <= TOLERANCE * ns, (name, within, ns)
    assert timelines.slices(timelines.pftrace(folder / "cpu.pftrace")) == timelines.slices_of_chrome(trace)


def test_the_view_has_the_samples_too(busy):
    folder, _ = busy
    viewed = Viewed(folder / "trace.gpt")
    labels = [track[1] for track in viewed.tracks()["tracks"]]
    assert viewed.end() == 0
    assert any(re.fullmatch(r"thread \d+ samples", label) for label in labels), labels


def test_without_samples_there_is_no_table_and_folded_says_so(tmp_path):
    tracing.trace(tmp_path, [machine.any_python(), "-c", "pass"], "--agent", "off", names=("trace.gpt",))
    done = tracing.gputrace(tmp_path, "export", "--metric", "cpu", "-o", "cpu.folded", "trace.gpt").must_be(1)
    assert "no samples; --cpu records them" in done.stderr
    for name in ("cpu.svg", "cpu.prof"):
        done = tracing.gputrace(tmp_path, "export", "--metric", "cpu", "-o", name, "trace.gpt").must_be(1)
        assert f"{name}" in done.stderr and "of --metric cpu: no samples; --cpu records them" in done.stderr
    assert "CPU time by Python line" not in tracing.gputrace(tmp_path, "report", "trace.gpt").must_be(0).stdout


def test_without_perf_events_the_trace_goes_on_and_says_so(tmp_path):
    refused = tracing.refusing(PERF_EVENT_OPEN, errno.EACCES)
    with tracing.Running([machine.any_python(), "-c", "print('ready', flush=True); input()"], tmp_path) as program:
        program.wait_line("ready")
        done = tracing.gputrace(tmp_path, "-p", program.pid, "-d", "100ms", "--agent", "off", "--cpu", "-o", "trace.gpt",
                                preexec_fn=refused)
    assert "--cpu: no samples, as the kernel refuses perf events: Permission denied" in done.must_be(0).stderr
    assert "perf events ok CPU clocks, for --cpu" in " ".join(tracing.gputrace(tmp_path, "doctor").stdout.split())
    assert "no samples" in tracing.gputrace(tmp_path, "report", "trace.gpt").must_be(0).stdout
    assert "perf events limited Permission denied: no samples (--cpu)" in " ".join(
        tracing.gputrace(tmp_path, "doctor", preexec_fn=refused).stdout.split())


def test_a_program_in_another_pid_namespace_is_sampled_like_any(tmp_path):
    command = ["unshare", "--pid", "--fork", "--mount-proc", machine.any_python(), machine.PROGRAMS / "activity.py", tmp_path / "truth.json"]
    with tracing.Running(command, tmp_path) as program:
        program.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", program.pid, "--agent", "off", "-F", FREQUENCY, names=()) as tracer:
            program.ask("busy")
            tracer.interrupt().must_be(0)
        program.end()
    sums, truth = by_function(cpu_table(tmp_path)), reading.program(tmp_path / "truth.json")
    assert truth["pid"] == 1
    for name, ns in truth["cpu"].items():
        assert abs(sums.get(name, 0) - ns) <= TOLERANCE * ns, (name, sums, truth["cpu"])


ONLINE = Path("/sys/devices/system/cpu/cpu1/online")


@pytest.mark.kernels
@pytest.mark.skipif("GPUTRACE_EMULATED" not in os.environ, reason="takes a CPU from the machine: on emulated ones, make check-kernels")
@pytest.mark.skipif(not ONLINE.exists(), reason="this machine's CPUs cannot be taken away")
def test_a_cpu_that_went_and_came_again_has_samples(tmp_path):
    code = """if True:
        import os, sys, time
        def burns(until):
            while time.thread_time() < until: pass
        print("ready", flush=True)
        sys.stdin.readline()
        os.sched_setaffinity(0, {1})
        burns(time.thread_time() + 4)
        print("burnt", flush=True)
        sys.stdin.readline()"""
    with tracing.Running([machine.any_python(), "-c", code], tmp_path) as program:
        program.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", program.pid, "--agent", "off", "-F", FREQUENCY, names=()) as tracer:
            for state in ("0", "1"):
                ONLINE.write_text(state)
                time.sleep(2)  # it is looked at once a second
            program.process.stdin.write("burn\n")
            program.process.stdin.flush()
            program.wait_line("burnt")
            done = tracer.interrupt().must_be(0)
        program.end()
    # without clocks there are none; an emulated machine's clocks tick less often than they should, beside other work
    assert 4e8 < by_function(cpu_table(tmp_path))["burns"] < (1 + TOLERANCE) * 4e9
    assert "CPUs went or came at " in done.stdout + done.stderr
