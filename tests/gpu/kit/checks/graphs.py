# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A CUDA graph that was instantiated before we came and replays while we come."""

import collections
import time

import logged
import traces
from program import PATIENCE_S, Torch, Trace


def first_record(trace):
    """Seconds until the log has a kernel's record; None: there came none."""
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
        torch.tell("run-until", stop, "graph")
        with Trace(bench.folder / "trace", "-p", torch.pid) as trace:
            first = first_record(trace)
            time.sleep(bench.size(5, 1))  # for how long it replays beside the trace
            stop.touch()
            during = torch.answer()
            trace.stop()
        torch.end()
    trace = traces.load(bench.folder / "trace/trace.json")
    records = collections.Counter(traces.correlation(event) for event in traces.slices(trace, *traces.GPU)
                                  if event["args"].get("graph id"))
    sizes = collections.Counter(records.values())
    receipt = traces.receipt(trace)
    good = first is not None and len(sizes) == 1 and receipt["launches_joined"] == receipt["launches_expected"] > 0
    bench.found("attach while a graph replays", f"yes: {len(records)} replays of {max(sizes, default=0)} operations each, "
                f"all joined; first record {first:.2f} s after its probes" if good else
                f"no: {receipt['launches_joined']} of {receipt['launches_expected']} joined, operations a replay: "
                f"{dict(sizes)}", good, sizes=[[size, count] for size, count in sizes.items()], receipt=receipt)
    bench.found_on_silicon("longest pause of the program meanwhile", f"{during['longest_ns'] / 1e6:.1f} ms in a step; "
                           f"untraced {alone['longest_ns'] / 1e6:.1f} ms", True, alone=alone, during=during)
