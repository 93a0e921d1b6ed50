# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The log in several files (--rotate): together they have everything, once; a full disk pauses the recording."""

import collections
import json
import subprocess

import gptlog
import logfile
import machine
import tracing

END_WRITTEN, END_DISK = 7, 4  # enum gpt_end_reason
AGAIN = "the log is written again, after "


def program(folder, pause="0"):
    return tracing.on_simgpu(folder / "gpu.json", machine.any_python(), machine.PROGRAMS / "numbers_fills.py", folder / "said", pause)


def rotating(folder, rotate, place=None, pause="0"):
    return tracing.Running([machine.GPUTRACE, "--rotate", rotate, "-o", (place or folder) / "trace.gpt", "--", *program(folder, pause)], folder)


def said(folder):
    """The numbers of the program's fills."""
    return [int(line.split()[0]) for line in (folder / "said").read_text().splitlines()]


def logs(folder):
    """The files, in order of time."""
    return sorted((path for path in folder.glob("trace.*.gpt")), key=lambda path: gptlog.Log(path).start_ns)


def fills_of(log, code=0):
    """Numbers of the fills of its time that a log has on the GPU."""
    path = log.with_suffix(".json")
    tracing.gputrace(log.parent, "export", log, "-o", path).must_be(code)
    events = json.loads(path.read_text())["traceEvents"]
    return [event["args"]["bytes"] for event in events if event.get("cat") == "gpu_memset"]


def end_of(log):
    (end,) = logfile.records(log, logfile.END)
    return end.values


def test_the_files_have_each_fill_once_and_follow_each_other(tmp_path):
    with rotating(tmp_path, "1M") as running:
        running.wait_line("ready")
        tracing.until(lambda: len(list(tmp_path.glob("trace.*.gpt"))) >= 3)
        done = running.end().must_be(0)
    files = logs(tmp_path)
    assert f"{len(files)} logs, the first is {files[0]}: gputrace report {files[-1]} is of the last" in done.stderr
    assert collections.Counter(number for log in files for number in fills_of(log)) == collections.Counter(said(tmp_path))
    for before, after in zip(files, files[1:]):
        assert end_of(before)["reason"] == END_WRITTEN and end_of(before)["time_ns"] == gptlog.Log(after).start_ns
        assert before.stat().st_size < 1.5e6
    for log in files:
        report = tracing.gputrace(tmp_path, "report", log).must_be(0).stdout
        # work that was launched before a file's start may run in it
        assert "Complete: " in report and any(f" launches joined, 0 lost; {share}" in report for share in ("100", "99.9"))
    assert not list(tmp_path.glob("*.part-*")) and not (tmp_path / "trace.gpt").exists()


def test_the_last_files_are_kept(tmp_path):
    with rotating(tmp_path, "1M,keep=2") as running:
        running.wait_line("ready")
        seen = set()

        def are_four():
            seen.update(tmp_path.glob("trace.*.gpt"))
            return len(seen) >= 4
        tracing.until(are_four)
        running.end().must_be(0)
    files = logs(tmp_path)
    assert len(files) == 2
    numbers = [number for log in files for number in fills_of(log)]
    last = said(tmp_path)[-1]
    assert sorted(numbers) == list(range(min(numbers), last + 1)) and min(numbers) > 1


def test_a_full_disk_pauses_and_what_it_did_not_take_is_said_and_counted(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(place)], check=True)
    try:
        with rotating(tmp_path, "1h", place) as running:
            running.wait_line("the log cannot be written (", "stderr")
            subprocess.run(["mount", "-o", "remount,size=100m", str(place)], check=True)
            line = running.wait_line(AGAIN, "stderr")
            assert int(line.split("of which it has nothing: ")[1].split()[0]) > 0
            since = said(tmp_path)[-1]
            tracing.until(lambda: said(tmp_path)[-1] > since + 3000)
            running.end().must_be(0)
        first, *_, last = files = logs(place)
        assert end_of(first)["reason"] == END_DISK
        found = [fills_of(log, tracing.INCOMPLETE if log != last else 0) for log in files]
        numbers = sum(found, [])
        assert len(numbers) == len(set(numbers)) and found[0] and set(numbers) < set(said(tmp_path))
        assert set(found[-1]) >= set(range(since, said(tmp_path)[-1] + 1))
        report = " ".join(tracing.gputrace(tmp_path, "report", last).stdout.split())
        assert "before this log nothing could be written for " in report and ": No space left on device: " in report
    finally:
        subprocess.run(["umount", str(place)], check=True)
