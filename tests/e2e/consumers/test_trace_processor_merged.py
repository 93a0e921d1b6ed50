# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Perfetto's own trace_processor opens the outputs of gputrace merge for three made-up ranks of two machines
(rank_logs.c): one timeline of all, one for each, and an archive with Perfetto's manifest."""

import collections

import pytest
import trace_processor as tp
from test_merged import COLLECTIVES, ERROR_NS, RANKS, merged  # noqa: F401 (the fixture)

pytestmark = pytest.mark.trace_processor

OF_ALL = ("all.pftrace", "all.json", "all.tar")
PROCESSES = {"python3 (rank 0, node-a)", "python3 (rank 1, node-b)", "python3 (rank 2, node-b)"}


@pytest.fixture(params=OF_ALL)
def trace(merged, request):  # noqa: F811
    return merged / request.param


def kernels(trace, *columns):
    return tp.slices(trace, ", ".join((tp.arg("Seq"), "s.ts + s.dur", *columns)), "s.category = 'kernel'")


@pytest.mark.parametrize("name", (*OF_ALL, *(f"rank-{rank}.pftrace" for rank in range(RANKS))))
def test_nothing_is_an_error_or_lost(merged, name):  # noqa: F811
    assert tp.errors(merged / name) == []


def test_a_collective_ends_at_one_moment_on_all_ranks(trace):
    ends = collections.defaultdict(list)
    for number, end in kernels(trace):
        ends[number].append(end)
    assert len(ends) == COLLECTIVES
    assert all(len(of_one) == RANKS and max(of_one) - min(of_one) <= 2 * ERROR_NS for of_one in ends.values())


def test_files_of_one_rank_each_are_on_one_clock(merged):  # noqa: F811
    ends = collections.defaultdict(list)
    for rank in range(RANKS):
        for number, end in kernels(merged / f"rank-{rank}.pftrace"):
            ends[number].append(end)
    assert all(len(of_one) == RANKS and max(of_one) - min(of_one) <= 2 * ERROR_NS for of_one in ends.values())


def test_each_rank_is_a_process_of_its_own_with_the_threads_that_are_its(trace):
    """All have the same pid, and two are on one machine."""
    ops = tp.slices(trace, "o.pid, t.tid, hex(o.name), s.track_id", "s.category = 'cpu_op'")
    by_thread = collections.Counter((pid, tid, name) for pid, tid, name, _ in ops)
    assert sorted(by_thread.values()) == [COLLECTIVES] * RANKS
    assert {name for _, _, name in by_thread} == PROCESSES
    assert len({track for *_, track in ops}) == RANKS


def test_each_rank_has_a_gpu_of_its_own(trace):
    whose = "hex(o.name)" if trace.suffix == ".json" else "hex(p.names)"
    found = collections.Counter((track, name.partition(" / ")[0]) for *_, track, name in kernels(trace, "s.track_id", whose))
    assert sorted(found.values()) == [COLLECTIVES] * RANKS
    assert {name for _, name in found} == {name.replace("python3", "GPU 0") for name in PROCESSES}


def test_an_arrow_leads_to_each_kernel_from_the_same_rank(trace):
    assert tp.rows(trace, "SELECT count(*) FROM flow") == [(RANKS * COLLECTIVES,)]


def test_machines_of_the_archive_have_the_names_of_the_manifest(merged):  # noqa: F811
    found = tp.rows(merged / "all.tar", "SELECT hex(m.name), hex(p.name) FROM process p JOIN machine m ON m.id = p.machine_id WHERE p.pid > 0")
    assert {(machine, process) for machine, process in found} == {
        ("node-a", "python3 (rank 0, node-a)"), ("node-b", "python3 (rank 1, node-b)"), ("node-b", "python3 (rank 2, node-b)")}


def test_how_ranks_were_aligned_is_in_the_metadata_of_the_archive(merged):  # noqa: F811
    found = dict(tp.rows(merged / "all.tar", "SELECT hex(name), hex(str_value) FROM metadata WHERE name LIKE '%aligned_by%'"))
    assert {key.rpartition("aligned_by.")[2]: value for key, value in found.items()} == {
        "rank-0.pftrace": "reference", "rank-1.pftrace": "collectives", "rank-2.pftrace": "same boot"}
