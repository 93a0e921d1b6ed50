# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The last trace is kept: report, why, view, export and diff read it without a file."""

import json
import os
import re
import signal

import machine
import pytest
import tracing
import viewed

USER = 65534
USAGE = 2
NOT_KEPT = "warning: the trace is not kept as the last one"
ON_SMALL_DISK = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=4k none "$0" && exec "$@"')
NO_NAME = ("setpriv", "--reuid=4242", "--regid=4242", "--clear-groups", "env", "-u", "HOME", "-u", "XDG_STATE_HOME")
CALLED_BY_SUDO = 'env -u XDG_STATE_HOME SUDO_UID=%d SUDO_GID=%d "$@"; exit $?' % (USER, USER)


class Home:
    """A folder for the state of one test's user."""

    def __init__(self, folder):
        self.folder, self.env = folder, {"XDG_STATE_HOME": folder / "state"}

    def run(self, *words, **more):
        return tracing.gputrace(self.folder, *words, env=self.env, **more)

    def kept(self):
        return sorted((self.folder / "state/gputrace").glob("*.gpt"))


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def traces(home, *options):
    """A trace of a program that launches."""
    program = tracing.on_simgpu(home.folder / "gpu.json", machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "5")
    return home.run(*options, "--", *program).must_be(0)


def report_in(stdout):
    """The report, which follows what the program prints."""
    return stdout[stdout.index("\nGPU time by"):]


def test_without_a_file_the_last_trace_is_read(home):
    done = traces(home)
    (log,) = home.kept()
    named = f"gputrace: {log}: the last trace, which ended at "
    assert log.stat().st_mode & 0o777 == 0o600 and log.parent.stat().st_mode & 0o777 == 0o700
    report = home.run("report").must_be(0)
    assert report_in(report.stdout) == report_in(done.stdout)
    assert re.fullmatch(re.escape(named) + r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", report.stderr)
    assert home.run("report", "-q").must_be(0).stderr == ""
    for words in (["report", "--tree"], ["why"], ["report", "--lines", "loss_item"]):
        named_too = tracing.gputrace(home.folder, *words, log).must_be(0).stdout
        assert home.run(*words).must_be(0).stdout == named_too.replace(f" {log}", "")
    assert named in home.run("export", "-o", "last.json").must_be(0).stderr
    tracing.gputrace(home.folder, "export", log, "-o", "named.json").must_be(0)
    assert (home.folder / "last.json").read_bytes() == (home.folder / "named.json").read_bytes()


def next_of(stdout):
    """The command with which a verdict ends."""
    return re.search(r"^Next: (gputrace .*)$", stdout, re.M).group(1)


@pytest.mark.parametrize("words, log", [((), ""), (("-o", "named.gpt"), " named.gpt"), (("-o", "a b.gpt"), " 'a b.gpt'"),
                                        (("--no-keep",), " FILE")])
def test_the_next_command_works_as_it_is_printed(home, words, log):
    done = traces(home, *words)
    command = next_of(done.stdout)
    assert re.match(f"gputrace (report|why){re.escape(log)}( --lines |$)", command), command
    if "FILE" in log:
        return  # nothing was kept
    ran = tracing.command(home.folder, "sh", "-c", command.replace("gputrace", str(machine.GPUTRACE), 1), env=home.env).must_be(0)
    assert ran.stdout
    again = home.run("report", *words[1:]).must_be(0)
    assert next_of(again.stdout) == command and again.stdout in done.stdout
    (kept,) = home.kept()
    assert next_of(home.run("report", kept).must_be(0).stdout) == command.replace(log, f" {kept}", 1) if log else True


def test_view_shows_the_last_trace(home):
    traces(home, "-q")
    shown = viewed.Viewed(None, env={name: str(value) for name, value in home.env.items()})
    (log,) = home.kept()
    named = viewed.Viewed(log)
    # with the gaps of GPUs as rows, and but for the log's name in the next command
    assert json.dumps(shown.sums()) == json.dumps(named.sums()).replace(f" {log}", "")
    assert shown.tracks() == named.tracks() and shown.tracks()["tracks"]
    assert shown.end() == named.end() == 0


def test_diff_reads_the_last_two(home):
    traces(home)
    one = home.run("diff").must_be(USAGE)
    assert "diff needs two logs, and only one trace is kept in" in one.stderr
    home.run("why", "-q", "--", "true")
    before, after = home.kept()
    done = home.run("diff").must_be(0)
    assert f"{before}: the trace before the last, which ended at" in done.stderr and f"{after}: the last trace, which" in done.stderr
    assert done.stdout == tracing.gputrace(home.folder, "diff", before, after).must_be(0).stdout


def test_a_log_that_is_named_is_kept_without_a_second_copy(home):
    home.run("-q", "-o", "named.gpt", "--", "true").must_be(0)
    (log,) = home.kept()
    assert log.samefile(home.folder / "named.gpt")
    home.run("-q", "-o", "named.gpt", "--", "true").must_be(0)
    assert log.exists() and home.kept()[1].samefile(home.folder / "named.gpt")


def test_what_is_not_to_be_kept_is_not(home):
    for words in (["--no-keep"], ["why", "--no-keep"]):
        home.run(*words, "-q", "--", "true")
    assert not home.kept()
    done = home.run("report").must_be(USAGE)
    assert done.stderr == f"gputrace: report needs a log, as no trace is kept in {home.folder}/state/gputrace: gputrace report FILE.gpt\n"


def test_a_killed_gputrace_leaves_no_trace(home):
    home.run("-q", "--", "true").must_be(0)
    with tracing.Running([machine.GPUTRACE, "--", *tracing.DEAF, "sh", "-c", "echo ready; read line"], home.folder, env=home.env) as running:
        running.wait_line("ready")
        running.end_trace(signal.SIGKILL)
    assert len(home.kept()) == 1
    assert os.listdir(home.folder / "state/gputrace") == [home.kept()[0].name]


def test_a_trace_that_was_interrupted_twice_is_kept(home):
    with tracing.Running([machine.GPUTRACE, "--", *tracing.DEAF, "sh", "-c", "echo ready; read line"], home.folder, env=home.env) as running:
        running.wait_line("ready")
        for _ in range(2):
            running.send_apart(signal.SIGTERM)
        running.wait_line("interrupted twice: no outputs are written", "stderr")
        running.wait_line("goes on: gputrace ends with it", "stderr")
        running.end()
    assert len(home.kept()) == 1 and home.run("report").must_be(0).stdout


def test_a_full_disk_costs_nothing_but_the_kept_trace(home):
    """The log does not fit on the disk of the user's home; that of temporary files has room."""
    (home.folder / "state").mkdir()
    done = tracing.command(home.folder, *ON_SMALL_DISK, home.folder / "state", machine.GPUTRACE, "-o", "of.json", "--", "true",
                           env=home.env).must_be(0)
    lines = [line for line in done.stderr.splitlines() if NOT_KEPT in line]
    assert lines == [f"gputrace: {NOT_KEPT}: {home.folder}/state/gputrace: No space left on device: name another folder in "
                     "XDG_STATE_HOME, or say --no-keep"]
    assert "No CUDA call was seen" in done.stdout and (home.folder / "of.json").exists()


def test_a_user_without_a_home_is_told_so_and_has_the_rest(desk):
    done = tracing.command(desk, *NO_NAME, desk / "gputrace", "-o", "of.json", "--", "true").must_be(0)
    assert f"gputrace: {NOT_KEPT}: its user has no home: name a folder in XDG_STATE_HOME, or say --no-keep\n" in done.stderr
    assert "No CUDA call was seen" in done.stdout and (desk / "of.json").exists()
    done = tracing.command(desk, *NO_NAME, desk / "gputrace", "report").must_be(USAGE)
    assert done.stderr == ("gputrace: report needs a log, as this user has no home in which the last trace is kept: "
                           "gputrace report FILE.gpt\n")


def test_what_a_user_without_a_home_has_recorded_is_in_no_command(desk):
    program = tracing.on_simgpu(desk / "gpu.json", "/usr/bin/python3", machine.WORKLOADS / "train.py", "--steps", "5")
    done = tracing.command(desk, *NO_NAME, desk / "gputrace", "--", *program).must_be(0)
    assert re.match(r"gputrace (report|why) FILE( |$)", next_of(done.stdout)), done.stdout


def test_a_user_without_rights_has_a_last_trace(desk):
    env = {"XDG_STATE_HOME": desk / "state"}
    tracing.command(desk, *tracing.AS_NOBODY, desk / "gputrace", "-q", "--", "true", env=env).must_be(0)
    (log,) = (desk / "state/gputrace").iterdir()
    assert log.stat().st_uid == USER
    assert "No CUDA call was seen" in tracing.command(desk, *tracing.AS_NOBODY, desk / "gputrace", "report", env=env).must_be(0).stdout


def test_under_sudo_it_is_where_the_caller_s_shell_looks_for_it(desk):
    """sudo takes XDG_STATE_HOME away: it is that of sudo's own environment."""
    done = tracing.command(desk, "sh", "-c", CALLED_BY_SUDO, "sh", desk / "gputrace", "-q", "--", "true",
                           env={"XDG_STATE_HOME": desk / "state"}).must_be(0)
    (log,) = (desk / "state/gputrace").iterdir()
    assert log.stat().st_uid == log.parent.stat().st_uid == USER, repr(done)
    report = tracing.command(desk, *tracing.AS_NOBODY, desk / "gputrace", "report", env={"XDG_STATE_HOME": desk / "state"}).must_be(0)
    assert str(log) in report.stderr


def test_a_last_trace_of_another_version_is_named(home):
    home.run("-q", "--", "true").must_be(0)
    (log,) = home.kept()
    content = bytearray(log.read_bytes())
    content[4:8] = (99).to_bytes(4, "little")
    later = log.with_name("29991231T235959.999999Z.gpt")
    later.write_bytes(content)
    done = home.run("report").must_be(1)
    assert f"{later}: it was written by another version of gputrace: report it with that one" in " ".join(done.stderr.split())


def test_a_folder_that_cannot_be_read_is_named(home):
    (home.folder / "state").write_text("no folder")
    done = home.run("report").must_be(USAGE)
    assert ("state/gputrace: no last trace can be found there: is a symbolic link, or no folder: "
            "name a log: gputrace report FILE.gpt") in done.stderr


def test_another_user_s_folder_is_named(desk):
    env = {"XDG_STATE_HOME": desk / "state"}
    (desk / "state/gputrace").mkdir(parents=True)
    said = "/state/gputrace: belongs to another user: name another folder in XDG_STATE_HOME, or say --no-keep"
    assert said in tracing.command(desk, *tracing.AS_NOBODY, desk / "gputrace", "--", "true", env=env).must_be(0).stderr
    assert "belongs to another user" in tracing.command(desk, *tracing.AS_NOBODY, desk / "gputrace", "report", env=env).must_be(USAGE).stderr
