# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every output can be made again from a log, also from one that was cut short."""

import gzip
import random
import re
import struct

import gptlog
import machine
import pytest
import reading
import tracing

SEED = 20240607  # for the places where logs are cut; any other value must work, too


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """A run on the simulated GPU with every output, and the report of the live trace."""
    folder = tmp_path_factory.mktemp("traced")
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "20", "--graph"]
    names = ("trace.gpt", "trace.json", "trace.json.gz", "trace.folded", "each-%p.json", "each-%p.folded")
    done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *program), names=names)
    said = "ready\nsteps 20\n"
    assert done.stdout.startswith(said)
    (folder / "report.txt").write_text(done.stdout[len(said):])
    return folder


def unnamed(report):
    """A report without the name of its log, which stands in the next command."""
    return re.sub(r"^Next: gputrace (report|why) \S+\.gpt", r"Next: gputrace \1 LOG", report, flags=re.M)


def test_the_report_from_the_log_is_the_live_one_byte_for_byte(traced, tmp_path):
    done = tracing.gputrace(tmp_path, "report", traced / "trace.gpt").must_be(0)
    assert unnamed(done.stdout) == unnamed((traced / "report.txt").read_text())


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz", "trace.folded"])
def test_an_export_from_the_log_is_the_live_output_byte_for_byte(traced, tmp_path, name):
    tracing.gputrace(tmp_path, "export", traced / "trace.gpt", "-o", name).must_be(0)
    assert (tmp_path / name).read_bytes() == (traced / name).read_bytes()


@pytest.mark.parametrize("suffix", ["json", "folded"])
def test_exports_per_process_are_the_live_ones_byte_for_byte(traced, tmp_path, suffix):
    tracing.gputrace(tmp_path, "export", traced / "trace.gpt", "-o", f"each-%p.{suffix}").must_be(0)
    live = {path.name: path.read_bytes() for path in traced.glob(f"each-*.{suffix}")}
    assert len(live) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.glob(f"each-*.{suffix}")} == live


def test_the_compressed_trace_holds_the_same_bytes(traced):
    assert gzip.decompress((traced / "trace.json.gz").read_bytes()) == (traced / "trace.json").read_bytes()


def test_standard_output_gets_the_same_bytes_as_a_file(traced, tmp_path):
    done = tracing.gputrace(tmp_path, "export", traced / "trace.gpt", "-o", "-", "--format", "folded").must_be(0)
    assert done.stdout == (traced / "trace.folded").read_text()


def test_a_copy_of_the_log_through_export_is_the_same_log(traced, tmp_path):
    tracing.gputrace(tmp_path, "export", traced / "trace.gpt", "-o", "copy.gpt").must_be(0)
    assert (tmp_path / "copy.gpt").read_bytes() == (traced / "trace.gpt").read_bytes()


def test_reading_a_log_needs_no_privilege(traced, public):
    log = public / "trace.gpt"
    log.write_bytes((traced / "trace.gpt").read_bytes())
    done = tracing.command(public, *tracing.AS_NOBODY, public / "gputrace", "report", log).must_be(0)
    assert unnamed(done.stdout) == unnamed((traced / "report.txt").read_text())


def _truncated(traced, folder, size):
    log = folder / f"cut-{size}.gpt"
    log.write_bytes((traced / "trace.gpt").read_bytes()[:size])
    return log


def _assert_truncation_is_reported(folder, log):
    done = tracing.gputrace(folder, "report", log).must_be(3)
    assert done.stderr.splitlines() == [
        f"gputrace: warning: {log} was cut short: it holds what was recorded up to then"]
    assert "Cut short: the log ends before the trace did" in done.stdout


def test_a_log_truncated_anywhere_in_its_segments_gives_a_report_that_says_so(traced, tmp_path):
    log = gptlog.Log(traced / "trace.gpt")
    first, end = log.segments[0].offset, log.end
    pick = random.Random(SEED)
    for size in [first, end - 1, *(pick.randrange(first, end) for _ in range(25))]:
        _assert_truncation_is_reported(tmp_path, _truncated(traced, tmp_path, size))


def test_a_log_truncated_between_two_segments_gives_a_report_that_says_so(traced, tmp_path):
    segments = gptlog.Log(traced / "trace.gpt").segments
    for segment in segments[:15]:
        _assert_truncation_is_reported(tmp_path, _truncated(traced, tmp_path, segment.offset))


def test_a_segment_whose_end_is_damaged_is_left_out_and_the_report_says_so(traced, tmp_path):
    segments = gptlog.Log(traced / "trace.gpt").segments
    data = bytearray((traced / "trace.gpt").read_bytes())
    data[segments[1].end - 16] ^= 1
    (tmp_path / "damaged.gpt").write_bytes(data)
    done = tracing.gputrace(tmp_path, "report", "damaged.gpt").must_be(3)
    assert "Note: 1 segment of the log is damaged: what was in it is missing" in done.stdout
    assert len(segments) > 2


def test_a_log_without_its_index_gives_the_same_report(traced, tmp_path):
    end, size = gptlog.Log(traced / "trace.gpt").end, (traced / "trace.gpt").stat().st_size
    for kept in (end, end + 1, end + 20, size - 25, size - 1):
        done = tracing.gputrace(tmp_path, "report", _truncated(traced, tmp_path, kept)).must_be(0)
        assert unnamed(done.stdout) == unnamed((traced / "report.txt").read_text())


def test_exports_of_a_cut_log_keep_every_rule_and_hold_only_what_was_there(traced, tmp_path):
    log = gptlog.Log(traced / "trace.gpt")
    whole = reading.trace_of(traced / "trace.json")
    everything = {e["args"]["correlation"] for e in reading.chrome.events(whole, *reading.chrome.API)}
    pick, seen = random.Random(SEED), []
    for _ in range(12):
        part = _truncated(traced, tmp_path, pick.randrange(log.segments[0].offset, log.end))
        tracing.gputrace(tmp_path, "export", part, "-o", "cut.json", "-o", "cut.folded").must_be(3)
        trace = reading.trace_of(tmp_path / "cut.json")
        calls = {e["args"]["correlation"] for e in reading.chrome.events(trace, *reading.chrome.API)}
        assert trace["gputrace"]["receipt"]["truncated"] and calls <= everything
        seen.append(len(calls))
    assert min(seen) < len(everything)


def _patched(traced, folder, offset, replacement):
    data = bytearray((traced / "trace.gpt").read_bytes())
    data[offset:offset + len(replacement)] = replacement
    log = folder / "patched.gpt"
    log.write_bytes(data)
    return log


_NOT_READ = 'it is neither a gputrace log nor a trace in a form that gputrace reads (docs/formats.md, "Files that are read")'


@pytest.mark.parametrize("offset, replacement, says", [
    (0, b"ELF\n", _NOT_READ),
    (4, struct.pack("<H", 1), "it was written by an older gputrace (log version 1): report it with that one, or record again"),
    (4, struct.pack("<H", 3), "it was written by another version of gputrace: report it with that one"),
    (6, struct.pack("<H", 0), "its header is damaged"),
    (6, struct.pack("<H", 0xffff), "its header is damaged"),
    (6, struct.pack("<H", 25), "its header is damaged"),
    (24, struct.pack("<I", 0xffffffff), "its header is damaged"),  # size of the schema
    (70, b"\0", "its header is damaged"),  # inside the schema
])
def test_a_log_with_a_wrong_header_is_refused(traced, tmp_path, offset, replacement, says):
    log = _patched(traced, tmp_path, offset, replacement)
    for subcommand in (("report", log), ("export", log, "-o", "out.json")):
        done = tracing.gputrace(tmp_path, *subcommand).must_be(1)
        assert (done.stdout, done.stderr) == ("", f"gputrace: {log}: {says}\n")
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("size, says", [(0, "it is empty"), (1, _NOT_READ),
                                        (23, "it is too short to be a gputrace log"), (24, "its header is damaged"),
                                        (63, "its header is damaged"), (1000, "its header is damaged")])
def test_a_file_without_a_whole_header_is_refused(traced, tmp_path, size, says):
    log = _truncated(traced, tmp_path, size)
    done = tracing.gputrace(tmp_path, "report", log).must_be(1)
    assert (done.stdout, done.stderr) == ("", f"gputrace: {log}: {says}\n")


def test_damage_in_any_segment_gives_a_report_that_says_so(traced, tmp_path):
    segments = gptlog.Log(traced / "trace.gpt").segments
    for segment in segments[:10]:
        log = _patched(traced, tmp_path, segment.offset + segment.header_size + 10, b"damage")
        _assert_truncation_is_reported(tmp_path, log)


def test_damage_anywhere_ends_in_whole_files_and_no_crash(traced, tmp_path):
    data = (traced / "trace.gpt").read_bytes()
    first = gptlog.Log(traced / "trace.gpt").segments[0].offset
    pick = random.Random(SEED)
    for _ in range(30):
        damaged = bytearray(data)
        for _ in range(2):
            damaged[pick.randrange(first, len(data))] = pick.randrange(256)
        (tmp_path / "damaged.gpt").write_bytes(damaged)
        done = tracing.gputrace(tmp_path, "export", "damaged.gpt", "-o", "damaged.json", "-o", "damaged.folded")
        assert done.code in (0, 3), repr(done)
        reading.chrome.load(tmp_path / "damaged.json")  # fails unless it is valid JSON
        reading.folded(tmp_path / "damaged.folded")
