# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of tracing: the same steps, measured in turn, so that other load of the machine affects all ways alike."""

import statistics

from program import Torch, Trace

LOADS = {"training": 150, "graph": 150}  # kind: steps in a measurement; they take half a second or more
ROUNDS, QUICK_ROUNDS = 5, 1
MOST_AFTER = 1.05  # limit: step after the trace / step after torch.profiler; CUPTI itself leaves a cost in the process
PARTS = (("none", 0), ("kernel records", 1), ("+ records of launches", 3), ("+ callbacks", 7), ("all API records", 9))


class Ways:
    """Three programs that do the same: never traced, traced by gputrace, profiled by torch.profiler."""

    def __init__(self, bench, bare, traced, profiled):
        self.bench, self.bare, self.traced, self.profiled = bench, bare, traced, profiled
        self.number = 0

    def _cost(self, torch, load):
        return torch.ask("cost", self.bench.size(LOADS[load], LOADS[load] // 10), load)

    def _under_trace(self, load, *options):
        self.number += 1
        with Trace(self.bench.folder / f"trace-{self.number}", "-p", self.traced.pid, *options) as trace:
            if not options:
                trace.wait_for_gpu_times(self.traced, load)
            return self._cost(self.traced, load)

    def _under_profiler(self, load, how):
        self.profiled.ask("profile-start", how)
        cost = self._cost(self.profiled, load)
        self.profiled.ask("profile-stop")
        return cost

    def once(self, load):
        """{way: ns per step}"""
        return {
            "bare": self._cost(self.bare, load),
            "before": self._cost(self.traced, load),
            "launches only": self._under_trace(load, "--agent", "off"),
            "with agent": self._under_trace(load),
            "after detach": self._cost(self.traced, load),
            "torch.profiler": self._under_profiler(load, "plain"),
            "after torch.profiler": self._cost(self.profiled, load),
            "torch.profiler, stacks and shapes": self._under_profiler(load, "full"),
        }


def say(bench, load, rounds):
    medians = {way: statistics.median(row[way] for row in rounds) for way in rounds[0]}
    base = medians["bare"]
    for way in ("launches only", "with agent", "torch.profiler", "torch.profiler, stacks and shapes"):
        good = True if way != "with agent" else medians[way] <= medians["torch.profiler"]
        bench.found_on_silicon(f"{load} step, {way}", f"{medians[way] / 1e3:.1f} us, {100 * (medians[way] / base - 1):+.1f} % "
                               f"(bare {base / 1e3:.1f} us)", good, rounds_ns=rounds)
    after, profiled = medians["after detach"] / base, medians["after torch.profiler"] / base
    bench.found_on_silicon(f"{load} step, after detach", f"{after:.3f} times a bare one; after torch.profiler {profiled:.3f} times",
                           after <= MOST_AFTER * max(profiled, 1))


def interleaved(bench):
    with Torch() as bare, Torch() as traced, Torch() as profiled:
        for torch in (bare, traced, profiled):
            torch.make(*LOADS)
        ways = Ways(bench, bare, traced, profiled)
        for load in LOADS:
            rounds = []
            while len(rounds) < bench.size(ROUNDS, QUICK_ROUNDS):
                if rounds and bench.left_s() < (40 if load == "training" else 15):
                    break
                rounds.append(ways.once(load))
            say(bench, load, rounds)
        for torch in (bare, traced, profiled):
            torch.end()


def parts(bench):
    """One driver launch from C: CUPTI's features in the kit's own client, then gputrace with and without its agent."""
    path, count = bench.facts["cupti"], bench.size("20000", "1024")
    with Torch() as torch:
        torch.make("small")
        costs = {name: torch.probe("probe_launch_cost", path, str(mode), count) for name, mode in PARTS}
        bare = costs["none"].get("ns", 0)
        for name, options in (("gputrace, launches only", ("--agent", "off")), ("gputrace with agent", ())):
            with Trace(bench.folder / name.replace(" ", "-"), "-p", torch.pid, *options) as trace:
                if not options:
                    trace.wait_for_gpu_times(torch, "small")
                costs[name] = torch.probe("probe_launch_cost", path, "0", count)
        costs["after detach"] = torch.probe("probe_launch_cost", path, "0", count)
        torch.end()
    for name, seen in costs.items():
        if name != "none":
            bench.found_on_silicon(f"a launch, {name}", f"{seen.get('ns', 0) - bare:+.0f} ns on {bare:.0f} ns",
                                   seen["result"] == 0 and seen.get("ns", 0) > 0, all=costs)
