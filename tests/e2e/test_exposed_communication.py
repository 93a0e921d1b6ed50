# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What GPUs did: computation, exposed communication, exposed copies, idle. To the ns as HTA and TraceLens define it, for
synthetic traces of several ranks and for public ones."""

import functools
import json
import os
import pathlib
import random
import subprocess

import gpu_time
import machine
import pytest
import tracing

RANKS, STREAMS, OPERATIONS = 4, 4, 1500
NAMES = {"kernel": ("gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(x)"),
         "gpu_memcpy": ("Memcpy HtoD (Pageable -> Device)",), "gpu_memset": ("Memset (Device)",)}


def operations(rank, stream, numbers):
    """The launches and operations of one stream: one after the other, of random lengths, with gaps."""
    choose = random.Random(RANKS * stream + rank)
    at_ns, calls, work = choose.randrange(1000), [], []
    for number in numbers:
        category = choose.choice(("kernel", "kernel", "kernel", "gpu_memcpy", "gpu_memset"))
        at_ns += choose.choice((0, 0, choose.randrange(3000)))
        length_ns = choose.randrange(1, 9000)
        call = {"kernel": "cudaLaunchKernel", "gpu_memcpy": "cudaMemcpyAsync", "gpu_memset": "cudaMemsetAsync"}[category]
        calls.append({"ph": "X", "cat": "cuda_runtime", "name": call, "pid": 100 + rank, "tid": 100 + stream,
                      "ts": at_ns / 1000, "dur": 0.001, "args": {"correlation": number, "cbid": 211}})
        work.append({"ph": "X", "cat": category, "name": choose.choice(NAMES[category]), "pid": rank, "tid": stream,
                     "ts": at_ns / 1000, "dur": length_ns / 1000,
                     "args": {"device": rank, "context": 1, "stream": stream, "correlation": number}})
        at_ns += length_ns
    return calls + work


def write(path, rank):
    events = [event for stream in range(STREAMS)
              for event in operations(rank, 7 + stream, range(1 + stream * OPERATIONS, 1 + (stream + 1) * OPERATIONS))]
    path.write_text(json.dumps({"baseTimeNanoseconds": 0, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": RANKS},
                                "traceEvents": events}))


def tables(path, *options):
    """{id: rows} of a report."""
    done = tracing.gputrace(path.parent, "report", path.name, "--format", "json", *options).must_be(0)
    return {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


def hta(*paths):
    """HTA's results, without its rounding to microseconds."""
    done = subprocess.run([machine.tool("get-hta"), machine.ROOT / "tests/e2e/consumers/hta_breakdown.py", *paths],
                          capture_output=True, text=True, env={**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"})
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def idle_between(row):
    """From the first operation to the last."""
    return row["first_to_last_ns"] - row["computation_ns"] - row["exposed_communication_ns"] - row["exposed_copies_ns"]


def assert_parts_are_the_whole(found):
    for row in found["breakdown"] + found["breakdown_processes"] + found.get("breakdown_steps", []):
        assert row["span_ns"] == row["idle_ns"] + row["computation_ns"] + row["exposed_communication_ns"] + row["exposed_copies_ns"]
    for part in ("computation_ns", "exposed_communication_ns", "exposed_copies_ns", "communication_ns"):
        assert sum(row[part] for row in found["breakdown_lines"]) == sum(row[part] for row in found["breakdown"])


def assert_is(row, expected):
    assert {name: row[name] for name in expected} == expected
    if row["communication_ns"]:
        beside = row["communication_ns"] - row["exposed_communication_ns"]
        assert row["overlap_percent"] == pytest.approx(100 * beside / row["communication_ns"], rel=1e-6)


def assert_is_hta_s(row, found, error_us):
    assert found["compute_us"] == pytest.approx(row["computation_ns"] / 1000, abs=error_us)
    assert found["non_compute_us"] == pytest.approx((row["exposed_communication_ns"] + row["exposed_copies_ns"]) / 1000, abs=error_us)
    assert found["kernel_us"] == pytest.approx(row["first_to_last_ns"] / 1000, abs=error_us)
    assert found["idle_us"] == pytest.approx(idle_between(row) / 1000, abs=error_us)
    if row["communication_ns"]:
        assert found["overlap_percent"] == pytest.approx(row["overlap_percent"], abs=0.006)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """The paths of synthetic traces, one for each rank."""
    folder = tmp_path_factory.mktemp("ranks")
    paths = [folder / f"rank{rank}.json" for rank in range(RANKS)]
    for rank, path in enumerate(paths):
        write(path, rank)
    return paths


def test_each_ns_is_where_unions_of_intervals_put_it(ranks):
    for rank, path in enumerate(ranks):
        found = tables(path)
        (row,) = found["breakdown"]
        assert row["gpu"] == rank
        assert_is(row, gpu_time.divided(gpu_time.operations(gpu_time.load(path))[rank]))
        assert min(row["computation_ns"], row["exposed_communication_ns"], row["exposed_copies_ns"], row["idle_ns"]) > 0
        assert_parts_are_the_whole(found)


def test_it_is_hta_s_temporal_breakdown_and_overlap(ranks):
    for path, found in zip(ranks, hta(*ranks)):
        assert found["rows"] == STREAMS * OPERATIONS
        assert_is_hta_s(tables(path)["breakdown"][0], found, error_us=1e-4)


def test_tracelens_has_another_sum_only_for_memsets(ranks):
    """It counts them as computation; without them its columns are the same."""
    path = ranks[0].with_name("without-memsets.json")
    events = [event for event in json.loads(ranks[0].read_text())["traceEvents"] if event["cat"] != "gpu_memset"]
    path.write_text(json.dumps({"baseTimeNanoseconds": 0, "traceEvents": events}))
    assert_is_tracelens_s(tables(path)["breakdown"][0], gpu_time.gpu_timeline(gpu_time.operations(gpu_time.load(path))[0]))
    with_memsets = gpu_time.gpu_timeline(gpu_time.operations(gpu_time.load(ranks[0]))[0])
    row = tables(ranks[0])["breakdown"][0]
    assert with_memsets["computation_time"] > row["computation_ns"]
    assert with_memsets["busy_time"] == row["first_to_last_ns"] - idle_between(row)


def assert_is_tracelens_s(row, found):
    assert found == {"computation_time": row["computation_ns"], "exposed_comm_time": row["exposed_communication_ns"],
                     "exposed_memcpy_time": row["exposed_copies_ns"],
                     "busy_time": row["first_to_last_ns"] - idle_between(row), "idle_time": idle_between(row),
                     "total_time": row["first_to_last_ns"], "total_comm_time": row["communication_ns"],
                     "total_memcpy_time": row["copies_ns"]}


def test_two_slices_sum_up_to_the_whole(ranks):
    whole = tables(ranks[1])["breakdown"][0]
    for cut in ("1ms", "3.000123ms", "5ms"):
        halves = [tables(ranks[1], *half)["breakdown"][0] for half in (("--to", cut), ("--from", cut))]
        for part in ("span_ns", "idle_ns", "computation_ns", "exposed_communication_ns", "exposed_copies_ns",
                     "communication_ns", "copies_ns"):
            assert sum(half[part] for half in halves) == whole[part], (cut, part)


# ---- public traces


@functools.cache
def public():
    """The files of HTA's own tests with GPU work of NVIDIA's GPUs."""
    folder = pathlib.Path(machine.tool("get-hta-traces"))
    paths = [folder / name for name in (
        "trace_filter/sampled_rank-0.json.gz", "trace_filter/sampled_rank-1.json.gz",
        "negative_queue_length_values_check/rank0.json.gz", "nccl_parser_config/nccl_data.json.gz",
        "trace_diff/control/control.json.gz", "df_index_resolver/df_index_resolver.json.gz",
        "ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz")]
    return paths


@pytest.mark.public_traces
@pytest.mark.parametrize("number", range(7))
def test_public_traces_are_divided_as_their_events_say(number):
    path = public()[number]
    found = tables(path)
    work = gpu_time.operations(gpu_time.load(path))
    assert {row["gpu"] for row in found["breakdown"]} == set(work)
    for row in found["breakdown"]:
        assert_is(row, gpu_time.divided(work[row["gpu"]]))
    assert_parts_are_the_whole(found)


@pytest.mark.public_traces
@pytest.mark.parametrize("number", range(7))
def test_hta_says_the_same_of_public_traces(number):
    """HTA drops operations outside of all steps: what it reads less of, it is not compared for."""
    path = public()[number]
    (row,), (found,) = tables(path)["breakdown"], hta(path)
    (work,) = gpu_time.operations(gpu_time.load(path)).values()
    has_all = found["rows"] == len(work)
    assert has_all == (path.parent.name != "negative_queue_length_values_check")
    if has_all:
        # HTA's absolute times are doubles of microseconds since 1970, a quarter of one apart where they have fractions
        in_us = all(float(event["ts"]).is_integer() for event in work)
        assert_is_hta_s(row, found, error_us=1e-6 if in_us else 0.25)
