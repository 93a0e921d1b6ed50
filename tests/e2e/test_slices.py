# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A slice of a recording: by times, processes, thread and GPU; files of a maximum size."""

import collections
import csv
import io
import json
import re
import time

import machine
import pytest
import reading
import tracing
from reading import simulated

RUN_HTA = machine.ROOT / "tests/e2e/consumers/run_hta.py"


def start_wall_ns(log):
    """Start of the recording by the wall clock, from the start time and the clock offset in the log's header."""
    data = log.read_bytes()[:24]
    return int.from_bytes(data[8:16], "little") + int.from_bytes(data[16:24], "little", signed=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A trace of two processes, each with its own threads, on the simulated GPU."""
    folder = tmp_path_factory.mktemp("run")
    train = f"{machine.any_python()} {machine.WORKLOADS / 'train.py'} --threads 2"
    both = f"{train} --steps 12 --truth one.json & {train} --steps 8 --graph --truth two.json & wait"
    tracing.trace(folder, tracing.on_simgpu(folder / "gpu-%p.json", "sh", "-c", both))
    return folder


@pytest.fixture(scope="module")
def gpu(run):
    """{pid: ground truth}"""
    found = {int(re.search(r"\d+", path.name).group()): simulated.load(path) for path in run.glob("gpu-*.json")}
    return {pid: entries for pid, entries in found.items() if simulated.work(entries)}


def cuts(entries, count):
    """Wall-clock times that cut the GPU work into about equal parts; each lies in a wide gap between two starts."""
    starts = sorted(op["start"] for op in simulated.work(entries))
    share = len(starts) // (count + 1)
    moments = []
    for number in range(1, count + 1):
        near = starts[number * share - share // 4:number * share + share // 4]
        _, moment = max((b - a, (a + b) // 2) for a, b in zip(near, near[1:]))
        moments.append(moment)
    return moments


def export(log, folder, *options, name="slice.json"):
    tracing.gputrace(folder, "export", log, "-o", folder / name, *options).must_be(0)
    return reading.trace_of(folder / name)


def operations(entries):
    return sorted((op["name"] if op["kind"] == "kernel" else op["kind"], op["end"] - op["start"])
                  for op in simulated.work(entries))


def traced_operations(trace):
    kinds = {"gpu_memcpy": "memcpy", "gpu_memset": "memset"}
    return sorted((kinds.get(e["cat"], e["name"]), round(e["dur"] * 1000))
                  for e in trace["traceEvents"] if e.get("cat") in ("kernel", *kinds))


def since(log, wall_ns):
    return f"{(wall_ns - start_wall_ns(log)) / 1e9:.9f}"


# ---- times --------------------------------------------------------------------------------------------------------

def test_a_span_has_the_gpu_work_that_began_in_it(run, gpu, tmp_path):
    entries = sum(gpu.values(), [])
    first, last = cuts(entries, 2)
    trace = export(run / "trace.gpt", tmp_path, "--from", since(run / "trace.gpt", first), "--to",
                   since(run / "trace.gpt", last))
    within = [op for op in entries if op["is"] == "gpu" and first <= op["start"] < last]
    share = len(simulated.work(entries)) / 3
    assert share / 2 <= len(within) <= share * 2
    assert traced_operations(trace) == operations(within)


def listed(folder, log, *options):
    """[(name or kind, nanoseconds)] of report --gpu-trace."""
    text = tracing.gputrace(folder, "report", log, "--gpu-trace", "--format", "csv", "--table", "gpu_trace", *options).must_be(0).stdout
    rows = csv.DictReader(io.StringIO(text))
    return sorted((row["name"] if row["kind"] == "kernel" else row["kind"], int(row["duration_ns"])) for row in rows)


@pytest.mark.parametrize("option, column", [
    ("--gpu-trace", "start_ns"), ("--gpu-sum", "percent"), ("--api-sum", "percent"), ("--tree", "time_ns"), ("--lines", "line_number")])
def test_one_list_as_csv_is_one_table(run, tmp_path, option, column):
    """pandas.read_csv can open it without options; receipt and notes are on standard error, unless -q is given."""
    done = tracing.gputrace(tmp_path, "report", run / "trace.gpt", option, "--format", "csv").must_be(0)
    names, *rows = csv.reader(io.StringIO(done.stdout), strict=True)
    assert names[0] == column and rows
    assert {len(row) for row in rows} == {len(names)}
    assert all(row[0] == "" or float(row[0]) >= 0 for row in rows)
    if option in ("--gpu-trace", "--gpu-sum", "--api-sum"):
        assert "launches joined" in done.stderr
    quiet = tracing.gputrace(tmp_path, "report", run / "trace.gpt", option, "--format", "csv", "-q").must_be(0)
    assert (quiet.stdout, quiet.stderr) == (done.stdout, "")


def test_the_list_of_gpu_work_is_that_of_the_slice(run, gpu, tmp_path):
    entries, log = sum(gpu.values(), []), run / "trace.gpt"
    begin, end = cuts(entries, 2)
    within = [op for op in entries if op.get("start") and begin <= op["start"] < end]
    assert listed(tmp_path, log, "--from", since(log, begin), "--to", since(log, end)) == operations(within)
    pid = min(gpu)
    assert listed(tmp_path, log, "--process", pid) == operations(gpu[pid])


def test_slices_that_adjoin_have_everything_once(run, gpu, tmp_path):
    log = run / "trace.gpt"
    whole = reading.trace_of(run / "trace.json")
    moments = [since(log, moment) for moment in cuts(sum(gpu.values(), []), 3)]
    slices = [export(log, tmp_path, *begin, *end) for begin, end in
              zip([()] + [("--from", moment) for moment in moments], [("--to", moment) for moment in moments] + [()])]
    for count in ("calls", "launches", "launches_joined", "launches_whole", "gpu_operations", "gpu_ns", "gpu_ns_with_line"):
        assert sum(reading.receipt(part)[count] for part in slices) == reading.receipt(whole)[count], count
    assert sorted(sum((traced_operations(part) for part in slices), [])) == traced_operations(whole)


def accounts(folder, log, *options):
    """{row: ns} of idle time by line, cause and launch, and of the time of each busy GPU."""
    done = tracing.gputrace(folder, "report", log, "--format", "json", *options).must_be(0)
    tables, sums = {table["id"]: table for table in json.loads(done.stdout)["tables"]}, collections.Counter()
    for row in tables["idle"]["rows"]:
        sums[row["file"], row["line"], row["cause_id"], row["why"], row["launch"]] += row["idle_ns"]
    for row in tables["gpus"]["rows"]:
        sums["busy", row["gpu"]] += row["busy_ns"]
    return sums


@pytest.mark.parametrize("only", ([], ["--gpu", "0"]))
def test_idle_and_busy_time_of_slices_that_adjoin_are_those_of_the_whole_line_by_line(run, gpu, tmp_path, only):
    """Cut anywhere: where the GPU works, in the middle of a gap, and before anything has run."""
    log, entries = run / "trace.gpt", simulated.work(sum(gpu.values(), []))
    first, last = min(op["start"] for op in entries), max(op["end"] for op in entries)
    whole, works = accounts(tmp_path, log, *only), max(entries, key=lambda op: op["end"] - op["start"])
    for cut in ((first + last) // 2, (works["start"] + works["end"]) // 2, first - 1000, last + 1000):
        moment = since(log, cut)
        halves = accounts(tmp_path, log, "--to", moment, *only) + accounts(tmp_path, log, "--from", moment, *only)
        shared = len(whole) + len(halves)  # what samples share out is whole nanoseconds in each half
        assert {row: halves[row] - whole[row] for row in whole | halves if abs(halves[row] - whole[row]) > shared} == {}


SUMS = "busy_ns", "launches", "lost_ns", "looked_ns", "steps"


def by_time(folder, log, *options):
    """The rows of --every, and that of the whole trace."""
    done = tracing.gputrace(folder, "report", log, "--format", "json", *options).must_be(0)
    (table,) = [table for table in json.loads(done.stdout)["tables"] if table["id"] == "periods"]
    return table["rows"][:-1], table["rows"][-1]


@pytest.mark.parametrize("only", ([], ["--from", "100ms"], ["--process", "0"], ["--step", "burst:500us"]))
def test_periods_add_up_to_the_whole_and_each_is_a_slice(run, gpu, tmp_path, only):
    log = run / "trace.gpt"
    if only and only[0] == "--process":
        only = ["--process", str(min(gpu))]
    _, whole = by_time(tmp_path, log, "--every", "1h", *only)
    assert bool(whole["steps"]) == ("--step" in only)
    for count in (1, 2, 211, 7):
        every_us = (whole["to_ns"] - whole["from_ns"]) // count // 1000 + 1
        rows, again = by_time(tmp_path, log, "--every", f"{every_us}us", *only)
        assert len(rows) == count and again == whole and whole["launches"] > 100 and whole["busy_ns"] > 0
        assert {key: sum(row[key] for row in rows) for key in SUMS} == {key: whole[key] for key in SUMS}
        assert [row["to_ns"] for row in rows[:-1]] == [row["from_ns"] for row in rows[1:]]
    times = [f"{rows[3][key] // 1000}us" for key in ("from_ns", "to_ns")]  # of --every, in whole us
    (alone,), _ = by_time(tmp_path, log, "--every", "1h", *only, "--from", times[0], "--to", times[1])
    of_steps = "steps", "step_median_ns", "step_p99_ns"  # a slice has no step that its ends cut
    assert {**alone, **{key: rows[3][key] for key in of_steps}} == rows[3]


def test_more_periods_than_are_shown_are_refused(run, tmp_path):
    done = tracing.gputrace(tmp_path, "report", run / "trace.gpt", "--every", "1us").must_be(1)
    assert "--every 1us: the trace lasts" in done.stderr and "at most 1000 periods" in done.stderr


def test_of_a_slice_before_all_gpu_work_it_is_known_that_the_gpu_idled(run, gpu, tmp_path):
    log, first = run / "trace.gpt", min(op["start"] for op in simulated.work(sum(gpu.values(), [])))
    report = tracing.gputrace(tmp_path, "report", log, "--to", since(log, first - 1000)).must_be(0).stdout
    assert "GPUs worked only before it, or only after it" in report
    assert re.search(r"GPU 0 .*idle 100.0 %", report) and "(before the first GPU operation seen)" in report
    assert "no GPU times" not in report


def test_the_wall_clock_names_the_same_slice(run, gpu, tmp_path):
    log = run / "trace.gpt"
    moment = cuts(sum(gpu.values(), []), 1)[0]
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment // 10**9)) + f".{moment % 10**9:09d}"
    wanted = export(log, tmp_path, "--from", since(log, moment))
    assert export(log, tmp_path, "--from", stamp + "Z") == wanted
    assert export(log, tmp_path, "--from", stamp.partition("T")[2] + "Z") == wanted
    done = tracing.gputrace(tmp_path, "export", log, "-o", "local.json", "--from", stamp, env={"TZ": "UTC"})
    done.must_be(0)
    assert reading.trace_of(tmp_path / "local.json") == wanted


def test_the_report_is_about_the_slice(run, gpu, tmp_path):
    log = run / "trace.gpt"
    moment = cuts(sum(gpu.values(), []), 1)[0]
    receipt = reading.receipt(export(log, tmp_path, "--to", since(log, moment)))
    report = tracing.gputrace(tmp_path, "report", log, "--to", since(log, moment)).must_be(0).stdout
    assert re.search(r"^Slice of the recording: 0 ns to .* of ", report, re.M)
    joined = f"Complete: {receipt['launches_joined']:,} of {receipt['launches_expected']:,} launches joined, 0 lost;"
    assert joined in report
    assert receipt["launches_joined"] == receipt["launches_whole"] == receipt["launches_expected"]


# ---- processes, threads, GPUs --------------------------------------------------------------------------------------

def test_a_process_has_its_own_work(run, gpu, tmp_path):
    for pid, entries in gpu.items():
        trace = export(run / "trace.gpt", tmp_path, "--process", str(pid))
        assert traced_operations(trace) == operations(entries)
        folded = tmp_path / "slice.folded"
        tracing.gputrace(tmp_path, "export", run / "trace.gpt", "-o", folded, "--process", str(pid)).must_be(0)
        assert sum(reading.folded(folded).values()) == sum(ns for _, ns in operations(entries))


def test_processes_have_the_names_of_their_scripts(run, gpu, tmp_path):
    assert traced_operations(export(run / "trace.gpt", tmp_path, "--process", "train.py")) == \
        operations(sum(gpu.values(), []))


def test_a_thread_has_the_work_of_its_calls(run, gpu, tmp_path):
    pid, entries = next(iter(gpu.items()))
    threads = {call["corr"]: call["tid"] for call in simulated.calls(entries)}
    for tid in set(threads.values()):
        mine = [op for op in simulated.work(entries) if threads[op["corr"]] == tid]
        if mine:
            trace = export(run / "trace.gpt", tmp_path, "--thread", f"{pid}/{tid}")
            assert traced_operations(trace) == operations(mine)


def test_a_gpu_has_its_own_work(tmp_path):
    program = [machine.any_python(), machine.PROGRAMS / "two_gpus.py"]
    tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *program), env={"SIMGPU_DEVICES": 2})
    entries = simulated.load(tmp_path / "gpu.json")
    for device in (0, 1):
        trace = export(tmp_path / "trace.gpt", tmp_path, "--gpu", str(device))
        mine = [op for op in simulated.work(entries) if op["device"] == device]
        assert len(mine) > 3 and traced_operations(trace) == operations(mine)
        assert listed(tmp_path, "trace.gpt", "--gpu", device) == operations(mine)
        receipt = reading.receipt(trace)
        assert receipt["launches_joined"] == receipt["launches_expected"] == \
            len([op for op in mine if op["kind"] == "kernel"])


def test_a_recording_may_show_one_gpu_alone(tmp_path):
    """Its log has all."""
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "two_gpus.py")
    run = (*tracing.outputs(tmp_path, "trace.json"), "--", *program)
    tracing.gputrace(tmp_path, "--gpu", "1", *run, env={"SIMGPU_DEVICES": 2}).must_be(0)
    mine = [op for op in simulated.work(simulated.load(tmp_path / "gpu.json")) if op["device"] == 1]
    assert len(mine) > 3 and traced_operations(reading.trace_of(tmp_path / "trace.json")) == operations(mine)
    done = tracing.gputrace(tmp_path, "--gpu", "7", *run, env={"SIMGPU_DEVICES": 2}).must_be(125)
    assert "--gpu 7: is not in what was recorded; it has GPU 0, GPU 1" in done.stderr
    assert "a log cannot be cut" in tracing.gputrace(tmp_path, "--gpu", "1", "-o", "a.gpt", "--", "true").must_be(2).stderr


# ---- what is missing -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options, said", [
    (("--process", "1"), "--process 1: is not in"),
    (("--process", "nobody.py"), "--process nobody.py: is not in"),
    (("--thread", "1"), "--thread 1: is not in"),
    (("--gpu", "7"), "--gpu 7: is not in"),
    (("--from", "2h"), "--from 2h: is after the end of"),
    (("--to", "1971-01-01T00:00:00Z"), "--to 1971-01-01T00:00:00Z: is before the start of"),
])
def test_what_the_log_does_not_have_is_named(run, tmp_path, options, said):
    done = tracing.gputrace(tmp_path, "report", run / "trace.gpt", *options).must_be(1)
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"gputrace: {said}")


def test_a_process_that_is_missing_is_distinguished_from_those_in_the_log(run, gpu, tmp_path):
    done = tracing.gputrace(tmp_path, "report", run / "trace.gpt", "--process", "1").must_be(1)
    for pid in gpu:
        assert f"{pid} (python3)" in done.stderr


@pytest.mark.parametrize("options", [
    ("--from", "5", "--to", "5"),
    ("--from", "2026-01-02T00:00:00Z", "--to", "2026-01-01T00:00:00+00:00"),
    ("--from", "1s", "--to", "1971-01-01T00:00:00Z"),
    ("--from", "yesterday"),
])
def test_a_slice_that_cannot_be_is_wrong_usage(run, tmp_path, options):
    done = tracing.gputrace(tmp_path, "report", run / "trace.gpt", *options).must_be(2)
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1


# ---- files of a maximum size ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("suffix, most", [("json", 120000), ("json.gz", 20000)])
def test_files_of_a_greatest_size_have_everything_once(run, tmp_path, suffix, most):
    tracing.gputrace(tmp_path, "export", run / "trace.gpt", "-o", f"part.{suffix}", "--max-size", str(most)).must_be(0)
    files = sorted(tmp_path.glob(f"part.*.{suffix}"), key=lambda path: int(path.name.split(".")[1]))
    assert len(files) > 2 and [int(path.name.split(".")[1]) for path in files] == list(range(1, len(files) + 1))
    assert max(path.stat().st_size for path in files) <= most
    parts = [reading.trace_of(path) for path in files]
    whole = reading.trace_of(run / "trace.json")
    for count in ("calls", "launches_joined", "gpu_operations", "gpu_ns"):
        assert sum(reading.receipt(part)[count] for part in parts) == reading.receipt(whole)[count], count
    assert sorted(sum((traced_operations(part) for part in parts), [])) == traced_operations(whole)


def test_each_process_has_files_of_its_own(run, gpu, tmp_path):
    tracing.gputrace(tmp_path, "export", run / "trace.gpt", "-o", "rank-%p.json.gz", "--max-size", "30K").must_be(0)
    for pid, entries in gpu.items():
        parts = [reading.trace_of(path) for path in tmp_path.glob(f"rank-{pid}.*.json.gz")]
        assert len(parts) > 1
        assert sorted(sum((traced_operations(part) for part in parts), [])) == operations(entries)


# Calls of train.py that HTA takes for launches (get_runtime_launch_events_query of its symbol table).
HTA_LAUNCHES = ("cudaLaunchKernel", "cudaMemcpyAsync")


def hta_has_enough(trace):
    """HTA's breakdowns need a kernel, and its critical path a launch with its GPU work; without them HTA fails."""
    rows = reading.chrome.correlations(trace).values()
    return reading.chrome.events(trace, "kernel") and any(call["name"] in HTA_LAUNCHES and work for call, work in rows)


def test_hta_opens_each_file(run, tmp_path):
    """Each file that has what HTA needs."""
    tracing.gputrace(tmp_path, "export", run / "trace.gpt", "-o", "part.json.gz", "--max-size", "40K").must_be(0)
    traces = {path: reading.trace_of(path) for path in sorted(tmp_path.glob("part.*.json.gz"))}
    opened = [path for path in traces if hta_has_enough(traces[path])]
    assert len(opened) > 1
    for path in opened:
        done = tracing.command(tmp_path, machine.tool("get-hta"), RUN_HTA, path).must_be(0)
        found = json.loads(done.stdout.splitlines()[-1])
        assert found["gpu_rows"] == len(traced_operations(traces[path])) + len(reading.chrome.stream_waits(traces[path]))


def test_a_size_that_not_even_the_head_fits_in_is_an_error(run, tmp_path):
    done = tracing.gputrace(tmp_path, "export", run / "trace.gpt", "-o", "part.json", "--max-size", "500").must_be(1)
    assert done.stderr.splitlines()[-1].endswith("--max-size 500 is too small: no file of this trace can be so small: take a larger one")
    assert not list(tmp_path.glob("part.*"))
