# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A `.prof` of samples beside cProfile's of the same program (programs/profiled.py), each in a process of its own.

Their times differ, as a machine is not always as fast, so their shares of the whole are compared.  cProfile counts the
CPU time of threads here, as samples do; what it adds to each call is below a hundredth of the shortest one's time.
"""

import collections
import marshal
import sys

import machine
import pytest
import tracing

sys.path.append(str(machine.ROOT / "tests/e2e/consumers"))
import profiles  # noqa: E402

FREQUENCY = 1999  # some 2,000 samples: a share of a half is within 0.045 of itself, at four standard deviations
SHARE = 0.05
KINDS = ("recursion", "generators", "c_functions", "comprehensions", "threads")


def load(path):
    """{(file, first line, last part of the name): (own, with what it called)}, in seconds; functions written in C are
    their callers' own time."""
    stats = {(file, line, name.rpartition(".")[2]): sums for (file, line, name), sums in marshal.loads(path.read_bytes()).items()}
    own = collections.Counter({place: sums[2] for place, sums in stats.items()})
    for place, (_, _, _, _, callers) in stats.items():
        for (file, line, name), sums in callers.items() if place[0] == "~" else ():
            own[file, line, name.rpartition(".")[2]] += sums[2]
    return {place: (own[place], sums[3]) for place, sums in stats.items() if place[0] != "~"}


@pytest.fixture(scope="module", params=KINDS)
def profiled(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiled")
    python = machine.python("3.9")  # cProfile halves the speed of loops in 3.11, and mixes threads from 3.12 on
    program = [python, machine.PROGRAMS / "profiled.py", request.param]
    tracing.command(folder, *program, folder / "cprofile.prof").must_be(0)
    with tracing.Running(program, folder) as running:
        running.wait_line("ready")
        with tracing.Tracer(folder, "-p", running.pid, "--agent", "off", "-F", FREQUENCY, names=()) as tracer:
            running.ask("work")
            tracer.interrupt().must_be(0)
        running.end().must_be(0)
    tracing.gputrace(folder, "export", "-o", "gputrace.prof", "trace.gpt").must_be(0)
    return folder


def test_each_function_has_the_share_that_cprofile_has(profiled):
    wanted, found = load(profiled / "cprofile.prof"), load(profiled / "gputrace.prof")
    whole = [sum(own for own, _ in times.values()) for times in (wanted, found)]
    assert sum(own > 0.05 * whole[0] for own, _ in wanted.values()) >= 2, wanted
    for place in wanted.keys() | found.keys():
        own, under = ([times.get(place, (0, 0))[which] / all_of_it for times, all_of_it in zip((wanted, found), whole)]
                      for which in (0, 1))
        assert abs(own[0] - own[1]) <= SHARE, (place, own)
        if place in wanted:  # the others called what cProfile was asked for
            assert abs(under[0] - under[1]) <= SHARE, (place, under)


def test_snakeviz_and_pstats_open_it(profiled):
    found, stats = profiles.pstats(profiled / "gputrace.prof"), marshal.loads((profiled / "gputrace.prof").read_bytes())
    assert found["rows"] == len(found["tree"]) == len(stats)
    assert {tuple(row[:3]) for row in found["functions"]} == set(stats)
