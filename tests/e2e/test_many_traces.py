# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Eight gputraces of every kind at the same time, over eight programs, which begin and end at random times.  Each has all
launches of its own programs in its own time, and nothing else, by the account of the simulated GPU.  An agent is at work
only while a trace of its program wants it."""

import bisect
import collections
import concurrent.futures
import contextlib
import random
import signal
import time

import gptlog
import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome, simulated

AS_USER = machine.PROGRAMS / "as_user.sh"
SOME_S = 1.5  # traces begin at random times within that many seconds, and go on for a random time of that length


class Launches:
    """What the simulated GPU says of one process."""

    def __init__(self, path):
        self.pid = pid_of(path)
        entries = simulated.load(path)
        self.by_thread, self.work = collections.defaultdict(list), collections.defaultdict(list)
        self.calls = collections.defaultdict(list)
        for call in simulated.calls(entries):
            self.calls[call["tid"]].append(call)
        for call in reading.simulated_launches(entries):
            self.by_thread[call["tid"]].append(call)
        for calls in self.by_thread.values():
            calls.sort(key=lambda call: call["exit"])
        for op in simulated.work(entries):
            self.work[op["corr"]].append(op["end"] - op["start"])
        self.inner = ()  # names of calls that others make, which are seen until the others have probes
        self.start_ns = min((call["enter"] for call in simulated.calls(entries)), default=float("inf"))

    def between(self, start_ns, end_ns):
        """The correlation ids of the launches that began and ended within these times for sure: the thread may have been
        preempted between the call and the time at which the simulated GPU says that it began."""
        found = set()
        for tid, calls in self.by_thread.items():
            after = start_ns and min((call["exit"] for call in self.calls[tid] if call["exit"] > start_ns), default=end_ns)
            found |= {call["corr"] for call in calls if after <= call["enter"] and call["exit"] < end_ns}
        return found

    def seen_as(self, calls_seen):
        """{correlation id: event of the trace}.  Those of a thread follow on one another: none is left out or twice."""
        found = {}
        for tid, events in calls_seen.items():
            calls = self.by_thread[tid]
            first = bisect.bisect_right([call["exit"] for call in calls], events[0][0])
            assert len(calls) - first >= len(events), f"thread {tid} of {self.pid}: launches that it has not made"
            for (at, event), call, following in zip(events, calls[first:], [*calls[first + 1:], None]):
                assert at <= call["exit"] and (not following or at < following["enter"]), (self.pid, tid, at, call)
                assert event["name"] == call["name"] or event["name"] in self.inner, (self.pid, tid, event, call)
                found[call["corr"]] = event
        return found


class Seen:
    """What a trace has of one process."""

    def __init__(self, log, pid):
        self.trace = reading.trace_of(tracing.export_process(log, pid))
        to_monotonic = self.trace["baseTimeNanoseconds"] - gptlog.Log(log).wall_offset_ns
        self.launches, self.work = collections.defaultdict(list), collections.defaultdict(list)
        for event in chrome.events(self.trace, *chrome.API):
            if "Launch" in event["name"]:
                self.launches[event["tid"]].append((to_monotonic + chrome.ns(event["ts"]), event))
        for calls in self.launches.values():
            calls.sort(key=lambda call: call[0])
        for event in chrome.events(self.trace, *chrome.GPU):
            self.work[reading.cupti_correlation(event)].append(chrome.ns(event["dur"]))


def pid_of(path):
    return int(path.stem.partition("-")[2])


class Program:
    """A program on the simulated GPU, which launches until the test says so."""

    def __init__(self, kind, folder, user=False):
        self.kind, self.folder, self.over = kind, folder, folder / "over"
        folder.mkdir()
        folder.chmod(0o777)
        python = machine.SYSTEM_PYTHON if user else machine.tool("get-torch") if kind == "torch" else machine.any_python()
        words = {"train": (machine.WORKLOADS / "train.py", "--threads", "2", "--until"),
                 "graph": (machine.WORKLOADS / "train.py", "--graph", "--until"),
                 "torch": (machine.WORKLOADS / "torch_train.py", "--until")}
        program = [python, *words.get(kind, (machine.PROGRAMS / "forks_until.py", kind)), self.over]
        truth, self.by = folder / "gpu-%p.json", (AS_USER,) if user else ()
        if kind in words:
            self.command = tracing.on_simgpu(truth, *program)
        else:  # its parent must not have mapped libcuda before it forks, which simgpu-run does
            self.command = ["env", f"LD_LIBRARY_PATH={machine.SIMGPU}", f"SIMGPU_TRUTH={truth}", *program]

    def start(self):
        """Starts it without a gputrace."""
        self.running = tracing.Running([*self.by, *self.command], self.folder, env={"TMPDIR": self.folder})
        return self.running

    def truths(self):
        """Files of the processes that have used CUDA, so far."""
        return sorted(self.folder.glob("gpu-*.json"))

    def end(self):
        self.over.touch()
        self.running.end().must_be(0)


def work_of(log, way):
    """The processes in segments of the log that have GPU work, or calls where no agent is asked.  Reads only their headers."""
    kinds = {logfile.CALL_ARGS, logfile.CALL} if way == "off" else {logfile.KERNEL}
    try:
        return {pid for segment in gptlog.Log(log).segments if kinds & set(segment.kinds) for pid in segment.pids or ()}
    except (FileNotFoundError, gptlog.Damaged):  # it has just got its name, or has none yet
        return set()


class Trace:
    """A gputrace.  way: bpf, agent or off.  It traces a program that runs, a command, or (several programs) the machine."""

    def __init__(self, folder, way, *programs, command=False, user=False):
        self.folder, self.way, self.programs, self.command, self.user = folder, way, programs, command, user
        folder.mkdir()
        folder.chmod(0o777)
        self.log = folder / "trace.gpt"

    def start(self, gputrace):
        words = [*((AS_USER,) if self.user else ()), gputrace, "-v", "-o", self.log,
                 *{"agent": ("--way", "agent"), "off": ("--agent", "off"), "bpf": ()}[self.way]]
        if self.command:
            words += ["--", *self.programs[0].command]
        elif len(self.programs) == 1:
            words += ["-p", self.programs[0].running.pid]
        self.running = tracing.Running(words, self.folder, env={"TMPDIR": self.folder})
        self.running.wait_line("gputrace: tracing", "stderr")
        return self.running

    def has_work(self):
        """Whether it has records of each program."""
        found = set().union(*(work_of(log, self.way) for log in self.folder.glob("trace.gpt.part-*")))
        return all(found & set(map(pid_of, program.truths())) for program in self.programs)

    def end(self):
        if self.command:
            self.programs[0].over.touch()
        return self.running.end(None if self.command else signal.SIGINT).must_be_of_machine()

    # ---- afterwards ----

    def times_ready(self):
        """{process: time from which its agent works for this trace}"""
        found, log = {}, gptlog.Log(self.log)
        for segment in log.segments:
            for batch in segment.records(log.schema)[segment.repeated:] if logfile.HELLO in segment.kinds else ():
                if any(record.type == logfile.HELLO and record.values["state"] == logfile.READY for record in batch.records):
                    found.setdefault(batch.values["pid"], max(batch.values["time_ns"], log.start_ns))
        return found

    def pids(self):
        return {pid_of(path) for program in self.programs for path in program.truths()}

    def processes(self):
        """Of its programs; of those that come and go the first three that have begun during the trace."""
        for program in self.programs:
            processes = [Launches(path) for path in program.truths()]
            if program.kind == "workers" and len(self.programs) > 1:
                processes = [process for process in processes if process.start_ns > self.start_ns][:3]
            yield from processes

    def assert_whole(self):
        self.start_ns = gptlog.Log(self.log).start_ns
        (end_ns,) = [record.values["time_ns"] for record in logfile.records(self.log, logfile.END)]
        ready = self.times_ready()
        known = {pid for segment in gptlog.Log(self.log).segments for pid in segment.pids}
        if len(self.programs) == 1:
            calls = {call.values["pid"] for call in logfile.records(self.log, logfile.CALL, logfile.CALL_ARGS)}
            assert calls and calls | set(ready) <= self.pids()
        others = [use.values for use in logfile.records(self.log, logfile.CUPTI_USE)
                  if use.values["pid"] in self.pids() and use.values["own"] == logfile.OTHER]
        assert not others, "calls of the agent are taken for those of another profiler"
        for process in self.processes():
            times = (0 if self.command else self.start_ns if process.start_ns < self.start_ns and self.way != "agent" else None,
                     ready.get(process.pid), end_ns)
            if process.pid in known and process.start_ns < end_ns:  # else it has made no call yet
                self.assert_has(process, *times)
            else:
                assert times[0] is None or not process.between(times[0], end_ns)

    def assert_has(self, process, start_ns, ready_ns, end_ns):
        """start_ns, ready_ns: from which on all calls, or all GPU work is recorded; None: not known."""
        seen = Seen(self.log, process.pid)
        process.inner = ("cuLaunchKernel",) if self.way != "agent" else ()
        launched = process.seen_as(seen.launches)
        for since in (start_ns, ready_ns):
            if since is not None:
                missing = process.between(since, end_ns) - set(launched)
                assert not missing, f"{self.folder.name}: {len(missing)} launches of {process.pid} are missing"
        for corr, spans in seen.work.items():
            if corr in launched:
                assert sorted(spans) == sorted(process.work[corr])
            else:  # launched before the recording began: of a graph perhaps only the later nodes began in it
                assert not collections.Counter(spans) - collections.Counter(process.work[corr])
        if self.way == "off":
            assert not seen.work and ready_ns is None
        elif ready_ns is not None:
            timed = process.between(start_ns if self.command else ready_ns, end_ns)
            without = {corr for corr in timed if process.work[corr]} - set(seen.work)
            assert not without, f"{self.folder.name}: {len(without)} launches of {process.pid} have no GPU work"
        receipt = reading.receipt(seen.trace)
        assert receipt["launches_joined"] == receipt["launches_expected"]
        assert receipt["gap_launches"] == 0
        if len(self.programs) == 1:  # the receipt counts what is lost of the whole machine
            assert reading.losses(seen.trace) == {}, seen.trace["gputrace"]["notes"]


def agents_of(program):
    return [pid for pid in map(pid_of, program.truths()) if tracing.has_thread(pid, "gputrace-agent")]


class Round:
    """Eight programs, two of which are commands, and eight traces."""

    def __init__(self, folder, seed):
        self.chance = random.Random(seed)
        kinds = ["train", "graph", "torch", "workers", "family"]
        self.free = [Program(kind, folder / kind) for kind in kinds]
        self.users = Program("train", folder / "user", user=True)
        commands = [Program(kind, folder / f"command-{number}", user=number == 1)
                    for number, kind in enumerate(self.chance.sample(["train", "workers", "family"], 2))]
        one, two, three = self.chance.choices(self.free, k=3)
        everything = (*self.free, self.users)
        self.traces = [Trace(folder / "machine", "bpf", *everything), Trace(folder / "machine-off", "off", *everything),
                       Trace(folder / "process", "bpf", one), Trace(folder / "process-off", "off", two),
                       Trace(folder / "process-agent", "agent", three), Trace(folder / "users-process", "agent", self.users, user=True),
                       Trace(folder / "command", "bpf", commands[0], command=True),
                       Trace(folder / "users-command", "agent", commands[1], command=True, user=True)]
        self.pauses = [[self.chance.uniform(0, SOME_S) for _ in range(2)] for _ in self.traces]
        self.at_work = set()

    def live(self, trace, pauses, gputrace):
        """The whole life of a gputrace, beside the others."""
        time.sleep(pauses[0])
        self.at_work.add(trace)
        with trace.start(gputrace):
            tracing.until(trace.has_work)
            time.sleep(pauses[1])
            trace.end()
        self.at_work.remove(trace)
        for program in trace.programs:
            tracing.until(lambda program=program: not agents_of(program) or self.is_wanted(program))

    def is_wanted(self, program):
        return any(program in trace.programs and trace.way != "off" for trace in list(self.at_work))

    def run(self, gputrace):
        with contextlib.ExitStack() as stack:
            for program in (*self.free, self.users):
                stack.enter_context(program.start())
            for program in (*self.free, self.users):
                tracing.until(program.truths)
            with concurrent.futures.ThreadPoolExecutor(len(self.traces)) as threads:
                for life in [threads.submit(self.live, *each, gputrace) for each in zip(self.traces, self.pauses)]:
                    life.result()
            for program in (*self.free, self.users):
                program.end()


@pytest.mark.torch
@pytest.mark.alone
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.further) for seed in range(2, 12))])
def test_eight_traces_of_eight_programs_are_each_complete(desk, seed):
    eight = Round(desk, seed)
    eight.run(desk / "gputrace")
    for trace in eight.traces:
        trace.assert_whole()
