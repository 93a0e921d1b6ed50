"""Reads the simulated GPU's ground truth (README.md has the fields)."""

import json


def load(path):
    """All lines of the file.  Zero bytes have not been written yet; a killed process never writes them. It may have
    written the end of a line before its beginning."""
    with open(path, "rb") as file:
        lines = file.read().rstrip(b"\0").split(b"\n")
    if lines and lines[-1]:
        lines.pop()  # an incomplete line
    whole = (line.rpartition(b"\0")[2] for line in lines)
    return [json.loads(line) for line in whole if line.startswith(b'{"is":')]


class Growing:
    """The file of a process that lives: new() has the lines since the last time, up to one that is not whole yet.  So a
    test that waits for what a busy program does reads each line once."""

    def __init__(self, path):
        self.path, self.at = path, 0

    def new(self):
        with open(self.path, "rb") as file:
            file.seek(self.at)
            lines = file.read().partition(b"\0")[0]
        whole = lines[:lines.rfind(b"\n") + 1]
        self.at += len(whole)
        return [json.loads(line) for line in whole.splitlines()]


def calls(entries, *classes):
    """API calls; only of the given classes, if any."""
    return [e for e in entries if e["is"] == "api" and (not classes or e["class"] in classes)]


def work(entries, *kinds):
    """GPU activities; only of the given kinds, if any."""
    return [e for e in entries if e["is"] == "gpu" and (not kinds or e["kind"] in kinds)]
