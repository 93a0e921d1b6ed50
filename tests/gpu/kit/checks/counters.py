# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Clocks and power of GPUs: NVML answers, its GPU is the one that CUPTI names, and it costs little."""

import pathlib
import time

import traces
from program import Torch, Trace

MOST_PERCENT = 0.1  # of a processor: the project's number


def caller_of_nvml(gputrace):
    """The process of gputrace's that calls NVML; None: it has ended."""
    for listed in pathlib.Path(f"/proc/{gputrace}/task").glob("*/children"):
        for pid in listed.read_text().split():
            if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"gputrace-nvml\0"):
                return pid
    return None


def cpu_ns(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def counters(bench):
    seconds = bench.size(20, 2)
    percent = None
    with Torch() as torch:
        torch.make("training")
        with Trace(bench.folder / "trace", "-p", torch.pid) as trace:
            if not trace.wait_for_gpu_times(torch, "training"):
                bench.found("clocks of the GPU", "no GPU times came", False, messages=trace.messages)
                return
            caller = caller_of_nvml(trace.process.pid)
            begin, before = time.monotonic(), caller and cpu_ns(caller)
            torch.ask("run-for", seconds, "training")
            if caller:
                percent = (cpu_ns(caller) - before) / (time.monotonic() - begin) / 1e7
            trace.stop()
            said = [line.strip() for line in trace.report().splitlines() if "clocks" in line or "NVML" in line]
        torch.end()
    written = traces.load(bench.folder / "trace/trace.json")
    events = [event for event in written["traceEvents"] if event.get("ph") == "C"]
    clocks = [event["args"]["MHz"] for event in events if event["name"] == "SM clock"]
    devices = {kernel["pid"] for kernel in traces.slices(written, "kernel")}
    named = {event["pid"] for event in events}
    bench.found_on_silicon("clocks of the GPU", f"{len(clocks)} values, {min(clocks)} to {max(clocks)} MHz" if clocks else
                           f"none: {said[0] if said else 'no NVML'}", bool(devices) and devices <= named, events=events[:400], said=said)
    bench.found_on_silicon("processor's time for NVML", "no process" if percent is None else f"{percent:.3f} %",
                           percent is not None and percent <= MOST_PERCENT)
