# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs and packages with which tests read files."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def fetched(name, *arguments):
    """The path that tools/NAME prints; not every machine can have the tool, and without it the test is skipped."""
    done = subprocess.run([ROOT / "tools" / name, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        pytest.skip(f"{name}: {(done.stderr.strip() or 'failed').splitlines()[-1]}")
    return done.stdout.strip()
