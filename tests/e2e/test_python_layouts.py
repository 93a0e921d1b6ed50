# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tables of layouts are what tools/pylayout generates from the headers on this machine."""

import os
import re
import subprocess

import fake_python
import machine
import pytest

# Within a series, structures that no extension sees may grow at their end, the runtime's also in the middle.  Debug
# offsets give the members then, so another patch level than the table's may differ in these fields.
MAY_MOVE = ("runtime_", "interp_")


def generated(version, folder):
    """(folder with the files generated from a version's headers, whether these have the tables' patch level)"""
    prefix, same = machine.python_headers(version)
    subprocess.run([machine.ROOT / "tools/pylayout/generate", prefix], check=True,
                   env={**os.environ, "OUTPUT": str(folder)})
    return folder, same


@pytest.mark.parametrize("version", [version for version in machine.VERSIONS if version not in machine.LEFT_OUT])
def test_a_row_is_what_the_headers_of_its_series_say(version, tmp_path):
    folder, same = generated(version, tmp_path)
    made = fake_python.rows(folder / "python_layouts.c")
    kept = fake_python.rows(machine.ROOT / "user/target/python/python_layouts.c")
    series = f"3 << 8 | {version.split('.')[1]}"
    assert list(made) == [series]
    in_table, in_headers = dict(kept[series]), dict(made[series])
    for name in [name for name in in_table if name.startswith(MAY_MOVE) and not same]:
        in_table.pop(name), in_headers.pop(name)
    assert len(in_table) > 30 and in_table == in_headers


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_debug_offsets_are_read_where_the_headers_of_their_series_have_them(version, tmp_path):
    name = f"words_{version.replace('.', '')}"
    pattern = re.compile(rf"{name}\[\] = {{\n.*?}};", re.DOTALL)
    (made,) = pattern.findall((generated(version, tmp_path)[0] / "python_debug_words.c").read_text())
    (kept,) = pattern.findall((machine.ROOT / "user/target/python/python_debug_words.c").read_text())
    assert made.count("WORD(") > 25 and made == kept
