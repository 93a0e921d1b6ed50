# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace dump of a distributed job: names the rank that has not called the collective in which the others wait, by
stacks and by PyTorch's Flight Recorder."""

import contextlib
import json
import os
import re
import signal
import subprocess

import machine
import pytest
import tracing

pytestmark = pytest.mark.torch

STILL = 4
TRIES = 600  # looks, half a second each, until all ranks wait


@contextlib.contextmanager
def started(command, **more):
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, start_new_session=True, **more) as process:
        try:
            yield process.pid, json.loads(process.stdout.readline())
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def running(folder, *more):
    return started([machine.tool("get-torch"), machine.PROGRAMS / "torch_hangs.py", folder, *more])


def on_nccl(folder, *more, python=None, **settings):
    command = [python or machine.tool("get-torch"), machine.PROGRAMS / "torch_recorder.py", folder, *more]
    return started(tracing.on_simgpu(folder / "gpu-%p.json", *command), env=tracing.environment(folder, SIMGPU_NCCL=1, **settings))


def dump(pid, *more):
    return subprocess.run([machine.GPUTRACE, "dump", "-p", str(pid), *more], capture_output=True, text=True, check=False)


def ranks_of(pid, said):
    """{pid: its entry in the dump's ranks}, once the first two are in a collective, the third is at one of the lines that
    the program said, and nothing moves."""
    pids, lines = said["pids"], said["lines"].values()
    for _ in range(TRIES):
        done = dump(pid, "--format", "json")
        found = {rank["pid"]: rank for rank in json.loads(done.stdout)["ranks"]}
        if done.returncode == STILL and all(found.get(pid, {}).get("collective") for pid in pids[:2]) and (
                pids[2] not in found or (found[pids[2]]["at"] or {}).get("line") in lines):
            return found
    raise AssertionError(done.stdout + done.stderr)


def test_the_rank_that_has_not_come_to_a_collective_is_named_with_its_line(tmp_path):
    with running(tmp_path) as (pid, said):
        found = ranks_of(pid, said)
        text = dump(pid).stdout
    assert list(found) == said["pids"], "the child of a rank is no rank"
    for rank, pid in enumerate(said["pids"]):
        one, late = found[pid], rank == 2
        assert (one["rank"], one["world_size"], one["job"]) == (rank, 3, "localhost:29500")
        assert one["collective"] == (None if late else "all_reduce")
        assert (one["at"]["function"], one["at"]["line"]) == (("load", said["lines"]["load"]) if late else ("step", said["lines"]["step"]))
    first, second, third = said["pids"]
    ends = text[text.index("\nranks of the job at localhost:29500\n"):]
    assert re.match(rf"\nranks of .*\n  rank 2 \(process {third}\): in no collective, at load \(.*torch_hangs.py:{said['lines']['load']}\); "
                    rf"waits for child .*\n  ranks 0 \(process {first}\), 1 \(process {second}\): in all_reduce, at step "
                    rf"\(.*torch_hangs.py:{said['lines']['step']}\)\n\nnot finished, by PyTorch's Flight Recorder\n  gloo:all_reduce 2 in "
                    rf"group 0 \(default_pg\), job at localhost:29500\n    rank 2 \(process {third}\): not called; the last "
                    rf"one was gloo:all_reduce 1\n    ranks 0 \(process {first}\), 1 \(process {second}\): gloo:all_reduce 2 of "
                    rf"\[4\], called [0-9.]+ s ago, at step \(.*torch_hangs.py:{said['lines']['step']}\)\n$", ends), ends


def test_without_ranks_in_the_environment_those_in_a_collective_are_named(tmp_path):
    with running(tmp_path, "spawn") as (pid, said):
        found = ranks_of(pid, said)
        text = dump(pid).stdout
    assert sorted(found) == sorted(said["pids"][:2])
    assert all(one["rank"] is None and one["collective"] == "all_reduce" for one in found.values())
    assert re.search(r"\nranks\n  processes \d+, \d+: in all_reduce, at step ", text), text


def test_a_rank_that_is_in_another_collective_is_named_with_that(tmp_path):
    with running(tmp_path, "other") as (pid, said):
        found = ranks_of(pid, said)
        text = dump(pid).stdout
    assert [found[pid]["collective"] for pid in said["pids"]] == ["all_reduce", "all_reduce", "recv"]
    assert [found[pid]["at"]["line"] for pid in said["pids"]] == [said["lines"][mark] for mark in ("step", "step", "recv")]
    assert re.search(r"\n  rank 2 \(process \d+\): in recv, at step \(.*\)\n", text), text


def unfinished(pid):
    """({(operation, number): collective that has not finished within half a second}, text of the dump)"""
    for _ in range(TRIES):
        done = dump(pid, "--format", "json")
        found = json.loads(done.stdout)["collectives"]
        if found:
            return {(one["operation"], one["number"]): one for one in found}, dump(pid).stdout
    raise AssertionError(done.stdout + done.stderr)


def by_rank(collective):
    assert [one["rank"] for one in collective["ranks"]] == sorted(one["rank"] for one in collective["ranks"])
    return {one["rank"]: one for one in collective["ranks"]}


def said_by_pytorch(folder, rank):
    """{(operation, number, group): entry} of a rank in PyTorch's own dump."""
    (folder / "say").touch()
    tracing.until((folder / f"said-{rank}").exists)
    entries = json.loads((folder / f"said-{rank}").read_text())["entries"]
    return {(entry["profiling_name"], entry["p2p_seq_id" if entry["is_p2p"] else "collective_seq_id"], entry["process_group"][0]): entry
            for entry in entries}


@pytest.mark.parametrize("torch, backend, settings", [
    ("newest", "nccl2", {}), ("newest", "nccl2", {"TORCH_FR_BUFFER_SIZE": 4}), ("newest", "nccl", {"TORCH_DIST_USE_NCCL2": 0}),
    ("older", "nccl", {"TORCH_FR_BUFFER_SIZE": 4})], ids=["newest", "newest-small", "newest-stock", "older-small"])
def test_what_the_gpu_has_not_finished_is_what_pytorch_says_and_who_has_not_called_it_is_named(torch, backend, settings, tmp_path):
    """Also after the recorder's ring has wrapped around; the stacks of the waiting ranks show no collective."""
    with on_nccl(tmp_path, python=machine.older_torch() if torch == "older" else None, **settings) as (pid, said):
        found, text = unfinished(pid)
        own = [said_by_pytorch(tmp_path, rank) for rank in range(3)]
    name, before, send = f"{backend}:all_reduce", f"{backend}:broadcast", f"{backend}:send 0->1"
    assert sorted(found) == [(name, 6), (send, 1)], "what finished is not there, nor the second one"
    collective = found[name, 6]
    assert (collective["group"], collective["description"], collective["members"]) == ("0", "default_pg", [0, 1, 2])
    assert (collective["job"], collective["not_looked_at"]) == ("localhost:29500", 0)
    ranks = by_rank(collective)
    assert [ranks[rank]["part"] for rank in range(3)] == ["waits", "waits", "has_not_come"]
    assert [ranks[rank]["pid"] for rank in range(3)] == said["pids"]
    for rank in (0, 1):
        one, entry = ranks[rank], own[rank][name, 6, "0"]
        assert (one["operation"], one["number"], one["state"]) == (entry["profiling_name"], entry["collective_seq_id"], entry["state"])
        assert one["sizes"] == ", ".join(map(str, entry["input_sizes"])) == "[4, 8]"
        assert (one["at"]["function"], one["at"]["line"]) == ("step", said["lines"]["step"])
        assert one["for_ns"] >= 5e8 and one["later"] == 1 and not entry["retired"]
    assert (ranks[2]["operation"], ranks[2]["number"]) == (before, 5)
    assert (before, 5, "0") in own[2] and (name, 6, "0") not in own[2]
    assert [(one["rank"], one["part"], one["sizes"], one["at"]["line"]) for one in found[send, 1]["ranks"]] == [
        (0, "waits", "[2, 8]", said["lines"]["send"])]
    first, second, third = said["pids"]
    ends = text[text.index("\nnot finished, by"):]
    assert re.match(rf"\nnot finished, by PyTorch's Flight Recorder\n  {name} 6 in group 0 \(default_pg\) of 3 ranks, job at "
                    rf"localhost:29500\n    rank 2 \(process {third}\): not called; the last one was {before} 5\n    ranks 0 "
                    rf"\(process {first}\), 1 \(process {second}\): {name} 6 of \[4, 8\], called [0-9.]+ s ago, at step "
                    rf"\(.*torch_recorder.py:{said['lines']['step']}\); 1 more after it\n  {send} 1 in group ", ends), ends


def test_a_rank_that_called_another_collective_in_its_place_is_named_with_that(tmp_path):
    with on_nccl(tmp_path, "other", python=machine.older_torch()) as (pid, said):
        found, text = unfinished(pid)
    ranks = by_rank(found["nccl:all_reduce", 6])
    assert [ranks[rank]["part"] for rank in range(3)] == ["waits", "waits", "other"]
    assert (ranks[2]["operation"], ranks[2]["at"]["line"]) == ("nccl:broadcast", said["lines"]["other"])
    assert re.search(r"\n    rank 2 \(process \d+\): nccl:broadcast 6 of \[4, 8\] in its place, called ", text), text


def test_a_recorder_that_is_off_is_said_to_have_nothing(tmp_path):
    with on_nccl(tmp_path, TORCH_FR_BUFFER_SIZE=0, TORCH_NCCL_TRACE_BUFFER_SIZE=0) as (pid, said):
        done = dump(pid, "--format", "json")
        text = dump(pid).stdout
    assert json.loads(done.stdout)["collectives"] == []
    assert "\nPyTorch's Flight Recorder has nothing of these ranks" in text, text


def test_dumps_of_two_hosts_say_together_what_one_of_all_says(tmp_path):
    with on_nccl(tmp_path, python=machine.older_torch()) as (pid, said):
        unfinished(pid)
        files = [tmp_path / "a.json", tmp_path / "b.json", tmp_path / "all.json"]
        for name, pids, file in zip(("node-a", "node-b", "all"), (said["pids"][:1], said["pids"][1:], [pid]), files):
            command = f"hostname {name} && exec {machine.GPUTRACE} dump -p {','.join(map(str, pids))} --format json > {file}"
            subprocess.run(["unshare", "--uts", "sh", "-c", command], check=False)
    merged = tracing.gputrace(tmp_path, "merge", *files[:2], "--format", "json").must_be(0)
    found, whole = json.loads(merged.stdout), json.loads(files[2].read_text())
    assert [one.pop("host") for one in found["ranks"]] == ["node-a", "node-b", "node-b"]
    for collective in found["collectives"] + whole["collectives"]:
        for one in collective["ranks"]:
            one.pop("for_ns")
            assert one.pop("host", None) == (None if collective in whole["collectives"] else "node-a" if one["rank"] == 0 else "node-b")
    assert found["collectives"] == whole["collectives"] and found["ranks"] == whole["ranks"]
    text = tracing.gputrace(tmp_path, "merge", *files[:2]).must_be(0).stdout
    assert text.startswith("dumps of node-a (1 process), node-b (2 processes)\n\nranks of the job at localhost:29500\n"), text
    assert re.search(r"\n    rank 2 \(process \d+ on node-b\): not called; the last one was nccl:broadcast 5\n    ranks 0 \(process \d+ on "
                     r"node-a\), 1 \(process \d+ on node-b\): nccl:all_reduce 6 of ", text), text
