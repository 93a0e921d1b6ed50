# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace dump where memory is short, in the program or for the dump itself, and fifty dumps at once."""

import contextlib
import json
import os
import pathlib
import resource
import subprocess

import machine
import pytest
import tracing
from test_dump import FAILED, LINES, MOVES, STILL, dump, dump_still, inner_line, running, threads_of

AT_ONCE = 50
LIMITS_MB = (16, 64, 200, *range(256, 320, 4), 400, 600)  # address space in MB; a look needs 256
MB = 1 << 20


def test_who_waits_for_a_worker_that_got_no_memory_is_named():
    with running("no_memory") as program:
        thread = threads_of(dump_still(program.pid))[tuple(program.roles["waiter"])]
    assert thread["wait"]["kind"] == "lock" and "an item of a queue" in thread["wait"]["text"]
    assert inner_line(thread) == LINES["no_memory", "waiter"]


@pytest.fixture
def full_cgroup():
    """A memory cgroup of 64 MB: out of memory, its members wait in version 1 and are throttled in version 2."""
    version_1 = pathlib.Path("/sys/fs/cgroup/memory/memory.limit_in_bytes").exists()
    folder = pathlib.Path("/sys/fs/cgroup") / ("memory" if version_1 else ".") / f"gputrace-memory-{os.getpid()}"
    settings = {"memory.limit_in_bytes": 64 * MB, "memory.oom_control": 1} if version_1 else {"memory.swap.max": 0, "memory.high": 64 * MB}
    try:
        folder.mkdir()
        for name, value in settings.items():
            (folder / name).write_text(str(value))
    except OSError as error:
        if folder.exists():
            folder.rmdir()
        pytest.skip(f"no cgroup can limit memory here: {error}")
    yield folder, version_1
    tracing.until(lambda: not (folder / "cgroup.procs").read_text())
    folder.rmdir()


def test_a_program_whose_cgroup_has_no_memory_left_has_its_line_and_the_kernel_s_word(full_cgroup):
    folder, version_1 = full_cgroup
    with running("reclaim", folder / "cgroup.procs") as program:
        used = folder / ("memory.usage_in_bytes" if version_1 else "memory.current")
        tracing.until(lambda: int(used.read_text()) >= 62 * MB)
        if version_1:
            found = dump_still(program.pid)
        else:
            found = json.loads(dump("-p", program.pid, "--format", "json").stdout)
    thread = threads_of(found)[tuple(program.roles["waiter"])]
    assert inner_line(thread) == LINES["reclaim", "waiter"]
    if version_1:
        assert "waits for a page of its memory" in thread["wait"]["text"] and "oom" in thread["wchan"]


def test_a_dump_with_too_little_memory_says_so_and_one_with_enough_is_whole():
    whole = []
    with running("crowd", 200) as program:
        dump_still(program.pid)
        for limit in LIMITS_MB:
            done = dump("-p", program.pid, "--format", "json", preexec_fn=lambda: resource.setrlimit(  # noqa: B023
                resource.RLIMIT_AS, (limit * MB, limit * MB)))  # noqa: B023
            assert done.returncode in (FAILED, STILL), (limit, done)
            if done.returncode == FAILED:
                assert done.stderr.startswith("gputrace: ") and "(ulimit -v" in done.stderr, (limit, done)
                assert "could not be written" not in done.stderr, (limit, done)  # the result is still written
            else:
                threads = threads_of(json.loads(done.stdout))
                assert len([thread for thread in threads.values() if thread["frames"]]) == 201, limit
                whole.append(limit)
    assert 16 not in whole and 600 in whole


def test_of_a_family_those_for_which_there_is_no_memory_are_named():
    limit = 400 * MB  # enough for one look, not for two
    with running("stopped") as program:
        done = dump("-p", program.pid, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    (_, child) = program.roles["worker"]
    assert f"process {child}: " in done.stdout and "no look at it can be started (Cannot allocate memory)" in done.stdout, done


def readers_of(pid):
    """Children of that gputrace that read the processes."""
    children = [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [child for child in children if pathlib.Path(f"/proc/{child}/comm").read_text() == "gputrace-look\n"]


def kill_reader(dumping):
    """Kills that process, unless the dump ends before."""
    while dumping.poll() is None:
        with contextlib.suppress(OSError):  # it ends just then
            for reader in readers_of(dumping.pid):
                os.kill(reader, 9)
                return


def test_where_the_process_that_reads_is_killed_the_kernel_s_facts_are_left():
    with running("sleeps") as program:
        dumping = None
        while not dumping or dumping.returncode in (MOVES, STILL):  # the reader had answered before it was killed
            with subprocess.Popen([machine.GPUTRACE, "dump", "-p", str(program.pid), "--format", "json"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as dumping:
                kill_reader(dumping)
                dumped, said = dumping.communicate()
    assert dumping.returncode == FAILED and "was ended by signal 9, as for want of memory" in said
    (process,) = json.loads(dumped)["processes"]
    assert not process["answers"] and [thread["tid"] for thread in process["threads"]] == [program.pid]


def test_fifty_dumps_of_one_program_at_once_each_answer_right():
    with running("cycle") as program:
        dump_still(program.pid)
        dumps = [subprocess.Popen([machine.GPUTRACE, "dump", "-p", str(program.pid), "--format", "json"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) for _ in range(AT_ONCE)]
        answers = [(one.communicate(), one.returncode) for one in dumps]
    for (dumped, said), code in answers:
        assert (code, said) == (STILL, "")
        found = json.loads(dumped)
        (cycle,) = found["cycles"]
        assert {(node["pid"], node["tid"]) for node in cycle} == {tuple(program.roles[role]) for role in ("one", "two")}
        threads = threads_of(found)
        for role in ("one", "two"):
            assert inner_line(threads[tuple(program.roles[role])]) == LINES["cycle", role]
