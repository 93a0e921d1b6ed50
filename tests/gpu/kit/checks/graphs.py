# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A CUDA graph that was instantiated before gputrace attached, and replays while it attaches."""

import collections
import time

import logged
import traces
from program import PATIENCE_S, Torch, Trace


def first_record(trace):
    """Seconds until the log has a kernel's record; None: none came."""
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE_S:
        if trace.logged(logged.has_kernel):
            return time.monotonic() - begin
        time.sleep(0.02)
    return None


def attach_while_replaying(bench):
    stop = bench.folder / "stop"
    with Torch() as torch:
        if not torch.make("graph"):
            bench.found("attach while a graph replays", torch.missing["graph"], "skipped")
            return
        alone = torch.ask("run-for", 1, "graph")
        torch.send("run-until", stop, "graph")
        with Trace(bench.folder / "trace", "-p", torch.pid) as trace:
            first = first_record(trace)
            time.sleep(bench.size(5, 1))  # seconds of traced replays
            stop.touch()
            during = torch.answer()
            trace.stop()
        torch.end()
    trace = traces.load(bench.folder / "trace/trace.json")
    replayed = [event for event in traces.slices(trace, *traces.GPU) if event["args"].get("graph id")]
    # Replays that ran when gputrace attached have no launch in the trace. Each operation says so, and they come first.
    earlier = [event for event in replayed if event["args"].get("launch") == "before the trace"]
    traced = [event for event in replayed if event["args"].get("launch") != "before the trace"]
    in_order = max((event["ts"] for event in earlier), default=-1) < min((event["ts"] for event in traced), default=0)
    records = collections.Counter(map(traces.correlation, traced))
    sizes = collections.Counter(records.values())
    receipt = traces.receipt(trace)
    joined, expected = receipt["launches_joined"], receipt["launches_expected"]
    good = first is not None and len(sizes) == 1 and in_order and joined == expected > 0
    bench.found("attach while a graph replays", f"yes: {len(records)} replays of {max(sizes, default=0)} operations each, "
                f"all joined; first record {first:.2f} s after its probes; {len(earlier)} operations of replays before it"
                if good else
                f"no: {joined} of {expected} joined, operations a replay: {dict(sizes)}, "
                f"{len(earlier)} of replays before the trace{'' if in_order else ', not only at its start'}",
                good, earlier=len(earlier), sizes=[[size, count] for size, count in sizes.items()], receipt=receipt)
    bench.found_on_silicon("longest pause of the program meanwhile", f"{during['longest_ns'] / 1e6:.1f} ms in a step; "
                           f"untraced {alone['longest_ns'] / 1e6:.1f} ms", True, alone=alone, during=during)
