# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every output of `export` and `report` where it cannot be written, and of odd input files: one clear line, the right
exit code, nothing half-written, and the reader of each format accepts what is written."""

import contextlib
import gzip
import html.parser
import json
import marshal
import os
import pathlib
import pickle
import shutil
import signal
import sqlite3
import subprocess
import xml.etree.ElementTree

import machine
import pytest
import timelines
import tracing

FAILED, INCOMPLETE = 1, 3


def suffixes():
    """The suffixes that gputrace itself lists."""
    said = subprocess.run([machine.GPUTRACE, "export", "x.gpt", "-o", "x.no-format"], capture_output=True, text=True).stderr
    return said.strip().partition("accepted are ")[2].split(", ")


def of_export():
    """The suffixes of all outputs that can be made from another tool's file."""
    return [suffix for suffix in suffixes() if suffix != ".gpt"] if machine.GPUTRACE.exists() else []


def event(cat, name, ts, dur, pid=70, tid=71, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(number, name, at):
    """Events of a call in an op in a Python function, of its kernel, and of an allocation by PyTorch."""
    memory = {"Addr": 4096 + 512 * number, "Bytes": 512, "Total Allocated": 512 * number, "Total Reserved": 0, "Device Id": 0, "Device Type": 1}
    return [{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 70, "tid": 71, "ts": at + 6, "args": memory},
            event("python_function", f"{name}(3): {name}", at, 40),
            event("user_annotation", name, at + 1, 35),
            event("cpu_op", name, at + 2, 30, **{"Sequence number": number, "Input Dims": [[2]], "Input type": ["float"]}),
            event("cuda_runtime", "cudaLaunchKernel", at + 5, 4, correlation=number + 1),
            event("kernel", name, at + 10, 3, pid=0, tid=7, correlation=number + 1, device=0, context=1, stream=7)]


HOSTILE = ("".join(map(chr, range(1, 32))) + "\x7f\x80\u2028", 'q"\\\'<>&;</script>]]>', "n" * 100_000, "\x00", "\ud800")

# None of them has a wall clock; "a call" has no GPU time, "a kernel" has no call.
ODD = {
    "no event": [],
    "a kernel": [event("kernel", "k", 1, 1, pid=0, tid=7)],
    "a call": [event("cuda_runtime", "cudaLaunchKernel", 1, 1)],
    "an op": [event("cpu_op", "op", 1, 1)],
    "an end without a start": [{"ph": "E", "cat": "cpu_op", "name": "op", "pid": 70, "tid": 71, "ts": 5},
                               {"ph": "f", "cat": "fwdbwd", "id": 1, "pid": 70, "tid": 71, "ts": 5},
                               {"ph": "B", "cat": "cpu_op", "name": "op", "pid": 70, "tid": 71, "ts": 6}, event("cpu_op", "op", 1, 1)],
    "hostile names": [e for i, name in enumerate(HOSTILE) for e in launch(i, name, 100 * i)] +
                     [{"ph": "M", "name": what, "ts": 1, "pid": 70, "tid": tid, "args": {"name": HOSTILE[tid > 0]}}
                      for what, tid in (("process_name", 0), ("thread_name", 71))],
}


def write_events(path, events):
    """Writes a trace with bytes that are not UTF-8."""
    path.write_bytes(json.dumps({"traceEvents": events}).encode().replace(b"script", b"\xff\xfe\xc0\x80"))
    return path


def assert_one_line(done, code, *needles):
    assert done.returncode == code, done
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("gputrace: "), line
    for needle in needles:
        assert needle in line, line


def gputrace(folder, *arguments, stdout=subprocess.PIPE):
    return subprocess.run([str(word) for word in (machine.GPUTRACE, *arguments)], cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, timeout=tracing.PATIENCE_S, check=False)


@pytest.fixture(scope="module")
def launches(tmp_path_factory):
    """400 launches with distinct names that compress badly."""
    names = [f"kernel_{i}_" + "".join(f"{i * 7919 * j % 65521:x}" for j in range(1, 40)) for i in range(400)]
    folder = tmp_path_factory.mktemp("launches")
    return write_events(folder / "launches.json", [e for i, name in enumerate(names) for e in launch(i, name, 100 * i)])


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A file system of 16 KB."""
    folder = tmp_path_factory.mktemp("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "gputrace-test", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


# ---- outputs that cannot be written --------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", of_export())
def test_an_output_that_cannot_be_written_is_named_and_nothing_is_left(launches, disk, tmp_path, suffix):
    (tmp_path / f"folder{suffix}").mkdir()
    (tmp_path / "file").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    for path, why in ((tmp_path / f"nowhere/x{suffix}", "its directory does not exist"),
                      (tmp_path / f"folder{suffix}", "is a directory"),
                      (tmp_path / f"file/x{suffix}", "Not a directory"),
                      (disk / f"x{suffix}", "No space left on device")):
        assert_one_line(gputrace(tmp_path, "export", launches, "-o", path), FAILED, str(path), why)
    assert sorted(tmp_path.rglob("*")) == before
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("arguments", [["report"], ["report", "--tree"], ["report", "--lines"], ["report", "--ops"], ["report", "--gpu-trace"],
                                       ["report", "--gpu-sum"], ["report", "--api-sum"], ["why"]], ids=" ".join)
def test_a_report_for_which_there_is_no_room_says_so(launches, tmp_path, arguments):
    with open("/dev/full", "wb") as full:
        for form in ([], ["--format", "csv"], ["--format", "json"], ["--format", "md"]):
            if form[1:] and arguments == ["why"] and form[1] != "json":
                continue
            assert_one_line(gputrace(tmp_path, *arguments, launches, *form, *(["-q"] if "csv" in form else []), stdout=full), FAILED, "No space left on device")


def test_a_report_that_no_thread_can_write_into_a_pipe_says_what_to_do(launches, public):
    shutil.copy(launches, public / "launches.json")
    (public / "launches.json").chmod(0o644)
    user = 300000 + os.getpid() % 100000  # no other process may be this user's: the limit counts them
    words = ["prlimit", "--nproc=1", "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", public / "gputrace", "report",
             public / "launches.json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=tracing.PATIENCE_S, check=False)
    assert_one_line(done, FAILED, "no thread can be started for it", "or write to a file")


def worker_of(pid):
    """The process in which that gputrace makes its outputs; None: there is none yet."""
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if "gputrace-output" in tracing.threads(int(child)):
            return int(child)
    return None


def waits_in_write(pid):
    return pid and any(pathlib.Path(f"/proc/{pid}/task/{tid}/syscall").read_text().startswith("1 ") for _, tid in tracing.named_threads(pid))


@pytest.mark.parametrize("end, why", [(signal.SIGSEGV, "gputrace crashed over it (signal 11, Segmentation fault): report the crash, with the log"),
                                      (signal.SIGKILL, "gputrace was killed over it (SIGKILL), as the kernel does where memory runs out")],
                         ids=["SIGSEGV", "SIGKILL"])
def test_a_crash_over_one_output_costs_neither_the_others_nor_the_log(tmp_path, end, why):
    """The output into a pipe waits for the test, which ends the process that writes it as a crash would."""
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    with tracing.target(tmp_path, machine.cudart()) as target:
        arguments = ["-o", before, "-o", "-", "--format", "json", "-o", after, "-p", target.pid]
        with tracing.Running([machine.GPUTRACE, "-v", *arguments], tmp_path) as tracer:
            tracer.wait_line("gputrace: tracing", "stderr")
            target.ask("steps 100")  # far more JSON than a pipe holds
            tracer.process.send_signal(signal.SIGINT)
            tracer.process.stdout.read(1)
            os.kill(worker_of(tracer.pid), end)
            done = tracer.end().must_be(FAILED)
        target.ask("steps 1")
    assert f"standard output: not made: {why}" in done.stderr
    (kept,) = tmp_path.glob("gputrace-*.gpt")
    assert f"not everything could be written; the trace is in {kept}: gputrace report {kept}, gputrace export {kept} -o FILE\n" in done.stderr
    tracing.gputrace(tmp_path, "export", kept, "-o", tmp_path / "again.json").must_be(0)
    assert before.read_bytes() == after.read_bytes() == (tmp_path / "again.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["before.json", "after.json", "again.json", kept.name])


def test_a_crash_over_the_report_costs_neither_the_outputs_nor_the_log(tmp_path):
    read, write = os.pipe()
    with tracing.target(tmp_path, machine.cudart()) as target, open(read, "rb"):
        os.set_blocking(write, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(write, b"x")
        os.set_blocking(write, True)
        tracer = subprocess.Popen([machine.GPUTRACE, "-o", "trace.json", "-o", "trace.gpt", "-p", str(target.pid)], cwd=tmp_path, stdout=write,
                                  stderr=subprocess.PIPE, text=True, env=tracing.environment(tmp_path))
        os.close(write)
        assert "tracing" in tracer.stderr.readline()
        target.ask("steps 3")
        tracer.send_signal(signal.SIGINT)
        tracing.until(lambda: waits_in_write(worker_of(tracer.pid)))
        os.kill(worker_of(tracer.pid), signal.SIGSEGV)
        said = tracer.communicate(timeout=tracing.PATIENCE_S)[1]
    assert tracer.returncode == FAILED
    assert "the report: not made: gputrace crashed over it" in said
    assert "not everything could be written; the trace is in trace.gpt: gputrace report trace.gpt" in said
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert "Block.forward" in tracing.gputrace(tmp_path, "report", tmp_path / "trace.gpt").must_be(0).stdout


# ---- odd files ------------------------------------------------------------------------------------------------------


def read_sqlite(path):
    with contextlib.closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for (table,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            base.execute(f"SELECT * FROM {table}").fetchall()


def read_folded(path):
    for line in path.read_bytes().decode().splitlines():
        assert int(line.rpartition(" ")[2]) > 0


READERS = {
    ".json": lambda path: json.loads(path.read_bytes().decode()),
    ".json.gz": lambda path: json.loads(gzip.decompress(path.read_bytes()).decode()),
    ".folded": read_folded,
    ".speedscope.json": lambda path: json.loads(path.read_bytes().decode()),
    ".pb.gz": lambda path: gzip.decompress(path.read_bytes()),
    ".prof": lambda path: marshal.loads(path.read_bytes()),
    ".sqlite": read_sqlite,
    ".pickle": lambda path: pickle.loads(path.read_bytes())["device_traces"],
    ".svg": xml.etree.ElementTree.parse,
    ".html": lambda path: html.parser.HTMLParser().feed(path.read_bytes().decode()),
    ".pftrace": timelines.pftrace,
    ".arrow": timelines.arrow,
}


@pytest.fixture(params=ODD, scope="module")
def odd(request, tmp_path_factory):
    return write_events(tmp_path_factory.mktemp("odd") / "odd.json", ODD[request.param])


@pytest.mark.parametrize("suffix", of_export())
def test_what_is_made_of_an_odd_file_is_taken_by_who_it_is_for(odd, suffix):
    output = odd.parent / f"odd-out{suffix}"
    if suffix == ".pickle" and b"[memory]" not in odd.read_bytes():
        assert_one_line(gputrace(odd.parent, "export", odd, "-o", output), FAILED, f"{output}: not written: PyTorch's allocations")
        return
    assert_one_line(gputrace(odd.parent, "export", odd, "-o", output), 0, f"{output}: written")
    READERS[suffix](output)


def test_reports_of_an_odd_file_have_no_control_characters(odd):
    for what in ((), ("--tree",), ("--ops",), ("--gpu-trace",)):
        for form in ((), ("--format", "json")):
            done = gputrace(odd.parent, "report", odd, *what, *form)
            assert (done.returncode, done.stderr) == (0, b"")
            assert all(c == "\n" or c.isprintable() for c in done.stdout.decode()), (what, form)
            if form:
                json.loads(done.stdout)


# ---- misleading names -----------------------------------------------------------------------------------------------


def test_a_file_is_what_its_content_says_whatever_its_name(launches, tmp_path):
    assert gputrace(tmp_path, "export", launches, "-o", "as.sqlite", "-o", "as.json.gz").returncode == 0
    expected = gputrace(tmp_path, "report", launches, "--gpu-sum").stdout
    for name, content in (("lie.gpt", launches), ("lie.sqlite", launches), ("lie.prof", tmp_path / "as.json.gz"),
                          ("lie.json", tmp_path / "as.json.gz"), ("lie.json.gz", tmp_path / "as.sqlite")):
        (tmp_path / name).write_bytes(content.read_bytes())
        done = gputrace(tmp_path, "report", name, "--gpu-sum")
        assert (done.returncode, done.stderr) == (0, b""), name
        assert done.stdout.splitlines()[:10] == expected.splitlines()[:10], name


def test_a_log_is_made_of_no_other_tools_file(launches, tmp_path):
    assert_one_line(gputrace(tmp_path, "export", launches, "-o", "x.gpt", "-o", "x.folded"), FAILED, "x.gpt", str(launches))
    assert_one_line(gputrace(tmp_path, "export", launches, "-o", "-", "--format", "gpt"), FAILED, str(launches))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", suffixes() if machine.GPUTRACE.exists() else [])
def test_a_file_that_is_none_is_named_and_no_output_is_made(launches, tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    for content in (b"", b"\0" * 4096, b"hello", b"{}", b"\x1f\x8b", b"SQLite format 3\0", launches.read_bytes()[1:], b"GPTLOG"):
        path.write_bytes(content)
        for arguments in (["report", path], ["export", path, "-o", "made.json"]):
            done = gputrace(tmp_path, *arguments)
            assert_one_line(done, FAILED, str(path))
            assert done.stdout == b""
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_is_not_waited_for(tmp_path):
    """A pipe is: its writer may come later (test_foreign_files.py)."""
    for path, says in (("/dev/zero", "is not a regular file"), (tmp_path, "is a folder: name a file that is in it")):
        assert_one_line(gputrace(tmp_path, "report", path), FAILED, str(path), says)


def test_of_a_file_that_is_cut_what_is_there_is_read_and_it_is_said(launches, tmp_path):
    assert gputrace(tmp_path, "export", launches, "-o", "whole.json.gz", "-o", "whole.sqlite").returncode == 0
    for name, content in (("cut.json", launches), ("cut.json.gz", tmp_path / "whole.json.gz")):
        (tmp_path / name).write_bytes(content.read_bytes()[:content.stat().st_size // 2])
        done = gputrace(tmp_path, "export", name, "-o", f"of-{name}")
        assert done.returncode == INCOMPLETE
        assert f"{name} was cut short".encode() in done.stderr
        READERS[name.removeprefix("cut")](tmp_path / f"of-{name}")
