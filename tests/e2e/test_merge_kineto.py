# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace merge on synthetic traces of torch.profiler: two ranks with known clocks and lateness."""

import json
import os
import re

import machine
import tracing

ROUNDS, LATE_US, AHEAD_US = 40, 20.0, 5_000_000.0


def event(category, name, pid, tid, start_us, length_us, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": round(start_us, 3), "dur": round(length_us, 3),
            "args": arguments}


def write(path, rank, *more, says_rank=True, set_back=None):
    """Writes all-reduces that end together, and more events; rank 1 is late to every second one, its clock is ahead, and set
    back by 2 s before the collective of that number."""
    pid, events = 100 + rank, []
    for number in range(1, ROUNDS + 1):
        at = 1000.0 * number + rank * AHEAD_US - (2e6 if set_back and number >= set_back else 0)
        late = LATE_US if rank == 1 and number % 2 else 0.0
        events += [
            event("cpu_op", "record_param_comms", pid, pid, at + late - 40, 30, **{
                "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024,
                "In split size": "[]", "Out split size": "[]", "Global rank start": 0, "Global rank stride": 1, "Group size": 2,
                "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]",
                **({"Rank": rank} if says_rank else {}), "Seq": number, "Is asynchronized op": True}),
            event("cuda_runtime", "cudaLaunchKernel", pid, pid, at + late - 30, 5, cbid=211, correlation=number),
            event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 7, at + late, LATE_US + 50 - late, device=0, context=1,
                  stream=7, correlation=number, grid=[1, 1, 1], block=[128, 1, 1])]
    path.write_text(json.dumps({"baseTimeNanoseconds": 0, "traceEvents": [*events, *more]}), encoding="utf-8")


def rows(folder, table):
    done = tracing.gputrace(folder, "merge", "rank0.json", "rank1.json", "--format", "json", "--table", table).must_be(0)
    return json.loads(done.stdout)["tables"][0]["rows"], done.stderr


def test_the_late_rank_and_the_distance_of_clocks_are_found(tmp_path):
    for rank in range(2):
        write(tmp_path / f"rank{rank}.json", rank)
    clocks, said = rows(tmp_path, "merge_logs")
    assert "warning" not in said
    assert clocks[1]["collectives_used"] == ROUNDS and abs(abs(clocks[1]["offset_ns"]) - AHEAD_US * 1000) <= 1
    ranks, _ = rows(tmp_path, "merge_ranks")
    assert [(row["rank"], row["compared"], row["late"]) for row in ranks] == [(0, ROUNDS, 0), (1, ROUNDS, ROUNDS // 2)]


def test_time_that_steps_back_is_said_and_what_follows_is_not_compared(tmp_path):
    write(tmp_path / "rank0.json", 0)
    write(tmp_path / "rank1.json", 1, set_back=31)
    done = tracing.gputrace(tmp_path, "merge", "rank0.json", "rank1.json").must_be(0)
    assert "time steps back by 2.0 s in rank1.json: its clock was set; 10 collectives after that are not compared" in " ".join(done.stdout.split())
    ranks, _ = rows(tmp_path, "merge_ranks")
    assert [(row["compared"], row["late"], row["not_compared"]) for row in ranks] == [(30, 0, 0), (30, 15, 10)]
    clocks, _ = rows(tmp_path, "merge_logs")
    assert abs(abs(clocks[1]["offset_ns"]) - AHEAD_US * 1000) <= 1


def test_what_the_ranks_gpus_did_stands_side_by_side(tmp_path):
    """Rank 0 also computes beside each second collective, for 30 us of it and 10 us after it."""
    beside = [event("kernel", "gemm", 0, 8, 1000.0 * number + LATE_US + 20, 40, device=0, context=1, stream=8, correlation=1000 + number)
              for number in range(2, ROUNDS + 1, 2)]
    launches = [event("cuda_runtime", "cudaLaunchKernel", 100, 100, 1000.0 * number - 20, 5, cbid=211, correlation=1000 + number)
                for number in range(2, ROUNDS + 1, 2)]
    write(tmp_path / "rank0.json", 0, *beside, *launches)
    write(tmp_path / "rank1.json", 1)
    (first, second), _ = rows(tmp_path, "merge_breakdown")
    assert (first["rank"], first["gpus"], second["rank"], second["gpus"]) == (0, 1, 1, 1)
    assert first["communication_ns"] == ROUNDS * 70_000 and first["computation_ns"] == ROUNDS // 2 * 40_000
    assert first["exposed_communication_ns"] == ROUNDS * 70_000 - ROUNDS // 2 * 30_000
    assert round(first["overlap_percent"] * first["communication_ns"] / 100) == ROUNDS // 2 * 30_000
    assert second["exposed_communication_ns"] == second["communication_ns"] == ROUNDS // 2 * (70_000 + 50_000)
    assert (second["computation_ns"], second["overlap_percent"]) == (0, 0)
    for row in (first, second):
        assert row["span_ns"] == row["idle_ns"] + row["computation_ns"] + row["exposed_communication_ns"] + row["exposed_copies_ns"]


def merged(folder, *logs, processors):
    """What merge says on that number of processors: with one it reads one log after the other, else two at once."""
    allowed = sorted(os.sched_getaffinity(0))[:processors]
    command = ["taskset", "-c", ",".join(map(str, allowed)), machine.GPUTRACE, "merge", "--unaligned", *logs, "--format", "json"]
    done = tracing.command(folder, *command)
    return done.code, done.stdout, done.stderr


def test_logs_read_two_at_once_say_what_they_say_one_after_the_other(tmp_path):
    """Traces of both kinds that are read at once; a log that cannot be read is named, and none after it."""
    for rank in range(2):
        write(tmp_path / f"rank{rank}.json", rank)
        tracing.gputrace(tmp_path, "export", f"rank{rank}.json", "-o", f"rank{rank}.sqlite").must_be(0)
    for name in ("cut.json", "other.json"):
        (tmp_path / name).write_text((tmp_path / "rank0.json").read_text()[:9000])
    (tmp_path / "none.gpt").write_bytes(b"")
    for logs, code in ((["rank0.json", "rank1.json"], 0), (["rank0.sqlite", "rank1.sqlite"], 0),
                       (["rank0.json", "cut.json", "other.json", "none.gpt"], None), (["rank0.json", "none.gpt", "gone.gpt"], 1)):
        alone = merged(tmp_path, *logs, processors=1)
        assert code in (None, alone[0]), alone
        for _ in range(8):
            assert merged(tmp_path, *logs, processors=2) == alone
    assert "none.gpt" in alone[2] and "gone.gpt" not in alone[2]


def test_a_rank_that_is_not_known_has_no_file_and_is_named(tmp_path):
    write(tmp_path / "rank0.json", 0,
          event("cuda_runtime", "cudaLaunchKernel", 200, 200, 5, 5, cbid=211, correlation=0),
          event("cpu_op", "aten::add", 200, 200, 4, 10))
    write(tmp_path / "rank1.json", 1, says_rank=False)
    export = tracing.gputrace(tmp_path, "export", "rank0.json", "-o", "of-%r.json").must_be(0).stderr
    assert re.search(r"of-%r.json: the rank of process 200 \(.*\) is not known: it has no file$", export, re.M), export
    merge = tracing.gputrace(tmp_path, "merge", "rank0.json", "rank1.json", "-o", "merged-%r.json").must_be(0).stderr
    assert "rank1.json: the rank of process 101 is not known: it has no file of its own" in merge
    assert {path.name for path in tmp_path.glob("*-*.json")} == {"of-0.json", "merged-0.json"}


def test_files_without_collectives_are_refused_with_what_to_do(tmp_path):
    for rank in range(2):
        write(tmp_path / f"rank{rank}.json", rank)
    tracing.gputrace(tmp_path, "export", "-q", "rank1.json", "-o", "rank1.sqlite").must_be(0)
    said = tracing.gputrace(tmp_path, "merge", "rank0.json", "rank1.sqlite").must_be(1).stderr
    assert "rank1.sqlite has no collectives" in said and "--unaligned" in said


# ---- without sequence numbers -----------------------------------------------------------------------------------------

STEPS, IN_STEP = 20, 3


def write_steps(path, rank, elements=lambda step: 1024, first=1, steps=True):
    """All-reduces without numbers, some in each of the profiler's steps; rank 1 is late to the second of each step."""
    pid, events, corr = 100 + rank, [], 0
    for step in range(first, first + STEPS):
        begin = 10_000.0 * step + rank * AHEAD_US
        if steps:
            events.append(event("user_annotation", f"ProfilerStep#{step}", pid, pid, begin, 9000))
        for number in range(IN_STEP):
            at, late, corr = begin + 1000 * (number + 1), LATE_US if rank == 1 and number == 1 else 0.0, corr + 1
            events += [
                event("cpu_op", "record_param_comms", pid, pid, at + late - 40, 30, **{
                    "Collective name": "allreduce", "dtype": "Float", "In msg nelems": elements(step), "Group size": 2,
                    "Out msg nelems": elements(step), "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Rank": rank}),
                event("cuda_runtime", "cudaLaunchKernel", pid, pid, at + late - 30, 5, cbid=211, correlation=corr),
                event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 7, at + late, LATE_US + 50 - late, device=0, context=1,
                      stream=7, correlation=corr, grid=[1, 1, 1], block=[128, 1, 1])]
    path.write_text(json.dumps({"baseTimeNanoseconds": 0, "traceEvents": events}), encoding="utf-8")


def test_without_numbers_they_are_matched_by_their_order_in_a_step(tmp_path):
    for rank in range(2):
        write_steps(tmp_path / f"rank{rank}.json", rank, first=1 + 2 * rank)  # rank 1's file begins two steps later
    ranks, _ = rows(tmp_path, "merge_ranks")
    common = STEPS - 2
    assert [(row["rank"], row["compared"], row["late"], row["not_compared"]) for row in ranks] == [
        (0, IN_STEP * common, 0, 0), (1, IN_STEP * common, common, 0)]
    clocks, _ = rows(tmp_path, "merge_logs")
    assert abs(abs(clocks[1]["offset_ns"]) - AHEAD_US * 1000) <= 1
    said = " ".join(tracing.gputrace(tmp_path, "merge", "rank0.json", "rank1.json").must_be(0).stdout.split())
    assert f"{2 * IN_STEP * STEPS} collectives have no sequence number: compared by their order in steps" in said


def test_a_step_with_other_collectives_on_another_rank_is_not_compared(tmp_path):
    write_steps(tmp_path / "rank0.json", 0)
    write_steps(tmp_path / "rank1.json", 1, elements=lambda step: 1024 + (step == 7))
    ranks, _ = rows(tmp_path, "merge_ranks")
    assert {row["compared"] for row in ranks} == {IN_STEP * (STEPS - 1)}
    write_steps(tmp_path / "rank1.json", 1, elements=lambda step: 2048)
    said = tracing.gputrace(tmp_path, "merge", "rank0.json", "rank1.json").must_be(1).stderr
    assert "no step of torch.profiler has the same collectives in both" in said and "--unaligned" in said


def test_without_numbers_and_steps_it_is_said_that_order_does_not_do(tmp_path):
    for rank in range(2):
        write_steps(tmp_path / f"rank{rank}.json", rank, steps=rank == 0)
    said = tracing.gputrace(tmp_path, "merge", "rank0.json", "rank1.json").must_be(1).stderr
    assert "rank1.json have no sequence number" in said and "not all in steps of torch.profiler" in said
