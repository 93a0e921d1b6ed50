# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads Chrome traces of gputrace and torch.profiler into values that can be compared.  Runs nothing."""

import bisect
import collections
import json
import re
import statistics
from typing import NamedTuple

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
API = ("cuda_runtime", "cuda_driver")
FRAME = re.compile(r"(.*)\((\d+)\): (.*)")
OWN_FILE = "/kinds.py"  # file of the functions under which work is compared
NOT_BY_BOTH = {"fused"}  # torch.compile runs other code in its place, which may show in one tool only


SHAPE = ("grid", "block", "registers per thread", "shared memory", "bytes")


class Operation(NamedTuple):
    category: str
    name: str
    ns: int
    shape: tuple  # values of SHAPE; None if it has none
    occupancy: int  # estimated, percent
    function: str  # the innermost function of kinds.py


def operation(event, function):
    shape = tuple(str(event["args"].get(name)) for name in SHAPE)
    return Operation(event["cat"], canonical(event["name"]), round(event["dur"] * 1000), shape,
                     event["args"].get("est. achieved occupancy %", 0), function)


class Work:
    """GPU operations of one tool."""

    def __init__(self, operations):
        self.operations = operations

    def kernels(self):
        return sum(row.category == "kernel" for row in self.operations)

    def counts(self):
        return collections.Counter((row.category, row.name) for row in self.operations)

    def shapes(self):
        return collections.Counter((row.category, row.name, *row.shape) for row in self.operations)

    def occupancies(self):
        """{(kernel, shape): percent}; Kineto has 0 for a kernel with more shared memory than the default limit."""
        return {(row.name, *row.shape): row.occupancy for row in self.operations if row.category == "kernel"}

    def functions(self):
        return collections.Counter((row.category, row.name, row.function) for row in self.operations)

    def durations(self):
        """{kernel: median ns}"""
        found = collections.defaultdict(list)
        for row in self.operations:
            if row.category == "kernel":
                found[row.name].append(row.ns)
        return {name: statistics.median(values) for name, values in found.items()}


def canonical(name):
    """The name without blanks, which differ between demanglers."""
    return re.sub(r"\s+", "", name.replace("void ", ""))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def slices(trace, *categories):
    return [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") in categories]


def correlation(event):
    return event["args"].get("correlation")


# ---- gputrace's ---------------------------------------------------------------------------------------------------

def receipt(trace):
    return trace["gputrace"]["receipt"]


def notes(trace):
    return trace["gputrace"]["notes"]


def frames(call):
    """[(file, function)] of a call, innermost first."""
    found = [FRAME.match(text) for text in call["args"].get("Call stack", "").split(";")]
    return [(frame[1], frame[3].rpartition(".")[2]) for frame in found if frame]


def own_function(stack):
    return next((function for file, function in stack if file.endswith(OWN_FILE) and function not in NOT_BY_BOTH), "")


def traced(trace, under="marked_steps"):
    """The work that ran under that function."""
    calls = {correlation(call): frames(call) for call in slices(trace, *API)}
    found = []
    for event in slices(trace, *GPU):
        stack = calls.get(correlation(event), [])
        if any(function == under for _, function in stack):
            found.append(operation(event, own_function(stack)))
    return Work(found)


def launches_under(trace, under):
    """(launches under that function, launches of these with GPU records); does not count captured ones."""
    timed = {correlation(event) for event in slices(trace, *GPU)}
    calls = [call for call in slices(trace, *API) if "Launch" in call["name"] and
             any(function == under for _, function in frames(call))]
    return len(calls), sum(correlation(call) in timed for call in calls)


# ---- torch.profiler's -----------------------------------------------------------------------------------------------

class PythonAt:
    """The function of kinds.py in which a thread was, from torch.profiler's Python slices."""

    def __init__(self, trace):
        self.by_thread = collections.defaultdict(list)
        for event in slices(trace, "python_function"):
            file = event["name"].partition("(")[0]
            function = event["name"].rpartition(": ")[2]
            if file.endswith(OWN_FILE.lstrip("/")) and function not in NOT_BY_BOTH:
                self.by_thread[event["tid"]].append((event["ts"], event["ts"] + event["dur"], function))
        for rows in self.by_thread.values():
            rows.sort()
        self.main = max(self.by_thread, key=lambda tid: len(self.by_thread[tid]), default=None)

    def function(self, tid, time):
        rows = self.by_thread.get(tid, [])
        at = bisect.bisect_right(rows, (time, float("inf"), ""))
        for start, end, function in reversed(rows[max(0, at - 400):at]):
            if start <= time <= end:
                return function
        return ""

    def of_call(self, call):
        """A thread without Python works for the main thread, which waits for it in backward()."""
        return self.function(call["tid"], call["ts"]) or self.function(self.main, call["ts"])


def profilers(trace):
    """All work in a session of torch.profiler; with functions if it recorded stacks."""
    python = PythonAt(trace)
    calls = {correlation(call): call for call in slices(trace, *API)}
    found = []
    for event in slices(trace, *GPU):
        call = calls.get(correlation(event))
        function = python.of_call(call) if call and python.main is not None else ""
        found.append(operation(event, function))
    return Work(found)


# ---- compared -------------------------------------------------------------------------------------------------------

def difference(ours_counted, theirs_counted):
    """Rows that only one tool has, for the raw data: at most 20 of each."""
    rows = {"only gputrace": ours_counted - theirs_counted, "only torch.profiler": theirs_counted - ours_counted}
    return {side: [[*(key if isinstance(key, tuple) else (key,)), count] for key, count in found.most_common(20)]
            for side, found in rows.items()}


def duration_gap_us(ours_work, theirs_work):
    """(median over kernels of the gap between both tools' medians, kernel with the largest gap, that gap); in us."""
    mine, other = ours_work.durations(), theirs_work.durations()
    gaps = {name: abs(mine[name] - other[name]) / 1e3 for name in mine if name in other}
    if not gaps:
        return None, None, None
    worst = max(gaps, key=gaps.get)
    return statistics.median(gaps.values()), worst, gaps[worst]
