# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares a trace with the record of programs/recorded.py, launch by launch: every stack must be the same.

Only reads files, and does not know how either side was made.
"""

import collections
import json
import re

import chrome_invariants as chrome

# Bytes kept of a name and of a path: GPT_CODE_NAME_MAX and GPT_CODE_FILE_MAX of include/gputrace/record.h.
NAME_MAX, FILE_MAX = 512, 4096

# The text in place of frames that were left out.
LEFT_OUT = re.compile(r"\[(\d+) frames? left out\]")

Launch = collections.namedtuple("Launch", "number frames incomplete label")


def _shown(text, most):
    """The text as shown: cut with a mark, on one line, without control characters; `?` if it is empty."""
    width = 1 if max(text, default="") < "\u0100" else 2 if max(text) < "\U00010000" else 4
    if len(text) * width > most:
        text = text[:most // width] + "..."
    text = re.sub(r"[\t-\r]", " ", text).replace(";", "_")
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", "\ufffd", text) or "?"


def _frame(name, file, line):
    """A frame in the form of docs/formats.md; CPython 3.10 and later have instructions without a line."""
    return f"{_shown(file, FILE_MAX)}({line or 0}): {_shown(name, NAME_MAX)}"


def recorded(path):
    """({tid: [Launch] in the order of the calls}, the whole file)"""
    with open(path) as file:
        truth = json.load(file)
    frames = [_frame(*frame) for frame in truth["frames"]]
    stacks = [[frames[i] for i in stack] for stack in truth["stacks"]]
    threads = collections.defaultdict(list)
    for thread in truth["threads"]:
        threads[thread["tid"]] += [Launch(number, stacks[i], None, label) for number, i, label in thread["launches"]]
    return {tid: launches for tid, launches in threads.items() if launches}, truth


def traced(path, pid=None):
    """{tid: [Launch] by time}"""
    threads = collections.defaultdict(list)
    calls = [e for e in chrome.events(chrome.load(path), "cuda_runtime") if e["name"] == "cudaLaunchKernel"]
    for event in sorted(calls, key=lambda e: e["ts"]):
        args = event["args"]
        frames = args["Call stack"].split(";") if "Call stack" in args else []
        if pid is None or event["pid"] == pid:
            number = args["launch stream"] & 0xffffffff  # ctypes passes an int and leaves the upper half undefined
            incomplete = args.get("no Call stack") or ("cut" if "Call stack cut" in args else None)
            threads[event["tid"]].append(Launch(number, frames, incomplete, None))
    return dict(threads)


def difference(expected, got):
    """Two stacks side by side, innermost first, from the first differing frame on."""
    same = 0
    while same < min(len(expected), len(got)) and expected[same] == got[same]:
        same += 1
    lines = [f"  {same} innermost frames are the same, {len(expected)} recorded, {len(got)} traced"]
    lines += [f"    {frame}" for frame in expected[max(same - 2, 0):same]]
    for frame in range(same, min(same + 6, max(len(expected), len(got)))):
        left, right = (side[frame] if frame < len(side) else "nothing" for side in (expected, got))
        lines += [f"    {left}"] if left == right else [f"  - {left}", f"  + {right}"]
    return "\n".join(lines)


def _compare(tid, expected, got):
    """Compares the launches of one thread: (the first difference or None, the traced stacks marked as incomplete)"""
    numbers, seen = [e.number for e in expected], [g.number for g in got]
    if numbers != seen:
        at = next((i for i, (a, b) in enumerate(zip(numbers, seen)) if a != b), min(len(numbers), len(seen)))
        return (f"thread {tid}: {len(numbers)} launches recorded, {len(seen)} traced, and from launch {at} on others:"
                f" {numbers[at:at + 4]} recorded, {seen[at:at + 4]} traced"), []
    incomplete = [(e, g) for e, g in zip(expected, got) if g.incomplete]
    for index, (e, g) in enumerate(zip(expected, got)):
        if e.frames != g.frames and not g.incomplete:
            return (f"thread {tid}, launch {index} of {len(expected)} (number {e.number}):\n" +
                    difference(e.frames, g.frames)), incomplete
    return None, incomplete


def assert_equal(expected, got):
    """Every stack is the recorded one or marked as incomplete; returns the latter as [(recorded, traced)]."""
    assert set(expected) == set(got), f"threads {sorted(expected)} launched, threads {sorted(got)} were traced"
    incomplete = []
    for tid in expected:
        wrong, cut = _compare(tid, expected[tid], got[tid])
        assert not wrong, wrong
        incomplete += cut
    return incomplete


def assert_both_ends(expected, got):
    """A stack that was cut: its frames are right, and so is the number left out; returns the kept (inner, outer)."""
    assert got.incomplete == "cut", f"{len(expected.frames)} frames, but the stack says {got.incomplete}"
    gaps = [(i, LEFT_OUT.fullmatch(frame)) for i, frame in enumerate(got.frames) if LEFT_OUT.fullmatch(frame)]
    assert len(gaps) == 1, difference(expected.frames, got.frames)
    (inner, said), outer = gaps[0], len(got.frames) - gaps[0][0] - 1
    whole = got.frames[:inner] + expected.frames[inner:len(expected.frames) - outer] + got.frames[inner + 1:]
    assert whole == expected.frames, difference(expected.frames, whole)
    missing = len(expected.frames) - inner - outer
    assert int(said.group(1)) == missing, f"{missing} frames are missing, not {said.group(1)}"
    return inner, outer


def assert_complete(incomplete):
    for expected, got in incomplete:
        raise AssertionError(f"{len(incomplete)} stacks are incomplete, launch {expected.number} says:"
                             f" {got.incomplete}\n" + difference(expected.frames, got.frames))


def count(threads):
    return sum(map(len, threads.values()))
