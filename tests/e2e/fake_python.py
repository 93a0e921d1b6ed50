# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Builds programs/hostile.c, which pretends to be a CPython, with the layout that gputrace expects.

Knows nothing of traces.
"""

import os
import re
import subprocess

import machine

TABLE = machine.ROOT / "user/target/python/python_layouts.c"


def rows(path):
    """{version as in the source: {field: value}} of a generated table."""
    macros = {}
    for name, base, members in re.findall(r"^#define (PYTHON_\w+)\s+(PYTHON_\w+)?([^#]+?)$(?=\n[#/\n])",
                                          path.read_text().replace("\\\n", ""), re.MULTILINE):
        macros[name] = {**macros.get(base, {}), **dict(re.findall(r"\.(\w+) = ([^,]+?)\s*(?:,|$)", members))}
    return {fields["version"]: fields for fields in macros.values()}


def _row(version):
    """{field: number} of a release series, without the fields that it lacks."""
    fields = rows(TABLE)["3 << 8 | " + version.split(".")[1]]
    return {name: int(value) for name, value in fields.items() if value.isdigit()}


def _words(version):
    """[(word, word of the size, field)] of the debug offsets; none before 3.13."""
    text = (machine.ROOT / "user/target/python/python_debug_words.c").read_text()
    block = re.search(rf"words_{version.replace('.', '')}\[\] = {{\n(.*?)}};", text, re.DOTALL)
    return re.findall(r"WORD\((\d+), (\d+), \d+, (\w+)\)", block[1]) if block else []


def build(version, output):
    row = _row(version)
    minor = int(version.split(".")[1])
    words = "".join(f"{{{word}, {size}, {row[field]}}}, " for word, size, field in _words(version))
    defines = [f"-D{name.upper()}={value}" for name, value in row.items()]
    defines += [f"-DDEBUG_WORDS={words or '{0, 0, 0}'}", f"-DPY_VERSION_WORD=0x03{minor:02x}00f0",
                f"-DLINES_BYTES={2 if minor >= 11 else 0}"]
    subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-rdynamic", *defines, "-o", output,
                    machine.PROGRAMS / "hostile.c", "-ldl", "-lpthread"], check=True)
    return output
