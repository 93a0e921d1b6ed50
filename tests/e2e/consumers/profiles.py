# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads the profiles that gputrace writes, with the programs they are for, into one common form.

A stack is a tuple of frames, root first; a frame is (name, file, line), or (name, "", 0) if it is not Python.
"""

import collections
import json
import re
import subprocess
import sys

from fetching import fetched

# The rules of https://www.speedscope.app/file-format-schema.json for a file of `sampled` profiles (jlfwong/speedscope,
# src/lib/file-format-spec.ts); allows nothing else.
_UNITS = ["none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"]


def _object(required, **properties):
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


_INDICES = {"type": "array", "items": {"type": "integer", "minimum": 0}}
SPEEDSCOPE_SCHEMA = _object(
    ["$schema", "shared", "profiles"],
    **{"$schema": {"const": "https://www.speedscope.app/file-format-schema.json"}},
    exporter={"type": "string"}, name={"type": "string"}, activeProfileIndex={"type": "integer"},
    shared=_object(["frames"], frames={"type": "array", "items": _object(
        ["name"], name={"type": "string"}, file={"type": "string"}, line={"type": "integer", "minimum": 1},
        col={"type": "integer"})}),
    profiles={"type": "array", "minItems": 1, "items": _object(
        ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
        type={"const": "sampled"}, name={"type": "string"}, unit={"enum": _UNITS}, startValue={"type": "number"},
        endValue={"type": "number"}, samples={"type": "array", "items": _INDICES}, weights=_INDICES)})


def speedscope(path):
    """{name of a profile: {stack: value}}"""
    document = json.loads(path.read_bytes().decode("utf-8", "strict"))
    frames = [(frame["name"], frame.get("file", ""), frame.get("line", 0)) for frame in document["shared"]["frames"]]
    found = {}
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        sums = found[profile["name"]] = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            sums[tuple(frames[index] for index in sample)] += weight
    return found


def pprof(program, path):
    """The same from `pprof -raw`, by sample type."""
    done = subprocess.run([program, "-raw", path], check=True, capture_output=True)
    text = done.stdout.decode("utf-8", "strict")
    samples, _, rest = text.partition("\nSamples:\n")[2].partition("\nLocations\n")
    types, *samples = samples.split("\n")
    names = [name.partition("/")[0] for name in types.split()]
    locations = {}
    for number, name, file, line in re.findall(r"^ +(\d+): 0x0 M=1 (.*) ([^ ]*):(\d+) s=\d+\(\)$", rest, re.M):
        locations[number] = (name, file, int(line))
    found = {name: collections.Counter() for name in names}
    for sample in samples:
        values, _, stack = sample.partition(": ")
        frames = tuple(locations[number] for number in reversed(stack.split()))
        for name, value in zip(names, values.split()):
            if int(value):
                found[name][frames] += int(value)
    return found


# Runs with snakeviz installed; prints how pstats and snakeviz read a file, as JSON.
READ_PSTATS = """
import json, pstats, sys
from snakeviz.stats import json_stats, table_rows
stats = pstats.Stats(sys.argv[1])
stats.sort_stats("cumulative").print_stats()
stats.print_callers()
stats.print_callees()
rows, tree = table_rows(stats), json_stats(stats)
print()
print(json.dumps({"rows": len(rows), "tree": sorted(tree), "functions": [
    [*key, cc, nc, tt, ct, [[*caller, *sums] for caller, sums in callers.items()]]
    for key, (cc, nc, tt, ct, callers) in stats.stats.items()]}))
"""


def pstats(path):
    """The output of READ_PSTATS for the file."""
    snakeviz = fetched("get-pypi", sys.executable, "snakeviz==2.2.2")
    done = subprocess.run([sys.executable, "-c", READ_PSTATS, path], capture_output=True, encoding="utf-8",
                          env={"PYTHONPATH": snakeviz, "PYTHONIOENCODING": "utf-8"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
