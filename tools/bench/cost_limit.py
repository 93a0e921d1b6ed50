#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What --cost-limit does to a program that launches on the simulated GPU below 120 frames (root).

    cost_limit.py BUILD [--limit PERCENT] [--seconds N]

The program (tests/e2e/programs/overloads.py) says how many launches it made a second: untraced, traced, and traced with
the limit.  Printed beside it is what gputrace measured in the last second of the trace.  It fails where that is above
the limit in the end.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIECE = 1000


class Program:
    def __init__(self, folder):
        command = [ROOT / "tests/simgpu/simgpu-run", "--truth", folder / "gpu.json", sys.executable,
                   ROOT / "tests/e2e/programs/overloads.py"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.ask("calm 1")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[2])

    def deep(self, seconds):
        """Launches for that long; how many it made a second, in the last piece."""
        for _ in range(seconds):
            rate = self.ask(f"deep {PIECE}")
        return rate


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--limit", default=0.15, type=float, help="percent (%(default)s)")
    parser.add_argument("--seconds", default=8, type=int, help="pieces of work for each figure (%(default)s)")
    options = parser.parse_args()
    gputrace = options.build.resolve() / "gputrace"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {**os.environ, "BUILD": str(options.build)}
        os.environ.update(environment)
        program = Program(folder)
        print(f"{'untraced':24}{program.deep(options.seconds):8} launches a second")
        for limit in (100, options.limit):
            log = folder / f"{limit}.gpt"
            tracer = subprocess.Popen([gputrace, "-v", "--no-keep", "--no-cpu", "--no-off-cpu", "--cost-limit", f"{limit}%",
                                       "-p", str(program.process.pid), "-o", log], stderr=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, universal_newlines=True)
            while "gputrace: tracing" not in tracer.stderr.readline():
                pass
            rate = program.deep(options.seconds)
            tracer.terminate()
            tracer.communicate()
            text = subprocess.run([gputrace, "report", log, "--format", "json"], check=True, stdout=subprocess.PIPE).stdout
            tables = {table["id"]: table["rows"] for table in json.loads(text)["tables"]}
            [end] = tables["cost_limit"]
            words = ", ".join(f"no {row['detail']} for {row['ns'] / 1e9:.1f} s" for row in tables.get("detail", []))
            print(f"{f'--cost-limit {limit}%':24}{rate:8} launches a second, {end['percent']:.3f} % in the last second  {words}")
        program.process.stdin.close()
    return end["percent"] > options.limit


sys.exit(main())
