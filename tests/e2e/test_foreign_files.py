# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Small files in the forms of other tools, as a user reads them: what the tables and outputs say."""

import contextlib
import json
import os
import pickle
import re
import signal
import sqlite3
import subprocess

import machine
import pytest
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


PID, TID = 1000 << 24, 1000 << 24 | 1001  # as nsys writes them

NSYS = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start, end, globalTid, correlationId, nameId, returnValue",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName",
    "CUPTI_ACTIVITY_KIND_MEMCPY":
        "start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind",
    "CUPTI_ACTIVITY_KIND_MEMSET":
        "start, end, deviceId, contextId, streamId, correlationId, globalPid, value, bytes, memKind",
}


class Nsys:
    """A database in the form of nsys' export."""

    def __init__(self, path):
        self.path, self.texts, self.corr = path, {}, 0
        with self.base() as base:
            base.execute("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
            base.execute("CREATE TABLE META_DATA_EXPORT(name, value)")
            for table, columns in NSYS.items():
                base.execute(f"CREATE TABLE {table}({columns})")

    @contextlib.contextmanager
    def base(self):
        with contextlib.closing(sqlite3.connect(self.path)) as base, base:
            yield base

    def add(self, table, *values):
        with self.base() as base:
            base.execute(f"INSERT INTO {table} VALUES({','.join('?' * len(values))})", values)

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts) + 1
            self.add("StringIds", self.texts[value], value)
        return self.texts[value]

    def call(self, name, start, ns, result=0):
        self.corr += 1
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start, start + ns, TID, self.corr, self.text(name), result)
        return self.corr

    def launch(self, name, start, ns):
        """A launch, and its kernel 2 us later."""
        corr = self.call("cudaLaunchKernel_v7000", start, 1000)
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start + 2000, start + 2000 + ns, 0, 1, 7, corr, PID, self.text(name))

    def copy(self, kind, start, ns, size, corr=0):
        self.add("CUPTI_ACTIVITY_KIND_MEMCPY", start, start + ns, 0, 1, 7, corr, PID, size, kind, 0, 0)


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


def test_a_query_that_finds_the_gpu_at_work_has_not_failed(tmp_path):
    nsys = Nsys(tmp_path / "x.sqlite")
    for start in (1_000_000, 2_000_000):
        nsys.launch("k", start, 500_000)
        for name in ("cudaEventQuery_v3020", "cuStreamQuery"):
            nsys.call(name, start + 100_000, 80_000, result=600)
            nsys.call(name, start + 600_000, 1_000)
    assert "failed" not in tables(tmp_path, nsys.path)
    why = tracing.gputrace(tmp_path, "why", nsys.path).must_be(0).stdout
    assert "cudaEventQuery" in why and "failed" not in why and "memory" not in why, why
    nsys.call("cudaHostRegister_v4000", 3_000_000, 1_000, result=712)
    (row,) = tables(tmp_path, nsys.path)["failed"]["rows"]
    assert (row["result"], row["call"], row["count"]) == (712, "cudaHostRegister", 1) and "already" in row["meaning"]


def test_copies_of_managed_memory_need_no_launch(tmp_path):
    nsys = Nsys(tmp_path / "x.sqlite")
    nsys.launch("k", 1_000_000, 500_000)
    for number in range(10):
        nsys.copy(11, 2_000_000 + number * 100_000, 50_000, 200_000)
        nsys.copy(12, 4_000_000 + number * 100_000, 20_000, 65_536)
    nsys.copy(13, 6_000_000, 7_000, 4096)
    wanted = {("Host to Device, managed", 10, 2_000_000, 500_000), ("Device to Host, managed", 10, 655_360, 200_000),
              ("Device to Device, managed", 1, 4096, 7_000)}
    for again in (nsys.path, tmp_path / "again.json", tmp_path / "again.sqlite"):
        if again != nsys.path:
            tracing.gputrace(tmp_path, "export", nsys.path, "-o", again).must_be(0)
        found = tables(tmp_path, again)
        assert {(r["direction"], r["count"], r["bytes"], r["gpu_ns"]) for r in found["copies"]["rows"]} == wanted, again
        assert {r["cause"]: r["count"] for r in found["losses"]["rows"]} == {"gpu_ops_migrated": 21}
        assert "call not seen" not in json.dumps(found)
    assert "[managed memory, moved by the driver];Memcpy Managed HtoD" in tracing.gputrace(
        tmp_path, "export", nsys.path, "-o", "-", "--format", "folded").must_be(0).stdout


def test_the_gpu_waits_where_the_driver_moves_managed_memory(tmp_path):
    nsys = Nsys(tmp_path / "x.sqlite")
    nsys.launch("k", 1_000_000, 1_000_000)
    for number in range(10):
        nsys.copy(11, 1_100_000 + number * 50_000, 40_000, 200_000)  # while the kernel runs
    for number in range(20):
        nsys.copy(12, 3_002_000 + number * 300_000, 20_000, 65_536)
    found = tables(tmp_path, nsys.path, "why")
    (loss,) = found["why_losses"]["rows"]
    assert (loss["cause_id"], loss["ns"]) == ("managed", 1_000_000 + 19 * 280_000 + 20 * 20_000), loss
    assert "CPU reads pages that lie on the GPU" in loss["seen"] and "20 times (1.3 MB in all, 400.0 us)" in loss["seen"]
    assert "cudaMemPrefetchAsync to cudaCpuDeviceId" in loss["try"] and "cudaMemAdvise" in loss["try"]
    why = tracing.gputrace(tmp_path, "why", nsys.path).must_be(0).stdout
    assert "launch was not recorded" not in why, why
    idle = tables(tmp_path, nsys.path)["idle"]["rows"]
    assert [row["idle_ns"] for row in idle if row["why"] == "pages moved to the CPU"] == [6_320_000], idle
    nsys.copy(11, 10_000_000, 20_000, 65_536)
    nsys.copy(13, 13_000_000, 20_000, 65_536)
    lines = tables(tmp_path, nsys.path, "why")["why_lines"]["rows"]
    assert sorted(row["ns"] for row in lines) == [1_278_000 + 20_000, 2_980_000, 6_720_000], lines


CAUSES = {1: ("cudaMemPrefetchAsync", "The program moves pages", "Prefetch earlier"),
          2: ("page faults", "The CPU reads pages that lie on the GPU", "cudaMemPrefetchAsync to cudaCpuDeviceId"),
          3: ("the driver's prefetch", "expects to be needed", "cudaMemPrefetchAsync to cudaCpuDeviceId"),
          4: ("evicted", "The GPU's memory is full", "Use less memory at a time"),
          5: ("accessed often", "accessed often from afar", "cudaMemPrefetchAsync to cudaCpuDeviceId")}


@pytest.mark.parametrize("cause, own", [(cause, own) for cause in CAUSES for own in (False, True)])
def test_why_managed_memory_moved_is_said_as_the_file_has_it(tmp_path, cause, own):
    """own: the file's table of causes has numbers other than CUPTI's, and they count."""
    nsys = Nsys(tmp_path / "x.sqlite")
    names = {5: "USER", 4: "COHERENCE", 2: "PREFETCH", 1: "EVICTION", 3: "ACCESS_COUNTERS"}
    order = ("USER", "COHERENCE", "PREFETCH", "EVICTION", "ACCESS_COUNTERS")
    number = next(key for key, name in names.items() if name == order[cause - 1]) if own else cause
    with nsys.base() as base:
        base.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD COLUMN migrationCause")
        if own:
            base.execute("CREATE TABLE ENUM_CUDA_UNIF_MEM_MIGRATION(id INTEGER PRIMARY KEY, name, label)")
            base.executemany("INSERT INTO ENUM_CUDA_UNIF_MEM_MIGRATION VALUES(?, ?, '')",
                             [(key, f"MIGRATION_CAUSE_{name}") for key, name in names.items()])
    nsys.launch("k", 1_000_000, 1_000_000)
    for at in range(20):
        start = 3_002_000 + at * 300_000
        nsys.add("CUPTI_ACTIVITY_KIND_MEMCPY", start, start + 20_000, 0, 1, 7, 0, PID, 65_536, 12, 0, 0, number)
    words, seen, advice = CAUSES[cause]
    for path in (nsys.path, tmp_path / "again.sqlite"):
        if path != nsys.path:
            tracing.gputrace(tmp_path, "export", nsys.path, "-o", path).must_be(0)
        (loss,) = tables(tmp_path, path, "why")["why_losses"]["rows"]
        assert seen in loss["seen"] and "20 times" in loss["seen"] and advice in loss["try"], loss
        assert {row["why"] for row in tables(tmp_path, path)["idle"]["rows"] if row["cause_id"] == "managed"} == {
            f"pages moved to the CPU ({words})"}


def test_work_at_the_end_of_a_file_counts_without_its_launch(tmp_path):
    path = write(tmp_path, [*launched("k", 10, 5, 1), work("kernel", "late", 20, 5, 99)])
    assert {(r["kernel"], r["calls"]) for r in tables(tmp_path, path)["kernels"]["rows"]} == {("k", 1), ("late", 1)}


def test_records_that_make_no_sense_are_counted_by_reason(tmp_path):
    good = launched("k", 10, 5, 1)
    bad = [event("cpu_op", "a", "now", 1), event("cpu_op", "b", 10, -5), event("cuda_runtime", "cudaLaunchKernel", 5, 1, pid=0),
           {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 70, "tid": 71, "ts": 5,
            "args": {"Addr": 1, "Device Type": 1}}]
    path = write(tmp_path, good + bad)
    wanted = {"bad_time": 2, "bad_owner": 1, "bad_value": 1}
    done = tracing.gputrace(tmp_path, "report", path, "--format", "json").must_be(tracing.INCOMPLETE)
    rows = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}["losses"]
    assert {row["cause"]: row["count"] for row in rows} == wanted
    assert ("has 4 records that make no sense, and are left out: of 2 a time is missing or impossible; "
            "of 1 no process or thread is named; of 1 a field is missing or impossible") in done.stderr
    report = tracing.gputrace(tmp_path, "report", path).stdout
    assert "2 records that make no sense: a time is missing or impossible" in report and "the log" not in report
    tracing.gputrace(tmp_path, "export", path, "-o", tmp_path / "x.json").must_be(tracing.INCOMPLETE)
    head = (tmp_path / "x.json").read_text()
    assert all(f'"{name}": {count}' in head or f'"{name}":{count}' in head for name, count in wanted.items())


def memory(ts, size, device_type, total):
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 70, "tid": 71, "ts": ts,
            "args": {"Total Reserved": 1 << 24, "Total Allocated": total, "Bytes": size, "Device Id": 0,
                     "Device Type": device_type, "Addr": 4096 * ts}}


@pytest.mark.parametrize("device_type", [1, 6, 12, 15, 19], ids=["cuda", "hip", "xpu", "hpu", "mtia"])
def test_memory_of_every_kind_of_gpu_is_gpu_memory(tmp_path, device_type):
    events = [event("cpu_op", "aten::empty", 10, 50), *launched("k", 100, 5, 1)]
    path = write(tmp_path, events + [memory(12, 4096, device_type, 4096), memory(14, 8192, device_type, 12288)])
    assert "GPU 0: 12.0 KiB at most" in tracing.gputrace(tmp_path, "report", path).must_be(0).stdout
    tracing.gputrace(tmp_path, "export", path, "-o", tmp_path / "x.pickle").must_be(0)
    segments = pickle.loads((tmp_path / "x.pickle").read_bytes())["segments"]
    assert sum(b["size"] for s in segments for b in s["blocks"] if b["state"] == "active_allocated") == 12288
    assert "GPU memory at most" in tracing.gputrace(tmp_path, "diff", path, path).must_be(0).stdout


def test_what_lacks_in_another_tools_file_is_not_blamed_on_options_of_gputrace(tmp_path):
    path = write(tmp_path, [event("cpu_op", "aten::add", 5, 50), *launched("k", 10, 5, 1), *launched("k", 500, 5, 2)])
    said = "".join(
        done.stdout + done.stderr for done in (
            tracing.gputrace(tmp_path, *words) for words in (
                ("report", path), ("report", "--backward", "forward", path), ("why", path), ("diff", path, path),
                ("report", "--tree", "--by", "memory", path), ("export", path, "-o", tmp_path / "x.pickle"),
                ("export", path, "-o", tmp_path / "x.folded", "--metric", "cpu"))))
    assert "profile_memory=True" in said
    recording = {"--ops", "--memory", "--cpu", "--off-cpu", "--trace", "--forward-lines", "--agent", "doctor"}
    assert not [word for word in recording if word in said], said


def piped(stdin, *arguments):
    done = subprocess.run([machine.GPUTRACE, *map(str, arguments)], stdin=stdin, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_standard_input_and_pipes_are_read_like_files(tmp_path):
    path = write(tmp_path, [work for number in range(3000) for work in launched("k", 10 + 9 * number, 5, number + 1)])
    for command in (("report",), ("why",), ("export", "--format", "folded", "-o", "-"), ("diff", path)):
        wanted = tracing.gputrace(tmp_path, *command, path).must_be(0).stdout
        for name in ("-", "/dev/stdin", "/dev/fd/0"):
            with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat, path.open() as file:
                for stdin in (cat.stdout, file):
                    code, out, err = piped(stdin, *command, name)
                    assert (code, err) == (0, ""), (command, name)
                    again = name if name == "/dev/fd/0" else "FILE"  # the next command names no standard input
                    assert out == wanted.replace(f" {path}\n", f" {again}\n") or command[0] == "diff", (command, name)
                    assert command[0] != "diff" or re.search("after: +(standard input|/dev/fd/0), 27.0 ms", out), out
    with open("/dev/null") as nothing:
        assert "standard input: is not a regular file" in piped(nothing, "report", "-")[2]
    ours, theirs = os.openpty()
    assert "standard input: is a terminal: name a file, or pipe one to gputrace" in piped(theirs, "why", "-")[2]
    os.close(ours)
    os.close(theirs)


def test_a_pipe_is_waited_for_until_a_signal(tmp_path):
    fifo, path = tmp_path / "fifo", write(tmp_path, launched("k", 10, 5, 1))
    os.mkfifo(fifo)
    for ends in (False, True):
        with subprocess.Popen([machine.GPUTRACE, "report", fifo], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process, fifo.open("w") as writer:  # opens once gputrace has
            if ends:
                writer.write(path.read_text())
                writer.close()
            else:
                process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        assert (process.returncode, bool(out)) == ((0, True) if ends else (1, False)), err
        assert ends or f"{fifo}: interrupted before it had ended" in err


@pytest.mark.parametrize("device", (0, 1))
def test_the_first_process_of_a_container_is_told_from_a_gpu_of_its_number(tmp_path, device):
    names = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
             for pid, name in ((1, "python3"), (0, "GPU 0"), (1, "GPU 1"))]
    names += [{"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
              for pid, tid, name in ((1, 1, "thread 1 (python3)"), (1, 7, "thread 7 (loader)"), (device, 7, "stream 7 "))]
    events = []
    for number, tid in enumerate((1, 7)):
        events += [event("cuda_runtime", "cudaLaunchKernel", 10 + 100 * number, 2, 1, tid, correlation=number + 1),
                   event("kernel", "k", 20 + 100 * number, 50, device, 7, device=device, stream=7, correlation=number + 1)]
    path, again = write(tmp_path, names + events), tmp_path / "again.json"
    for lists in ({}, {"deviceProperties": [{"id": number, "name": "A"} for number in (0, 1)]}):
        path = write(tmp_path, names + events, **lists)
        tracing.gputrace(tmp_path, "export", path, "-o", again).must_be(0)
        kernels = {e["pid"] for e in json.loads(again.read_text())["traceEvents"] if e.get("cat") == "kernel"}
        calls = {e["pid"] for e in json.loads(again.read_text())["traceEvents"] if e.get("cat") == "cuda_runtime"}
        assert kernels == {device} and not kernels & calls
        for name in (path, again):
            report = tracing.gputrace(tmp_path, "report", name).must_be(0).stdout
            assert report.startswith("python3 (pid 1), "), report
            assert f"GPU {device}" in report and "loader" in report and "stream 7" not in report, report


def test_waits_and_calls_have_the_same_names_after_an_export(tmp_path):
    nsys = Nsys(tmp_path / "x.sqlite")
    with nsys.base() as base:
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, contextId, streamId, "
                     "correlationId, globalPid, syncType, eventId)")
    nsys.launch("k", 1_000_000, 5_000_000)
    for number, (name, kind) in enumerate((("cudaEventSynchronize_v3020", 2), ("cudaDeviceSynchronize_v3020", 1),
                                           ("cudaStreamSynchronize_v3020", 3), ("cudaFree_v3020", 1))):
        start, ns = 2_000_000 + 1_000_000 * number, 500_000 + 1000 * number
        corr = nsys.call(name, start, ns)
        nsys.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start, start + ns, 0, 1, 7, corr, PID, kind, 26)
    wanted = tables(tmp_path, nsys.path)
    assert {row["wait"].split(",")[0] for row in wanted["waits"]["rows"]} >= {"cudaEventSynchronize", "cudaDeviceSynchronize"}
    for before, name in ((nsys.path, "a.json"), (nsys.path, "a.sqlite"), (tmp_path / "a.sqlite", "b.json"),
                         (tmp_path / "a.json", "b.sqlite")):
        tracing.gputrace(tmp_path, "export", before, "-o", tmp_path / name).must_be(0)
        found = tables(tmp_path, tmp_path / name)
        for table in ("waits", "calls"):
            assert found[table]["rows"] == wanted[table]["rows"], (name, table)
        report = tracing.gputrace(tmp_path, "report", tmp_path / name).must_be(0).stdout
        assert "Nsight Systems (nsys), written by gputrace" in report and "gputrace follows" not in report


def rank_file(folder, rank, late, **more):
    args = {"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Rank": rank,
            "Group size": 2, "In msg nelems": 4, "Out msg nelems": 4, "dtype": "Float", **more}
    pid = 70 + rank
    return write(folder, [
        event("cpu_op", "record_param_comms", 1000 + rank, 30, pid, pid, **args),
        event("cuda_runtime", "cudaLaunchKernel", 1010, 5, pid, pid, correlation=1),
        work("kernel", "ncclDevKernel_AllReduce", 1020 + late, 50 - late, 1)], f"rank{rank}.json")


def test_collectives_without_a_sequence_number_are_said_to_have_none(tmp_path):
    ranks = [rank_file(tmp_path, rank, 20 * rank) for rank in (0, 1)]
    done = tracing.gputrace(tmp_path, "merge", *ranks).must_be(1)
    assert "rank1.json have no sequence number" in done.stderr and "Seq" in done.stderr and "--ops" not in done.stderr
    done = tracing.gputrace(tmp_path, "merge", "--unaligned", "--format", "json", *ranks).must_be(0)
    found = {table["id"]: table for table in json.loads(done.stdout)["tables"]}["merge_ranks"]
    assert [(row["rank"], row["not_compared"]) for row in found["rows"]] == [(0, 1), (1, 1)]
    assert "2 collectives are not compared: they have no sequence number" in "".join(found["notes"])
    ranks = [rank_file(tmp_path, rank, 20 * rank, Seq=3) for rank in (0, 1)]
    assert "sequence number" not in tracing.gputrace(tmp_path, "merge", *ranks).must_be(0).stdout


def test_a_gpu_that_worked_in_a_part_of_the_recording_has_its_share_of_that_part(tmp_path):
    span = event("Trace", "PyTorch Profiler (0)", 1000, 1_000_000, "Spans", "PyTorch Profiler")
    part = [work for number in range(3) for work in launched("k", 500_000 + 100 * number, 50, number + 1)]
    report = " ".join(tracing.gputrace(tmp_path, "report", write(tmp_path, [span, *part])).must_be(0).stdout.split())
    assert "GPU 0: busy 60.0 % of the 250.0 us from its first operation to its last; the other 999.8 ms are" in report
    (row,) = tables(tmp_path, tmp_path / "trace.json")["gpus"]["rows"]
    assert (row["busy_ns"], row["first_to_last_ns"]) == (150_000, 250_000)
    assert "GPU 0: busy" not in tracing.gputrace(tmp_path, "report", write(tmp_path, part)).must_be(0).stdout
