# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Collectives of torch.distributed (--ops) over the simulated NCCL: the same run as torch.profiler and gputrace saw it."""

import collections
import json

import machine
import pytest
import reading
import tracing
from reading import chrome

pytestmark = pytest.mark.torch

RANKS = 2
COLLECTIVE = "record_param_comms"
FIELDS = ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "In split size", "Out split size", "Group size",
          "Process Group Name", "Process Group Description", "Process Group Ranks", "Rank", "Global rank start",
          "Global rank stride", "Src Rank", "Dst Rank", "Seq", "Comms Id", "Is asynchronized op")
PYTHONS = {"newest": lambda: machine.tool("get-torch"), "older": machine.older_torch}


def facts(event):
    return tuple((name, event["args"][name]) for name in FIELDS if name in event["args"])


def name_of(told):
    """Versions differ: allreduce, all_reduce."""
    return dict(told)["Collective name"].replace("_", "")


class Seen:
    """What a file says of one process's collectives inside of `section`."""

    def __init__(self, events, pid):
        mine = [e for e in events if e["ph"] == "X" and e["pid"] == pid]
        section = next(e for e in mine if e["name"] == "section")
        begin, end = float(section["ts"]), float(section["ts"]) + float(section["dur"])
        self.ops = sorted((e for e in mine if e["name"] == COLLECTIVE and begin < float(e["ts"]) < end),
                          key=lambda e: float(e["ts"]))
        ids = {e["args"]["External id"] for e in self.ops}
        self.gpu = [e for e in events if e.get("cat") in chrome.GPU and e["args"].get("External id") in ids]

    def told(self):
        return [facts(op) for op in self.ops]

    def gpu_work(self):
        return collections.Counter((event["name"], facts(event)) for event in self.gpu)


class Run:
    def __init__(self, folder, version):
        program = [PYTHONS[version](), machine.PROGRAMS / "torch_nccl.py", folder]
        self.folder = folder
        self.done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu-%p.json", *program), "--ops",
                                  env={"SIMGPU_NCCL": 1})
        events = json.loads((folder / "trace.json").read_text())["traceEvents"]
        self.ranks = []  # [(theirs, ours)]
        for rank in range(RANKS):
            theirs = json.loads((folder / f"theirs-{rank}.json").read_text())["traceEvents"]
            pid = next(e["pid"] for e in theirs if e["name"] == COLLECTIVE)
            self.ranks.append((Seen(theirs, pid), Seen(events, pid)))


@pytest.fixture(scope="module", params=PYTHONS)
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("nccl"), request.param)


def test_collectives_say_what_they_say_to_torch_profiler(run):
    for theirs, ours in run.ranks:
        names = set(map(name_of, theirs.told()))
        assert {"allreduce", "broadcast", "barrier"} <= names and names & {"send", "recv"}
        assert ours.told() == theirs.told()


def test_their_kernels_say_it_too(run):
    for theirs, ours in run.ranks:
        assert sum("ncclDevKernel" in event["name"] for event in theirs.gpu) > 20
        assert ours.gpu_work() == theirs.gpu_work()


def test_a_collective_has_one_number_on_all_ranks(run):
    ids = [{dict(told)["Comms Id"] for told in ours.told() if name_of(told) == "allreduce"} for _, ours in run.ranks]
    assert ids[0] == ids[1] and len(ids[0]) > 4


def test_the_file_keeps_its_promises(run):
    chrome.assert_valid(run.folder / "trace.json")


def test_nothing_was_lost(run):
    receipt = reading.receipt(reading.trace_of(run.folder / "trace.json"))
    assert (receipt["ops_lost"], receipt["bad_records"]) == (0, 0)
