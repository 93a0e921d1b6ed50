# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Input files for the consumers: the sample run of tests/unit/test_export_log.h in every format."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def build_program(name):
    build = os.environ.get("BUILD", "build")
    target = f"{build}/{name}"
    subprocess.run(["make", "-s", "-C", ROOT, f"BUILD={build}", target], check=True)
    return ROOT / target


@pytest.fixture(scope="session")
def sample_program():
    return build_program("tests/e2e/consumers/sample")


@pytest.fixture(scope="session", params=[["1"], ["1", "cpu"], ["3"], ["3", "parts"]],
                ids=["one process", "with the CPU", "three processes", "three processes in parts"])
def sample(request, sample_program, tmp_path_factory):
    """A folder with sample.json, sample.json.gz, sample.folded and so on, and report.txt; 20 steps per process."""
    folder = tmp_path_factory.mktemp("sample")
    processes, *how = request.param
    report = subprocess.run([sample_program, folder, processes, "20", *how], check=True, capture_output=True).stdout
    (folder / "report.txt").write_bytes(report)
    (folder / "processes").write_text(processes)
    for mode in how:
        (folder / mode).touch()
    return folder


@pytest.fixture(scope="session", params=["no event", "one step", "hostile names"])
def odd(request, sample_program, tmp_path_factory):
    """The files of an unusual log, and its number of steps."""
    folder = tmp_path_factory.mktemp("odd")
    steps, more = {"no event": ("0", []), "one step": ("1", []), "hostile names": ("1", ["hostile"])}[request.param]
    subprocess.run([sample_program, folder, "1", steps, *more], check=True, stdout=subprocess.DEVNULL)
    return folder, int(steps)


def run_tool(name):
    """Runs tools/NAME, which installs a tool into the cache and prints its path."""
    done = subprocess.run([ROOT / "tools" / name], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="session")
def hta_python():
    return run_tool("get-hta")


@pytest.fixture(scope="session")
def flamegraph():
    return run_tool("get-flamegraph")
