# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace and torch.profiler show the same for equal steps.

CUPTI serves one of them at a time, so they record different steps of one program, or of two equal ones.
"""

import traces
from program import Torch, Trace, traced_command

KINDS = ("training", "copies", "streams", "graph", "pools")
MOST_GAP_US = 1.0
STEPS, QUICK_STEPS = 40, 30  # with few steps Kineto's clock fit is new, and it may drop work as out of its window


def say_missing(bench, what, torch):
    """Reports unavailable kinds of work as skipped: no failure of gputrace, but not silently left out."""
    for kind, why in torch.missing.items():
        bench.found(f"{what}: {kind}", why, "skipped")


def profiled(torch, folder, steps, kinds):
    """The same steps, recorded by torch.profiler."""
    path = folder / "profiler.json"
    torch.ask("profile-start", "full")
    torch.ask("run", steps, *kinds)
    torch.ask("profile-stop", path)
    return traces.profilers(traces.load(path))


def compare(bench, what, trace, kineto):
    traced, receipt = traces.traced(trace), traces.receipt(trace)
    counts, functions = (traced.counts(), kineto.counts()), (traced.functions(), kineto.functions())
    joined = receipt["launches_joined"], receipt["launches_expected"]
    bench.found(f"{what}: the same GPU work", f"{traced.kernels()} kernels of {len(traced.durations())} names, "
                f"{len(traced.operations) - traced.kernels()} copies and fills; torch.profiler: {kineto.kernels()}, "
                f"{len(kineto.operations) - kineto.kernels()}", counts[0] == counts[1] and traced.kernels() > 0,
                difference=traces.difference(*counts), counts=[[*key, n] for key, n in counts[0].items()],
                notes=traces.notes(trace))
    bench.found(f"{what}: every launch joined", f"{joined[0]} of {joined[1]}, {receipt['lost']} lost",
                joined[0] == joined[1] > 0 and not receipt["lost"], receipt=receipt)
    shapes = traced.shapes(), kineto.shapes()
    bench.found(f"{what}: the same shapes", f"{sum((shapes[0] & shapes[1]).values())} of {sum(shapes[1].values())} with the "
                "same grid, block, registers, shared memory, bytes", shapes[0] == shapes[1],
                difference=traces.difference(*shapes))
    estimated = traced.occupancies()
    other = {kernel: [estimated.get(kernel), percent] for kernel, percent in kineto.occupancies().items()
             if percent and estimated.get(kernel) != percent}
    bench.found(f"{what}: the same estimated occupancy", f"{len(estimated) - len(other)} of {len(estimated)} kernels",
                not other and any(estimated.values()), other=[[*kernel, *values] for kernel, values in other.items()])
    under = sum((functions[0] & functions[1]).values())
    bench.found(f"{what}: under the right function", f"{under} of {sum(functions[1].values())} operations under the "
                f"function where torch.profiler has them", functions[0] == functions[1] and under > 0,
                difference=traces.difference(*functions))
    gap, worst, worst_gap = traces.duration_gap_us(traced, kineto)
    figure = "no kernel in both" if gap is None else (
        f"medians of a kernel differ by {gap:.3f} us in the median, {worst_gap:.2f} us at most ({worst[:40]})")
    bench.found(f"{what}: the same durations", figure, gap is not None and gap <= MOST_GAP_US,
                ours_ns=traced.durations(), profiler_ns=kineto.durations())


def name_gpu(bench, trace):
    """The GPU existed before the trace began, so CUPTI reports it only on request."""
    names = [device.get("name") for device in trace["deviceProperties"]]
    bench.found("-p PID: the GPU is named", ", ".join(map(str, names)) or "none", names[:1] == [bench.facts["gpu"]],
                devices=trace["deviceProperties"])


def attached(bench, what, kinds, options=(), **environment):
    """Compares the available kinds of work; returns the trace."""
    steps = bench.size(STEPS, QUICK_STEPS)
    with Torch(**environment) as torch:
        kinds = torch.make(*kinds)
        say_missing(bench, what, torch)
        if not kinds:
            return None
        with Trace(bench.folder / "trace", "-p", torch.pid, *options) as trace:
            if not trace.wait_for_gpu_times(torch, kinds[0]):
                bench.found(f"{what}: GPU times", "none came", False, messages=trace.messages)
                return None
            torch.ask("run", steps, *kinds)
            trace.stop()
        kineto = profiled(torch, bench.folder, steps, kinds)
        torch.end()
    trace = traces.load(bench.folder / "trace/trace.json")
    compare(bench, what, trace, kineto)
    return trace


def attach(bench):
    trace = attached(bench, "-p PID", KINDS)
    if trace:
        name_gpu(bench, trace)


def by_the_agent(bench):
    attached(bench, "--way agent", KINDS, ("--way", "agent"))


def convolutions(bench):
    attached(bench, "cuDNN", ("convolutions",))


def compiled(bench):
    attached(bench, "Triton", ("compiled",))


def driver_pools(bench):
    """cudaMallocAsync for all of PyTorch's memory; the variable's name depends on the version."""
    attached(bench, "cudaMallocAsync", ("training",), PYTORCH_ALLOC_CONF="backend:cudaMallocAsync",
             PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")


def command(bench):
    steps, folder = bench.size(STEPS, QUICK_STEPS), bench.folder / "trace"
    with Torch(*traced_command(folder)) as torch:
        kinds = torch.make(*KINDS)
        torch.ask("run", steps, *kinds)
        status, _ = torch.end()
    if status:
        bench.found("-- COMMAND: exit status", status, False)
        return
    with Torch() as torch:
        torch.make(*KINDS)
        kineto = profiled(torch, bench.folder, steps, kinds)
        torch.end()
    compare(bench, "-- COMMAND", traces.load(folder / "trace.json"), kineto)
