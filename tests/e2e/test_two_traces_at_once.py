# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two gputraces on one process and one agent: each has what happened while it was there, whoever goes first."""

import collections
import signal

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome

STEPS = 20


class Pair:
    """gputrace -- COMMAND on the simulated GPU, and a second one that came later by -p."""

    def __init__(self, folder):
        self.folders = [folder / "first", folder / "second"]
        for path in self.folders:
            path.mkdir()
        self.truth = folder / "gpu.json"
        program = [machine.any_python(), machine.PROGRAMS / "obedient.py"]
        outputs = tracing.outputs(self.folders[0], "trace.json", "trace.gpt")
        self.first = tracing.Running(
            [machine.GPUTRACE, *outputs, "--", *tracing.on_simgpu(self.truth, *program)], self.folders[0])

    def __enter__(self):
        self.first.__enter__()
        self.first.wait_line("ready")
        self.work()
        pid = next(pid for pid in tracing.marked(self.first.mark) if "gputrace-agent" in tracing.threads(pid))
        self.pid = pid
        self.second = tracing.Tracer(self.folders[1], "-p", pid)
        return self

    def __exit__(self, *error):
        self.second.__exit__()
        self.first.__exit__()

    def work(self):
        self.first.ask(f"steps {STEPS}")
        self.first.ask("finish")

    def wait_heard(self):
        """Until the second one has heard of GPU work, working meanwhile."""
        def heard():
            self.work()
            return any(logfile.has_kernel(log) for log in self.folders[1].glob("trace.gpt.part-*"))

        tracing.until(heard)


def operations(trace):
    return collections.Counter((e["cat"], e["name"], e["args"]["correlation"]) for e in chrome.events(trace, *chrome.GPU))


def complete(trace):
    receipt = reading.receipt(trace)
    return receipt["launches_joined"] == receipt["launches_expected"] > 0 and receipt["lost"] == 0


def test_the_second_has_all_that_the_first_has_of_its_time(tmp_path):
    with Pair(tmp_path) as pair:
        pair.wait_heard()
        pair.work()
        pair.second.interrupt().must_be(0)
        pair.work()
        pair.first.end().must_be(0)
    first, second = (reading.trace_of(folder / "trace.json") for folder in pair.folders)
    assert complete(first) and complete(second)
    # The first one is not disturbed by who comes and goes
    assert sum(operations(first).values()) == len(reading.simulated.work(reading.simulated.load(pair.truth)))
    # The second has the same operations from its first to its last, with their names
    ours = operations(second)
    assert len(ours) > 50
    between = range(min(key[2] for key in ours), max(key[2] for key in ours) + 1)
    assert ours == collections.Counter({key: n for key, n in operations(first).items() if key[2] in between})
    assert second["deviceProperties"] == first["deviceProperties"]


@pytest.mark.parametrize("end_signal", [signal.SIGTERM, signal.SIGKILL])
def test_the_second_goes_on_when_the_first_has_gone(tmp_path, end_signal):
    with Pair(tmp_path) as pair:
        pair.wait_heard()
        pair.first.process.send_signal(end_signal)
        pair.first.process.wait(tracing.PATIENCE_S)
        pair.work()
        assert "gputrace-agent" in tracing.threads(pair.pid)
        pair.second.interrupt().must_be(0)
        tracing.until(lambda: "gputrace-agent" not in tracing.threads(pair.pid))
        pair.work()
    second = reading.trace_of(pair.folders[1] / "trace.json")
    assert complete(second)
    found = operations(second)
    first, last = min(key[2] for key in found), max(key[2] for key in found)
    work = reading.simulated.work(reading.simulated.load(pair.truth))
    assert sum(found.values()) == len([op for op in work if first <= op["corr"] <= last])
    assert work[-1]["fate"] == "unseen"  # nobody records any more
