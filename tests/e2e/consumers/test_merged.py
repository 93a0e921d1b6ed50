# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Three ranks of two machines, merged for Perfetto: in one .pftrace, and in a .tar with a manifest as
perfetto.dev/docs/reference/perfetto-manifest describes it.  Ranks 1 and 2 are of a machine whose clock is 300,000 s
ahead and 37 us per second faster, and every collective ends at the same time on all ranks (rank_logs.c)."""

import collections
import json
import os
import subprocess
import tarfile

import chrome_invariants as chrome
import pytest
import timelines
from conftest import ROOT, build_program

RANKS = 3
COLLECTIVES = 100
AHEAD_NS = 300_000_000_000_123
DRIFT = 37e-6
ERROR_NS = 50
SLEPT_NS = 5_000_000_000


def merge(folder, *words):
    program = ROOT / os.environ.get("BUILD", "build") / "gputrace"
    return subprocess.run([program, "merge", *words], cwd=folder, capture_output=True, encoding="utf-8")


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("merged")
    subprocess.run([build_program("tests/e2e/consumers/rank_logs"), folder], check=True)
    done = merge(folder, "0.gpt", "1.gpt", "2.gpt", "-o", "all.pftrace", "-o", "all.tar", "-o", "all.json", "-o", "rank-%r.pftrace")
    assert done.returncode == 0, done.stderr
    with tarfile.open(folder / "all.tar") as tar:
        (folder / "tar").mkdir()
        for member in tar:  # not extractall: its filter is missing in Debian 12's Python (3.11.2), and no filter in newer ones warns
            (folder / "tar" / member.name).write_bytes(tar.extractfile(member).read())
    return folder


@pytest.fixture(scope="module")
def manifest(merged):
    root = json.loads((merged / "tar/perfetto_manifest.json").read_text())
    assert list(root) == ["perfetto_manifest"]
    return root["perfetto_manifest"]


def ends(found):
    """{number of the collective: [ends of its kernels]}"""
    by_number = collections.defaultdict(list)
    for one in found["slices"]:
        if one["cat"] == ["kernel"]:
            by_number[one["args"]["Seq"]].append(one["start"] + one["dur"])
    return by_number


def assert_together(ends_of_all):
    """The ends of each collective on all ranks are close together."""
    assert len(ends_of_all) == COLLECTIVES
    for of_one in ends_of_all.values():
        assert len(of_one) == RANKS and max(of_one) - min(of_one) <= 2 * ERROR_NS


def names(found, what):
    return sorted(track[what][-1] for track in found["tracks"].values() if track[what])


def test_one_file_has_the_collectives_of_all_ranks_end_together(merged):
    assert_together(ends(timelines.pftrace(merged / "all.pftrace")))


def test_one_file_has_what_the_chrome_trace_of_all_has(merged):
    found = timelines.pftrace(merged / "all.pftrace")
    assert timelines.slices(found) == timelines.slices_of_chrome(chrome.load(merged / "all.json"))
    assert len(dict(found["begun"])) == len(found["begun"]) == len(found["ended"]) == RANKS * COLLECTIVES


def test_processes_and_threads_of_one_number_are_of_one_rank_each(merged):
    found = timelines.pftrace(merged / "all.pftrace")
    assert names(found, "process") == ["python3 (rank 0, node-a)", "python3 (rank 1, node-b)", "python3 (rank 2, node-b)"]
    assert len({track["process"][0] for track in found["tracks"].values() if track["process"]}) == RANKS
    assert len({track["thread"][1] for track in found["tracks"].values() if track["thread"]}) == RANKS
    for track in found["tracks"].values():
        if track["thread"]:
            assert track["thread"][0] == found["tracks"][str(track["parent"])]["process"][0]
    gpus = [track["name"] for track in found["tracks"].values() if track["name"].startswith("GPU 0")]
    assert len(gpus) == len(set(gpus)) == RANKS


def test_the_archive_has_a_trace_of_each_rank_and_a_manifest(merged):
    with tarfile.open(merged / "all.tar") as tar:
        members = tar.getmembers()
    assert [member.name for member in members] == ["perfetto_manifest.json", *(f"rank-{rank}.pftrace" for rank in range(RANKS))]
    assert all(member.isreg() and member.mode == 0o644 for member in members)
    assert (merged / "tar/perfetto_manifest.json").read_text().startswith('{"perfetto_manifest"')


def test_the_manifest_says_whose_traces_are_and_how_their_clocks_stand(manifest):
    assert manifest["version"] == 1
    assert manifest["trace_time"] == {"clock": "MONOTONIC", "file": "rank-0.pftrace"}
    assert [(one["path"], one["machine"]) for one in manifest["files"]] == [
        ("rank-0.pftrace", {"name": "node-a"}), ("rank-1.pftrace", {"name": "node-b"}), ("rank-2.pftrace", {"name": "node-b"})]
    assert [one["path"] for one in manifest["files"] if "clocks" in one] == ["rank-1.pftrace"]  # once per machine
    clocks = manifest["files"][1]["clocks"]
    assert clocks["clock"] == "MONOTONIC" and clocks["sync_to"] == {"file": "rank-0.pftrace", "clock": "MONOTONIC"}
    drifted = DRIFT * 11e9  # over the whole trace
    assert -AHEAD_NS - drifted - ERROR_NS <= clocks["offset_ns"] <= -AHEAD_NS + ERROR_NS


def test_attributes_are_numbers_and_texts_and_say_the_error(manifest):
    attributes = manifest["attributes"]
    assert all(key and type(value) in (int, str) for key, value in attributes.items())
    assert attributes["gputrace.aligned_by.rank-1.pftrace"] == "collectives"
    assert 0 <= attributes["gputrace.error_ns.rank-1.pftrace"] <= ERROR_NS


def test_by_the_manifest_the_collectives_of_all_ranks_end_together(merged, manifest):
    """As in trace_processor: a source shows T when the reference shows T + offset_ns; a machine has one clock."""
    offsets = {one["machine"]["name"]: one["clocks"]["offset_ns"] for one in manifest["files"] if "clocks" in one}
    all_ends = collections.defaultdict(list)
    for one in manifest["files"]:
        found = timelines.pftrace(merged / "tar" / one["path"])
        for number, (end,) in ends(found).items():
            all_ends[number].append(end + offsets.get(one["machine"]["name"], 0))
    assert_together(all_ends)


def test_a_trace_of_the_archive_has_its_own_clock_and_says_whose_it_is(merged):
    found = timelines.pftrace(merged / "tar/rank-2.pftrace")
    assert all(AHEAD_NS < one["start"] < AHEAD_NS + 20e9 for one in found["slices"])
    assert found["clocks"]["1"] - found["clocks"]["3"] == -AHEAD_NS
    assert names(found, "process") == ["python3 (rank 2, node-b)"]


def test_clocks_that_perfetto_knows_are_reported_the_machine_whose_times_a_file_has(merged):
    """CLOCK_BOOTTIME is ahead by the time the machine slept: node-b 5 s; node-a unknown, as its log is older."""
    for name, slept in (("tar/rank-0.pftrace", 0), ("tar/rank-2.pftrace", SLEPT_NS), ("rank-2.pftrace", 0), ("all.pftrace", 0)):
        clocks = timelines.pftrace(merged / name)["clocks"]
        assert set(clocks) == {"1", "3", "6"} and clocks["6"] - clocks["3"] == slept, name


def test_ranks_of_one_machine_and_pid_are_two_processes_in_the_archive(merged):
    pids = [{track["process"][0] for track in timelines.pftrace(merged / f"tar/rank-{rank}.pftrace")["tracks"].values() if track["process"]}
            for rank in range(RANKS)]
    assert all(len(of_one) == 1 for of_one in pids)
    assert pids[0] == pids[1] != pids[2]  # ranks 0 and 1 are on different machines


def test_processes_of_the_chrome_trace_of_all_say_whose_they_are(merged):
    """Their names have it, as Perfetto shows no labels."""
    events = json.loads((merged / "all.json").read_text())["traceEvents"]
    found = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    whose = ("rank 0, node-a", "rank 1, node-b", "rank 2, node-b")
    assert found == {"CUPTI overhead", *(f"{name} ({of})" for name in ("python3", "GPU 0") for of in whose)}


def test_files_of_each_rank_are_on_the_clock_of_all(merged):
    all_ends = collections.defaultdict(list)
    for rank in range(RANKS):
        for number, (end,) in ends(timelines.pftrace(merged / f"rank-{rank}.pftrace")).items():
            all_ends[number].append(end)
    assert_together(all_ends)


@pytest.mark.parametrize("name, said", [
    ("x-%r.tar", "a .tar has all ranks"), ("x-%p.json", "a file for each rank (%r)"), ("x.folded", "merge writes .json"),
    ("-", "merge writes .json"), ("x.speedscope.json", "merge writes .json")])
def test_what_merge_cannot_write_is_refused_before_logs_are_read(merged, name, said):
    done = merge(merged, "0.gpt", "nothing.gpt", "-o", name)
    assert done.returncode == 2 and said in done.stderr and "nothing.gpt" not in done.stderr


def test_a_file_that_cannot_be_written_is_said_and_the_others_are_there(merged):
    (merged / "taken.tar").mkdir()
    done = merge(merged, "0.gpt", "1.gpt", "-o", "taken.tar", "-o", "beside.tar")
    assert done.returncode == 1 and "taken.tar: cannot be written" in done.stderr
