# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A log, and the files that were made from it, read again: their tables are the same, except as docs/formats.md says
("What our own files do not have")."""

import json

import machine
import pytest
import tracing
import test_nvtx

FILES = ("trace.json.gz", "trace.sqlite")
NOT_IN_FILES = ("--no-cpu", "--no-off-cpu")  # of samples and waits slices are drawn, which are not read again
REPORTS = {
    "report": ("report",),
    "replay": ("report", "--graphs", "replay"),
    "capture": ("report", "--graphs", "capture"),
    "forward": ("report", "--backward", "forward"),
    "lists": ("report", "--gpu-trace", "--gpu-sum", "--api-sum"),
    "lines": ("report", "--lines"),
    "tree": ("report", "--tree"),
    "tree of calls": ("report", "--tree", "--by", "cpu"),
    "ops": ("report", "--ops", "--rows", "100000"),
    "why": ("why",),
}

# Only the log has losses, gputrace's own cost, and where a process ran.  Times in a file count from the file's own start, and a Chrome trace
# renumbers the calls of several processes.
COLUMNS_OF_THE_LOG = {("receipt", "lost"), ("receipt", "complete_percent"), ("receipt", "clock_error_ns"),
                      ("receipt", "gputrace_cpu_ns"), ("receipt", "modules"), ("receipt", "modules_unnamed"),
                      ("recording", "start_ns"), ("gpu_trace", "correlation")}
COLUMNS_OF_THE_LOG |= {("processes", name) for name in ("uid", "cgroup", "container", "container_name", "pod", "pod_name")}
COLUMNS_OF_THE_LOG |= {(table, name) for table in ("why_losses", "why_lines") for name in ("layer", "layer_ns", "layers")}
TABLES_OF_THE_LOG = {"losses", "no_gpu_times", "start", "layers", "cost", "cost_thread", "detail"}
NOTES_OF_THE_LOG = {"receipt", "why"}  # notes of `why` name options of gputrace
# nsys has no table for these; without imports and collections `idle` and `why` differ in what the CPU did.
NOT_IN_SQLITE = {"python", "ops", "steps", "step_idle", "breakdown_steps", "key_averages", "torch_memory", "torch_memory_peaks",
                 "idle", "compiles", "why", "why_losses", "why_lines", "why_lost"}
NOTES_NOT_IN_SQLITE = {"memory"}  # it names the table of PyTorch's memory if there is one
COLUMNS_NOT_IN_SQLITE = {("source_lines", f"{where}_{what}_bytes") for where in ("gpu", "cpu") for what in ("at_peak", "not_freed")}
COLUMNS_NOT_IN_SQLITE.add(("source_lines", "idle_ns"))


def tables(folder, file, which, columns_left_out=COLUMNS_OF_THE_LOG):
    """({id of a table: its rows}, {id: notes}), sorted"""
    command, *options = REPORTS[which]
    done = tracing.gputrace(folder, command, folder / file, "-q", "--format", "json", *options).must_be(0)
    rows, notes = {}, {}
    for table in json.loads(done.stdout)["tables"]:
        name = table["id"]
        kept = [{key: value for key, value in row.items() if (name, key) not in columns_left_out}
                for row in table["rows"]]
        rows.setdefault(name, []).extend(json.dumps(row, sort_keys=True) for row in kept)
        notes.setdefault(name, []).extend(table["notes"])
    return {name: sorted(found) for name, found in rows.items()}, {name: sorted(found) for name, found in notes.items()}


def assert_same(folder, file, which):
    in_sqlite = file.endswith(".sqlite")
    columns = COLUMNS_OF_THE_LOG | (COLUMNS_NOT_IN_SQLITE if in_sqlite else set())
    log, log_notes = tables(folder, "trace.gpt", which, columns)
    found, notes = tables(folder, file, which, columns)
    left_out = TABLES_OF_THE_LOG | (NOT_IN_SQLITE if in_sqlite else set())
    for name in sorted({*log, *found} - left_out):
        assert found.get(name) == log.get(name), name
        if name not in NOTES_OF_THE_LOG and not (in_sqlite and name in NOTES_NOT_IN_SQLITE):
            assert notes.get(name) == log_notes.get(name), name


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A trace with several processes, threads, GPUs and streams; graphs, waits, memory, NVTX, collections, imports."""
    folder = tmp_path_factory.mktemp("round")
    python = machine.any_python()
    header = next(machine.package(python, test_nvtx.HEADERS).glob("**/nvtx3/nvToolsExt.h"))
    library = test_nvtx.build(folder / "libnvtx_ranges.so", "-isystem", header.parents[1])
    programs = (f"{python} {machine.WORKLOADS / 'train.py'} --steps 5 --threads 2 --graph",
                f"{python} {machine.PROGRAMS / 'nvtx_ranges.py'} {library}",
                f"{python} {machine.PROGRAMS / 'two_gpus.py'}")
    tracing.trace(folder, tracing.on_simgpu(folder / "gpu-%p.json", "sh", "-c", " & ".join(programs) + " & wait"),
                  "--trace", "cuda,sync,memory,nvtx", *NOT_IN_FILES, env={"SIMGPU_DEVICES": 2}, names=("trace.gpt", *FILES))
    return folder


@pytest.mark.parametrize("which", REPORTS)
@pytest.mark.parametrize("file", FILES)
def test_every_table_of_a_file_of_ours_is_that_of_its_log(run, file, which):
    assert_same(run, file, which)


def test_the_log_has_what_is_compared(run):
    """Else tables could be equal because both are empty."""
    found, _ = tables(run, "trace.gpt", "report")
    assert {"gpu_lines", "ranges", "copies", "idle", "waits", "calls", "memory", "memory_peaks", "python",
            "gpus"} <= set(found)
    assert len(found["processes"]) == 3 and len(found["gpus"]) == 2
    assert any("Trainer.capture" in row for row in found["gpu_lines"])


def idle_ns(folder, file):
    found, _ = tables(folder, file, "report")
    return sum(json.loads(row)["idle_ns"] for row in found["idle"])


def test_a_database_has_the_same_idle_time_by_other_causes(run):
    assert idle_ns(run, "trace.sqlite") == idle_ns(run, "trace.gpt") > 0


@pytest.mark.torch
@pytest.mark.parametrize("file", FILES)
def test_so_are_those_of_a_training_with_pytorch(torch_run, file):
    # without ops a database has no forward lines and no tree of them
    # without ops and collections it lacks what the CPU did, and so the lines for which GPUs idled
    for which in ("report", "capture", "lists") if file.endswith(".sqlite") else REPORTS:
        assert_same(torch_run, file, which)


@pytest.fixture(scope="module")
def torch_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch")
    program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_forward.py", folder / "theirs.json"]
    tracing.trace(folder, tracing.on_simgpu(folder / "gpu-%p.json", *program), "--trace", "cuda,sync,memory,nvtx", *NOT_IN_FILES,
                  "--ops", "--shapes", "--memory", "--forward-lines", names=("trace.gpt", *FILES))
    return folder
