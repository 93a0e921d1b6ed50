# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Clocks, power, memory and errors of GPUs in a log.  NVML is a simulated one (tests/simgpu/nvml), whose script and start are
the truth."""

import json
import pathlib
import shutil
import time

import logfile
import machine
import pytest
import tracing
import truth

START, SAMPLE, PROCESS, ERROR, NVML = 41, 44, 45, 46, 47  # types of records
READ, ABSENT, ENDED, NO_DRIVER = 1, 2, 4, 5  # enum gpt_nvml_state
CLOCKS = [(0, 1980, 0), (1.0, 1200, 4), (2.0, 1980, 0)]  # from when on, MHz, reasons
SCRIPT = "gpus=1 process=1 bytes=123456789 at=1 sm=1200 reasons=4 at=1.5 xid=79 at=2 sm=1980 reasons=0"
WORKLOAD = machine.WORKLOADS / "train.py"


def put_nvml(folder, script):
    """The folder of a simulated NVML with that script."""
    library = folder / "nvml"
    library.mkdir()
    shutil.copy(machine.BUILD / "simgpu/libnvidia-ml.so.1", library)
    (library / "nvml-script").write_text(script + "\n")
    return library


def take_away(library, function):
    """As an NVML of another version has it: under another name."""
    path = library / "libnvidia-ml.so.1"
    whole = path.read_bytes()
    assert function.encode() + b"\0" in whole
    path.write_bytes(whole.replace(function.encode() + b"\0", function[:-1].encode() + b"9\0"))


def record(folder, script, *options, seconds="3s", lacks=()):
    library = put_nvml(folder, script)
    for function in lacks:
        take_away(library, function)
    program = tracing.on_simgpu(folder / "gpu.json", "python3", WORKLOAD, "--step", "100000")
    with tracing.Running(program, folder) as running:
        tracing.gputrace(folder, "-q", "-p", running.pid, "-d", seconds, *options, "-o", "trace.gpt",
                         env={"LD_LIBRARY_PATH": str(library)}).must_be(0)
    return list(logfile.records(folder / "trace.gpt", SAMPLE, PROCESS, ERROR, NVML))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counters")
    return folder, record(folder, SCRIPT)


def start_ns(folder):
    """When nvmlInit_v2 was called."""
    return float((folder / "nvml/nvml-truth").read_text()) * 1e9


def clock_at(ns):
    return [(mhz, reasons) for since, mhz, reasons in CLOCKS if since * 1e9 <= ns][-1]


def of_type(records, kind):
    return [record.values for record in records if record.type == kind]


def test_each_sample_is_what_nvml_says_at_its_time(run):
    folder, records = run
    samples = of_type(records, SAMPLE)
    begin = start_ns(folder)
    seen = set()
    for sample in samples:
        asked = sample["time_ns"] - begin
        possible = [clock_at(asked)[0], clock_at(asked + sample["took_us"] * 1000 + 1000)[0]]
        assert sample["sm_mhz"] in possible, (asked, sample)
        seen.add((sample["sm_mhz"], sample["reasons"]))
    assert {(1980, 0), (1200, 4)} <= seen
    assert all(a["time_ns"] < b["time_ns"] for a, b in zip(samples, samples[1:]))


def test_an_xid_and_memory_of_a_process_that_is_not_traced_are_in_the_log(run):
    folder, records = run
    (error,) = of_type(records, ERROR)
    assert (error["kind"], error["data"]) == (1, 79) and error["time_ns"] >= start_ns(folder) + 1.5e9
    memory = of_type(records, PROCESS)
    assert memory and {(row["pid"], row["bytes"]) for row in memory} == {(1, 123456789)}


def test_the_log_says_which_nvml_answered(run):
    (state,) = [record for record in run[1] if record.type == NVML]
    assert state.values["state"] == READ and state.tail.startswith(b"simulated\0")


def tables(folder, *options):
    text = tracing.gputrace(folder, "report", "trace.gpt", "--format", "json", *options).must_be(0).stdout
    return {table["id"]: table["rows"] for table in json.loads(text)["tables"]}


def test_the_report_has_values_reasons_and_errors_as_the_script(run):
    found = tables(run[0])
    (clock,) = (row for row in found["gpu_counters"] if row["counter"] == "SM clock")
    assert (clock["min"], clock["max"], clock["limit"]) == (1200, 1980, 1980)
    (held,) = found["gpu_throttled"]
    assert held["reason"] == "power cap" and held["ns"] == held["low_clock_ns"]
    samples = of_type(run[1], SAMPLE)
    begin, end = (record.values["time_ns"] for kind in (START, logfile.END) for record in logfile.records(run[0] / "trace.gpt", kind))
    samples = [sample for sample in samples if begin <= sample["time_ns"] < end]
    assert held["ns"] == sum(after["time_ns"] - sample["time_ns"] for sample, after in zip(samples, samples[1:]) if sample["reasons"])
    (error,) = found["gpu_errors"]
    assert (error["error"], error["number"]) == ("XID", 79)
    (memory,) = found["gpu_processes"]
    assert (memory["pid"], memory["most_bytes"], memory["traced"]) == (1, 123456789, "no")


def test_the_cost_of_low_clocks_is_what_kernels_took_longer(tmp_path):
    """The clock changes each 0.8 s, between 1980 and 990 MHz; kernels that begin at 990 take twice as long.  Of those around a
    change it is not known at which clock they ran: samples come each 0.1 s, or later on a busy machine."""
    base = time.monotonic() + 1
    changes = [(0.8 * number, 990 if number % 2 else 1980) for number in range(1, 100)]
    library = put_nvml(tmp_path, f"base={base:.3f} " + " ".join(f"at={at:.1f} sm={mhz} reasons={4 if mhz == 990 else 0}" for at, mhz in changes))
    clocks = ",".join(f"{base + at:.3f}:{mhz}" for at, mhz in changes)
    program = tracing.on_simgpu(tmp_path / "gpu.json", "python3", WORKLOAD, "--step", "100000")
    with tracing.Running(program, tmp_path, env={"SIMGPU_CLOCKS": clocks}) as running:
        tracing.gputrace(tmp_path, "-q", "-p", running.pid, "-d", "4s", "-o", "trace.gpt", env={"LD_LIBRARY_PATH": str(library)}).must_be(0)
    begin, end = (record.values["time_ns"] for kind in (START, logfile.END) for record in logfile.records(tmp_path / "trace.gpt", kind))
    times = [sample["time_ns"] for sample in of_type(logfile.records(tmp_path / "trace.gpt", SAMPLE), SAMPLE)]
    work = truth.work(truth.load(tmp_path / "gpu.json"), "kernel")
    nominal = {}
    for kernel in work:
        took = kernel["end_mono"] - kernel["start_mono"]
        nominal[kernel["name"]] = min(took, nominal.get(kernel["name"], took))

    def clock_at(ns):
        return [1980] * (ns < (base + 0.8) * 1e9) or [mhz for at, mhz in changes if (base + at) * 1e9 <= ns][-1:]

    all_ns = surely_ns = 0
    for kernel in work:
        first, last = kernel["start_mono"], kernel["end_mono"]
        longer = last - first - nominal[kernel["name"]]
        if not begin <= first < end or not longer:
            continue
        all_ns += longer
        before, after = max((at for at in times if at <= first), default=0), min((at for at in times if at > last), default=0)
        surely_ns += longer * (before > begin and 0 < after < end and clock_at(before) == clock_at(after) == [990])
    found = tables(tmp_path)
    (low,) = found["gpu_low_clocks"]
    assert 0 < surely_ns * 0.97 <= low["cost_ns"] <= all_ns * 1.02, (surely_ns, low, all_ns)
    assert (low["mhz"], low["max_mhz"], low["reason"]) == (990, 1980, "power cap")
    assert surely_ns > all_ns / 5


@pytest.mark.parametrize("script, state, why", [
    ("init=9", ABSENT, b"NVIDIA's driver is not loaded"), ("init=18", ABSENT, b"of another version than the loaded driver"),
    ("at=0.5 crash=1", ENDED, b"ended during the recording"),
])
def test_an_nvml_that_does_not_answer_is_said_and_the_trace_goes_on(tmp_path, script, state, why):
    records = record(tmp_path, script, seconds="1500ms")
    last = [record for record in records if record.type == NVML][-1]
    assert last.values["state"] == state and why in last.tail
    assert list(logfile.records(tmp_path / "trace.gpt", logfile.CALL))


def test_of_an_nvml_of_another_version_what_it_has_is_recorded(tmp_path):
    lacks = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlEventSetWait_v2")
    records = record(tmp_path, SCRIPT, seconds="1500ms", lacks=lacks)
    assert of_type(records, SAMPLE) and not of_type(records, PROCESS) and not of_type(records, ERROR)
    assert of_type(records, SAMPLE)[0]["sm_mhz"] in [mhz for _, mhz, _ in CLOCKS]


def test_an_nvml_without_what_is_needed_is_named_and_the_trace_goes_on(tmp_path):
    records = record(tmp_path, SCRIPT, seconds="1500ms", lacks=["nvmlInit_v2"])
    (state,) = [record for record in records if record.type == NVML]
    assert state.values["state"] == ABSENT and b"libnvidia-ml.so.1 lacks: nvmlInit_v2" in state.tail
    assert list(logfile.records(tmp_path / "trace.gpt", logfile.CALL))


@pytest.mark.parametrize("script, health, text", [
    ("", "ok", "clocks, power, memory and errors of GPUs (driver simulated)"),
    ("init=18", "limited", "no clocks and power of GPUs: NVML: it is of another version than the loaded driver"),
    ("start=60", "limited", "no clocks and power of GPUs: it does not answer within 5 s"),
])
def test_doctor_says_whether_nvml_answers(tmp_path, script, health, text):
    library = put_nvml(tmp_path, script)
    said = tracing.gputrace(tmp_path, "doctor", env={"LD_LIBRARY_PATH": str(library)}).must_be(0).stdout
    assert f" NVML {health} {text}" in " ".join(said.split())


def test_without_nvml_doctor_says_what_is_missing_and_a_report_does_not(tmp_path):
    """A simulated GPU needs no driver; a machine with a GPU has one, and its NVML."""
    if pathlib.Path("/proc/driver/nvidia").exists() or pathlib.Path("/dev/dxg").exists():
        pytest.skip("NVIDIA's driver is here")
    said = " ".join(tracing.gputrace(tmp_path, "doctor").must_be(0).stdout.split())
    assert "NVML limited no clocks and power of GPUs: NVIDIA's driver is not loaded " in said
    with tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", "python3", WORKLOAD, "--step", "100000"), tmp_path) as running:
        report = tracing.gputrace(tmp_path, "-q", "-p", running.pid, "-d", "300ms", "-o", "trace.gpt").must_be(0).stdout
    (state,) = logfile.records(tmp_path / "trace.gpt", NVML)
    assert state.values["state"] == NO_DRIVER and "clocks and power" not in report and "GPU 0" in report


def test_without_counters_no_process_is_started_and_none_is_in_the_log(tmp_path):
    assert record(tmp_path, SCRIPT, "--no-gpu-counters", seconds="500ms") == []
    assert not (tmp_path / "nvml/nvml-truth").exists()
