# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`gputrace top`: blocks of lines without a terminal, a screen with keys on one (tmux)."""

import collections
import gzip
import json
import os
import re
import shlex
import signal

import machine
import pytest
import reading
import tracing

STEPS = 50
INTERVAL = ("--interval", "10s")  # also the length of the shown span, in which all of the work must be


@pytest.fixture
def target(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        target.ask("steps 1")
        target.ask("forget")
        yield target


def work(target, folder):
    """Runs some steps; returns the program's own record of their launches."""
    tracing.until(lambda: tracing.agent_records(target.pid))
    target.ask("forget")
    target.ask(f"steps {STEPS}")
    target.ask("finish")
    target.ask(f"truth {folder}/truth.json")
    return reading.program(folder / "truth.json")


def calls_by_line(truth):
    counts = collections.Counter()
    for site in truth["sites"]:
        if site["gpu_ns"]:
            counts[f"{os.path.basename(site['file'])}:{site['line']}"] += site["count"]
    return counts


class Blocks(tracing.Running):
    """gputrace top without a terminal."""

    def __init__(self, folder, *arguments, env=None):
        super().__init__([machine.GPUTRACE, "top", *INTERVAL, *arguments], folder, env, stdin=None)
        self.wait_line("gputrace: tracing", "stderr")

    def block(self, wanted):
        """The first block whose GPU line has all of these words, from that line on."""
        while True:
            line = self.wait_line("GPU 0 [")
            if all(word in line for word in wanted):
                break
        lines = [line]
        while lines[-1].strip():
            lines.append(self.process.stdout.readline())
        return lines


def test_without_a_terminal_each_block_has_the_last_seconds(target, tmp_path):
    with Blocks(tmp_path, "-p", target.pid) as top:
        wanted = calls_by_line(work(target, tmp_path))
        lines = top.block([f"{sum(wanted.values()):,} launches"])
        top.end(signal.SIGINT).must_be(0)
    begin = lines.index("GPU time by Python line\n")
    rows = [line.split() for line in lines[begin + 2:begin + 7]]
    assert len(rows) == 5
    for _, _, _, calls, line, *_ in rows:
        assert int(calls.replace(",", "")) == wanted[line]
    assert any(line.startswith("idle: ") for line in lines)


def test_it_ends_with_what_it_watches(target, tmp_path):
    with Blocks(tmp_path, "-p", target.pid) as top:
        target.end().must_be(0)
        top.end().must_be(0)


@pytest.mark.parametrize("name", ["no-such-terminal", "dumb"])
def test_a_terminal_that_is_not_known_gets_blocks(target, tmp_path, name):
    with Screen(tmp_path, target.pid, env={"TERM": name}) as screen:
        screen.says(f"TERM={name}: no such terminal is known here, or it has no screen: blocks of lines follow")
        screen.says("GPU 0 [", lambda: target.ask("steps 1"))


class Screen:
    """gputrace top in a terminal of 80x24; the shell prints its exit status and saves the terminal's settings."""

    def __init__(self, folder, pid, *arguments, env=None):
        self.folder = folder
        self.tmux = ["tmux", "-S", folder / "tmux", "-f", "/dev/null"]
        words = [machine.GPUTRACE, "top", "-p", pid, *arguments]
        variables = " ".join(f"{name}={value}" for name, value in (env or {}).items())
        line = f"{variables} {' '.join(shlex.quote(str(word)) for word in words)}"
        self.do("new-session", "-d", "-x", "80", "-y", "24", f"stty -a >before; {line}; echo ended-$?; stty -a >after; cat")

    def do(self, *words):
        return tracing.command(self.folder, *self.tmux, *words).must_be(0).stdout

    def type(self, *keys):
        self.do("send-keys", *keys)

    def text(self):
        return self.do("capture-pane", "-p", "-J", "-S", "-")

    def says(self, text, meanwhile=None):
        def seen():
            if meanwhile:
                meanwhile()
            return re.search(re.escape(text) if isinstance(text, str) else text.pattern, self.text())
        tracing.until(seen)

    def processes(self):
        """Pids of the processes that draw the screen."""
        found = tracing.command(self.folder, "pgrep", "-x", "gputrace-top").stdout.split()
        return [int(pid) for pid in found if os.path.realpath(f"/proc/{pid}/cwd") == str(self.folder)]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        tracing.command(self.folder, *self.tmux, "kill-server")


def test_keys_choose_tables_rows_and_stacks_and_write_a_file(target, tmp_path):
    with Screen(tmp_path, target.pid, *INTERVAL) as screen:
        screen.says("gputrace top  ")
        wanted = calls_by_line(work(target, tmp_path))
        screen.says(f"{sum(wanted.values()):,} launches")
        screen.type("Space")
        screen.says("[1 lines]")
        head = screen.text().splitlines()
        head = head[next(i for i, line in enumerate(head) if line.startswith("gputrace top  ")):]
        assert re.match(r"1\. [\d.]+ \S+, [\d.]+ %, .*\.py:\d+|Nothing to mend|No cause ", head[1]), head  # the verdict
        heaviest = next(line for line in screen.text().splitlines() if re.match(r" +[\d.]+ +[\d.]+ +[\d.]+ +[\d,]+ ", line)).split()
        assert int(heaviest[3].replace(",", "")) == wanted[heaviest[4]]
        screen.type("Enter")
        screen.says("Esc goes back")
        screen.says(f"({heaviest[4]})")
        screen.type("Escape", "3")
        screen.says("[3 idle]")
        screen.type("/", ".py:", "Enter", "Enter")  # a row with a line
        screen.says(re.compile(r"\n    \[[^]]+\]"))  # the cause: the stacks are of idle time
        screen.type("Escape", "Escape", "4")
        screen.says("[4 kernels]")
        screen.type("/", "gemm", "Enter")
        screen.says("rows with 'gemm'")
        assert all("gemm" in line for line in screen.text().splitlines()[screen.text().splitlines().index(
            next(line for line in screen.text().splitlines() if "avg us" in line)) + 1:-1] if line.strip())
        screen.type("w")
        screen.says(re.compile(r"gputrace-[\d-]+\.json\.gz: written, the last \d+ s"))
        screen.type("q")
        screen.says("ended-0")
        tracing.until(lambda: (tmp_path / "after").exists() and (tmp_path / "after").read_text())
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()
    (file,) = tmp_path.glob("gputrace-*.json.gz")
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    assert len([e for e in events if e.get("cat") == "kernel"]) == sum(
        site["count"] for site in reading.program(tmp_path / "truth.json")["sites"] if site["kernel"] and site["gpu_ns"])


def test_ctrl_c_ends_it_and_a_smaller_terminal_is_filled(target, tmp_path):
    with Screen(tmp_path, target.pid) as screen:
        screen.says("gputrace top  ")
        screen.do("resize-window", "-x", "60", "-y", "10")
        screen.says("Enter stacks", lambda: target.ask("steps 1"))
        screen.says("[1 lines]")
        screen.type("C-c")
        screen.says("ended-0")


def test_the_terminal_is_as_it_was_when_the_screens_process_is_killed(target, tmp_path):
    with Screen(tmp_path, target.pid) as screen:
        screen.says("gputrace top  ")
        (pid,) = screen.processes()
        os.kill(pid, signal.SIGKILL)
        screen.type("C-c")
        screen.says("ended-0")
        tracing.until(lambda: (tmp_path / "after").exists() and (tmp_path / "after").read_text())
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


@pytest.mark.parametrize("words, said", (
    (("--", "python3"), "top takes no 'python3'; a process is named with -p: gputrace top -p PID"),
    (("-o", "x.json"), "--output does not apply to top"),
    (("--interval", "0"), "--interval 0: a time above 0 is accepted, as in 500ms or 2"),
))
def test_what_makes_no_sense_is_refused(tmp_path, words, said):
    assert said in tracing.gputrace(tmp_path, "top", *words).must_be(2).stderr
