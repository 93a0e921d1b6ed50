# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The GPU's own measure of time, CUDA events, against the sum of durations in a trace."""

import statistics

import traces
from program import Torch, Trace

PAIRS = 10
MOST_APART = 0.02  # share of the time between the events
MOST_APART_US = 10  # an event is stamped when the work before it has ended, not when the next work begins


def groups(trace, count):
    """Kernels under the function between the events, in order, one list for each pair."""
    calls = {traces.correlation(call) for call in traces.slices(trace, *traces.API)
             if any(function == "marked_steps_without_wait" for _, function in traces.frames(call))}
    kernels = sorted((event["ts"], event["ts"] + event["dur"]) for event in traces.slices(trace, "kernel")
                     if traces.correlation(event) in calls)
    size = len(kernels) // count
    return [kernels[at:at + size] for at in range(0, size * count, size)] if size and len(kernels) == size * count else []


def gpu_time(bench):
    with Torch() as torch:
        torch.make("large")
        with Trace(bench.folder / "trace", "-p", torch.pid) as trace:
            if not trace.wait_for_gpu_times(torch, "large"):
                bench.found("time between two CUDA events", "no GPU times came", False, messages=trace.messages)
                return
            elapsed_us = [ms * 1e3 for ms in torch.ask("events", PAIRS, "large")]
            trace.stop()
        torch.end()
    rows = groups(traces.load(bench.folder / "trace/trace.json"), PAIRS)
    if not rows:
        bench.found("time between two CUDA events", "its kernels are not all in the trace", False)
        return
    spans = [row[-1][1] - row[0][0] for row in rows]
    sums = [sum(end - start for start, end in row) for row in rows]
    gaps = [(between - span, max(MOST_APART_US, MOST_APART * between)) for span, between in zip(spans, elapsed_us)]
    apart = [abs(gap) for gap, _ in gaps]
    # A program that is held up launches late, or records its event late: that makes the time between the events longer,
    # never shorter.
    good = sum(gap <= most for gap, most in gaps) * 2 > PAIRS and all(gap >= -most for gap, most in gaps)
    data = {"events_us": elapsed_us, "first_to_last_us": spans, "sum_us": sums}
    bench.found("time between two CUDA events", f"{statistics.median(elapsed_us):.1f} us; first to last kernel in the "
                f"trace {statistics.median(spans):.1f} us, {statistics.median(apart):.1f} us apart, {max(apart):.1f} at most", good,
                **data)
    share = statistics.median(part / between for part, between in zip(sums, elapsed_us))
    bench.found_on_silicon("kernels' durations add up to it", f"{share:.3f} of the time between the events",
                           abs(share - 1) <= MOST_APART, **data)
