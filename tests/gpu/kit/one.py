# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The process of one check: one.py NAME FOLDER OPTIONS (JSON).  Writes a line of JSON for each finding."""

import json
import pathlib
import sys
import time

import outcome
import runner
import table


class Bench:
    """The argument of a check: a folder of its own, facts about the machine, how much to do, and its findings."""

    def __init__(self, check, folder, options):
        self.check, self.folder = check, pathlib.Path(folder)
        self.facts, self.simulated, self.quick = options["facts"], options["simulated"], options["quick"]
        self.end = time.monotonic() + options["budget_s"]

    def left_s(self):
        return self.end - time.monotonic()

    def size(self, full, quick):
        """`full`, or `quick` with --quick."""
        return quick if self.quick else full

    def found(self, what, figure, good, **data):
        """`good`: True, False, or a verdict of outcome.py."""
        verdict = {True: outcome.PASS, False: outcome.FAIL}.get(good, good)
        self._write(outcome.finding(what, figure, verdict, **data))

    def found_on_silicon(self, what, figure, good, **data):
        """For a question that a simulation cannot answer: it only shows that the check works."""
        if self.simulated:
            good, figure = outcome.SILICON, f"(simulated: {figure})"
        self.found(what, figure, good, **data)

    def _write(self, found):
        with (self.folder / runner.RESULT).open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        print(outcome.line(found), flush=True)


def main():
    name, folder, options = sys.argv[1:4]
    check = table.of_name(name)
    bench = Bench(check, folder, json.loads(options))
    if check.silicon_only and bench.simulated:
        bench.found(check.name, check.silicon_only, outcome.SILICON)
    else:
        check.function()(bench)


if __name__ == "__main__":
    main()
