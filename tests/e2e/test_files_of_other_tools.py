# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files of one real run, read by the programs they are for, compared with the traced program's own record."""

import collections
import contextlib
import sqlite3

import machine
import profiles
import pytest
import reading
import timelines
import trace_processor
import tracing
from fetching import fetched
from reading import chrome, simulated

NAMES = ("trace.gpt", "trace.json", "trace.speedscope.json", "trace.pb.gz", "trace.prof", "trace.pftrace",
         "trace.sqlite", "trace.arrow")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "20", "--threads", "2", "--graph",
               "--truth", folder / "program.json"]
    tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *program), names=NAMES)
    return folder


def truth_by_stack(run, what):
    """{(Python frames, root first, and the call): sum}, as computed by the program."""
    sums = collections.Counter()
    for entry in reading.program(run / "program.json")["stacks"]:
        if entry["call"] != "cudaStreamSynchronize":
            frames = tuple((f["qualname"] or f["function"], f["file"], f["line"]) for f in reversed(entry["stack"]))
            sums[*frames, entry["call"]] += entry[what]
    return +sums


def by_call(stacks):
    """{(Python frames, root first, and the call): sum} of a profile's stacks."""
    sums = collections.Counter()
    for stack, value in stacks.items():
        (at,) = [i for i, (name, file, _) in enumerate(stack) if name.startswith("cuda") and not file]
        sums[*stack[1:at], stack[at][0]] += value
    return sums


def test_speedscope_has_every_stack_with_the_gpu_time_and_launches_the_program_says(run):
    found = profiles.speedscope(run / "trace.speedscope.json")
    assert by_call(found["GPU time"]) == truth_by_stack(run, "gpu_ns")
    assert by_call(found["launches"]) == truth_by_stack(run, "count")


def test_pprof_has_the_same(run):
    found = profiles.pprof(fetched("get-pprof"), run / "trace.pb.gz")
    assert by_call(found["gpu_time"]) == truth_by_stack(run, "gpu_ns")
    assert by_call(found["launches"]) == truth_by_stack(run, "count")


def test_pstats_has_every_function_with_the_gpu_time_and_launches_below_it(run):
    ns, count = collections.Counter(), collections.Counter()
    for entry in reading.program(run / "program.json")["stacks"]:
        if entry["call"] != "cudaStreamSynchronize":
            for key in {(f["file"], f["first_line"], f["qualname"] or f["function"]) for f in entry["stack"]}:
                ns[key] += entry["gpu_ns"]
                count[key] += entry["count"]
    # captured lines of a graph stand between its launch and the kernel, as "captured at ..."
    found = {tuple(row[:3]): row for row in profiles.pstats(run / "trace.prof")["functions"]
             if row[0] != "~" and not row[2].startswith("captured at ")}
    assert len(found) > 10 and set(found) == set(count)
    for key, row in found.items():
        assert (row[3], row[6]) == (count[key], pytest.approx(ns[key] / 1e9)), key


def test_pftrace_has_every_operation_with_the_time_it_took(run):
    found = timelines.pftrace(run / "trace.pftrace")
    operations = [s for s in found["slices"] if s["cat"][0] in chrome.GPU]
    sums = collections.Counter()
    for slice in operations:
        if slice["cat"] == ["kernel"]:
            sums[slice["name"]] += slice["dur"]
    assert sums == reading.simulated_kernel_ns(simulated.load(run / "gpu.json"))
    assert sorted((s["cat"][0], s["args"]["correlation"], s["dur"]) for s in operations) == \
        reading.simulated_operations(simulated.load(run / "gpu.json"))
    ended = {flow for flow, _ in found["ended"]}
    assert len(ended) == len(operations) == len(found["begun"])


@pytest.mark.trace_processor
@pytest.mark.parametrize("name", ("trace.pftrace", "trace.json"))
def test_trace_processor_finds_every_operation_with_the_time_it_took_and_nothing_wrong(run, name):
    assert trace_processor.errors(run / name) == []
    found = trace_processor.slices(run / name, f"hex(s.category), {trace_processor.arg('correlation')}, s.dur",
                                   f"s.category IN {tuple(chrome.GPU)}")
    assert sorted(found) == reading.simulated_operations(simulated.load(run / "gpu.json"))
    assert trace_processor.rows(run / name, "SELECT count(*) FROM flow") == [(len(found),)]


def test_pftrace_has_the_slices_of_the_chrome_trace(run):
    found, trace = timelines.pftrace(run / "trace.pftrace"), reading.trace_of(run / "trace.json")
    assert timelines.slices(found) == timelines.slices_of_chrome(trace)


def test_sqlite_has_every_line_and_kernel_with_the_time_it_took(run):
    with contextlib.closing(sqlite3.connect(run / "trace.sqlite")) as base:
        kernels = dict(base.execute("SELECT value, sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL "
                                    "JOIN StringIds ON id = demangledName GROUP BY value"))
        stacks = collections.Counter()
        for call, count, *_, frames in base.execute("""
                SELECT n.value, count(*), callchainId, (SELECT group_concat(f, ';') FROM
                    (SELECT m.value || '(' || line || '): ' || s.value AS f FROM CUDA_CALLCHAINS c JOIN StringIds s ON s.id = symbol
                     JOIN StringIds m ON m.id = module WHERE c.id = callchainId ORDER BY stackDepth))
                FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds n ON n.id = nameId
                WHERE n.value LIKE '%Launch%' OR n.value LIKE '%Async' GROUP BY n.value, callchainId"""):
            stacks[call, frames] += count
    assert kernels == reading.simulated_kernel_ns(simulated.load(run / "gpu.json"))
    wanted = reading.truth_stacks(reading.program(run / "program.json"))
    assert stacks == {key: count for key, count in wanted.items() if "Launch" in key[0] or key[0].endswith("Async")}


def test_arrow_has_every_line_with_the_gpu_time_the_program_says(run):
    rows, _ = timelines.arrow(run / "trace.arrow")
    calls = {row["correlation"]: row for row in rows if row["kind"] in chrome.API}
    sums, wanted = collections.Counter(), collections.Counter()
    for row in rows:
        if row["kind"] in chrome.GPU:
            call = calls[row["correlation"]]
            sums[call["name"], call["function"].rpartition(".")[2], call["file"], call["line"]] += row["duration"]
    for site in reading.program(run / "program.json")["sites"]:
        wanted[site["call"], site["function"], site["file"], site["line"]] += site["gpu_ns"]
    assert sums == +wanted


def test_a_file_made_later_from_the_log_is_the_same(run, tmp_path):
    tracing.gputrace(tmp_path, "export", run / "trace.gpt", *tracing.outputs(tmp_path, *NAMES[1:])).must_be(0)
    for name in NAMES[1:]:
        assert (tmp_path / name).read_bytes() == (run / name).read_bytes(), name


def test_a_slice_has_only_what_is_in_it(run, tmp_path):
    calls = sorted(entry["enter"] for entry in simulated.calls(simulated.load(run / "gpu.json"), "launch"))
    middle = f"{(calls[len(calls) // 2] - reading.start_ns(run / 'trace.gpt')) / 1e9:.9f}"
    whole, parts = profiles.speedscope(run / "trace.speedscope.json")["launches"], collections.Counter()
    for number, span in enumerate((("--to", middle), ("--from", middle))):
        file = tmp_path / f"{number}.speedscope.json"
        tracing.gputrace(tmp_path, "export", run / "trace.gpt", *span, "-o", file).must_be(0)
        found = profiles.speedscope(file)["launches"]
        assert 0 < sum(found.values()) < sum(whole.values())
        parts += found
    assert parts == whole


def test_the_format_can_be_named_for_a_pipe(run):
    done = tracing.gputrace(run, "export", run / "trace.gpt", "-o", "-", "--format", "speedscope").must_be(0)
    assert done.stdout.encode() == (run / "trace.speedscope.json").read_bytes()
