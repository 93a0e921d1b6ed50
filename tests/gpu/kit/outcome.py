# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Findings of checks, one line each, and the two files that keep them.  Knows nothing of GPUs."""

import json
import os
import pathlib

PASS, FAIL, SILICON, SKIPPED = "pass", "FAIL", "needs silicon", "skipped"
VERDICTS = (PASS, FAIL, SILICON, SKIPPED)

# As gputrace's exit codes: 3 is "incomplete".
EXIT_GOOD, EXIT_FAILED, EXIT_USAGE, EXIT_INCOMPLETE, EXIT_NO_GPU = 0, 1, 2, 3, 77

# Both files together stay under 16 MiB, whatever a check writes.
LOG_BYTES_OF_CHECK, LOG_BYTES = 384 << 10, 7 << 20
DATA_BYTES_OF_FINDING, JSON_BYTES = 768 << 10, 7 << 20


def finding(what, figure, verdict, **data):
    """One line of the outcome, and its raw data."""
    assert verdict in VERDICTS
    return {"what": what, "figure": str(figure), "verdict": verdict, "data": data}


def line(found):
    """The finding as text."""
    return f"{found['verdict']:13} {found['what']:44} {found['figure']}"


def cut(text, most):
    """Keeps start and end of a text that is too long."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return text
    half = most // 2
    return (raw[:half].decode("utf-8", "ignore") + f"\n... {len(raw) - 2 * half} bytes left out ...\n" +
            raw[-half:].decode("utf-8", "ignore"))


def bounded(found):
    """The finding, without its data if that exceeds the limit."""
    size = len(json.dumps(found["data"]))
    if size <= DATA_BYTES_OF_FINDING:
        return found
    return {**found, "data": {"left out": f"{size} bytes"}}


def exit_code(findings, simulated):
    """On a simulation a skipped check is a failure; a real machine may lack something."""
    verdicts = {found["verdict"] for found in findings}
    if FAIL in verdicts or PASS not in verdicts:
        return EXIT_FAILED
    if SKIPPED in verdicts:
        return EXIT_FAILED if simulated else EXIT_INCOMPLETE
    return EXIT_GOOD


class Files:
    """check-gpu.json, rewritten after every check, and check-gpu.log, which grows."""

    def __init__(self, folder, facts):
        self.json, self.log = pathlib.Path(folder) / "check-gpu.json", pathlib.Path(folder) / "check-gpu.log"
        self.facts, self.findings, self.bytes = facts, [], 0
        self.room = LOG_BYTES
        self.log.write_text("", encoding="utf-8")

    def say(self, text):
        print(text, flush=True)
        self.note(text + "\n")

    def note(self, text):
        """Writes to the log only."""
        text = cut(text, min(LOG_BYTES_OF_CHECK, self.room))
        self.room = max(0, self.room - len(text.encode("utf-8", "replace")))
        with self.log.open("a", encoding="utf-8") as log:
            log.write(text)

    def add(self, found, name, seconds):
        self.say(line(found))
        found = bounded({"check": name, "seconds": round(seconds, 1), **found})
        size = len(json.dumps(found))
        if self.bytes + size > JSON_BYTES:
            found["data"] = {"left out": f"{size} bytes"}
        self.bytes += len(json.dumps(found))
        self.findings.append(found)
        self.write()

    def write(self, **more):
        new = self.json.with_suffix(".new")
        new.write_text(json.dumps({**self.facts, **more, "findings": self.findings}, indent=1), encoding="utf-8")
        os.replace(new, self.json)
