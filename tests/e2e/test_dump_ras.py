# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace dump --nccl-ras: answers of a service like NCCL's RAS, which may be silent, endless, foreign or absent."""

import contextlib
import os
import re
import signal
import socket
import subprocess

import machine
import pytest
import tracing
from test_dump import block_of, dump, dump_json

SERVER = machine.PROGRAMS / "ras_server.py"
ASKED = ["CLIENT PROTOCOL 2", "TIMEOUT 2", "STATUS"]
MB = 1 << 20


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """A listening ras_server.py; `heard` are the lines that it received."""

    def __init__(self, *arguments, **environment):
        self.process = subprocess.Popen([machine.any_python(), SERVER, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def end(self):
        self.process.kill()
        self.heard = self.process.stdout.read().splitlines()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def served(kind, port=None, name="a job", **environment):
    port = port or free_port()
    host = {"six": "[::1]", "any": "localhost"}.get(kind, "127.0.0.1")
    server = Server(kind, port, name, **{"NCCL_RAS_ADDR": f"{host}:{port}", **environment})
    try:
        yield server, port
    finally:
        server.end()


def service_of(found):
    (service,) = found["ras"]
    return service


@pytest.mark.parametrize("kind", ("answers", "slow", "old", "six", "any"))
def test_what_the_service_says_is_shown_as_what_it_says(kind):
    with served(kind) as (server, port):
        service = service_of(dump_json("-p", server.pid, "--nccl-ras")[1])
        text = dump("-p", server.pid, "--nccl-ras").stdout
    address = {"six": f"[::1]:{port}", "any": f"0.0.0.0:{port}"}.get(kind, f"127.0.0.1:{port}")
    assert service == {"pids": [server.pid], "address": address, "accepted": server.pid, "why": None, "lines":
                       ["Status of a job", "", "  rank calls", "  0 5", "  1 4 \N{REPLACEMENT CHARACTER}[2J" + 2 * "\N{REPLACEMENT CHARACTER}"]}
    assert f"\n\nNCCL's RAS service says (process {server.pid}, {address}):\n  Status of a job\n\n    rank calls\n    0 5\n" in text, text
    assert server.heard == 2 * ASKED


def test_without_the_option_it_is_only_said_that_there_is_one():
    with served("answers") as (server, port):
        service = service_of(dump_json("-p", server.pid)[1])
        text = dump("-p", server.pid).stdout
    assert (service["pids"], service["accepted"], service["why"], service["lines"]) == ([server.pid], None, None, None)
    assert re.search(rf"^process {server.pid} listens at 127.0.0.1:{port}, as NCCL's RAS service does: --nccl-ras asks it", text, re.M), text
    assert server.heard == []


@pytest.mark.parametrize("kind,why,lines", (
    ("silent", "has not answered within 5 s", None), ("garbage", "does not answer as NCCL's RAS service does", None),
    ("hangs", "had not said all within 5 s", ["Status of"]), ("leaves", "has ended the conversation without a status", None)))
def test_one_that_does_not_answer_holds_up_the_dump_for_a_bounded_time(kind, why, lines):
    with served(kind) as (server, _):
        service = service_of(dump_json("-p", server.pid, "--nccl-ras")[1])
        text = dump("-p", server.pid, "--nccl-ras").stdout
    assert (service["why"], service["lines"]) == (why, lines)
    assert f"it {why}" in text
    assert "  thread " in text and not [c for c in text if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"]


@pytest.mark.parametrize("kind,length,why,least", (("endless", 1000, "said more than 1 MB: the rest was left out", MB // 1001),
                                                   ("endless_short", 10, "said more, which was left out", 8192)))
def test_of_one_that_says_more_than_anyone_reads_the_beginning_is_shown(kind, length, why, least):
    with served(kind) as (server, _):
        service = service_of(dump_json("-p", server.pid, "--nccl-ras")[1])
    assert service["why"] == why and least <= len(service["lines"]) <= least + 1
    assert set(service["lines"][:least]) == {"x" * length}


def test_a_port_of_another_process_is_none_of_this_one_s():
    with served("answers") as (other, port):
        code = "import time; print(1, flush=True); time.sleep(1000)"
        with subprocess.Popen([machine.any_python(), "-c", code], stdout=subprocess.PIPE,
                              env={**os.environ, "NCCL_RAS_ADDR": f"127.0.0.1:{port}"}) as process:
            process.stdout.readline()
            found = dump_json("-p", process.pid, "--nccl-ras")[1]
            process.kill()
    assert found["ras"] == [] and other.heard == []


def test_where_processes_share_a_port_the_one_that_was_named_is_asked():
    port = free_port()
    with served("answers", port, "another job") as (other, _), served("answers", port, "the job") as (server, _):
        services = [service_of(dump_json("-p", server.pid, "--nccl-ras")[1]) for _ in range(6)]
    for service in services:
        assert (service["pids"], service["accepted"], service["lines"][0]) == ([server.pid], server.pid, "Status of the job")
    assert other.heard == [] and server.heard == 6 * ASKED


def test_one_that_is_stopped_is_not_taken_for_another_at_its_port():
    port = free_port()
    with served("answers", port) as (other, _), served("answers", port) as (server, _):
        os.kill(server.pid, signal.SIGSTOP)
        service = service_of(dump_json("-p", server.pid, "--nccl-ras")[1])
    assert service["lines"] is None and service["accepted"] is None
    assert "has not accepted a connection" in service["why"] or "another process" in service["why"]
    assert other.heard == [] and server.heard == []


def test_processes_of_one_job_are_asked_once_and_of_two_jobs_each():
    port = free_port()
    one, two = ({"RANK": "0", "MASTER_ADDR": name, "MASTER_PORT": "1"} for name in ("one", "two"))
    with served("answers", port, "one", **one) as (first, _), served("answers", port, "one", **one) as (second, _), \
            served("answers", port, "two", **two) as (third, _):
        found = dump_json("-p", f"{first.pid},{second.pid},{third.pid}", "--nccl-ras")[1]
        text = dump("-p", f"{first.pid},{second.pid},{third.pid}").stdout
    assert {service["lines"][0]: service["pids"] for service in found["ras"]} == {
        "Status of one": [first.pid, second.pid], "Status of two": [third.pid]}
    assert len(first.heard + second.heard) == len(third.heard) == len(ASKED)
    assert f"\nprocess {first.pid}, as others do, listens at 127.0.0.1:{port}, as NCCL's RAS service does: --nccl-ras" in text


@contextlib.contextmanager
def apart(kind):
    """A server in its own network namespace, at NCCL's default port; gives its pid."""
    words = f"ip link set lo up && ip addr add 10.9.8.7/32 dev lo && exec {machine.any_python()} {SERVER} {kind} 28028"
    environment = {name: value for name, value in os.environ.items() if name != "NCCL_RAS_ADDR"}
    with subprocess.Popen(["unshare", "-n", "sh", "-c", words], stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


def test_in_another_network_namespace_the_service_of_that_one_is_asked_at_nccl_s_own_port():
    with apart("answers") as pid:
        service = service_of(dump_json("-p", pid, "--nccl-ras")[1])
    assert (service["address"], service["accepted"], service["lines"][0]) == ("127.0.0.1:28028", pid, "Status of a job")


def test_a_namespace_that_may_not_be_entered_is_named():
    with apart("answers") as pid:
        words = ["setpriv", "--bounding-set=-sys_admin", machine.GPUTRACE, "dump", "-p", str(pid), "--nccl-ras"]
        text = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    assert "it cannot be reached: its network namespace may not be entered (Operation not permitted)" in text, text


def test_one_that_others_than_this_machine_can_reach_is_not_asked():
    with apart("outside") as pid:
        service = service_of(dump_json("-p", pid, "--nccl-ras")[1])
    assert (service["address"], service["lines"]) == ("10.9.8.7:28028", None)
    assert service["why"] == "was not asked: it does not listen at a loopback address"


def test_of_many_jobs_four_are_asked():
    port = free_port()
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(served("answers", port, RANK="0", MASTER_ADDR=f"job{i}", MASTER_PORT="1"))[0] for i in range(5)]
        found = dump_json("-p", ",".join(str(server.pid) for server in servers), "--nccl-ras")[1]
    assert [service["why"] for service in found["ras"]] == [None] * 4 + ["was not asked: four others were"]


def test_a_hang_that_was_watched_for_has_it_too():
    with served("answers") as (server, _):
        os.kill(server.pid, signal.SIGSTOP)
        with subprocess.Popen([machine.GPUTRACE, "dump", "--when", "hang=1s", "--nccl-ras", "-p", str(server.pid)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
            text, said = watcher.communicate(timeout=tracing.PATIENCE_S)
    assert "is stopped by a signal" in block_of(text, server.pid), (text, said)
    assert f"process {server.pid} listens at" in text and "it has not accepted a connection" in text
