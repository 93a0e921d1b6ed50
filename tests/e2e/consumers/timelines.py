# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads files with a timeline, with the packages they are for, into the form of the Chrome trace's tests."""

import collections
import json
import subprocess
import sys

import chrome_invariants as chrome
import pftrace as pftrace_reader
from fetching import fetched


def pftrace(path):
    """The output of consumers/pftrace.py."""
    perfetto = fetched("get-pypi", sys.executable, "perfetto==0.59.1")
    done = subprocess.run([sys.executable, pftrace_reader.__file__, path], capture_output=True, encoding="utf-8",
                          env={"PYTHONPATH": perfetto, "PYTHONIOENCODING": "utf-8"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# Runs with pyarrow installed: checks the file, and prints it as JSON.
READ_ARROW = """
import json, sys
import pyarrow.ipc
with pyarrow.memory_map(sys.argv[1]) as file:
    table = pyarrow.ipc.open_file(file).read_all()
    table.validate(full=True)
    json.dump([table.to_pylist(), {key.decode(): value.decode() for key, value in table.schema.metadata.items()}], sys.stdout)
"""


def arrow(path):
    """([{column: value}], metadata)"""
    pyarrow = fetched("get-pypi", sys.executable, "pyarrow==26.0.1")
    done = subprocess.run([sys.executable, "-c", READ_ARROW, path], capture_output=True, encoding="utf-8",
                          env={"PYTHONPATH": pyarrow, "PYTHONIOENCODING": "utf-8"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def start_of(found):
    return found["clocks"][str(pftrace_reader.MONOTONIC)]


def slices(found):
    """{(category, name, start, duration): how many}, in ns since the start"""
    return collections.Counter((*s["cat"], s["name"], s["start"] - start_of(found), s["dur"]) for s in found["slices"])


def slices_of_chrome(trace):
    """The same, without the step that only Kineto's dialect needs."""
    return collections.Counter((e["cat"], e["name"], chrome.ns(e["ts"]), chrome.ns(e["dur"])) for e in chrome.events(trace)
                               if not e["name"].startswith("ProfilerStep"))
