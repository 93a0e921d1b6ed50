# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Paths in the kit."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
GPUTRACE = ROOT / "bin/gputrace"
PROGRAMS = ROOT / "programs"
WORKLOADS = ROOT / "workloads"
CUPTI_PROBE = ROOT / "lib/libkitprobe.so"
UNZSTD = ROOT / "lib/unzstd"
