# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Loads every library of a folder and launches through each immediately: loads.py FOLDER.  CPython 3.6 to 3.15."""

import ctypes
import os
import sys

folder = sys.argv[1]
names = sorted(os.listdir(folder))
print("ready", flush=True)
for name in names:
    ctypes.CDLL(os.path.join(folder, name, "libcudart.so.13")).cudaLaunchKernel()
print("loaded", len(names), flush=True)
