# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""GPU times on the CPU's clock.  One kernel at a time on an idle GPU: it cannot begin before its launch was called, and
it has ended when the wait for it returns.  The shortest delay from the call to the GPU is constant, and so is the
shortest delay back.  If the clocks drift, one seems to grow by as much as the other shrinks; if the machine is busy
with other work, only one of them grows."""

import traces
from program import Torch, Trace

PAUSE_MS = 20
WINDOWS = 4
MOST_DRIFT_US = 5.0


def rows(trace):
    """(call of the launch, kernel's start, kernel's end, return of the wait) in us, by time."""
    calls = [call for call in traces.slices(trace, *traces.API)
             if any(function == "spaced_launch" for _, function in traces.frames(call))]
    kernels = {traces.correlation(event): event for event in traces.slices(trace, "kernel")}
    found, waiting = [], None
    for call in sorted(calls, key=lambda call: call["ts"]):
        kernel = kernels.get(traces.correlation(call))
        if kernel:
            waiting = (call["ts"], kernel["ts"], kernel["ts"] + kernel["dur"])
        elif waiting and call["name"] in ("cudaDeviceSynchronize", "cuCtxSynchronize") and call["dur"]:
            found.append((*waiting, call["ts"] + call["dur"]))
            waiting = None
    return found


def shortest(found):
    """(delay from call to kernel, delay from kernel to the end of the wait) in us: the shortest in each window."""
    size = len(found) // WINDOWS
    return [(min(start - call for call, start, _, _ in window), min(back - end for _, _, end, back in window))
            for window in (found[at:at + size] for at in range(0, size * WINDOWS, size))]


def movement(ways):
    """The largest drift between two windows: one delay grows and the other shrinks by at least this."""
    return max(min(later[0] - earlier[0], earlier[1] - later[1]) for earlier in ways for later in ways)


def drift(bench):
    seconds = bench.size(120, 12)
    with Torch() as torch:
        torch.make("small")
        with Trace(bench.folder / "trace", "-p", torch.pid) as trace:
            if not trace.wait_for_gpu_times(torch, "small"):
                bench.found("clocks", "no GPU times came", False, messages=trace.messages)
                return
            torch.ask("spaced", seconds, PAUSE_MS)
            trace.stop()
        torch.end()
    trace = traces.load(bench.folder / "trace/trace.json")
    found, error_us = rows(trace), traces.receipt(trace)["clock_error_ns"] / 1e3
    if len(found) < WINDOWS * 30:
        bench.found("clocks", f"{len(found)} kernels with their launch and wait", False, receipt=traces.receipt(trace))
        return
    early = min(start - call for call, start, _, _ in found)
    late = max(end - back for _, _, end, back in found)
    bench.found("no kernel before its launch", f"the nearest begins {early:.2f} us after it; stated error {error_us:.3f} "
                f"us, {len(found)} kernels", early >= -error_us, rows=found[:2000])
    bench.found("no kernel after its wait", f"the nearest ends {-late:.2f} us before it", late <= error_us)
    ways = shortest(found)
    moved = movement(ways)
    bench.found("drift of GPU times", f"{moved:.2f} us over {seconds} s", moved <= max(MOST_DRIFT_US, 2 * error_us),
                shortest_us=ways)
