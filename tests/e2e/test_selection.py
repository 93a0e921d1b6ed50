# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that are chosen by what is known of them: by container, pod, cgroup, name, user, or all that use a GPU; for
a trace and for a report of one.  What does not fit is not touched."""

import contextlib
import json
import os
import shutil
import subprocess
import uuid
from pathlib import Path

import logfile
import machine
import pytest
import reading
import tracing

ID = "3f2a9c0011223344556677889900aabbccddeeff00112233445566778899aabb"
POD = "0a1b2c3d-1111-2222-3333-444455556666"


def cgroup2():
    """Where the hierarchy of cgroup v2 is mounted."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[fields.index("-") + 1] == "cgroup2":
            return Path(fields[4])
    raise AssertionError("no cgroup v2 is mounted")


@pytest.fixture
def job():
    """A cgroup of this test's own; at its end no process is in it."""
    path = cgroup2() / f"gputrace-test-{uuid.uuid4()}"
    path.mkdir()
    yield path
    for folder, _, _ in os.walk(path, topdown=False):
        tracing.until(lambda: not (Path(folder) / "cgroup.procs").read_text())
        os.rmdir(folder)


def move(pid, cgroup):
    cgroup.mkdir(parents=True, exist_ok=True)
    (cgroup / "cgroup.procs").write_text(str(pid))


def work(target, folder):
    """Does some work, of which FOLDER/program.json says what it was."""
    target.ask("forget")
    target.ask("steps 5")
    target.ask("finish")
    target.ask(f"truth {folder}/program.json")


class Two:
    """Two programs with CUDA, of which one is in a container; and a tracer of what fits."""

    def __init__(self, folder, job, program=None):
        self.folders = [folder / "inside", folder / "outside"]
        for path in self.folders:
            path.mkdir()
        self.folder, self.container = folder, job / "kubepods" / f"pod{POD}" / f"docker-{ID}.scope"
        self.inside, self.outside = (tracing.target(path, truth=path / "gpu.json", python=python)
                                     for path, python in zip(self.folders, (program, None)))

    def __enter__(self):
        for target in (self.inside, self.outside):
            target.__enter__()
            target.ask("steps 1")
        move(self.inside.pid, self.container)
        return self

    def __exit__(self, *error):
        for target in (self.inside, self.outside):
            target.__exit__()

    def work(self):
        for target, folder in zip((self.inside, self.outside), self.folders):
            work(target, folder)

    def trace(self, *options):
        """Works while it is traced; no agent comes to the second program."""
        with tracing.Tracer(self.folder, *options) as tracer:
            tracing.wait_agent(self.inside.pid)
            tracer.wait_logged(logfile.says_ready)
            self.work()
            assert not tracing.has_thread(self.outside.pid)
            tracer.interrupt().must_be(0)
        return reading.trace_of(self.folder / "trace.json")

    def check(self, trace):
        """The trace has the first program's work, all of it, and nothing of the second one."""
        assert reading.trace_line_ns(trace) == reading.truth_line_ns(reading.program(self.folders[0] / "program.json"))
        assert [process["pid"] for process in trace["gputrace"]["processes"]] == [self.inside.pid]


CHOICES = {
    "container": lambda job: ("--container", ID[:12]),
    "pod": lambda job: ("--pod", POD),
    "cgroup": lambda job: ("--cgroup", f"/{job.name}"),
    "pattern": lambda job: ("--cgroup", f"*{job.name[-12:]}*/docker-*"),
    "two kinds": lambda job: ("-p", "gpu", "--user", "root", "--container", ID),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_only_what_fits_is_traced(tmp_path, job, choice):
    with Two(tmp_path, job) as two:
        two.check(two.trace(*CHOICES[choice](job)))


def test_so_it_is_by_name(tmp_path, job):
    program = tmp_path / "chosen-program"
    program.symlink_to(os.path.realpath(machine.any_python()))
    with Two(tmp_path, job, program) as two:
        two.check(two.trace("--comm", "chosen-*"))


def test_what_does_not_fit_has_no_probe(tmp_path, job):
    """They have copies of the files: other tests trace the usual ones."""
    python, cudart = (shutil.copy(path, tmp_path) for path in (machine.SYSTEM_PYTHON.resolve(), machine.cudart()))
    with tracing.target(tmp_path, cudart, python=python) as inside, tracing.target(tmp_path, cudart, python=python) as outside:
        move(inside.pid, job)
        with tracing.Tracer(tmp_path, "--cgroup", f"/{job.name}", "--agent", "off") as tracer, \
             tracing.target(tmp_path, cudart, python=python) as later:
            for target in (inside, outside, later):
                target.ask("forget")
                target.ask("steps 5")
            for name in (python, cudart):
                assert not tracing.code_is_untouched(inside.pid, name)
                assert tracing.code_is_untouched(outside.pid, name) and tracing.code_is_untouched(later.pid, name)
            inside.ask(f"truth {tmp_path}/truth.json")
            tracer.interrupt().must_be(0)
    truth = reading.program(tmp_path / "truth.json")
    assert reading.trace_stacks(reading.trace_of(tmp_path / "trace.json"), {"cudaLaunchKernel"}) == reading.truth_stacks(truth)


def test_so_it_is_by_the_agents_alone(tmp_path, job):
    with Two(tmp_path, job) as two:
        two.check(two.trace("--way", "agent", "--container", ID[:12]))


def test_one_that_comes_later_is_traced(tmp_path, job):
    """No process fits at first, which is said."""
    with tracing.Tracer(tmp_path, "--cgroup", f"/{job.name}") as tracer, contextlib.ExitStack() as stack:
        assert any(f"there are none of the processes with CUDA of cgroup /{job.name} (yet)" in line for line in tracer.said)
        command = ["sh", "-c", f'echo $$ > {job}/cgroup.procs; exec "$@"', "sh", machine.any_python(),
                   machine.PROGRAMS / "obedient.py"]
        target = stack.enter_context(tracing.Running(tracing.on_simgpu(tmp_path / "gpu.json", *command), tmp_path))
        target.wait_line("ready")
        target.ask("steps 1")
        tracer.wait_logged(logfile.says_ready)
        work(target, tmp_path)
        tracer.interrupt().must_be(0)
    lines = reading.trace_line_ns(reading.trace_of(tmp_path / "trace.json"))
    for line, ns in reading.truth_line_ns(reading.program(tmp_path / "program.json")).items():
        assert lines[line] >= ns


def test_one_that_comes_to_fit_is_traced_from_then_on(tmp_path, job):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        target.ask("steps 1")
        with tracing.Tracer(tmp_path, "--cgroup", f"/{job.name}") as tracer:
            target.ask("steps 1")
            move(target.pid, job)
            tracing.wait_agent(target.pid)
            tracer.wait_logged(logfile.says_ready)
            work(target, tmp_path)
            tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    assert reading.trace_line_ns(trace) == reading.truth_line_ns(reading.program(tmp_path / "program.json"))


def test_all_that_use_a_gpu_are_traced(tmp_path, job):
    """Other programs of this machine may be, too."""
    with Two(tmp_path, job) as two, tracing.Tracer(tmp_path, "-p", "gpu") as tracer:
        for target in (two.inside, two.outside):
            tracing.wait_agent(target.pid)
        two.work()
        tracer.interrupt().must_be_of_machine()
    for target, folder in zip((two.inside, two.outside), two.folders):
        lines = reading.trace_line_ns(reading.trace_of(tracing.export_process(tmp_path / "trace.gpt", target.pid)))
        truth = reading.truth_line_ns(reading.program(folder / "program.json"))
        assert truth and all(lines[line] >= ns for line, ns in truth.items())


def tables_of(log, *options):
    out = tracing.gputrace(log.parent, "report", log, "--format", "json", "--table", "processes", *options).must_be(0)
    return json.loads(out.stdout)["tables"][0]["rows"]


def test_a_report_is_of_what_fits(tmp_path, job):
    with Two(tmp_path, job) as two, tracing.Tracer(tmp_path, "-p", f"{two.inside.pid},{two.outside.pid}") as tracer:
        for target in (two.inside, two.outside):
            tracing.wait_agent(target.pid)
        two.work()
        tracer.interrupt().must_be(0)
    log = tmp_path / "trace.gpt"
    rows = {row["pid"]: row for row in tables_of(log)}
    inside = rows[two.inside.pid]
    assert inside["container"] == ID and inside["pod"] == POD and inside["uid"] == 0
    assert inside["cgroup"] == f"/{job.name}/kubepods/pod{POD}/docker-{ID}.scope"
    assert rows[two.outside.pid]["container"] == "" and len(rows) == 2
    for options in (("--container", ID[:4]), ("--pod", POD), ("--cgroup", f"/{job.name}"), ("--cgroup", inside["cgroup"])):
        assert [row["pid"] for row in tables_of(log, *options)] == [two.inside.pid]
    assert len(tables_of(log, "--user", "root")) == 2
    tracing.gputrace(tmp_path, "export", log, "--container", ID, "-o", "part.json").must_be(0)
    assert [process["pid"] for process in reading.trace_of(tmp_path / "part.json")["gputrace"]["processes"] if process["calls"]] \
        == [two.inside.pid]
    for options, words in {
            ("--container", "77777777"): f"--container 77777777: fits no process of {log}; it has {ID[:12]}",
            ("--user", "77777"): f"--user 77777: fits no process of {log}; it has 0",
            ("--pod", "web"): f"--pod web: fits no process of {log}; it has {POD[:12]}"}.items():
        assert words in tracing.gputrace(tmp_path, "report", log, *options).must_be(1).stderr


KUBERNETES = machine.ROOT / "docs" / "kubernetes"


@pytest.mark.parametrize("name", sorted(path.name for path in KUBERNETES.glob("*.yaml")))
def test_the_manifests_of_the_docs_are_valid_and_so_are_their_options(tmp_path, name):
    """By the schemas of the Kubernetes API; none of their fields is unknown there."""
    python = shutil.which("python3")
    packages = subprocess.run([machine.ROOT / "tools/get-pypi", python, "kubernetes-validate==1.37.0"], stdout=subprocess.PIPE,
                              universal_newlines=True)
    if packages.returncode:
        pytest.skip("kubernetes-validate cannot be fetched")
    program = ("import json, sys, yaml, kubernetes_validate as k\n"
               "it = yaml.safe_load(open(sys.argv[1]))\n"
               "k.validate(it, k.latest_version(), strict=True)\n"
               "spec = it['spec'].get('template', it)['spec']\n"
               "print(json.dumps([c['command'] for c in spec['containers'] if c['image'] == 'IMAGE']))\n")
    out = subprocess.run([python, "-c", program, KUBERNETES / name], check=True, stdout=subprocess.PIPE, universal_newlines=True,
                         env={**os.environ, "PYTHONPATH": packages.stdout.strip()}).stdout
    (shell, option, line), = json.loads(out)
    assert (shell, option) == ("sh", "-c") and line.startswith("exec gputrace ")
    line = line.replace("exec gputrace", f"exec {machine.GPUTRACE}").replace("/logs/", f"{tmp_path}/").replace("-d 1h", "-d 10ms")
    tracing.command(tmp_path, "sh", "-c", line, env={"NODE": "node", "POD": POD}).must_be(0)
    assert list(tmp_path.glob("*.gpt"))


@pytest.mark.parametrize("options, words", (
    (("-p", "gpu", "-p", "1"), "-p gpu and -p PID exclude each other"),
    (("-p", "1", "--user", "root"), "they exclude -p PID and a command"),
    (("--pod", "a", "--", "true"), "they exclude -p PID and a command"),
    (("--container", ""), "--container : ids of containers"),
    (("--comm", "a,,b"), "--comm a,,b: names of processes"),
    (("--pod", ","), "--pod ,: names of pods, NAMESPACE/NAME or uids are accepted"),
    (("--user", ",1"), "--user ,1: names or numbers of users are accepted"),
    (("--cgroup", "job"), "--cgroup job: a path is accepted"),
    (("--user", "no-such-user"), "--user no-such-user: no such user is known here; give the number"),
    (("why", "x.gpt", "-p", "gpu"), "why looks at x.gpt or at what it records itself"),
), ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_what_cannot_be_chosen_is_said(tmp_path, options, words):
    assert words in tracing.gputrace(tmp_path, *options).must_be(2).stderr
