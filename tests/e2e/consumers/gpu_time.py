# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What GPUs did with their time, computed from the events of a Chrome trace: unions of intervals in whole nanoseconds."""

import collections
import decimal
import gzip
import json

import pytest

PARTS = ("computation_ns", "exposed_communication_ns", "exposed_copies_ns", "communication_ns", "copies_ns",
         "first_to_last_ns")
COPIES = ("gpu_memcpy", "gpu_memset")


def load(path):
    """The events; times are exact."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    loaded = json.loads(text, parse_float=decimal.Decimal)
    return loaded["traceEvents"] if isinstance(loaded, dict) else loaded


def ns(time_us):
    return int(decimal.Decimal(time_us) * 1000)


def interval(event):
    return ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])


def operations(events):
    """{GPU: [event]}"""
    found = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and str(event.get("cat", "")).lower() in ("kernel", *COPIES):
            found[int(event["args"]["device"])].append(event)
    return found


def covered(intervals):
    """The nanoseconds in at least one interval."""
    total, until = 0, 0
    for start, end in sorted(intervals):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def communicates(event):
    """As HTA does: ^nccl.*Kernel."""
    name = event["name"]
    return event["cat"].lower() == "kernel" and name.startswith("nccl") and "Kernel" in name[4:]


def split(computation, communication, copies):
    """Of lists of intervals: what docs/formats/report.md says."""
    everything = computation + communication + copies
    computed, busy = covered(computation), covered(everything)
    first_to_last = max(end for _, end in everything) - min(start for start, _ in everything)
    return {"computation_ns": computed,
            "exposed_communication_ns": covered(computation + communication) - computed,
            "exposed_copies_ns": busy - covered(computation + communication),
            "communication_ns": covered(communication), "copies_ns": covered(copies),
            "first_to_last_ns": first_to_last}


def nearly(parts):
    """Times of the simulated GPU on another clock, which runs a millionth faster or slower."""
    return {name: pytest.approx(value, rel=1e-6, abs=100) for name, value in parts.items()}


def divided(events):
    """By gputrace's definition: memsets are copies."""
    kernels = [event for event in events if event["cat"].lower() == "kernel"]
    return split([interval(event) for event in kernels if not communicates(event)],
                 [interval(event) for event in kernels if communicates(event)],
                 [interval(event) for event in events if event["cat"].lower() in COPIES])


def gpu_timeline(events):
    """
    The columns of TraceLens' gpu_timeline, by its definition: memsets are computation, and what has nccl in its name
    communicates.
    """
    copies = [event for event in events if event["cat"].lower() == "gpu_memcpy"]
    others = [event for event in events if event["cat"].lower() != "gpu_memcpy"]
    found = split([interval(event) for event in others if "nccl" not in event["name"].lower()],
                  [interval(event) for event in others if "nccl" in event["name"].lower()],
                  [interval(event) for event in copies])
    busy = found["computation_ns"] + found["exposed_communication_ns"] + found["exposed_copies_ns"]
    return {"computation_time": found["computation_ns"], "exposed_comm_time": found["exposed_communication_ns"],
            "exposed_memcpy_time": found["exposed_copies_ns"], "busy_time": busy,
            "idle_time": found["first_to_last_ns"] - busy, "total_time": found["first_to_last_ns"],
            "total_comm_time": found["communication_ns"], "total_memcpy_time": found["copies_ns"]}
