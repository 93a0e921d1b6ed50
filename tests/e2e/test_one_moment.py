# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""All processes of one gputrace are recorded from one moment to another: what was there before is set-up, and nothing of
gputrace's own work lies between the two.  What is expected is what each program itself says of its calls."""

import array
import bisect
import collections
import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import gptlog
import logfile
import machine
import pytest
import reading
import tracing

RANKS = 8
NEAR_NS = 100_000  # from the moment to the first record of a program that launched then

class Rank(tracing.Running):
    """A program that launches all the time, and says when."""

    def __init__(self, folder, number, pause_us=300):
        self.times = folder / f"times-{number}"
        program = [machine.any_python(), machine.PROGRAMS / "moments.py", self.times, pause_us]
        super().__init__(tracing.on_simgpu(folder / f"truth-{number}", *program), folder)

    def spans(self):
        """[(before, after)] of its launches, in ns."""
        self.ask("end")
        flat = array.array("Q", self.times.read_bytes())
        return list(zip(flat[::2], flat[1::2]))


@contextlib.contextmanager
def ranks(folder, count=RANKS, **more):
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(Rank(folder, number, **more)) for number in range(count)]
        for rank in running:
            rank.wait_line("ready")
        yield running


def times_of(log, *options):
    """The recording's (start, end), and {pid: [start of each call]}, in ns of CLOCK_MONOTONIC."""
    path = log.with_suffix(".sqlite")
    tracing.gputrace(log.parent, "export", log, *options, "-o", path).must_be(0)
    start, found = reading.start_ns(log), {}
    with contextlib.closing(sqlite3.connect(path)) as base:
        (length,) = base.execute("SELECT stopTime - startTime FROM ANALYSIS_DETAILS").fetchone()
        for time, thread in base.execute("SELECT start, globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start"):
            found.setdefault(thread >> 24 & 0xffffff, []).append(start + time)
    return start, start + length, found


def assert_is_recorded(spans, found, start, end):
    """Each call that lies between is in the trace, once and in its place, and none that lies outside."""
    inside = [(before, after) for before, after in spans if before >= start and after <= end]
    possible = [(before, after) for before, after in spans if after >= start and before <= end]
    assert len(inside) > 20
    starts = [before for before, _ in possible]
    places = collections.Counter(bisect.bisect(starts, time) - 1 for time in found)
    assert not [times for place, times in places.items() if times > 1 or place < 0], "calls of no launch, or twice"
    assert len(inside) <= len(found) <= len(possible) <= len(inside) + 2
    offset = possible.index(inside[0]) if found[0] >= inside[0][0] else 0
    assert all(before <= time <= after for (before, after), time in zip(possible[offset:], found))
    # The first and the last that the program made between the two are there
    assert found[0] <= inside[0][1] and found[-1] >= inside[-1][0]


class PtraceCalls:
    """When threads were stopped and resumed: the times of calls of ptrace(2), by CLOCK_MONOTONIC."""

    def __init__(self):
        self.folder = Path(f"/sys/kernel/tracing/instances/gputrace-test-{os.getpid()}")

    def __enter__(self):
        if not self.folder.parent.exists():
            subprocess.run(["mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing"], check=True)
        self.folder.mkdir()
        (self.folder / "trace_clock").write_text("mono")
        (self.folder / "events/syscalls/sys_enter_ptrace/enable").write_text("1")
        return self

    def __exit__(self, *error):
        (self.folder / "events/enable").write_text("0")
        self.folder.rmdir()

    def of(self, tids):
        """[ns, truncated to us] of the calls about one of these threads, so far."""
        calls = re.findall(r"(\d+)\.(\d{6}): sys_ptrace\(request: \w+, pid: (\w+),", (self.folder / "trace").read_text())
        return [int(seconds + micros) * 1000 for seconds, micros, tid in calls if int(tid, 16) in tids]


@pytest.mark.parametrize("way", ["bpf", "agent"])
def test_all_processes_are_recorded_from_one_moment_to_another(tmp_path, way):
    with ranks(tmp_path) as running, PtraceCalls() as stops:
        pids = [rank.pid for rank in running]
        tids = {tid for pid in pids for _, tid in tracing.named_threads(pid)}
        done = tracing.gputrace(tmp_path, "-p", ",".join(map(str, pids)), "--way", way, "-d", "1s", "-o", tmp_path / "all.gpt")
        spans = {pid: rank.spans() for pid, rank in zip(pids, running)}
        stopped = stops.of(tids)
    done.must_be(0)
    start, end, found = times_of(tmp_path / "all.gpt")
    assert end - start == 1_000_000_000
    assert sorted(found) == sorted(pids)
    for pid in pids:
        assert_is_recorded(spans[pid], found[pid], start, end)
    # Threads of the programs were stopped to let the agent in, all of them before
    assert len(stopped) >= RANKS and not [time for time in stopped if start - 1000 <= time <= end]


def test_the_receipt_says_how_the_recording_began(tmp_path):
    with ranks(tmp_path, 2) as running:
        pids = ",".join(str(rank.pid) for rank in running)
        done = tracing.gputrace(tmp_path, "-p", pids, "-d", "300ms", "-o", tmp_path / "all.gpt").must_be(0)
    assert re.search(r"^2 processes from one moment; setting up took [\d.]+ m?s before it and is\s+not in\s+the\s+trace\.",
                     done.stdout, re.M), done
    row = start_row(tmp_path / "all.gpt")
    assert row["processes"] == 2 and row["agents_not_ready"] == row["processes_later"] == 0
    assert row["set_up_ns"] > 0 and row["calls_before"] > 0 and row["asked_wall_ns"] is None
    assert start_row(tmp_path / "all.gpt", "--from", "100ms") == row  # a slice says it of its recording


def assert_began_at(moment, log):
    row = start_row(log)
    assert row["asked_wall_ns"] == moment * 10**9 and row["late_ns"] == 0
    assert abs(row["start_wall_ns"] - row["asked_wall_ns"]) < NEAR_NS  # the wall clock may be set right while it waits


def start_row(log, *options):
    done = tracing.gputrace(log.parent, "report", log, *options, "--format", "json", "--table", "start").must_be(0)
    (row,) = [row for table in json.loads(done.stdout)["tables"] if table["id"] == "start" for row in table["rows"]]
    return row


# ---- at a moment of the wall clock -------------------------------------------------------------

WAIT_S = 10  # for two gputraces to set up, beside other tests


def test_two_gputraces_begin_at_the_same_moment_and_merge_says_so(tmp_path):
    with ranks(tmp_path, 2) as running:
        moment = int(time.time()) + WAIT_S
        logs = [tmp_path / f"rank{number}.gpt" for number in range(2)]
        tracers = [tracing.Running([machine.GPUTRACE, "--start-at", f"@{moment}", "-d", "300ms", "-p", rank.pid, "-o", log],
                                   tmp_path) for rank, log in zip(running, logs)]
        for tracer in tracers:
            with tracer:
                tracer.end().must_be(0)
        spans = [rank.spans() for rank in running]
    for log, rank, own in zip(logs, running, spans):
        assert_began_at(moment, log)
        start, end, found = times_of(log)
        assert end - start == 300_000_000
        assert_is_recorded(own, found[rank.pid], start, end)
    said = tracing.gputrace(tmp_path, "merge", *logs).must_be(0).stdout
    apart, unit = re.search(r"the recordings began (\d[\d.]*) (\w+) apart and ended \d[\d.]* \w+ apart, "
                            r"by the one clock that they have", said).groups()
    assert unit == "ns" and float(apart) < 100_000, said


def test_a_command_runs_before_its_moment_and_is_recorded_from_then_on(tmp_path):
    times, log = tmp_path / "times", tmp_path / "all.gpt"
    program = tracing.on_simgpu(tmp_path / "truth", machine.any_python(), machine.PROGRAMS / "moments.py", times, "300")
    command = [machine.GPUTRACE, "--start-at", f"+{WAIT_S}s", "-d", "300ms", "-o", log, "--", *program]
    with tracing.Running(command, tmp_path) as traced:
        traced.wait_line("ready")
        traced.wait_line("goes on: gputrace ends with it", "stderr")
        traced.ask("end")
        traced.end().must_be(0)
    flat = array.array("Q", times.read_bytes())
    start, end, found = times_of(log)
    ((_, calls),) = found.items()
    assert flat[0] < start  # the program did not wait
    assert_is_recorded(list(zip(flat[::2], flat[1::2])), calls, start, end)
    assert start_row(log)["calls_before"] > len(calls)
    # What it did before is not in the log, but for a last second
    assert not [record for record in logfile.records(log, logfile.CALL, logfile.CALL_ARGS) if record.values["time_ns"] < start - 1_100_000_000]


@pytest.mark.parametrize("moment", ["tomorrow", "5", "1:30", "+0", "+", "/", "/0.5s", "/0", "@", "@x", "@99999999999", "25:00:00", "2026-11-31T10:00:00"])
def test_what_is_no_moment_is_refused(tmp_path, moment):
    done = tracing.gputrace(tmp_path, "--start-at", moment, "-d", "1s").must_be(2)
    assert done.stderr.startswith(f"gputrace: --start-at {moment}: a moment on the wall clock is accepted"), done


def test_a_moment_in_the_past_is_refused_with_how_long_ago_it_was(tmp_path):
    done = tracing.gputrace(tmp_path, "--start-at", f"@{int(time.time()) - 100}", "--", "touch", tmp_path / "ran")
    assert re.search(r": that was 1\d\d\.\d s ago, it is \d\d:\d\d:\d\d\.\d+ now: name a later moment", done.stderr), done
    assert "now: name a later moment, a time from now (+5s) or a multiple (/10s)" in done.stderr
    assert done.code != 0 and not (tmp_path / "ran").exists()


def test_set_up_that_is_late_begins_later_and_says_by_how_much(tmp_path):
    with ranks(tmp_path, 1) as running:
        done = tracing.gputrace(tmp_path, "--start-at", "+1ms", "-d", "100ms", "-p", running[0].pid, "-o", tmp_path / "all.gpt")
    late = re.search(r"--start-at \+1ms: set-up was ready (\d+\.\d+) s after that: the recording began then", done.must_be(0).stderr)
    row = start_row(tmp_path / "all.gpt")
    assert abs(row["late_ns"] / 1e9 - float(late.group(1))) < 0.001 and row["late_ns"] > 0
    assert late.group(0) in done.stdout  # as a note, and so in each later report


def test_ctrl_c_while_it_waits_ends_it_without_outputs(tmp_path):
    with ranks(tmp_path, 1) as running:
        pid = running[0].pid
        command = [machine.GPUTRACE, "--start-at", "+1h", "-p", pid, "-o", tmp_path / "all.gpt", "-o", tmp_path / "all.json"]
        with tracing.Running(command, tmp_path) as tracer:
            tracer.wait_line("the recording begins at", "stderr")
            tracing.wait_agent(pid)
            done = tracer.end(signal.SIGINT)
        tracing.wait_agent_gone(pid)
    assert done.code == 1 and "--start-at +1h: interrupted before that: nothing is recorded" in done.stderr, done
    assert not list(tmp_path.glob("all*"))


def test_what_ends_before_the_moment_is_not_recorded(tmp_path):
    done = tracing.gputrace(tmp_path, "--start-at", "+1h", "-o", tmp_path / "all.gpt", "--", "true")
    assert done.code == tracing.OWN_FAILURE and "--start-at +1h: true ended before that: nothing is recorded" in done.stderr, done
    assert not list(tmp_path.glob("all*"))


# ---- a job that torchrun starts -------------------------------------------------------------------

JOB_RANKS = 4
JOB_WAIT_S = 40  # for as many PyTorchs to start, beside other tests


def run_job(folder, moment, end, *options, pause=()):
    """One gputrace for each rank, as docs/containers.md says; {rank: what it said of itself}, and what merge says."""
    traced = [machine.GPUTRACE, "--start-at", f"@{moment}", *options, "-o", "rank-%q{RANK}.gpt", "--", machine.SIMGPU_RUN,
              machine.tool("get-torch"), machine.PROGRAMS / "torch_from_moment.py", folder, moment, end, *pause]
    torchrun = [machine.tool("get-torch"), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", JOB_RANKS, "--no-python"]
    done = subprocess.run([str(word) for word in torchrun + traced], cwd=folder, capture_output=True, text=True, check=False,
                          timeout=tracing.PATIENCE_S, env=tracing.environment(folder, SIMGPU_NCCL=1))
    assert done.returncode == 0, done.stderr
    said = tracing.gputrace(folder, "merge", *(f"rank-{rank}.gpt" for rank in range(JOB_RANKS))).must_be(0).stdout
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(JOB_RANKS)], said


def reductions_of(log, *options):
    """The start of each launch of an all-reduce, in ns of CLOCK_MONOTONIC; of a log with a schedule those of its cycle."""
    path = log.with_suffix(".sqlite")
    tracing.gputrace(log.parent, "export", log, *options, "-o", path).must_be(0)
    with contextlib.closing(sqlite3.connect(path)) as base:
        (start_wall,) = base.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
        found = base.execute("SELECT call.start FROM CUPTI_ACTIVITY_KIND_KERNEL work JOIN CUPTI_ACTIVITY_KIND_RUNTIME call "
                             "USING (correlationId) JOIN StringIds ON id = demangledName "
                             "WHERE value LIKE '%AllReduce%' ORDER BY call.start").fetchall()
    return [start_wall - gptlog.Log(log).wall_offset_ns + time for time, in found]


@pytest.mark.torch
def test_ranks_of_torchrun_are_recorded_from_one_moment(tmp_path):
    moment = int(time.time()) + JOB_WAIT_S
    ranks_said, merged = run_job(tmp_path, moment, moment + 3, "-d", "1s")
    for rank, said in enumerate(ranks_said):
        assert_began_at(moment, tmp_path / f"rank-{rank}.gpt")
        start, end, _ = times_of(tmp_path / f"rank-{rank}.gpt")
        assert end - start == 1_000_000_000
        assert_is_recorded(said["steps"], reductions_of(tmp_path / f"rank-{rank}.gpt"), start, end)
    assert re.search(r"the recordings began \d[\d.]* (ns|us) apart and ended \d[\d.]* \w+ apart, by the one clock", merged), merged


@pytest.mark.torch
def test_a_schedule_from_one_moment_records_the_same_steps_of_each_rank(tmp_path):
    """No rank begins a step near the moment; each has made thousands before."""
    moment = int(time.time()) + JOB_WAIT_S
    ranks_said, _ = run_job(tmp_path, moment, moment + 4, "--step", "range:iteration", "--schedule", "wait=5,active=3,repeat=1",
                            pause=["pause"])
    recorded = []
    for rank, said in enumerate(ranks_said):
        assert_began_at(moment, tmp_path / f"rank-{rank}.gpt")
        log = tmp_path / f"rank-{rank}.gpt"
        starts = [before for before, _ in said["steps"]]
        first = bisect.bisect(starts, reading.start_ns(log))  # of those that begin after the moment
        assert first > 20
        cycle, whole = ([bisect.bisect(starts, time) - 1 for time in reductions_of(log, *options)]
                        for options in ([], ["--from", "0", "--to", "1h"]))
        assert cycle == [first + 5, first + 6, first + 7]
        # The program may launch more before the agent has seen that the cycle is over: that is in the log, and in no cycle
        assert whole == list(range(first + 5, first + 5 + len(whole)))
        recorded.append(first)
    assert len(set(recorded)) == 1


# ---- a job that Slurm starts ----------------------------------------------------------------------

SLURM = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
PluginDir={root}/lib/slurm-wlm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={tasks} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""
TASKS = 4
TASKS_WAIT_S = 12  # for as many programs to start, beside other tests


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Slurm on this one host: what srun needs in its environment, and its folder."""
    fetched = subprocess.run([machine.ROOT / "tools/get-slurm"], stdout=subprocess.PIPE, universal_newlines=True)
    if fetched.returncode:
        pytest.skip("Slurm cannot be fetched: tools/get-slurm says why")
    root, folder = Path(fetched.stdout.strip()), tmp_path_factory.mktemp("slurm")
    added = {"SLURM_CONF": str(folder / "slurm.conf"), "LD_LIBRARY_PATH": f"{root}/lib:{root}/lib/slurm-wlm"}
    env = {**os.environ, **added}

    def start():
        """Starts its daemons, at ports that were free."""
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
            ports = [each.getsockname()[1] for each in sockets]
        (folder / "slurm.conf").write_text(SLURM.format(host=os.uname().nodename.split(".")[0], ports=ports, folder=folder, root=root,
                                                        tasks=TASKS))
        with open(folder / "daemons.log", "a") as log:
            return [subprocess.Popen([root / "bin" / words[0], "-D", *words[1:]], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                    for words in (("slurmctld",), ("slurmd", "-d", root / "bin/slurmstepd"))]

    def end(daemons):
        for daemon in daemons[::-1]:
            daemon.terminate()
            daemon.wait()

    def is_idle():
        nonlocal daemons
        if any(daemon.poll() is not None for daemon in daemons):  # a port was taken meanwhile
            end(daemons)
            daemons = start()
        return "idle" in subprocess.run([root / "bin/sinfo", "-h", "-o", "%T"], env=env, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, universal_newlines=True).stdout

    daemons = start()
    try:
        tracing.until(is_idle)
        yield root, added
    except AssertionError as error:
        raise AssertionError((folder / "daemons.log").read_text()[-4000:]) from error
    finally:
        end(daemons)


def test_tasks_of_srun_are_recorded_from_one_moment(tmp_path, slurm):
    """As docs/containers.md says; the rank in a log's name is Slurm's, and merge knows it by NCCL."""
    root, env = slurm
    (tmp_path / "job").mkdir()
    moment, rounds = int(time.time()) + TASKS_WAIT_S, int((TASKS_WAIT_S + 4) / 0.03)
    task = (f"exec env -u LD_LIBRARY_PATH {machine.GPUTRACE} --start-at @{moment} -d 1s -o 'rank-%q{{SLURM_PROCID}}.gpt' -- "
            f"{machine.SIMGPU_RUN} {machine.any_python()} {machine.ROOT}/tests/workloads/nccl_ranks.py {TASKS} {tmp_path}/job "
            f"--rank $SLURM_PROCID --kinds numbered --rounds {rounds}")
    done = subprocess.run([root / "bin/srun", "-n", str(TASKS), "sh", "-c", task], cwd=tmp_path, capture_output=True, text=True,
                          check=False, timeout=tracing.PATIENCE_S,
                          env=tracing.environment(tmp_path, SIMGPU_NCCL=1, SIMGPU_DEVICES=TASKS, **env))
    assert done.returncode == 0, done.stderr
    logs = [tmp_path / f"rank-{rank}.gpt" for rank in range(TASKS)]
    for log in logs:
        assert_began_at(moment, log)
    merged = tracing.gputrace(tmp_path, "merge", *logs, "--format", "json").must_be(0)
    tables = {table["id"]: table["rows"] for table in json.loads(merged.stdout)["tables"]}
    assert [(row["rank"], row["log"]) for row in tables["merge_ranks"]] == [(rank, str(log)) for rank, log in enumerate(logs)]
    assert min(row["compared"] for row in tables["merge_ranks"]) > 20
    assert max(row["began_after_ns"] for row in tables["merge_logs"]) < 1_000_000
