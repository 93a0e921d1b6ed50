# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Other users of CUPTI in the traced process.  Their GPU times must be complete, even if gputrace's are not.  gputrace
must account for each launch without a GPU time: as a gap, or by a reason in the notes or the report.

Whether gputrace gets GPU times while the other one records is a figure here, not a verdict.  After it has ended they
must come, except beside a torch.profiler that keeps CUPTI's subscriber.
"""


import logged
import traces
from program import Torch, Trace

LAUNCHES = 200  # in a step of the kind "small"
STEPS = 5
HOLDER_S = 3  # enough time for an agent to register with CUPTI, if it did
RECORD_KERNELS = "1"  # MODE_KERNELS of cupti_probe.c
SETTLE_S = 20  # the agent records again within two seconds of a session's end, except on a busy machine or if CUPTI is held
REASONS = ("holds CUPTI", "was recording", "went to another profiler", "had CUPTI", "no GPU times")


def kernels_of(path):
    return len(traces.slices(traces.load(path), "kernel"))


class Session:
    """One session of torch.profiler in the program."""

    def __init__(self, bench, torch, name):
        self.torch, self.path, self.steps = torch, bench.folder / f"{name}.json", 0
        torch.ask("profile-start")

    def work(self, count=STEPS, traced=True):
        self.torch.ask("run-in-session" if traced else "idle", count, "small")
        self.steps += count

    def stop(self):
        self.torch.ask("profile-stop", self.path)

    def judge(self, bench, what):
        seen, made = kernels_of(self.path), self.steps * LAUNCHES
        bench.found(what, f"{seen} of {made} kernels in its trace", seen == made)


def accounted(trace, tracer, launches, timed):
    """Whether gputrace says why launches have no GPU time."""
    said = tracer.report() + " ".join(traces.notes(trace))
    missing = launches - timed
    return missing == 0 or traces.receipt(trace)["gap_launches"] >= missing or any(text in said for text in REASONS)


def judge_traced(bench, what, tracer, under, must=False):
    """Reports the GPU times under a mark. Unless they must be there, a stated reason for missing ones is enough."""
    trace = traces.load(tracer.folder / "trace.json")
    launches, timed = traces.launches_under(trace, under)
    good = launches >= STEPS * LAUNCHES and (timed == launches if must else accounted(trace, tracer, launches, timed))
    answer = "yes" if timed == launches else "no, and it says why" if not must and good else "no"
    bench.found(what, f"{answer}: {timed} of {launches} launches have GPU times", good, receipt=traces.receipt(trace),
                notes=traces.notes(trace), report=tracer.report()[-4000:])


def recording(bench):
    with Torch() as torch:
        torch.make("small")
        session = Session(bench, torch, "session")
        session.work(2, traced=False)
        with Trace(bench.folder / "trace", "-p", torch.pid) as tracer:
            session.work()
            tracer.wait_looks()  # a careless agent would have begun to record by then
            session.work()
            session.stop()
            tracer.work_until(logged.agent_registered_last, torch, "small", SETTLE_S)
            torch.ask("run", STEPS, "small")
            tracer.stop()
        torch.end()
    session.judge(bench, "torch.profiler recorded when we came")
    judge_traced(bench, "GPU times in its session", tracer, "steps_in_session")
    judge_traced(bench, "GPU times after it", tracer, "marked_steps", must=True)


def start_and_stop(bench, torch, tracer):
    """A session while gputrace traces, and work after it."""
    tracer.wait_for_gpu_times(torch, "small", SETTLE_S)
    session = Session(bench, torch, "session")
    session.work()
    session.stop()
    tracer.work_until(logged.agent_registered_last, torch, "small", SETTLE_S)
    torch.ask("run", STEPS, "small")
    tracer.stop()
    return session


def starting(bench):
    """torch.profiler was used before gputrace attached, so its one-time initialization is done."""
    with Torch() as torch:
        torch.make("small")
        Session(bench, torch, "before").stop()
        with Trace(bench.folder / "trace", "-p", torch.pid) as tracer:
            session = start_and_stop(bench, torch, tracer)
        torch.end()
    session.judge(bench, "torch.profiler started while we traced")
    judge_traced(bench, "GPU times in that session", tracer, "steps_in_session")
    judge_traced(bench, "GPU times after that session", tracer, "marked_steps", must=True)


def first_use(bench):
    """Up to PyTorch 2.14 torch.profiler subscribes at its first session or never: it must find the subscriber free."""
    with Torch() as torch:
        torch.make("small")
        with Trace(bench.folder / "trace", "-p", torch.pid) as tracer:
            session = start_and_stop(bench, torch, tracer)
        later = Session(bench, torch, "later")
        later.work()
        later.stop()
        torch.end()
    session.judge(bench, "torch.profiler first used while we trace")
    later.judge(bench, "that torch.profiler after we have left")
    judge_traced(bench, "GPU times in that first session", tracer, "steps_in_session")
    judge_traced(bench, "GPU times after that first session", tracer, "marked_steps", must=True)


def idle(bench):
    """Up to PyTorch 2.14 torch.profiler keeps CUPTI's subscriber for the life of the process."""
    with Torch() as torch:
        torch.make("small")
        session = Session(bench, torch, "before")
        session.work()
        session.stop()
        with Trace(bench.folder / "trace", "-p", torch.pid) as tracer:
            tracer.wait_for_gpu_times(torch, "small", SETTLE_S)
            torch.ask("run", STEPS, "small")
            tracer.stop()
        again = Session(bench, torch, "after")
        again.work()
        again.stop()
        torch.end()
    judge_traced(bench, "GPU times beside an idle torch.profiler", tracer, "marked_steps", must=True)
    again.judge(bench, "the idle torch.profiler's next session")


def holder(bench):
    """Another tool, not PyTorch's, subscribes and records kernels; it must lose nothing."""
    with Torch() as torch:
        torch.make("small")
        started = torch.probe("probe_start", bench.facts["cupti"], RECORD_KERNELS)["result"]
        with Trace(bench.folder / "trace", "-p", torch.pid) as tracer:
            torch.ask("run-for", HOLDER_S, "small", 1000)
            torch.ask("run", STEPS, "small")
            tracer.stop()
        made = torch.ask("launched", "small") * LAUNCHES
        seen = torch.probe("probe_stop")
        with Trace(bench.folder / "later", "-p", torch.pid) as later:
            later.wait_for_gpu_times(torch, "small")
            torch.ask("run", STEPS, "small")
            later.stop()
        torch.end()
    bench.found("another subscriber misses nothing", f"{seen['kernels']} of {made} kernels in its records",
                started == seen["result"] == 0 and seen["kernels"] == made, seen=seen)
    judge_traced(bench, "GPU times beside it", tracer, "marked_steps")
    judge_traced(bench, "GPU times once it is gone", later, "marked_steps", must=True)


def second(bench):
    with Torch() as torch:
        torch.make("small")
        with Trace(bench.folder / "first", "-p", torch.pid) as one:
            came = one.wait_for_gpu_times(torch, "small")
            with Trace(bench.folder / "second", "-p", torch.pid) as two:
                came &= two.wait_for_gpu_times(torch, "small")
                torch.ask("run", STEPS, "small")
                two.stop()
            torch.ask("run", STEPS, "small")
            one.stop()
        torch.end()
    if not came:
        bench.found("two gputraces on one process", "no GPU times came", False, messages=one.messages + two.messages)
        return
    judge_traced(bench, "two gputraces: the first", one, "marked_steps", must=True)
    judge_traced(bench, "two gputraces: the second", two, "marked_steps", must=True)
