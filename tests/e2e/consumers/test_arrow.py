# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sample log's table of events, opened by pyarrow, against its Chrome trace."""

import collections

import chrome_invariants as chrome
import pytest
import timelines

# Kinds that have another name in the Chrome trace, where ranges, steps and named ops are all user_annotation.
AS_IN_CHROME = {"nvtx_range": "user_annotation", "step": "user_annotation"}


@pytest.fixture(scope="module")
def both(sample):
    return timelines.arrow(sample / "sample.arrow"), chrome.load(sample / "sample.json")


def python_name(event):
    """The function of `file(line): function`."""
    is_python = event["cat"] in ("python_function", "cpu_sample") and "): " in event["name"]
    return event["name"].partition("): ")[2] if is_python else event["name"]


def test_a_row_for_each_slice(both):
    (rows, _), trace = both
    wanted = collections.Counter((e["cat"], python_name(e), chrome.ns(e["ts"]), chrome.ns(e["dur"])) for e in chrome.events(trace)
                                 if not e["name"].startswith("ProfilerStep"))
    assert collections.Counter((AS_IN_CHROME.get(row["kind"], row["kind"]), row["name"], row["start"], row["duration"])
                               for row in rows if row["kind"] != "memory") == wanted


def test_rows_of_calls_have_their_stack_and_its_innermost_frame(both):
    (rows, _), trace = both
    wanted = {e["args"]["correlation"]: e for e in chrome.events(trace, *chrome.API)}
    calls = [row for row in rows if row["kind"] in chrome.API]
    assert {row["correlation"] for row in calls} == set(wanted)
    for row in calls:
        event = wanted[row["correlation"]]
        assert (row["pid"], row["tid"]) == (event["pid"], event["tid"])
        assert row["stack"] == event["args"].get("Call stack")
        if row["stack"]:
            assert row["stack"].split(";")[0] == f"{row['file']}({row['line']}): {row['function']}"
        else:
            assert row["file"] is row["line"] is row["function"] is None


def test_rows_of_operations_have_their_place_shape_and_bytes(both):
    (rows, _), trace = both
    calls = {e["args"]["correlation"]: e["pid"] for e in chrome.events(trace, *chrome.API)}
    wanted = collections.Counter((calls[a["correlation"]], a["correlation"], a["device"], a["context"], a.get("cupti stream", a["stream"]), a.get("bytes"),
                                  *a.get("grid", [None] * 3), *a.get("block", [None] * 3), a.get("registers per thread"))
                                 for a in (e["args"] for e in chrome.events(trace, *chrome.GPU)))
    assert collections.Counter((row["pid"], row["correlation"], row["device"], row["context"], row["stream"], row["bytes"],
                                row["grid_x"], row["grid_y"], row["grid_z"], row["block_x"], row["block_y"], row["block_z"],
                                row["registers"]) for row in rows if row["kind"] in chrome.GPU) == wanted


def test_memory_comes_with_bytes_and_goes_with_bytes_below_zero(both):
    (rows, _), trace = both
    wanted = sorted((chrome.ns(e["ts"]), e["args"]["Bytes"]) for e in trace["traceEvents"] if e["ph"] == "i" and e["name"] == "[memory]")
    assert sorted((row["start"], row["bytes"]) for row in rows if row["kind"] == "memory") == wanted


def test_the_begin_is_that_of_the_wall_clock(both):
    (_, metadata), trace = both
    assert int(metadata["begin_unix_ns"]) == trace["baseTimeNanoseconds"]


def test_files_of_odd_logs_are_taken_as_well(odd):
    folder, steps = odd
    rows, _ = timelines.arrow(folder / "sample.arrow")
    assert sum(row["kind"] == "kernel" for row in rows) == 5 * steps
