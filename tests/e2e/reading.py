# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads a trace and the traced program's own record into the same terms, so that they can be compared with ==.

Runs nothing.
"""

import collections
import json
import os
import re

import chrome_invariants as chrome
import machine
import truth as simulated



# ---- the programs' own records ------------------------------------------------------------------

def program(path):
    with open(path) as file:
        return json.load(file)


def _name(frame):
    return frame["qualname"] or frame["function"]


def truth_stacks(truth):
    """{(call, "file(line): function;..." innermost first): count}"""
    counts = collections.Counter()
    for entry in truth["stacks"]:
        text = ";".join(f"{f['file']}({f['line']}): {_name(f)}" for f in entry["stack"])
        counts[entry["call"], text] += entry["count"]
    return counts


def truth_lines(truth):
    """{(call, function, file, executing line): count}"""
    counts = collections.Counter()
    for site in truth["sites"]:
        counts[site["call"], _name(site), site["file"], site["line"]] += site["count"]
    return counts


def truth_folded(truth, process):
    """{folded line without a leaf: count}, as in the output of --metric launches without GPU records."""
    counts = collections.Counter()
    for entry in truth["stacks"]:
        if entry["call"] not in ("cudaStreamSynchronize",):
            frames = [f"{_name(f)} ({os.path.basename(f['file'])}:{f['line']})" for f in reversed(entry["stack"])]
            counts[";".join([process, *frames, entry["call"]])] += entry["count"]
    return counts


def truth_calls(truth):
    return {entry["call"] for entry in truth["stacks"]}


def truth_line_ns(truth):
    """{"file:line function": GPU ns}, by the program's own account."""
    sums = collections.Counter()
    for site in truth["sites"]:
        sums[f"{os.path.basename(site['file'])}:{site['line']} {site['function']}"] += site["gpu_ns"]
    return +sums


def truth_home_ns(truth):
    """The same with the time of graphs on the captured lines, as in the report."""
    sums, replays = collections.Counter(), 0
    for site in truth["sites"]:
        replays += site["count"] if site["call"] == "cudaGraphLaunch" else 0
    for site in truth["sites"]:
        where = f"{os.path.basename(site['file'])}:{site['line']} {site['function']}"
        captured = re.fullmatch(r"replay_(\d+)us", site["kernel"] or "")
        if captured:
            sums[where] += replays * int(captured.group(1)) * 1000
        elif site["call"] != "cudaGraphLaunch":
            sums[where] += site["gpu_ns"]
    return +sums


CHARGED_TO_CALL = re.compile(r"(?:waited in|in|after) (\w+)$")


def assert_calls_are_charged_what_they_took(tables):
    """Of the report of one GPU: its idle time in and after a call against the time in the call."""
    took = {row["call"]: row["ns"] for row in tables["calls"]["rows"]}
    charged = collections.Counter()
    for row in tables["idle"]["rows"]:
        found = CHARGED_TO_CALL.match(row["why"])
        if found:
            charged[found.group(1)] += row["idle_ns"]
    assert all(ns <= took.get(call, ns) for call, ns in charged.items()), (charged, took)


def captured_lines(path):
    """{"file:line function": GPU ns} of a folded file: the operations of graphs by captured line."""
    sums = collections.Counter()
    for stack, value in folded(path).items():
        function, _, where = stack.split(";")[-2].partition("captured at ")[2].rpartition(" (")
        if where:
            sums[f"{where.rstrip(')')} {function.rpartition('.')[2]}"] += value
    return sums


def kernel_truth(truth):
    """{kernel: GPU ns}, by the program's own account."""
    sums = collections.Counter()
    for site in truth["sites"]:
        if site["kernel"]:
            sums[site["kernel"]] += site["gpu_ns"]
    return +sums


def of_call(counts, call):
    """The entries of truth_stacks or truth_lines for one call."""
    return collections.Counter({key: count for key, count in counts.items() if key[0] == call})


def simulated_launches(entries):
    """The launches, in gputrace's sense, of kernels and graphs; the simulator's class graph includes capture."""
    return [e for e in simulated.calls(entries, "launch", "graph") if "Launch" in e["name"]]


def count_of(path, chosen):
    """A function that says how many entries chosen(entries) has in the truth of a process that lives, so far."""
    growing, count = simulated.Growing(path), 0

    def so_far():
        nonlocal count
        count += len(chosen(growing.new()))
        return count

    return so_far


def simulated_line_ns(entries):
    """The same from the simulator's labels, with the actual durations."""
    sums = collections.Counter()
    for op in simulated.work(entries):
        sums[op["label"]] += op["end"] - op["start"]
    return +sums


def simulated_kernel_ns(entries):
    """{kernel: GPU ns} by actual durations, graphs included."""
    sums = collections.Counter()
    for op in simulated.work(entries, "kernel"):
        sums[op["name"]] += op["end"] - op["start"]
    return sums


def simulated_operations(entries):
    """[(kind, correlation, duration ns)] of the operations that CUPTI recorded, sorted."""
    kinds = {"memcpy": "gpu_memcpy", "memset": "gpu_memset", "kernel": "kernel"}
    return sorted((kinds[op["kind"]], op["corr"], op["end"] - op["start"]) for op in simulated.work(entries))


# ---- the trace --------------------------------------------------------------------------------

def trace_of(path):
    """A Chrome trace, checked against all rules of the format."""
    return chrome.assert_valid(path)


def receipt(trace):
    return trace["gputrace"]["receipt"]


def losses(trace):
    """{cause: count} of the losses in the receipt."""
    with open(machine.ROOT / "include/gputrace/losses.h") as header:
        causes = re.findall(r"X\(\w+, (\w+), (?:CALL|GPU|STACK|EXTRA),", header.read())
    assert len(causes) > 20
    found = {cause: receipt(trace)[cause] for cause in causes if receipt(trace).get(cause)}
    assert bool(found) == bool(receipt(trace)["lost"])
    return found


def _calls(trace, names, pid=None):
    return [e for e in chrome.events(trace, *chrome.API)
            if e["name"] in names and (pid is None or e["pid"] == pid)]


def stack_of(event):
    return event["args"].get("Call stack", "none: " + event["args"].get("no Call stack", "?"))


def trace_stacks(trace, names, pid=None):
    return collections.Counter((e["name"], stack_of(e)) for e in _calls(trace, names, pid))


def innermost(event):
    """(function, file, line) of the innermost frame."""
    where, _, function = stack_of(event).split(";")[0].rpartition("): ")
    file, _, line = where.rpartition("(")
    return function, file, int(line)


def trace_lines(trace, names, pid=None):
    return collections.Counter((e["name"], *innermost(e)) for e in _calls(trace, names, pid))


def trace_line_ns(trace):
    """{"file:line function": GPU ns} of GPU operations, by the innermost line of their call."""
    sums = collections.Counter()
    for call, operations in chrome.correlations(trace).values():
        for op in operations:
            function, file, line = innermost(call)
            sums[f"{os.path.basename(file)}:{line} {function.rpartition('.')[2]}"] += chrome.ns(op["dur"])
    return +sums


def trace_kernel_ns(trace):
    sums = collections.Counter()
    for event in chrome.events(trace, "kernel"):
        sums[event["name"]] += chrome.ns(event["dur"])
    return sums


def cupti_correlation(event):
    return event["args"].get("cupti correlation", event["args"]["correlation"])


def trace_operations(trace):
    return sorted((e["cat"], cupti_correlation(e), chrome.ns(e["dur"])) for e in chrome.events(trace, *chrome.GPU))


def start_ns(log):
    """The start of the recording by CLOCK_MONOTONIC, from the log's header."""
    return int.from_bytes(log.read_bytes()[8:16], "little")


def assert_has_those_of_the_recording(trace, entries, log):
    """The trace has all simulated work that had not ended when the recording began, and no other work."""
    slack = receipt(trace)["clock_error_ns"] + 1000
    found = collections.Counter(trace_operations(trace))
    sure, possible = (collections.Counter(simulated_operations([op for op in entries if op["end_mono"] > start_ns(log) + by]))
                      for by in (slack, -slack))
    assert len(sure) > 1000
    assert not sure - found and not found - possible


def folded(path):
    with open(path) as file:
        lines = [line.rstrip("\n").rpartition(" ") for line in file]
    counts = collections.Counter()
    for stack, _, value in lines:
        assert stack not in counts, f"twice in {path}: {stack}"
        counts[stack] = int(value)
    return counts


def folded_line_ns(path):
    """{"file:line function": GPU ns} of a folded file, by the frame before the CUDA call."""
    sums = collections.Counter()
    for stack, value in folded(path).items():
        frames = [frame for frame in stack.split(";") if not frame.startswith("captured at ")]
        function, _, where = frames[-3].rpartition(" (")
        sums[f"{where.rstrip(')')} {function.rpartition('.')[2]}"] += value
    return sums


def without_leaf(counts):
    """Folded lines of --metric launches without the operation on the GPU."""
    sums = collections.Counter()
    for stack, value in counts.items():
        frames = stack.split(";")
        last = max(i for i, frame in enumerate(frames) if frame.startswith("cuda"))
        sums[";".join(frames[:last + 1])] += value
    return sums
