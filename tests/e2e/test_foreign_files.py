# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Small files in the forms of other tools, as a user reads them: what the tables and outputs say."""

import json

import tracing


def event(category, name, ts, dur, pid=70, tid=71, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def work(category, name, ts, dur, corr, **args):
    return event(category, name, ts, dur, 0, 7, device=0, context=1, stream=7, correlation=corr, **args)


def launched(name, ts, dur, corr):
    """A launch, and its kernel."""
    return [event("cuda_runtime", "cudaLaunchKernel", ts, 2, correlation=corr), work("kernel", name, ts + 3, dur, corr)]


def write(folder, events, name="trace.json", **more):
    path = folder / name
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events, **more}))
    return path


def tables(folder, path, *arguments):
    done = tracing.gputrace(folder, *(arguments or ("report",)), path, "--format", "json").must_be(0)
    return {table["id"]: table for table in json.loads(done.stdout)["tables"]}


def test_functions_of_one_name_in_one_file_are_rows_of_their_own(tmp_path):
    events = [event("python_function", "run.py(90): main", 0, 10000)]
    for number, (line, ns) in enumerate(((14, 700), (31, 20), (58, 5)) * 3):
        ts = 10 + 1000 * number
        events += [event("python_function", f"net.py({line}): forward", ts, 100), *launched("k", ts + 1, ns, number + 1)]
    path = write(tmp_path, events)
    wanted = [(14, 2_100_000), (31, 60_000), (58, 15_000)]
    for again in (path, tmp_path / "again.json", tmp_path / "again.sqlite"):
        if again != path:
            tracing.gputrace(tmp_path, "export", path, "-o", again).must_be(0)
        found = tables(tmp_path, again)
        assert [(r["line_number"], r["self_ns"]) for r in found["gpu_lines"]["rows"]] == wanted, again
        assert [(r["line_number"], r["total_ns"]) for r in found["own_lines"]["rows"]] == [(90, 2_175_000), *wanted]
        assert {r["line_number"] for r in found["idle"]["rows"] if r["line_number"]} == {14, 31, 58}
    assert "3 did not change" in tracing.gputrace(tmp_path, "diff", path, path).must_be(0).stdout
    tracing.gputrace(tmp_path, "export", path, *tracing.outputs(tmp_path, "x.folded", "x.speedscope.json")).must_be(0)
    folded = [line.rpartition(" ") for line in (tmp_path / "x.folded").read_text().splitlines()]
    assert sorted((stack.split(";")[2], int(ns)) for stack, _, ns in folded) == \
        [(f"forward (net.py:{line})", ns) for line, ns in wanted]
    frames = json.loads((tmp_path / "x.speedscope.json").read_text())["shared"]["frames"]
    assert {f["line"] for f in frames if f["name"] == "forward"} == {14, 31, 58}
    assert "A line's number is its function's first" in tracing.gputrace(tmp_path, "report", path).stdout
