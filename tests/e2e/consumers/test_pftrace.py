# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sample log's timeline as a .pftrace, decoded by Perfetto's own classes, against its Chrome trace."""

import chrome_invariants as chrome
import pytest
import timelines
from timelines import start_of


@pytest.fixture(scope="module")
def both(sample):
    return timelines.pftrace(sample / "sample.pftrace"), chrome.load(sample / "sample.json")


def test_the_same_slices_with_their_names_and_times(both):
    found, trace = both
    assert timelines.slices(found) == timelines.slices_of_chrome(trace)


def test_arrows_lead_from_calls_to_their_work(both):
    found, trace = both
    starts = dict(found["begun"])
    assert len(starts) == len(found["begun"]) == len(found["ended"])
    wanted = {e["id"]: chrome.ns(e["ts"]) for e in trace["traceEvents"] if e["ph"] == "s"}
    assert {flow: at - start_of(found) for flow, at in starts.items()} == wanted
    assert {flow: at - start_of(found) for flow, at in found["ended"]} == \
        {e["id"]: chrome.ns(e["ts"]) for e in trace["traceEvents"] if e["ph"] == "f"}


def test_arguments_and_stacks_are_those_of_the_chrome_trace(both):
    found, trace = both
    wanted = {e["args"]["correlation"]: e for e in chrome.events(trace, *chrome.API)}
    calls = [s for s in found["slices"] if s["cat"][0] in chrome.API]
    assert len(calls) == len(wanted)
    for call in calls:
        args = wanted[call["args"]["correlation"]]["args"]
        assert {key: value for key, value in args.items() if key in call["args"]} == call["args"]
        stack = ";".join(f"{file}({line}): {name}" for name, file, line in reversed(call["stack"] or []))
        assert stack == args.get("Call stack", "")
    kernels = [s for s in found["slices"] if s["cat"] == ["kernel"]]
    assert {tuple(s["args"]["block"]) for s in kernels} == {tuple(e["args"]["block"]) for e in chrome.events(trace, "kernel")}


def test_a_text_of_arguments_is_in_the_file_once(both, sample):
    found, _ = both
    texts = {text for s in found["slices"] for key, text in s["args"].items() if key in ("from", "launch", "end", "captured at")}
    content = (sample / "sample.pftrace").read_bytes()
    assert texts and {text: content.count(text.encode()) for text in texts} == dict.fromkeys(texts, 1)


def test_threads_and_processes_have_their_numbers_and_names(both):
    found, trace = both
    wanted = {(e["pid"], e["tid"]) for e in chrome.events(trace, *chrome.API)}
    tracks = found["tracks"]
    assert {tuple(tracks[str(s["track"])]["thread"][:2]) for s in found["slices"] if s["cat"][0] in chrome.API} == wanted
    processes = {tracks[str(track["parent"])]["process"][0] for track in tracks.values() if track["thread"]}
    assert processes == {pid for pid, _ in wanted}


def test_memory_is_a_counter(both):
    found, trace = both
    memory = [e for e in trace["traceEvents"] if e["ph"] == "i" and e["name"] == "[memory]"]
    assert [[at - start_of(found), value] for track, at, value in found["counters"] if not found["tracks"][str(track)]["unit"]] == \
        [[chrome.ns(e["ts"]), e["args"]["Total Allocated"]] for e in sorted(memory, key=lambda e: e["ts"])]


def test_clocks_and_power_are_counters_with_units(both, sample):
    found, trace = both
    tracks = found["tracks"]
    values = sorted((tracks[str(track)]["name"], tracks[str(track)]["unit"], at - start_of(found), round(value, 3))
                    for track, at, value in found["counters"] if tracks[str(track)]["unit"])
    assert values == sorted((f"GPU {event['pid']} {event['name']}", unit, chrome.ns(event["ts"]), value) for event in trace["traceEvents"]
                            if event["ph"] == "C" for unit, value in event["args"].items())
    assert len(values) == (60 if (sample / "cpu").exists() else 0)


def test_files_of_odd_logs_are_taken_as_well(odd):
    folder, steps = odd
    found = timelines.pftrace(folder / "sample.pftrace")
    assert sum(s["cat"] == ["kernel"] for s in found["slices"]) == 5 * steps
