# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Beside torch.profiler in the same process: it gets every record it would get without us, and what we did not get
because of it is counted."""

import collections
import json
import signal
import time

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome

pytestmark = pytest.mark.torch

N = 300  # launches of a phase


class Traced(tracing.Running):
    """gputrace -- programs/profiles.py on the simulated GPU, ready to be asked."""

    def __init__(self, folder):
        self.folder = folder
        program = [machine.tool("get-torch"), machine.PROGRAMS / "profiles.py"]
        outputs = tracing.outputs(folder, "trace.gpt", "trace.json")
        super().__init__([machine.GPUTRACE, *outputs, "--", *tracing.on_simgpu(folder / "gpu.json", *program)], folder)
        self.wait_line("ready")

    def session(self, path):
        for command in ("start", f"work {N}", f"stop {path}"):
            self.ask(command)

    def wait_registrations(self, *expected):
        """Until the log tells who registered, in that order: 1 the agent."""
        tracing.until(lambda: any(logfile.registrations(log) == list(expected)
                                  for log in self.folder.glob("trace.gpt.part-*")))


def kernels(path):
    """Names of the kernels that torch.profiler saw."""
    events = json.loads(path.read_text())["traceEvents"]
    return collections.Counter(e["name"] for e in events if e.get("ph") == "X" and e.get("cat") == "kernel")


def alone(folder):
    """The same session without us."""
    folder.mkdir()
    program = [machine.tool("get-torch"), machine.PROGRAMS / "profiles.py"]
    with tracing.Running(tracing.on_simgpu(folder / "gpu.json", *program), folder) as running:
        running.wait_line("ready")
        for command in (f"work {N}", "start", f"work {N}", f"stop {folder}/kineto.json"):
            running.ask(command)
        running.end()
    return kernels(folder / "kineto.json")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    seen = alone(tmp_path_factory.mktemp("alone") / "run")
    assert sum(seen.values()) == N
    return seen


def test_torch_profiler_starts_while_we_trace_and_misses_nothing(tmp_path, undisturbed):
    with Traced(tmp_path) as traced:
        traced.ask(f"work {N}")
        for number in range(2):
            traced.session(tmp_path / f"kineto{number}.json")
            traced.wait_registrations(*[1, 0] * (number + 1), 1)  # ours again
            traced.ask(f"work {N}")
        done = traced.end().must_be(0)
    assert [kernels(tmp_path / f"kineto{number}.json") for number in range(2)] == [undisturbed] * 2
    assert "activity type" not in done.stderr and "WARN" not in done.stderr
    receipt = reading.receipt(reading.trace_of(tmp_path / "trace.json"))
    assert (receipt["gaps"], receipt["gap_launches"]) == (2, 2 * N)
    assert receipt["launches_joined"] + receipt["gap_launches"] == receipt["launches_expected"] == 5 * N + 1
    assert receipt["lost"] == receipt["bad_records"] == receipt["gpu_operations_untimed"] == receipt["early"] == 0
    assert "600 launches whose GPU records went to another profiler" in done.stdout
    assert "torch.profiler) had CUPTI 2 times" in done.stdout


def test_torch_profiler_that_records_when_we_attach_misses_nothing(tmp_path, undisturbed):
    """Nobody tells that it does: the agent stays outside until its session is over, and comes in then."""
    program = [machine.tool("get-torch"), machine.PROGRAMS / "profiles.py"]
    with tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", *program), tmp_path) as running:
        running.wait_line("ready")
        running.ask(f"work {N}")
        running.ask("start")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            running.ask(f"work {N}")
            time.sleep(1)  # an agent that is not careful would come in now
            running.ask(f"stop {tmp_path}/kineto.json")
            tracer.wait_logged(lambda log: logfile.registrations(log)[-1:] == [1])
            running.ask(f"work {N}")
            done = tracer.interrupt()
        running.end()
    assert kernels(tmp_path / "kineto.json") == undisturbed
    assert "another profiler (torch.profiler) was recording; no GPU times until it has finished" in done.stdout
    receipt = reading.receipt(reading.trace_of(tmp_path / "trace.json"))
    assert receipt["launches_joined"] == receipt["launches_expected"] == N


def test_gpu_times_after_its_session_are_those_of_the_gpu(tmp_path):
    """It gives CUPTI a clock of its own, which stays when it ends."""
    with Traced(tmp_path) as traced:
        traced.ask(f"work {N}")
        traced.session(tmp_path / "kineto.json")
        traced.wait_registrations(1, 0, 1)
        traced.ask(f"work {N}")
        traced.end().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    truth = {op["corr"]: op["start_mono"] for op in reading.simulated.work(reading.simulated.load(tmp_path / "gpu.json"))}
    offsets = [chrome.ns(e["ts"]) - truth[e["args"]["correlation"]] for e in chrome.events(trace, "kernel")]
    assert len(offsets) == 2 * N + 1
    # The simulated CUPTI converts by a fitted line once it has been given a clock, as the real one does.
    assert max(offsets) - min(offsets) < 20000


@pytest.mark.parametrize("end_signal", [signal.SIGKILL, signal.SIGTERM])
def test_our_end_in_the_middle_of_its_session_takes_nothing_from_it(tmp_path, undisturbed, end_signal):
    with Traced(tmp_path) as traced:
        traced.ask(f"work {N}")
        traced.ask("start")
        traced.ask(f"work {N - 100}")
        traced.wait_registrations(1, 0)  # we have noticed
        target = [pid for pid in tracing.marked(traced.mark) if "gputrace-agent" in tracing.threads(pid)]
        traced.process.send_signal(end_signal)
        tracing.until(lambda: "gputrace-agent" not in tracing.threads(target[0]))
        traced.ask("work 100")
        traced.ask(f"stop {tmp_path}/kineto.json")
    assert kernels(tmp_path / "kineto.json") == undisturbed
