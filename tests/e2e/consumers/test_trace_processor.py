# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Perfetto's own trace_processor opens the sample log's timeline, as .pftrace, .json and .json.gz, without an error or
a loss, and finds the same as the report's lists and the table of events (.arrow) of that log."""

import collections
import json

import pytest
import timelines
import trace_processor as tp

pytestmark = pytest.mark.trace_processor

FORMATS = ("pftrace", "json", "json.gz")
CALLS = ("cuda_runtime", "cuda_driver")
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
IS_CALL, IS_GPU = (f"s.category IN {kinds}" for kinds in (CALLS, GPU))
# Kinds of .arrow that have another name in a timeline.
NAMED = {"nvtx_range": "user_annotation", "step": "user_annotation"}
# Excludes slices that only a timeline has: in Kineto's dialect a step over the whole trace and memory as instants, in
# .pftrace starts of arrows.
IS_EVENT = "s.name NOT IN ('ProfilerStep#0', '[memory]', 'arrow')"


@pytest.fixture(params=FORMATS)
def trace(sample, request):
    return sample / f"sample.{request.param}"


@pytest.fixture(scope="module")
def events(sample):
    """Rows of the table of events."""
    return timelines.arrow(sample / "sample.arrow")[0]


def table(folder, name):
    """Rows of one of the report's lists."""
    document = json.loads((folder / "activities.json").read_text())
    return next(table["rows"] for table in document["tables"] if table["id"] == name)


def report(folder, name):
    document = json.loads((folder / "tables.json").read_text())
    return next(table["rows"] for table in document["tables"] if table["id"] == name)


def is_in_parts(sample):
    return (sample / "parts").exists()


def function(name):
    """The function of `file(line): function`, which .json has for a Python function."""
    return name.partition("): ")[2] or name


def found_slices(trace):
    """{(kind, name, start, duration): how many}"""
    rows = tp.slices(trace, f"hex(s.category), hex(s.name), s.ts - {begin(trace)}, s.dur", IS_EVENT)
    return collections.Counter((kind, function(name) if kind == "python_function" else name, ts, dur) for kind, name, ts, dur in rows)


def begin(trace):
    """The trace's time at which the recording began (SAMPLE_START); .json counts from it."""
    return 1_000_000_000 if trace.suffix == ".pftrace" else 0


def test_nothing_is_an_error_or_lost(trace):
    assert tp.errors(trace) == []


def test_every_event_is_a_slice_with_its_name_start_and_duration(trace, events):
    wanted = collections.Counter(
        (NAMED.get(row["kind"], row["kind"]), row["name"], row["start"], row["duration"]) for row in events if row["kind"] != "memory")
    assert found_slices(trace) == wanted


def test_operations_are_those_of_the_reports_list(trace, sample):
    """The list names copies like nvprof."""
    found = tp.slices(trace, f"hex(iif(s.category = 'kernel', s.name, '')), s.ts - {begin(trace)}, s.dur, {tp.arg('bytes')}", IS_GPU)
    wanted = [(row["name"] if row["kind"] == "kernel" else "", row["start_ns"], row["duration_ns"], row["bytes"])
              for row in table(sample, "gpu_trace")]
    assert collections.Counter(found) == collections.Counter(wanted)


def test_calls_sum_to_what_the_reports_list_says(trace, sample):
    found = {name: (count, ns) for name, count, ns in tp.rows(
        trace, f"SELECT hex(s.name), count(*), sum(s.dur) FROM slice s WHERE {IS_CALL} GROUP BY s.name")}
    assert found == {row["name"]: (row["calls"], row["ns"]) for row in table(sample, "api_sum")}


def test_calls_are_on_the_threads_and_processes_that_made_them(trace, sample, events):
    found = tp.slices(trace, "o.pid, t.tid, hex(o.name), hex(t.name), hex(s.name)", IS_CALL)
    wanted = collections.Counter((row["pid"], row["tid"], row["name"]) for row in events if row["kind"] in CALLS)
    assert collections.Counter((pid, tid, name) for pid, tid, _, _, name in found) == wanted
    assert {(pid, name) for pid, _, name, _, _ in found} == {(row["pid"], row["process"]) for row in report(sample, "processes")}
    for pid, tid, _, thread, _ in found:
        name = "python3" if pid == tid else "pt_autograd_0"
        assert thread == (name if trace.suffix == ".pftrace" else f"thread {tid} ({name})")


def test_an_arrow_leads_from_each_call_to_each_of_its_operations(trace, sample, events):
    """It starts at the call.  In the smallest parts: at a point at its start, or a Python function of equal times."""
    found = tp.rows(trace, f"""
        SELECT {tp.arg('correlation')}, c.id = o.id
        FROM flow f JOIN slice o ON o.id = f.slice_out JOIN slice s ON s.id = f.slice_in
        JOIN slice c ON c.ts = o.ts AND c.track_id = o.track_id AND c.category IN {CALLS}
        WHERE {IS_GPU} AND {tp.arg('correlation')} = {tp.arg('correlation', 'c.arg_set_id')}""")
    wanted = collections.Counter(row["correlation"] for row in events if row["kind"] in GPU)
    assert collections.Counter(correlation for correlation, _ in found) == wanted
    assert tp.rows(trace, "SELECT count(*) FROM flow") == [(len(found),)]
    assert all(is_call for _, is_call in found) or is_in_parts(sample)


def test_kernels_that_overlap_on_a_stream_are_beside_each_other(trace, sample):
    """No two kernels of one row overlap, and none is inside another."""
    rows = tp.slices(trace, "s.track_id, s.ts, s.ts + s.dur, s.depth", IS_GPU)
    assert len(rows) == len(table(sample, "gpu_trace"))
    last = {}
    for track, start, end, depth in rows:
        assert depth == 0 and last.get(track, start) <= start
        last[track] = end


def test_a_stream_is_a_row_of_its_gpu(trace, events):
    streams = {row["stream"] for row in events if row["kind"] in GPU}
    above = {"pftrace": "hex(p.names)", "json": "hex(o.name || ' / ' || t.name)"}["pftrace" if trace.suffix == ".pftrace" else "json"]
    names = {name for name, in tp.slices(trace, f"DISTINCT {above}", IS_GPU)}
    assert names and all(name.startswith("GPU 0 Example GPU / ") for name in names)
    assert streams == {7} and all("stream 7" in name for name in names)


def test_memory_of_the_pftrace_is_a_counter(sample):
    found = tp.rows(sample / "sample.pftrace", "SELECT hex(t.name), max(c.value), count(*) FROM counter c JOIN counter_track t "
                    "ON t.id = c.track_id GROUP BY t.id")
    (peak,) = report(sample, "memory_peaks")
    assert [(name, most) for name, most, _ in found] == [("GPU 0 memory from CUDA", peak["most_bytes"])]


def test_the_shape_of_a_kernel_is_among_its_arguments(trace, sample):
    keys = [key for of in ("grid", "block") for key in (f"{of}[0]", f"{of}[1]", f"{of}[2]")] + ["registers per thread"]
    found = tp.slices(trace, ", ".join(map(tp.arg, keys)), "s.category = 'kernel'")
    wanted = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers")
    assert sorted(found) == sorted(tuple(row[name] for name in wanted) for row in table(sample, "gpu_trace") if row["kind"] == "kernel")


def test_the_stack_of_a_call_of_the_pftrace_is_a_callsite(sample, events):
    found = tp.rows(sample / "sample.pftrace", f"""
        WITH RECURSIVE up(slice, callsite, names) AS (
            SELECT s.id, c.callsite_id, '' FROM slice s JOIN __intrinsic_track_event_callstacks c ON c.slice_id = s.id WHERE {IS_CALL}
            UNION ALL SELECT up.slice, c.parent_id, up.names || iif(up.names = '', '', ';') || y.source_file || '(' || y.line_number || '): ' || f.name
            FROM up JOIN stack_profile_callsite c ON c.id = up.callsite JOIN stack_profile_frame f ON f.id = c.frame_id
            JOIN stack_profile_symbol y USING (symbol_set_id))
        SELECT hex(s.name), hex(up.names), {tp.arg('correlation')} FROM up JOIN slice s ON s.id = up.slice WHERE up.callsite IS NULL""")
    wanted = {(row["name"], row["stack"], row["correlation"]) for row in events if row["kind"] in CALLS and row["stack"]}
    assert len(found) == len(wanted) and set(found) == wanted


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_odd_logs_are_taken_as_well(odd, name):
    folder, steps = odd
    trace = folder / f"sample.{name}"
    assert tp.errors(trace) == []
    assert len(tp.slices(trace, "s.dur", IS_GPU)) == len(table(folder, "gpu_trace")) == 7 * steps


def test_hostile_names_come_through_as_they_are_in_the_table_of_events(odd):
    folder, _ = odd
    events = collections.Counter(row["name"] for row in timelines.arrow(folder / "sample.arrow")[0] if row["kind"] == "kernel")
    for name in FORMATS:
        found = tp.slices(folder / f"sample.{name}", "hex(s.name)", "s.category = 'kernel'")
        assert collections.Counter(name for name, in found) == events
