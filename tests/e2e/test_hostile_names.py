# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names that a target chooses (files, functions, threads, itself) reach no terminal unescaped, on any path."""

import os
import re
import shutil
import signal
import subprocess

import machine
import pytest
import tracing

# A title, a colour by C0, the same by C1 (as UTF-8 and as a single byte), DEL, and two marks that change the direction.
STEERING = b"\x1b]0;x\x07\x1b[31m\xc2\x9b31m\x9b32m\x7f\xe2\x80\xae\xe2\x81\xa6"


def steers(output):
    """Characters of a program's output that could steer a terminal, or are not UTF-8."""
    text = output.decode("utf-8", "surrogateescape")
    return set(re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text))


def printed(folder, *arguments):
    done = subprocess.run([machine.GPUTRACE, *map(str, arguments)], cwd=folder, env=tracing.environment(folder),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=tracing.PATIENCE_S)
    assert done.returncode == 0, done
    return done.stdout, done.stderr


def traced(folder, target):
    """Runs gputrace -v -p with a report: yields once while it traces, then its standard output and error."""
    tracer = tracing.Running([machine.GPUTRACE, "-v", "-p", target.pid, "-o", folder / "trace.gpt"], folder,
                             stdin=subprocess.DEVNULL, encoding="utf-8", errors="surrogateescape")
    with tracer:
        tracer.wait_line("gputrace: tracing", "stderr")
        yield
        done = tracer.end(signal.SIGINT)
    yield (done.stdout.encode("utf-8", "surrogateescape"), done.stderr.encode("utf-8", "surrogateescape"))


def assert_printed_safely(outputs, known):
    """Nothing in the outputs steers a terminal, and each of the known texts is there."""
    together = b"".join(outputs)
    assert steers(together) == set(), together.decode("utf-8", "replace")
    for text in known:
        assert text in together, together.decode("utf-8", "replace")


@pytest.fixture
def python_target(tmp_path):
    library = os.fsencode(tmp_path) + b"/libcudart.so.13" + STEERING
    shutil.copy(machine.compile_program(machine.PROGRAMS / "stub_cudart.c", tmp_path / "stub.so", "-shared", "-fPIC"),
                library)
    command = [machine.any_python(), machine.PROGRAMS / "steering.py", os.fsdecode(library), os.fsdecode(b"f" + STEERING)]
    with tracing.Running(command, tmp_path) as target:
        target.wait_line("ready")
        yield target


def test_doctor_prints_no_name_of_a_target_as_it_is(tmp_path, python_target):
    assert_printed_safely(printed(tmp_path, "doctor", "-p", python_target.pid), [b"libcudart.so.13\xef\xbf\xbd]0;x"])


def test_a_trace_and_its_report_print_no_name_of_a_target_as_it_is(tmp_path, python_target):
    tracing_it = traced(tmp_path, python_target)
    next(tracing_it)
    python_target.ask("launch")
    outputs = next(tracing_it)
    assert_printed_safely(outputs, [b"40 launches recorded", b"libcudart.so.13\xef\xbf\xbd]0;x"])
    assert_printed_safely(printed(tmp_path, "report", tmp_path / "trace.gpt"), [b"40 launches recorded"])


@pytest.fixture
def files_target(tmp_path):
    """A program with such a name that maps a fake libpython with such a name."""
    library = os.fsencode(tmp_path) + b"/libpython3.12.so" + STEERING
    program = os.fsencode(tmp_path) + b"/m" + STEERING
    shutil.copy(machine.compile_program(machine.PROGRAMS / "maps_only.c", tmp_path / "maps_only"), program)
    with open(library, "wb") as file:
        file.write(bytes(65536))
    with tracing.Running([os.fsdecode(program), os.fsdecode(library)], tmp_path) as target:
        target.wait_line("ready")
        yield target


def test_doctor_prints_no_reason_with_a_name_as_it_is(tmp_path, files_target):
    assert_printed_safely(printed(tmp_path, "doctor", "-p", files_target.pid), [b"]0;x"])


def test_a_trace_prints_no_note_with_a_name_as_it_is(tmp_path, files_target):
    tracing_it = traced(tmp_path, files_target)
    next(tracing_it)
    assert_printed_safely(next(tracing_it), [b"No CUDA call was seen"])
