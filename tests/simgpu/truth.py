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


def calls(entries, *classes):
    """API calls; only of the given classes, if any."""
    return [e for e in entries if e["is"] == "api" and (not classes or e["class"] in classes)]


def work(entries, *kinds):
    """GPU activities; only of the given kinds, if any."""
    return [e for e in entries if e["is"] == "gpu" and (not kinds or e["kind"] in kinds)]
