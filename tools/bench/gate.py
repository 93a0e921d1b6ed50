#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How often `gputrace diff --fail-above 5` fails, of pairs of equal runs and of pairs whose second run has 10 % more work
(root, simulated GPU, minutes).  Other work of the machine is welcome: --beside N starts as many busy loops.

    gate.py BUILD [--pairs N] [--beside N]

The project's numbers: of 100 pairs of equal runs at most 5 fail, of 100 with 10 % more at least 95 do.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LAUNCHES, MORE, STEPS, ABOVE = 300, 330, 60, 4
PROGRAM = """import sys
import gpu

gpu.setup(record=False)

def step():
    for _ in range(int(sys.argv[1])):
        gpu.launch(gpu.at("grad_70us"), *gpu.SHAPE, None)

for _ in range(int(sys.argv[2])):
    step()
    gpu.device_sync()
"""


class Gate:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        (folder / "train.py").write_text(PROGRAM)

    def run(self, log, launches):
        subprocess.run([self.build / "gputrace", "-q", "-o", log, "--", ROOT / "tests/simgpu/simgpu-run", sys.executable,
                        "train.py", str(launches), str(STEPS)], cwd=self.folder, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "BUILD": str(self.build), "PYTHONPATH": str(ROOT / "tests/workloads")})

    def fails(self, before, after):
        done = subprocess.run([self.build / "gputrace", "diff", before, after, "--step", "py:step", "--fail-above", "5"],
                              cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
        if done.returncode not in (0, ABOVE):
            raise SystemExit(done.stderr)
        return done.returncode == ABOVE

    def pair(self):
        """Whether the gate failed for an equal run, and for one with 10 % more."""
        for log, launches in (("before.gpt", LAUNCHES), ("equal.gpt", LAUNCHES), ("more.gpt", MORE)):
            self.run(log, launches)
        return self.fails("before.gpt", "equal.gpt"), self.fails("before.gpt", "more.gpt")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--beside", type=int, default=0)
    arguments = parser.parse_args()
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.beside)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            gate = Gate(arguments.build, pathlib.Path(folder))
            failed = [gate.pair() for _ in range(arguments.pairs)]
    finally:
        for process in beside:
            process.kill()
            process.wait()
    equal, more = sum(pair[0] for pair in failed), sum(pair[1] for pair in failed)
    print(f"gate: of {arguments.pairs} equal pairs {equal} failed, of {arguments.pairs} with 10 % more {more} did")
    return 0 if equal <= 0.05 * arguments.pairs and more >= 0.95 * arguments.pairs else 1


if __name__ == "__main__":
    sys.exit(main())
