"""Reads the simulated GPU's ground truth (README.md has the fields)."""

import json


def load(path):
    """All lines of the file; a process that was killed leaves zero bytes after the last one."""
    with open(path, "rb") as file:
        lines = file.read().rstrip(b"\0").split(b"\n")
    if lines and lines[-1]:
        lines.pop()  # cut off in the middle
    return [json.loads(line) for line in lines if line]


def calls(entries, *classes):
    """API calls, of these classes only if any are given."""
    return [e for e in entries if e["is"] == "api" and (not classes or e["class"] in classes)]


def work(entries, *kinds):
    """GPU activities, of these kinds only if any are given."""
    return [e for e in entries if e["is"] == "gpu" and (not kinds or e["kind"] in kinds)]
