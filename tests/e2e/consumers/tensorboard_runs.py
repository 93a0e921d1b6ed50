# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Loads a folder with TensorBoard's profiler plugin (torch-tb-profiler): usage: tensorboard_runs.py FOLDER.  Prints as
JSON {worker: {name of an op: calls}}."""

import json
import sys

from torch_tb_profiler.io.cache import Cache
from torch_tb_profiler.profiler.loader import RunLoader


def main(folder):
    run = RunLoader("run", folder, Cache()).load()
    found = {}
    for profile in run.profiles.values():
        rows = profile.operation_table_by_name["data"]
        found[profile.worker] = {row["name"]: row["calls"] for row in rows}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
