# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ops of PyTorch (--ops): the same run recorded by torch.profiler and gputrace."""

import collections
import json

import machine
import pytest
import reading
import tracing
from reading import chrome

pytestmark = pytest.mark.torch

OPS = ("cpu_op", "user_annotation")
ELSEWHERE = "scripted"  # starts on one thread, and may end on the thread that it forked
PYTHONS = {"newest": lambda: machine.tool("get-torch"), "older": machine.older_torch}


class Seen:
    """Ops in a file that are inside `section`."""

    def __init__(self, path):
        self.events = json.loads(path.read_text())["traceEvents"]
        ops = [e for e in self.events if e.get("cat") in OPS and e["ph"] == "X"]
        self.coarse = all(float(e["ts"]).is_integer() for e in ops)  # PyTorch 1.13: whole microseconds, without order
        section = next(e for e in ops if e["name"] == "section")
        end = float(section["ts"]) + float(section["dur"])
        self.ops = [e for e in ops if float(section["ts"]) < float(e["ts"]) < end]
        self.by_id = {e["args"]["External id"]: e for e in self.ops}
        self.threads = collections.defaultdict(list)
        for op in sorted(self.ops, key=lambda e: (float(e["ts"]), -float(e["dur"]))):
            if op["name"] != ELSEWHERE:
                self.threads[op["tid"]].append(op)

    def reported(self, tid):
        """[(category, name, sequence number, forward thread)] of a thread, by start; Kineto writes ' for "."""
        return [(e["cat"], e["name"].replace('"', "'"), e["args"].get("Sequence number"), e["args"].get("Fwd thread id"))
                for e in self.threads[tid]]

    def nesting(self, tid):
        """[(name, number of ops around it)]"""
        around, found = [], []
        for op in self.threads[tid]:
            begin, end = float(op["ts"]), float(op["ts"]) + float(op["dur"])
            while around and around[-1] <= begin:
                around.pop()
            found.append((op["name"].replace('"', "'"), len(around)))
            around.append(end)
        return found

    def kernels(self):
        """{(GPU work, name of its op): count}"""
        found = collections.Counter()
        for event in self.events:
            if event.get("cat") in chrome.GPU and event["args"].get("External id") in self.by_id:
                op = self.by_id[event["args"]["External id"]]
                found[event["name"], op["name"].replace('"', "'")] += 1
        return found

    def arrows(self):
        """{(name of the op where an arrow to a backward op starts, name where it ends): count}"""
        ends = collections.defaultdict(dict)
        for event in self.events:
            if event.get("cat") == "fwdbwd":
                ends[event["id"]][event["ph"]] = (event["tid"], event["ts"])
        at = {(op["tid"], op["ts"]): [] for op in self.ops}
        for op in self.ops:
            at[op["tid"], op["ts"]].append(op["name"])
        return collections.Counter((tuple(at[end["s"]])[-1], tuple(at[end["f"]])[-1]) for end in ends.values()
                                   if end.keys() == {"s", "f"} and end["s"] in at and end["f"] in at)


class Run:
    def __init__(self, folder, device, version):
        program = [PYTHONS[version](), machine.PROGRAMS / "torch_ops.py", device, folder / "profiled.json"]
        command = tracing.on_simgpu(folder / "gpu.json", *program) if device == "cuda" else program
        self.folder = folder
        self.done = tracing.trace(folder, command, "--ops")
        self.traced, self.profiled = Seen(folder / "trace.json"), Seen(folder / "profiled.json")


@pytest.fixture(scope="module", params=[(device, version) for device in ("cpu", "cuda") for version in PYTHONS],
                ids="-".join)
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("ops"), *request.param)


def test_the_same_ops_are_there_with_their_sequence_numbers(run):
    assert len(run.profiled.ops) > 500
    for tid in run.profiled.threads:
        traced, profiled = run.traced.reported(tid), run.profiled.reported(tid)
        if run.profiled.coarse:  # 1.13 has no forward threads either
            traced, profiled = (collections.Counter(op[:3] for op in ops) for ops in (traced, profiled))
        assert traced == profiled


def test_ops_nest_as_they_do_for_torch_profiler(run):
    if run.profiled.coarse:
        pytest.skip("its torch.profiler reports whole microseconds, which do not say what is inside of what")
    for tid in run.profiled.threads:
        assert run.traced.nesting(tid) == run.profiled.nesting(tid)


def test_arrows_lead_from_forward_to_backward_ops_as_theirs_do(run):
    if run.profiled.coarse:
        pytest.skip("its torch.profiler reports whole microseconds, and arrows begin between ops")
    assert sum(run.profiled.arrows().values()) > 50
    assert run.traced.arrows() == run.profiled.arrows()


def test_arrows_are_the_same_in_what_is_made_of_their_file(run):
    if run.profiled.coarse:
        pytest.skip("its torch.profiler reports whole microseconds, and arrows begin between ops")
    again = run.folder / "again.json"
    tracing.gputrace(run.folder, "export", run.folder / "profiled.json", "-o", again).must_be(0)
    assert Seen(again).arrows() == run.profiled.arrows()


def test_gpu_work_is_under_the_same_op(run):
    assert run.traced.kernels() == run.profiled.kernels()


def test_nothing_was_lost(run):
    receipt = reading.receipt(reading.trace_of(run.folder / "trace.json"))
    assert (receipt["ops_lost"], receipt["bad_records"]) == (0, 0)


def test_an_op_that_ends_on_another_thread_is_counted_where_it_is_not_drawn(run):
    """In each of its two runs it is a race which thread ends it."""
    drawn = sum(e["name"] == ELSEWHERE and e["ph"] == "X" for e in run.traced.events)
    counted = reading.receipt(reading.trace_of(run.folder / "trace.json"))["file_ops_not_plotted"]
    assert drawn + counted == 2


def test_the_file_keeps_its_promises(run):
    chrome.assert_valid(run.folder / "trace.json")


def test_the_table_has_the_same_ops_as_that_of_torch_profiler(run):
    """The titles and number of columns are the same; the counts are not, as gputrace's table is of the whole run."""
    traced = tracing.gputrace(run.folder, "report", run.folder / "trace.gpt", "--ops").must_be(0).stdout.splitlines()
    profiled = (run.folder / "profiled.json.table").read_text().splitlines()
    assert traced[1].split() == profiled[1].split()
    assert [len(dashes) for dashes in traced[0].split()[1:]] == [len(dashes) for dashes in profiled[0].split()[1:]]
