# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A training to which gputrace attaches and detaches repeatedly, or whose gputrace is killed: it must compute the same
losses as an undisturbed one, and the GPU must have its memory back."""

import contextlib
import random
import re
import signal
import subprocess
import threading
import time

import place
from program import Torch, environment

CYCLES, KILLS = 100, 50
TRACED_MS = 600  # the agent enters after a quarter of a second of launches
QUICK_TRACED_MS = 3000  # beside other programs on few processors it takes longer
MOST_BEFORE_KILL_S = 1.0
LEAST_LEFT_S = 25  # reserved for the programs' exit
MOST_LEAK = 4 << 20
JOINED = re.compile(r"omplete: ([\d,]+) of")


def gputrace(pid, *options):
    """Starts a gputrace whose log is an unnamed file, so that nothing is left of it."""
    return subprocess.Popen([place.GPUTRACE, "-q", "-p", str(pid), *options], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, env=environment())


def come_and_go(pid, ms):
    """A whole trace; returns (its output if it failed, whether there were GPU times)."""
    tracer = gputrace(pid, "-d", f"{ms}ms")
    said, _ = tracer.communicate()
    joined = JOINED.search(said)
    return said if tracer.returncode else None, bool(joined and joined[1] != "0")


def come_and_be_killed(pid, rng):
    """Kills gputrace at a random time: while it attaches, lets the agent in, traces or detaches."""
    tracer = gputrace(pid)
    time.sleep(rng.uniform(0.0, MOST_BEFORE_KILL_S))
    tracer.send_signal(signal.SIGKILL)
    tracer.communicate()
    return None, False


class Disturbance:
    """Disturbs one program by `wanted` traces or kills, or as many as there is time for."""

    def __init__(self, bench, act, wanted):
        self.bench, self.act, self.wanted = bench, act, wanted
        self.done = self.timed = 0
        self.failed = []

    def run(self, pid):
        while self.done < self.wanted and self.bench.left_s() > LEAST_LEFT_S:
            said, timed = self.act(pid)
            self.failed += [said] if said else []
            self.timed += timed
            self.done += 1


def trained(programs, stop, meanwhile):
    """Lets all programs train until `meanwhile` returns; returns the losses of each."""
    for torch in programs:
        torch.send("train", stop)
    meanwhile()
    stop.touch()
    return [torch.answer() for torch in programs]


def all_at_once(disturbances, programs):
    threads = [threading.Thread(target=disturbance.run, args=(torch.pid,))
               for disturbance, torch in zip(disturbances, programs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def training(bench):
    """Runs side by side (a trace takes a second or two): programs that are traced, one whose gputraces are killed, and
    one that is undisturbed."""
    rng, traced = random.Random(7), bench.size(4 if bench.facts["cpus"] >= 8 else 2, 1)
    ms = bench.size(TRACED_MS, QUICK_TRACED_MS)
    disturbances = [Disturbance(bench, lambda pid: come_and_go(pid, ms), bench.size(CYCLES, 4) // traced) for _ in range(traced)]
    disturbances.append(Disturbance(bench, lambda pid: come_and_be_killed(pid, rng), bench.size(KILLS, 4)))
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(Torch()) for _ in range(traced + 2)]
        # Memory that PyTorch and CUPTI allocate once and keep is no leak.
        trained(programs, bench.folder / "stop-first", lambda: [come_and_go(torch.pid, ms) for torch in programs[:-1]])
        before = programs[-1].ask("memory")
        losses = trained(programs, bench.folder / "stop", lambda: all_at_once(disturbances, programs))
        after = programs[-1].ask("memory")
        ends = [torch.end()[0] for torch in programs]
    say(bench, disturbances, ends)
    for number, seen in enumerate(losses[:-1]):
        name = f"a traced training ({number + 1})" if number < traced else "one whose tracers were killed"
        judge_losses(bench, f"losses of {name}", seen, losses[-1])
    bench.found_on_silicon("GPU memory after it", f"{(before - after) / 2**20:.1f} MiB less free than after the first "
                           "trace", before - after <= MOST_LEAK, before=before, after=after)


def say(bench, disturbances, ends):
    traces, timed = (sum(getattr(row, name) for row in disturbances[:-1]) for name in ("done", "timed"))
    failed = [text for row in disturbances for text in row.failed]
    kills, ended_well = disturbances[-1].done, not any(ends)
    good = not failed and ended_well and timed * 2 > traces
    if good and any(row.done < row.wanted for row in disturbances):
        good = "skipped"
    wanted = f"{sum(row.wanted for row in disturbances[:-1])} and {disturbances[-1].wanted} wanted"
    bench.found("traced, left and killed again and again", f"{traces} traces, {timed} with GPU times, {len(failed)} failed; "
                f"{kills} kills ({wanted}); the programs ended {'well' if ended_well else ends}", good, failed=failed[:5])


def judge_losses(bench, what, losses, expected):
    """On the simulated GPU all losses are the same, as nothing is computed."""
    steps = min(len(losses), len(expected))
    first = next((at for at in range(steps) if losses[at] != expected[at]), None)
    bench.found_on_silicon(what, f"{steps} steps, " + (
        "bit for bit those of an undisturbed one" if first is None else f"differ from step {first} on") +
        f", {len(set(expected[:steps]))} different values", first is None and len(set(expected[:steps])) > 1,
        losses=losses[:2000], expected=expected[:2000])
