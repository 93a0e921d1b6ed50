# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""docs/log-format.md is sufficient: a reader written from that page alone finds in a log what gputrace finds."""

import collections
import os
import pathlib
import random
import struct
import subprocess

import gptlog
import logfile
import machine
import pytest
import reading
import tracing

SEED = 20240607  # for the places where logs are truncated; any other value must work, too
CALL, CALL_ARGS, PYSTACK, CODE, CODE_LINES, CLOCK, END = 1, 2, 3, 4, 5, 36, 38
NAME, KERNEL, AGENT_CLOCK = 65, 67, 74
TABLE_OF_311 = 3  # value of CODE's field for a line table of CPython 3.11


def text(code, part):
    """One of the three strings that follow the fields of a CODE record."""
    kinds = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
    at = 0
    for name in ("name", "qualname", "filename"):
        size = code.values[f"{name}_bytes"]
        if name == part:
            return code.tail[at:at + size].decode(kinds[code.values[f"{name}_kind"]], "replace")
        at += gptlog.padded(size)
    raise KeyError(part)


def number(data):
    """Reads a number of a location table, six bits a byte, from an iterator."""
    value = shift = 0
    while True:
        byte = next(data)
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            return value


def line_of(table, first_line, lasti):
    """The line of an instruction by a location table (Objects/locations.md of CPython)."""
    data, line, at = iter(table), first_line, 0
    for head in data:
        code, units = head >> 3 & 15, (head & 7) + 1
        has_line = True
        if code == 15:
            has_line = False
        elif code in (13, 14):
            delta = number(data)
            line += -(delta >> 1) if delta & 1 else delta >> 1
            for _ in range(3 if code == 14 else 0):
                number(data)
        else:
            line += code - 10 if 10 <= code <= 12 else 0
            for _ in range(2 if code >= 10 else 1):
                next(data)
        at += 2 * units
        if lasti < at:
            return line if has_line else None
    return None


class Found:
    """Contents of a log of one Python process, by the rules of that page.

    It has the innermost line of each call's stack, the call of each correlation id, and kernels with their times.
    """

    def __init__(self, path):
        self.log = gptlog.Log(path)
        self.codes, self.tables, self.frames, self.names = {}, {}, {}, {}
        self.calls, self.kernels, self.clocks, self.ended = [], [], {}, False
        for record in self.log.records():
            for one in (record, *record.records):
                self.add(one)

    def add(self, record):
        values = record.values
        if record.type in (CALL, CALL_ARGS):
            self.calls.append((values["corr"], self.frames.get(values["stack_id"])))
        elif record.type == CODE:
            assert values["linetable"] == TABLE_OF_311
            self.codes[values["code"]], self.tables[values["code"]] = record, bytearray()
        elif record.type == CODE_LINES:
            self.tables[values["code"]] += record.tail[:values["bytes"]]
        elif record.type == PYSTACK:
            address, lasti = struct.unpack_from("<Qi", record.tail)  # the innermost frame
            self.frames[values["id"]] = (self.codes[address], self.tables[address], lasti)
        elif record.type == NAME:
            self.names[values["id"]] = record.tail[:values["bytes"]].rstrip(b"\0").decode()
        elif record.type == KERNEL:
            self.kernels.append(values)
        elif record.type in (CLOCK, AGENT_CLOCK):
            tracks = self.clocks.setdefault(record.type, [])
            tracks.append((values["wall_offset_ns"] - values["error_ns"], values["wall_offset_ns"] + values["error_ns"]))
        self.ended |= record.type == END

    def lines(self):
        """{(function, file, line): count} of the calls that launched a kernel."""
        launched = {kernel["corr"] for kernel in self.kernels}
        return collections.Counter(
            (text(code, "qualname"), text(code, "filename"), line_of(table, code.values["first_line"], lasti))
            for code, table, lasti in (frame for corr, frame in self.calls if corr in launched))

    def times(self):
        """[(correlation, name, start since the start of the recording, duration)], times in ns"""
        allowed = self.clocks.get(AGENT_CLOCK) or self.clocks.get(CLOCK) or [(self.log.wall_offset_ns, self.log.wall_offset_ns)]
        low, high = max(low for low, _ in allowed), min(high for _, high in allowed)
        found, offset = [], low + (high - low) // 2
        for kernel in self.kernels:
            found.append((kernel["corr"], self.names[kernel["name"]],
                          kernel["start_wall_ns"] - offset - self.log.start_ns, kernel["end_wall_ns"] - kernel["start_wall_ns"]))
        return sorted(found)


def gputraces_lines(trace):
    """Like Found.lines(), from a Chrome trace."""
    return collections.Counter(reading.innermost(call) for call, operations in reading.chrome.correlations(trace).values()
                               if any(operation["cat"] == "kernel" for operation in operations))


def gputraces_times(trace):
    return sorted((e["args"]["correlation"], e["name"], reading.chrome.ns(e["ts"]), reading.chrome.ns(e["dur"]))
                  for e in reading.chrome.events(trace, "kernel"))


def assert_both_find_the_same(log, trace):
    found = Found(log)
    assert len(found.calls) == reading.receipt(trace)["calls"]
    assert found.lines() == gputraces_lines(trace)
    assert found.times() == gputraces_times(trace)
    return found


def has_segments_with_kernels(path, count):
    try:
        log = gptlog.Log(path)
    except gptlog.Damaged:  # its header is being written
        return False
    return sum(KERNEL in segment.kinds for segment in log.segments) >= count


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """A program that launches now and then, so that its log has several segments."""
    folder = tmp_path_factory.mktemp("format")
    with tracing.target(folder, truth=folder / "gpu.json") as target:
        with tracing.Tracer(folder, "-p", target.pid) as tracer:
            tracer.wait_logged(logfile.says_ready)
            for count in range(1, 4):
                target.ask("steps 5")
                tracer.wait_logged(has_segments_with_kernels, count)
            tracer.interrupt().must_be(0)
    return folder


def test_a_reader_of_300_lines_finds_what_gputrace_finds(traced):
    found = assert_both_find_the_same(traced / "trace.gpt", reading.trace_of(traced / "trace.json"))
    assert found.ended and len(found.kernels) > 10 and len(found.lines()) > 3
    lines = pathlib.Path(gptlog.__file__).read_text().splitlines()
    assert len(lines) < 300


def test_the_index_says_where_the_segments_are(traced):
    log = gptlog.Log(traced / "trace.gpt")
    assert len(log.segments) > 2
    assert log.index() == [segment.offset for segment in log.segments]
    assert [segment.sequence for segment in log.segments] == list(range(len(log.segments)))


def test_headers_of_segments_say_what_is_in_them(traced):
    log = gptlog.Log(traced / "trace.gpt")
    for segment in log.segments:
        own = segment.records(log.schema)[segment.repeated:]
        kinds = collections.Counter(one.type for record in own for one in (record, *record.records))
        assert kinds == segment.kinds
        times = [record.values["time_ns"] for record in own if record.type in (CALL, CALL_ARGS)]
        assert all(segment.first_ns <= time <= segment.last_ns for time in times)
        assert {record.values["pid"] for record in own if record.type in (CALL, CALL_ARGS)} <= set(segment.pids)


def test_each_segment_can_be_read_without_those_before_it(traced):
    """Each call's stack is described in the call's own segment."""
    log = gptlog.Log(traced / "trace.gpt")
    for segment in log.segments:
        known = set()
        for record in segment.records(log.schema):
            if record.type == PYSTACK:
                known.add(record.values["id"])
            elif record.type in (CALL, CALL_ARGS):
                assert record.values["stack_id"] in known or not record.values["stack_id"]


def test_both_find_the_same_in_a_truncated_log(traced, tmp_path):
    data = (traced / "trace.gpt").read_bytes()
    log = gptlog.Log(traced / "trace.gpt")
    pick = random.Random(SEED)
    places = [log.segments[0].offset, log.end, log.end + 9, len(data) - 1,  # no segment, no index, parts of an index
              *(segment.offset for segment in log.segments[1:]),  # between two segments
              *(segment.offset + 40 for segment in log.segments[1:]),  # in a header
              *(pick.randrange(log.segments[0].offset, log.end) for _ in range(8))]
    for size in places:
        part = tmp_path / f"{size}.gpt"
        part.write_bytes(data[:size])
        tracing.gputrace(tmp_path, "export", part, "-o", f"{size}.json").must_be(0 if size >= log.end else 3)
        found = assert_both_find_the_same(part, reading.trace_of(tmp_path / f"{size}.json"))
        assert found.ended == (size >= log.end)


@pytest.mark.parametrize("size", [0, 23, 24, 63, 64, 1000])
def test_neither_reads_a_log_without_a_whole_header(traced, tmp_path, size):
    part = tmp_path / "part.gpt"
    part.write_bytes((traced / "trace.gpt").read_bytes()[:size])
    tracing.gputrace(tmp_path, "report", part).must_be(1)
    with pytest.raises(gptlog.Damaged):
        gptlog.Log(part)


def test_neither_reads_a_log_whose_schema_is_damaged(traced, tmp_path):
    """Even if the damaged schema is a valid one."""
    data = bytearray((traced / "trace.gpt").read_bytes())
    at = data.index(b"time_ns:64:")
    data[at:at + 7] = b"mite_ns"
    part = tmp_path / "part.gpt"
    part.write_bytes(data)
    tracing.gputrace(tmp_path, "report", part).must_be(1)
    with pytest.raises(gptlog.Damaged):
        gptlog.Log(part)


# ---- records as recorded ----

@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A recording by a gputrace that also writes its records, as it gives them to the log, to the file `records`."""
    folder = tmp_path_factory.mktemp("kept")
    programs = [machine.BUILD / "tests" / name for name in ("gputrace-teed", "log_records")]
    build = os.environ.get("GPUTRACE_BUILD", "build")  # the name at the build; else make builds all again
    subprocess.run(["make", "-s", "-C", machine.ROOT, f"BUILD={build}",
                    *(f"{build}/tests/{program.name}" for program in programs)], check=True)
    program = tracing.on_simgpu(folder / "gpu.json", machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "200",
                                "--threads", "2", "--graph")
    tracing.command(folder, programs[0], "--trace", "cuda,sync,memory", "--native", "-o", "trace.gpt", "--", *program,
                    env={"GPUTRACE_AGENT": machine.AGENT, "GPUTRACE_TEST_RECORDS": folder / "records"}).must_be(0)
    return folder


def test_a_log_holds_the_very_bytes_that_were_recorded(kept):
    log = gptlog.Log(kept / "trace.gpt")
    assert b"".join(record.data for record in log.records()) == (kept / "records").read_bytes()
    assert {CALL_ARGS, PYSTACK, CODE, CLOCK, END, NAME, KERNEL} <= {kind for segment in log.segments for kind in segment.kinds}


def test_gputrace_reads_the_very_bytes_that_were_recorded(kept):
    read = subprocess.run([machine.BUILD / "tests/log_records", kept / "trace.gpt"], stdout=subprocess.PIPE, check=True).stdout
    assert read == (kept / "records").read_bytes()
