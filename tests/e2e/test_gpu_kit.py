# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kit for machines with a GPU: what it needs, that its run ends and reports what happened whatever a check does,
and that drift of GPU times is distinguished from noise.

make check-gpu-simulated tests what the checks find.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import uuid

import logfile
import machine
import pytest
import reading
import tracing

KIT = machine.BUILD / "gpu-kit"
MOST_BYTES = 40 << 20


@pytest.fixture(scope="module")
def kit():
    build = os.environ.get("GPUTRACE_BUILD", "build")
    subprocess.run(["make", "-s", "-C", machine.ROOT, f"BUILD={build}", "gpu-kit"], check=True)
    return KIT


def readelf(*words):
    return subprocess.run(["readelf", "-W", *map(str, words)], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout


# ---- what it needs ------------------------------------------------------------------------------------------------

def test_its_gputrace_needs_no_library_and_no_loader(kit):
    assert "NEEDED" not in readelf("-d", kit / "bin/gputrace")
    assert "INTERP" not in readelf("-l", kit / "bin/gputrace")


@pytest.mark.parametrize("library", ["bin/libgputrace-agent.so", "lib/libkitprobe.so"])
def test_its_libraries_need_an_old_libc_only(kit, library):
    needed = re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", kit / library))
    assert set(needed) <= {"libc.so.6", "libdl.so.2", "libpthread.so.0"}
    versions = re.findall(r"GLIBC_2\.(\d+)", readelf("-V", kit / library))
    assert versions and max(map(int, versions)) <= 17


def test_it_is_small_and_the_archive_holds_the_same(kit):
    files = {str(path.relative_to(kit)): path.stat().st_size for path in kit.rglob("*") if path.is_file()}
    assert sum(files.values()) < MOST_BYTES
    with tarfile.open(f"{kit}.tar.gz") as archive:
        packed = {name.partition("/")[2]: member.size
                  for name, member in ((member.name, member) for member in archive) if member.isfile()}
    assert packed == files


def test_it_works_where_there_is_nothing_else(kit, tmp_path):
    """Runs in a root with only the kit, /proc, /sys and /dev/null; the traced process is outside."""
    root = tmp_path / "root"
    for name in ("proc", "sys", "dev", "var/tmp"):
        (root / name).mkdir(parents=True)
    shutil.copytree(kit / "bin", root / "bin")
    inside = ["unshare", "--mount", "sh", "-ec",
              'mount -t proc proc "$0/proc"; mount -t sysfs sysfs "$0/sys"; [ -e "$0/dev/null" ] || mknod -m 666 "$0/dev/null" c 1 3; '
              'exec chroot "$0" /bin/gputrace "$@"', root]
    doctor = tracing.command(tmp_path, *inside, "doctor").must_be(0)
    assert re.search(r"^agent +ok +/bin/libgputrace-agent.so$", doctor.stdout, re.M)
    truth = tmp_path / "gpu.json"
    train = [machine.any_python(), machine.WORKLOADS / "train.py", "--until", tmp_path / "enough"]
    with tracing.Running(tracing.on_simgpu(truth, *train), tmp_path) as running:
        running.wait_line("ready")
        outputs = ["-o", "/trace.json.gz", "-o", "/trace.gpt"]
        with tracing.Running([*inside, "-p", running.pid, *outputs], tmp_path) as tracer:
            tracing.until(lambda: any(logfile.gpu_operations(log) > 1000 for log in root.glob("trace.gpt.part-*")))
            tracer.end(signal.SIGINT).must_be(0)
    receipt = reading.receipt(reading.trace_of(root / "trace.json.gz"))
    assert receipt["launches_joined"] == receipt["launches_expected"] > 100
    # The kit compresses with zlib instead of ISA-L: the contents are the same.
    tracing.gputrace(tmp_path, "export", root / "trace.gpt", "-o", tmp_path / "again.json.gz").must_be(0)
    assert reading.chrome.read(tmp_path / "again.json.gz") == reading.chrome.read(root / "trace.json.gz")


# ---- the kit's run --------------------------------------------------------------------------------------------------

CHECKS = '''
import os, pathlib, subprocess, sys, time

def waits(bench, for_whom):
    """Until the other one has begun, too."""
    (bench.folder.parent / f"{bench.check.name}-began").touch()
    while not (bench.folder.parent / f"{for_whom}-began").exists():
        time.sleep(0.01)
    bench.found(bench.check.name, f"met {for_whom}", True)

def one(bench):
    waits(bench, "two")

def two(bench):
    waits(bench, "one")

def lonely(bench):
    others = sorted(path.name for path in bench.folder.parent.iterdir() if path.is_dir() and not (path / "findings.json").exists())
    bench.found("lonely", " ".join(others), others == ["lonely"])

def good(bench):
    bench.found("a good one", "3 of 3", True, numbers=[1, 2, 3])

def bad(bench):
    bench.found("a bad one", "2 of 3", False)

def silicon(bench):
    bench.found_on_silicon("one for a GPU", "4", True)

def missing(bench):
    bench.found("one that lacks something", "no such thing here", "skipped")

def hangs(bench):
    bench.found("what it found first", "1", True)
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    subprocess.Popen(["sleep", "1000"])
    time.sleep(1000)

def crashes(bench):
    sys.exit("it fell over")

def says_nothing(bench):
    pass

def loud(bench):
    for _ in range(3000):
        print("x" * 9999)
    for number in range(40):
        bench.found(f"loud {number}", "much", True, data="y" * 700000)
'''
TABLE = '''
from typing import NamedTuple
import checks

class Check(NamedTuple):
    name: str
    budget_s: int = 60
    about: str = ""
    beside: bool = False
    alone: bool = False
    silicon_only: str = ""
    def function(self):
        return getattr(checks, self.name)

CHECKS = ({rows})

def of_name(name):
    return next(check for check in CHECKS if check.name == name)
'''


@pytest.fixture
def run(kit, tmp_path):
    """Runs the kit's code with the checks above; gives findings, output and exit status."""

    def with_checks(*rows, gpu="Simulated GPU", arguments=()):
        copy = tmp_path / "kit"
        shutil.copytree(kit, copy)
        shutil.rmtree(copy / "kit/checks")
        (copy / "kit/checks.py").write_text(CHECKS)
        (copy / "kit/table.py").write_text(TABLE.format(rows="".join(f"Check({row})," for row in rows)))
        facts = {"gpu": gpu, "torch": "0", "torch_cuda": "0", "python": "3", "kernel": "0"}
        with open(copy / "kit/machine.py", "a") as file:
            file.write(f"\n\ndef ask(timeout_s):\n    return {facts!r}\n")
        mark = str(uuid.uuid4())
        done = tracing.command(tmp_path, machine.SYSTEM_PYTHON, "-B", copy / "kit", "--out", tmp_path / "out", *arguments,
                               env={tracing.MARK: mark})
        done.mark = mark
        done.json = json.loads((tmp_path / "out/check-gpu.json").read_text())
        done.findings = {row["what"]: row for row in done.json["findings"]}
        log = (tmp_path / "out/check-gpu.log").read_text()
        assert all(line in log for line in done.stdout.splitlines())
        return done

    return with_checks


def test_a_line_for_each_finding_after_what_doctor_says(run):
    done = run("'good'", "'silicon'")
    done.must_be(0)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("kernel ") and any(re.match(r"pass +gputrace doctor ", line) for line in lines)
    assert re.search(r"^pass +a good one +3 of 3$", done.stdout, re.M)
    assert re.search(r"^needs silicon one for a GPU +\(simulated: 4\)$", done.stdout, re.M)
    assert done.findings["a good one"]["data"] == {"numbers": [1, 2, 3]}
    assert done.json["counts"] == {"pass": 2, "FAIL": 0, "needs silicon": 1, "skipped": 0}


@pytest.mark.parametrize("rows, gpu, code", [
    (("'good'", "'bad'"), "Simulated GPU", 1),
    (("'good'", "'bad'"), "H1", 1),
    (("'good'", "'missing'"), "H1", 3),
    (("'good'", "'missing'"), "Simulated GPU", 1),  # on the simulated GPU nothing may be skipped
    (("'good'", "'silicon'"), "H1", 0),
    (("'good'",), None, 77),
])
def test_exit_codes(run, rows, gpu, code):
    run(*rows, gpu=gpu).must_be(code)


def test_on_a_gpu_nothing_needs_silicon(run):
    done = run("'silicon'", gpu="H1").must_be(0)
    assert done.findings["one for a GPU"]["verdict"] == "pass"
    assert "SIMULATED" not in done.stdout


def test_what_cannot_be_tried_on_the_simulated_gpu_is_named(run):
    done = run("'good'", "'crashes', silicon_only='it has no such thing'").must_be(0)
    assert done.findings["crashes"]["verdict"] == "needs silicon"
    assert done.findings["crashes"]["figure"] == "it has no such thing"


@pytest.mark.parametrize("beside", [False, True])
def test_a_check_that_hangs_is_ended_with_all_it_started_and_the_next_one_runs(run, beside):
    done = run(f"'hangs', budget_s=10, beside={beside}", "'good'").must_be(1)
    assert done.findings["what it found first"]["verdict"] == "pass"
    assert done.findings["hangs"]["figure"] == "not done after 10 s, and ended"
    assert done.findings["a good one"]["verdict"] == "pass"
    tracing.wait_gone(done.mark)


def test_a_check_that_falls_over_fails_with_its_last_word(run):
    done = run("'crashes'", "'says_nothing'", "'good'").must_be(1)
    assert done.findings["crashes"]["figure"] == "ended with status 1: it fell over"
    assert done.findings["says_nothing"]["verdict"] == "FAIL"
    assert done.findings["a good one"]["verdict"] == "pass"


def test_when_the_time_is_over_what_is_left_is_skipped(run):
    done = run("'hangs', budget_s=1000", "'good'", gpu="H1", arguments=("--seconds", "40")).must_be(3)  # 10 s for what comes before
    assert done.findings["hangs"]["verdict"] == "skipped"
    assert re.match(r"no time left: ended after \d+ s of 1000$", done.findings["hangs"]["figure"])
    assert done.findings["good"]["verdict"] == "skipped" and done.findings["good"]["figure"].startswith("no time left")


def test_the_two_files_stay_small_whatever_is_said(run, tmp_path):
    done = run("'loud'", "'good'").must_be(0)
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) < 16 << 20
    assert done.findings["loud 39"]["figure"] == "much" and "left out" in done.findings["loud 39"]["data"]
    assert done.findings["a good one"]["data"] == {"numbers": [1, 2, 3]}


def test_checks_can_run_at_once_but_for_those_that_must_be_alone(run):
    done = run("'one'", "'two'", "'lonely', alone=True", "'good'", arguments=("--at-once", "2")).must_be(0)
    assert [row["check"] for row in done.json["findings"]][3:] == ["lonely", "good"]


def test_one_may_run_beside_the_others(run):
    done = run("'one', beside=True", "'two'", "'lonely', alone=True").must_be(0)
    assert done.findings["two"]["figure"] == "met one"


def test_nothing_is_left_beside_the_two_files(run, tmp_path):
    run("'good'", "'hangs', budget_s=2")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["check-gpu.json", "check-gpu.log"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kit", "out"]  # temporary files would be here, too


def test_without_pytorch_it_says_so_after_what_doctor_says(kit, tmp_path):
    done = tracing.command(tmp_path, kit / "check-gpu", env={"PYTHON": machine.SYSTEM_PYTHON}).must_be(1)
    assert done.stdout.startswith("kernel ")
    assert "no Python with PyTorch" in done.stderr


# ---- drift of GPU times -----------------------------------------------------------------------------------------------

MOVED = "import json, sys; from checks import clocks; print(clocks.movement(clocks.shortest(json.load(sys.stdin))))"


def moved_us(**change_us):
    """The movement of the clocks, in us, that checks/clocks.py finds in 6,000 launches over two minutes.  change_us:
    drift of the GPU's clock, or growth of the latency to or from the GPU in the second half."""
    noise, rows, count = random.Random(1), [], 6000
    for number in range(count):
        change = {name: us * (number / count if name == "drift" else number * 2 >= count) for name, us in change_us.items()}
        call = number * 20000
        start = call + 4 + noise.expovariate(0.3) + change.get("to", 0)
        back = start + 8 + noise.expovariate(0.3) + change.get("back", 0)
        rows.append((call, start + change.get("drift", 0), start + 2 + change.get("drift", 0), back))
    done = subprocess.run([sys.executable, "-B", "-c", MOVED], input=json.dumps(rows), check=True, stdout=subprocess.PIPE,
                          universal_newlines=True, env={**os.environ, "PYTHONPATH": f"{machine.ROOT}/tests/gpu/kit:{machine.ROOT}/tests"})
    return float(done.stdout)


@pytest.mark.parametrize("drift_us", [20, -20])
def test_a_drift_of_20_us_over_the_run_is_found(drift_us):
    """The drift is measured between the first and the last quarter of the run."""
    assert 14 < moved_us(drift=drift_us) < 20


@pytest.mark.parametrize("noise", [{}, {"to": 20}, {"back": 20}, {"to": 20, "back": 20}])
def test_a_way_that_grows_alone_or_with_the_other_is_no_drift(noise):
    assert moved_us(**noise) < 1
