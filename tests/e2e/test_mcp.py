# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace mcp: the official client of the Model Context Protocol asks it, and clients that send anything else."""

import json
import os
import subprocess
import sys

import machine
import pytest
import tracing

CLIENT = "mcp==2.3.0"  # tools/fetch has it, too
# Calls the tools named in argv[2], a list of [name, arguments]; prints tools and answers.
PROGRAM = """
import asyncio, json, sys
from mcp import Client
from mcp.client.stdio import StdioServerParameters

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[4:], cwd=sys.argv[3])
    async with Client(server, mode=%r) as client:
        answers = []
        for name, arguments in json.loads(sys.argv[2]):
            try:
                done = await client.call_tool(name, arguments)
                answers.append([done.is_error, done.content[0].text])
            except Exception as error:
                answers.append([True, str(error)])
        tools = (await client.list_tools()).tools
        print(json.dumps({"server": client.server_info.name, "version": client.protocol_version, "answers": answers,
                          "tools": {tool.name: tool.input_schema for tool in tools}}))

asyncio.run(main())
"""
STUCK = """import ctypes, os
ctypes.CDLL("libcuda.so.1")
print(os.getpid(), flush=True)
input()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mcp") / "traces"
    folder.mkdir()
    tracing.gputrace(folder, "-q", "-o", "train.gpt", "--", *tracing.on_simgpu(
        folder.parent / "gpu.json", machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "30")).must_be(0)
    (folder.parent / "outside.gpt").write_bytes((folder / "train.gpt").read_bytes())
    (folder / "link.gpt").symlink_to("../outside.gpt")
    (folder / "notes.txt").write_text("no trace")
    return folder


def ask(folder, calls, *arguments, mode="auto"):
    python = sys.executable
    done = subprocess.run([python, "-c", PROGRAM % mode, machine.GPUTRACE, json.dumps(calls), folder, "mcp", *arguments],
                          env={**os.environ, "PYTHONPATH": str(machine.package(python, CLIENT))}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=tracing.PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def printed(folder, *words):
    return tracing.gputrace(folder, *words).must_be(0).stdout


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_gets_what_the_subcommands_print(folder, mode):
    file = str(folder / "train.gpt")
    answer = ask(folder, [["why", {"file": "train.gpt"}], ["report", {"file": "train.gpt"}],
                          ["report", {"file": "train.gpt", "table": "kernels"}],
                          ["source_lines", {"file": "train.gpt", "of": "Trainer.step"}],
                          ["diff", {"before": "train.gpt", "after": file}], ["list_traces", {}]], mode=mode)
    assert answer["server"] == "gputrace" and answer["version"] == "2025-11-25"
    expected = [printed(folder, "why", file), printed(folder, "report", file),
                printed(folder, "report", file, "--format", "json", "--table", "kernels"),
                printed(folder, "report", file, "--lines=Trainer.step"), printed(folder, "diff", file, file)]
    assert answer["answers"][:5] == [[False, text] for text in expected]
    failed, listed = answer["answers"][5]
    assert not failed and {line.split()[-1] for line in listed.splitlines()} == {"train.gpt"}, "one outside is not shown"
    assert str((folder / "train.gpt").stat().st_size) in listed


def test_without_allow_record_no_tool_looks_at_processes(folder):
    looking = [["list_processes", {}], ["dump", {"pid": os.getpid()}], ["record", {"pid": os.getpid(), "seconds": 1}]]
    answer = ask(folder, looking)
    assert sorted(answer["tools"]) == ["diff", "list_traces", "report", "source_lines", "why"]
    assert all(failed and "--allow-record" in text for failed, text in answer["answers"])


def test_with_allow_record_a_process_is_listed_dumped_and_recorded_into_the_folder(folder):
    umlauts = 200 * "ü"  # wherever a line is cut, it stays UTF-8
    target = subprocess.Popen(tracing.on_simgpu(folder.parent / "stuck.json", machine.any_python(), "-c", STUCK, "x" + umlauts,
                                                "y", umlauts),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
    try:
        pid = int(target.stdout.readline())
        answer = ask(folder, [["list_processes", {}], ["dump", {"pid": pid}], ["record", {"pid": pid, "seconds": 1}]],
                     "--allow-record")
    finally:
        target.communicate("\n")
    (_, listed), (_, dumped), (failed, recorded) = answer["answers"]
    assert str(pid) in [line.split()[0] for line in listed.splitlines()]
    assert "input()" in dumped or "line 4" in dumped or ":4" in dumped
    assert not failed and recorded.splitlines()[-1].startswith("file: gputrace-")
    log = folder / recorded.splitlines()[-1].split()[-1]
    assert "0 launches" in printed(folder, "report", log)
    log.unlink()


@pytest.mark.parametrize("name, arguments, said", [
    ("why", {"file": "../outside.gpt"}, "is outside of the folder"),
    ("why", {"file": "link.gpt"}, "is outside of the folder"),
    ("why", {"file": "/etc/passwd"}, "is outside of the folder"),
    ("why", {"file": "nothing.gpt"}, "no such file; list_traces has those"),
    ("why", {"file": "."}, "is no regular file"),
    ("why", {"file": "notes.txt"}, "notes.txt"),
    ("why", {"file": ""}, "is empty, or has a NUL"),
    ("why", {"file": "train.gpt\0"}, "is empty, or has a NUL"),
    ("why", {"file": 7}, "has another type than the tool's schema says"),
    ("why", {}, "file: is missing"),
    ("why", {"file": "train.gpt", "output": "x"}, "an argument is unknown, or given twice"),
    ("why", {"file": "train.gpt", "step": "nonsense:"}, "nonsense"),
    ("record", {"pid": 1, "seconds": 4000}, "a whole number is needed"),
    ("record", {"pid": -1, "seconds": 1}, "a whole number is needed"),
])
def test_what_a_tool_does_not_take_is_said_in_its_answer(folder, name, arguments, said):
    (answer,) = raw(folder, request(name, arguments), options=["--allow-record"])
    assert answer["result"]["isError"] and said in answer["result"]["content"][0]["text"], answer
    assert sorted(path.name for path in folder.iterdir()) == ["link.gpt", "notes.txt", "train.gpt"]


def request(name, arguments, number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})


def raw(folder, *lines, options=()):
    done = tracing.command(folder, machine.GPUTRACE, "mcp", *options, stdin=None, input="".join(f"{line}\n" for line in lines))
    done.must_be(0)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("line, code, said", [
    ("no JSON", -32700, "not JSON: each line is one message"),
    ('{"id": 1', -32700, "not JSON"),
    ('{"id": 1} 2', -32700, "not JSON"),
    ("[]", -32600, "no request of JSON-RPC 2.0"),
    ('{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600, "no request of JSON-RPC 2.0"),
    ('{"jsonrpc": "2.0", "id": 1}', -32600, "no request of JSON-RPC 2.0"),
    ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 3}', -32600, "no request of JSON-RPC 2.0"),
    ('{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}', -32601, "no such method"),
    ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', -32602, "no tool of that name"),
    pytest.param('"' + (1 << 20) * "x" + '"', -32600, "a message of over 1 MiB", id="too long"),
])
def test_what_is_no_request_is_answered_by_an_error_and_the_next_one_as_usual(folder, line, code, said):
    error, pong = raw(folder, line, '{"jsonrpc": "2.0", "id": "next", "method": "ping"}')
    assert error["error"]["code"] == code and said in error["error"]["message"]
    assert pong == {"jsonrpc": "2.0", "id": "next", "result": {}}


def test_a_notification_has_no_answer(folder):
    assert raw(folder, '{"jsonrpc": "2.0", "method": "notifications/initialized"}', "") == []


def test_a_long_answer_is_cut_at_a_line_and_says_so(folder, tmp_path):
    events = [{"ph": "X", "cat": "kernel", "name": f"kernel_{i}", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5,
               "args": {"device": 0, "stream": 7, "correlation": i}} for i in range(3000)]
    (tmp_path / "many.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    (answer,) = raw(tmp_path, request("report", {"file": "many.json", "table": "kernels"}))
    text = answer["result"]["content"][0]["text"]
    whole = printed(tmp_path, "report", "many.json", "--format", "json", "--table", "kernels")
    *lines, note = text.splitlines(keepends=True)
    assert whole.startswith("".join(lines)) and 90000 < len("".join(lines)) <= 100000 < len(whole)
    assert note == f"[{len(''.join(lines))} of {len(whole)} bytes; ask for one table, or for a part of the trace]\n"


def test_the_newest_traces_are_listed_and_the_rest_is_counted(tmp_path):
    for i in range(203):
        (tmp_path / f"trace{i}.json").write_text("{}")
        os.utime(tmp_path / f"trace{i}.json", (1e9 + i, 1e9 + i))
    (answer,) = raw(tmp_path, request("list_traces", {}))
    *lines, rest = answer["result"]["content"][0]["text"].splitlines()
    assert [line.split()[-1] for line in lines] == [f"trace{i}.json" for i in range(202, 2, -1)]
    assert rest == "3 older ones are left out"


def test_each_tool_and_argument_says_what_it_is_for(folder):
    (answer,) = raw(folder, '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', options=["--allow-record"])
    said = json.dumps(answer["result"]["tools"])
    for words in ("Lists the traces in the folder", "Why the GPU stood still", "GPU time by line, kernel", "The source of a function",
                  "What a step costs more, or less", "It hangs: what each thread", "Records a running process",
                  "the name of a function or of a file", "only this table, with all its rows", "what a step is, as optimizer",
                  "the process; its children", "what runs and what waits", "the trace after the change"):
        assert words in said
    for tool in answer["result"]["tools"]:
        assert set(tool["inputSchema"]["required"]) <= set(tool["inputSchema"]["properties"])
        assert all(argument["description"] for argument in tool["inputSchema"]["properties"].values())


def test_a_folder_that_is_none_is_named(tmp_path):
    done = tracing.command(tmp_path, machine.GPUTRACE, "mcp", "nowhere").must_be(1)
    assert "nowhere: not a folder that can be entered; name the folder with the traces" in done.stderr
