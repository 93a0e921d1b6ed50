# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A Numba program, all of whose launches come from a line of Numba: real Numba and NVVM, on the simulated GPU."""

import json

import machine
import pytest
import reading
import tracing
import truth as simulated

PACKAGES = "numba-cuda[cu13]==0.30.4", "numpy<2.4"
PROGRAM = machine.PROGRAMS / "numba_saxpy.py"
ROUNDS = 50


def line_of(text):
    """"numba_saxpy.py:12 main" for the only line with the text."""
    (number,) = [number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if text in line]
    return f"{PROGRAM.name}:{number} main"


SAXPY, SCALE, COPY = line_of("saxpy[64"), line_of("scale[64"), line_of("copy_to_host")


class Run:
    def __init__(self, folder):
        python = machine.any_python()
        (folder / "site-packages").symlink_to(machine.package(python, *PACKAGES))
        done = tracing.gputrace(folder, "-q", "-o", "trace.gpt", "--", *tracing.on_simgpu(
            folder / "gpu.json", python, PROGRAM, folder / "site-packages", str(ROUNDS))).must_be(0)
        self.first_ns = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
        self.truth = simulated.load(folder / "gpu.json")
        self.log = folder / "trace.gpt"
        self.text = tracing.gputrace(folder, "report", self.log).must_be(0).stdout
        report = json.loads(tracing.gputrace(folder, "report", self.log, "--format", "json").must_be(0).stdout)
        self.tables = {table["id"]: table["rows"] for table in report["tables"]}

    def kernel_ns(self, name):
        return sum(ns for kernel, ns in reading.simulated_kernel_ns(self.truth).items() if name in kernel)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("numba"))


def test_every_launch_is_there_once(run):
    calls = {row["kernel"]: row["calls"] for row in run.tables["kernels"]}
    assert sorted(calls.values()) == [ROUNDS, 2 * ROUNDS]
    assert f"{3 * ROUNDS} of {3 * ROUNDS} launches joined" in run.text


def test_rows_of_kernels_are_kept_apart(run):
    assert "__main__::saxpy[abi:v1]  " in run.text and "__main__::scale[abi:v2]  " in run.text


def test_gpu_time_is_under_the_lines_of_the_program(run):
    own = {f"{row['line']} {row['function']}": row["total_ns"] for row in run.tables["own_lines"]}
    assert own[SAXPY] == run.kernel_ns("saxpy") and own[SCALE] == run.kernel_ns("scale")


def test_who_waits_for_the_gpu_is_named_by_the_programs_line_too(run):
    waits = {row["wait"]: row["called_from"] for row in run.tables["waits"]}
    assert waits["cuMemcpyDtoH_v2"] == COPY
    late = [row for row in run.tables["idle"] if row["why"].startswith(("launched late", "after "))]
    assert late and all(row["called_from"] for row in late)
    assert f"<- {COPY}" in run.text


def test_why_names_lines_of_the_program(run):
    why = tracing.gputrace(run.log.parent, "why", run.log).must_be(0).stdout
    assert PROGRAM.name + ":" in why and "dispatcher.py" not in why


def test_what_numba_compiles_is_on_the_lines_whose_first_call_took_that_long(run):
    rows = {row["line"]: row for row in run.tables["compiles"] if row["what"] == "Numba"}
    assert set(rows) == {SAXPY, SCALE}
    assert [rows[line]["count"] for line in (SAXPY, SCALE)] == [1, 1]
    assert rows[SAXPY]["ns"] + rows[SCALE]["ns"] == pytest.approx(sum(run.first_ns.values()), rel=0.3)
