# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs one check in a process of its own, up to its time budget, and kills every process it leaves.

Never waits forever: it abandons a process that a driver blocks in the kernel.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import uuid

import bounded
import outcome

MARK = "GPUTRACE_KIT_MARK"
RESULT = "findings.json"


class Running:
    """A running check; the caller polls is_over()."""

    def __init__(self, check, folder, options, budget_s):
        self.check, self.folder, self.budget_s = check, pathlib.Path(folder), budget_s
        self.folder.mkdir(parents=True)
        self.mark = str(uuid.uuid4())
        self.start = time.monotonic()
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", TMPDIR=str(self.folder), XDG_STATE_HOME=str(self.folder / "state"))
        environment[MARK] = self.mark
        words = [sys.executable, "-B", pathlib.Path(__file__).with_name("one.py"), check.name, self.folder,
                 json.dumps({**options, "budget_s": budget_s})]
        with open(self.folder / "output", "wb") as output:
            self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT, env=environment, start_new_session=True)

    def seconds(self):
        return time.monotonic() - self.start

    def is_over(self):
        return self.process.poll() is not None or self.seconds() >= self.budget_s

    def finish(self):
        """Kills its remaining processes; returns its findings."""
        status = self.process.poll()
        self._end_all()
        return self._findings(status)

    def output(self):
        try:
            return (self.folder / "output").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def _end_all(self):
        bounded.end_group(self.process)
        for pid in marked(self.mark):  # processes in other sessions
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def _findings(self, status):
        found = self._written()
        if status is None and self.budget_s < self.check.budget_s:
            why = f"no time left: ended after {self.budget_s:.0f} s of {self.check.budget_s}"
            return [*found, outcome.finding(self.check.name, why, outcome.SKIPPED)]
        if status is None:
            why = f"not done after {self.budget_s:.0f} s, and ended"
        elif status:
            lines = [text for text in self.output().splitlines() if text.strip()]
            why = f"ended with status {status}: {lines[-1][:160] if lines else 'said nothing'}"
        elif not found:
            why = "found nothing"
        else:
            return found
        return [*found, outcome.finding(self.check.name, why, outcome.FAIL)]

    def _written(self):
        """Its findings so far; the check writes each at once."""
        try:
            text = (self.folder / RESULT).read_text(encoding="utf-8")
            return [json.loads(row) for row in text.splitlines()]
        except (OSError, ValueError):
            return []


def marked(mark):
    """Living processes that have the mark in their environment."""
    needle, found = f"{MARK}={mark}".encode(), []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if needle in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:  # the process has ended
            pass
    return found
