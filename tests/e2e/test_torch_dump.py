# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace dump of a distributed job: which rank has not come to the collective in which the others wait."""

import contextlib
import json
import os
import re
import signal
import subprocess

import machine
import pytest

pytestmark = pytest.mark.torch

STILL = 4
TRIES = 60  # until all wait; a look takes half a second


@contextlib.contextmanager
def running(folder, *more):
    command = [machine.tool("get-torch"), machine.PROGRAMS / "torch_hangs.py", folder, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield process.pid, json.loads(process.stdout.readline())
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def dump(pid, *more):
    return subprocess.run([machine.GPUTRACE, "dump", "-p", str(pid), *more], capture_output=True, text=True, check=False)


def ranks_of(pid, pids):
    """What is said of each process, once the first two are in a collective and nothing moves."""
    for _ in range(TRIES):
        done = dump(pid, "--format", "json")
        found = {rank["pid"]: rank for rank in json.loads(done.stdout)["ranks"]}
        if done.returncode == STILL and all(found.get(pid, {}).get("collective") for pid in pids[:2]) and (
                pids[2] not in found or found[pids[2]]["at"]):
            return found
    raise AssertionError(done.stdout + done.stderr)


def test_the_rank_that_has_not_come_to_a_collective_is_named_with_its_line(tmp_path):
    with running(tmp_path) as (pid, said):
        found = ranks_of(pid, said["pids"])
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
                    rf"\(.*torch_hangs.py:{said['lines']['step']}\)\n$", ends), ends


def test_without_ranks_in_the_environment_those_in_a_collective_are_named(tmp_path):
    with running(tmp_path, "spawn") as (pid, said):
        found = ranks_of(pid, said["pids"])
        text = dump(pid).stdout
    assert sorted(found) == sorted(said["pids"][:2])
    assert all(one["rank"] is None and one["collective"] == "all_reduce" for one in found.values())
    assert re.search(r"\nranks\n  processes \d+, \d+: in all_reduce, at step ", text), text


def test_a_rank_that_is_in_another_collective_is_named_with_that(tmp_path):
    with running(tmp_path, "other") as (pid, said):
        found = ranks_of(pid, said["pids"])
        text = dump(pid).stdout
    assert [found[pid]["collective"] for pid in said["pids"]] == ["all_reduce", "all_reduce", "recv"]
    assert [found[pid]["at"]["line"] for pid in said["pids"]] == [said["lines"][mark] for mark in ("step", "step", "recv")]
    assert re.search(r"\n  rank 2 \(process \d+\): in recv, at step \(.*\)\n", text), text
