# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""py-spy sees in a blocked process the frames, files and lines from which its threads launched."""

import json

import machine
import pytest
import stacks
import tracing

PYSPY = "py-spy<1"


def dump(folder, python, pid):
    """[(tid, ["file(line): name"], innermost first)] from py-spy"""
    spy = machine.package(python, PYSPY) / "bin/py-spy"
    done = tracing.command(folder, spy, "dump", "--json", "--full-filenames", "--pid", pid)
    if done.code and "version" in done.stderr:
        pytest.skip("py-spy: " + done.stderr.strip().splitlines()[-1])
    done.must_be(0)
    return [(thread["os_thread_id"], [f"{f['filename']}({f['line']}): {f['name']}" for f in thread["frames"]])
            for thread in json.loads(done.stdout)]


def paused(pid):
    """Number of threads that have made their launches and wait in pause(2), call 34 on x86-64."""
    return sum(path.read_text().split()[0] == "34" for path in tracing.Path(f"/proc/{pid}/task").glob("*/syscall"))


def test_py_spy_sees_the_same_frames_in_a_blocked_process(kind_of_python, tmp_path):
    program = [kind_of_python, machine.PROGRAMS / "blocked.py", machine.cudart(), tmp_path / "truth.json"]
    with tracing.Running(program, tmp_path) as running:
        running.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            running.ask("go")
            tracing.until(lambda: paused(running.pid) == 5)
            seen = dump(tmp_path, machine.any_python(), running.pid)
            tracer.interrupt().must_be(0)
    got = stacks.traced(tmp_path / "trace.json")
    assert len(got) == 5
    if {tid for tid, _ in seen} == {None}:  # up to 3.10 py-spy gets ids from native stacks, which fails in another root
        assert {tuple(launch.frames) for launches in got.values() for launch in launches} < {tuple(f) for _, f in seen}
        return
    seen = dict(seen)
    for tid, launches in got.items():
        for launch in launches:
            assert launch.frames == seen[tid], stacks.difference(seen[tid], launch.frames)
