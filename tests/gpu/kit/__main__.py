# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""check-gpu [--out FOLDER] [--only NAME,...] [--quick] [--seconds N] [--patience N] [--at-once N] [--keep] [--list]

Puts gputrace's claims to the test on this machine's GPU.  Ends within N seconds (540), whatever fails.

  --out FOLDER   where check-gpu.json and check-gpu.log go (default: here)
  --only NAMES   these checks only
  --quick        less of everything: shows that the kit works, proves little
  --patience N   each check may take N times as long: for a machine that is busy with other work (1)
  --at-once N    N checks at a time (1)
  --keep         leave the traces in a folder FOLDER/raw-...
  --list         what there is to check

Exit status: 0 every check passed (or needs silicon, on a simulated GPU); 1 one failed; 3 one was skipped; 77 no GPU.
"""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import bounded
import machine
import outcome
import place
import runner
import table

TOTAL_S = 540
FACTS_S = 90
DOCTOR_S = 30
WORTH_STARTING_S = 15  # includes PyTorch's start
RESERVE_S = 15  # for killing checks that hang, and writing the results


def arguments():
    parser = argparse.ArgumentParser(prog="check-gpu", usage=__doc__)
    parser.add_argument("--out", default=".")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=TOTAL_S)
    parser.add_argument("--patience", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1)
    for flag in ("quick", "keep", "list"):
        parser.add_argument(f"--{flag}", action="store_true")
    options = parser.parse_args()
    options.only = [name for name in options.only.split(",") if name]
    unknown = set(options.only) - {check.name for check in table.CHECKS}
    if unknown:
        parser.error(f"no such check: {', '.join(sorted(unknown))}; --list has them")
    return options


def doctor(files, timeout_s):
    """The first finding is the result of gputrace doctor."""
    status, text = bounded.run([place.GPUTRACE, "doctor"], timeout_s)
    text, good = text.rstrip(), status == 0
    files.say(text)
    missing = [row.split()[0] for row in text.splitlines() if row[16:23] == "missing"]
    figure = "all that a trace needs is here" if good else f"missing: {', '.join(missing) or text[-80:]}"
    files.add(outcome.finding("gputrace doctor", figure, outcome.PASS if good else outcome.FAIL, text=text), "doctor", 0)


class Run:
    """All checks: one after the other or several at once; some run beside the others."""

    def __init__(self, files, options, raw):
        self.files, self.options, self.raw = files, options, pathlib.Path(raw)
        self.end = time.monotonic() + options.seconds - RESERVE_S
        self.running = []
        self.simulated = machine.is_simulated(files.facts)

    def all(self):
        for check in table.CHECKS:
            if self.options.only and check.name not in self.options.only:
                continue
            self.wait_while(lambda: self.is_in_the_way(check))
            self.start(check)
        self.wait_while(lambda: bool(self.running))

    def is_in_the_way(self, check):
        """Whether the check must wait for a running one."""
        if check.alone or any(running.check.alone for running in self.running):
            return bool(self.running)
        counted = [running for running in self.running if not running.check.beside]
        return not check.beside and len(counted) >= self.options.at_once

    def start(self, check):
        left = self.end - time.monotonic()
        if left < WORTH_STARTING_S:
            self.files.add(outcome.finding(check.name, f"no time left; {check.about}", outcome.SKIPPED), check.name, 0)
            return
        options = {"facts": self.files.facts, "simulated": self.simulated, "quick": self.options.quick}
        budget_s = min(check.budget_s * self.options.patience, left)
        self.running.append(runner.Running(check, self.raw / check.name, options, budget_s))

    def wait_while(self, condition):
        while condition():
            for running in [running for running in self.running if running.is_over()]:
                self.finish(running)
            time.sleep(bounded.POLL_S)

    def finish(self, running):
        seconds, found = running.seconds(), running.finish()
        self.running.remove(running)
        self.files.note(f"--- {running.check.name}: what it said ({seconds:.1f} s)\n{running.output()}\n---\n")
        for row in found:
            self.files.add(row, running.check.name, seconds)

    def abandon(self):
        """Ends all running checks, after Ctrl-C or an error of the kit."""
        for running in self.running:
            running.finish()


def conclude(files, simulated, seconds):
    counts = {verdict: sum(row["verdict"] == verdict for row in files.findings) for verdict in outcome.VERDICTS}
    files.say("check-gpu: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) +
              f"; {seconds:.0f} s; {files.json} and {files.log.name}")
    if simulated:
        files.say("check-gpu: this was a SIMULATED GPU: no claim about a real one was tested")
    files.write(seconds=round(seconds, 1), counts=counts)
    return outcome.exit_code(files.findings, simulated)


def main():
    options, begin = arguments(), time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(outcome.EXIT_FAILED))
    if options.list:
        for check in table.CHECKS:
            print(f"{check.name:12} {check.about}")
        return outcome.EXIT_GOOD
    folder = pathlib.Path(options.out).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    files = outcome.Files(folder, {"date": time.strftime("%Y-%m-%d %H:%M:%S %z")})
    doctor(files, DOCTOR_S * options.patience)
    if os.geteuid() != 0:
        files.say("check-gpu: tracing needs root")
        return outcome.EXIT_FAILED
    files.facts.update(machine.ask(FACTS_S * options.patience))
    if not files.facts.get("gpu"):
        files.say(f"check-gpu: no GPU that PyTorch can use ({files.facts.get('why', 'it finds none')}): nothing was run")
        files.write()
        return outcome.EXIT_NO_GPU
    files.say(machine.summary(files.facts))
    raw = pathlib.Path(tempfile.mkdtemp(prefix="raw-", dir=folder) if options.keep else tempfile.mkdtemp())
    options.seconds -= int(time.monotonic() - begin)
    run = Run(files, options, raw)
    try:
        run.all()
    finally:
        run.abandon()
        if not options.keep:
            shutil.rmtree(raw, ignore_errors=True)
    return conclude(files, run.simulated, time.monotonic() - begin)


if __name__ == "__main__":
    sys.exit(main())
