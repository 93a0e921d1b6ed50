"""Reads the simulated GPU's ground truth (README.md has the fields)."""

import json


def load(path):
    """All lines of the file.  Zero bytes are what a process has not written yet, and one that was killed never will: it
    may have written the end of a line before its beginning."""
    with open(path, "rb") as file:
        lines = file.read().rstrip(b"\0").split(b"\n")
    if lines and lines[-1]:
        lines.pop()  # cut off in the middle
    whole = (line.rpartition(b"\0")[2] for line in lines)
    return [json.loads(line) for line in whole if line.startswith(b'{"is":')]


def calls(entries, *classes):
    """API calls, of these classes only if any are given."""
    return [e for e in entries if e["is"] == "api" and (not classes or e["class"] in classes)]


def work(entries, *kinds):
    """GPU activities, of these kinds only if any are given."""
    return [e for e in entries if e["is"] == "gpu" and (not kinds or e["kind"] in kinds)]
