# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Running processes in containers, traced by a gputrace of their user in the same container or beside it."""

import machine
import tracing

from test_running_without_root import AS_USER, target, trace_once

DOCKER = ("/usr/bin/python3", machine.PROGRAMS / "docker_seccomp.py")


def refused(desk, running, *options, by):
    """What gputrace -p says that does not get in; the program goes on and ends by itself."""
    done = tracing.command(desk, *by, desk / "gputrace", "--way", "agent", "-d", "1s", "-p", running.pid, *options).must_be(1)
    running.ask("steps 2")
    running.end().must_be(0)
    return done.stderr


# ---- filters of system calls -----------------------------------------------------------------------------------------


def test_under_docker_s_filter_a_running_process_is_seen_whole(desk):
    with target(desk, by=(AS_USER, *DOCKER)) as running:
        trace_once(running, desk, by=(AS_USER, *DOCKER))
        running.end().must_be(0)


def test_a_filter_that_kills_for_a_call_of_the_agent_is_named_and_the_process_lives(desk):
    """No one may read the filter there: a child of gputrace makes the calls."""
    kills = (AS_USER, *DOCKER, "--kill", "tgkill")
    with target(desk, by=kills) as running:
        assert "its filter of system calls (seccomp) kills it for a call that the agent takes" in refused(desk, running, by=kills)


def test_one_with_a_filter_of_its_own_beside_the_container_s_is_left_alone(desk):
    with target(desk, by=(AS_USER, *DOCKER, *DOCKER, "--kill", "tgkill")) as running:
        said = refused(desk, running, by=(AS_USER, *DOCKER))
    assert "its filter of system calls (seccomp) may not be read here, and is not known to be gputrace's own" in said


def test_a_gputrace_without_a_filter_does_not_take_one_for_its_own(desk):
    with target(desk, by=(AS_USER, *DOCKER)) as running:
        assert "run gputrace in the same container" in refused(desk, running, by=(AS_USER,))
