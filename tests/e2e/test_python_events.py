# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Events inside interpreters: garbage collections, imports and calls, compared with the program's own counts."""

import collections
import subprocess

import chrome_invariants as chrome
import machine
import pytest
import reading
import tracing

CALLS_TRACED = ("3.6", "3.7", "3.8", "3.9", "3.10")
FRESH = {
    "fresh_plain.py": "",
    "fresh_package/__init__.py": "",
    "fresh_package/inner.py": "",
    "fresh_outer.py": "import fresh_nested",
    "fresh_nested.py": "import fresh_plain",
    "fresh_\u00e4.py": "",
    "fresh_fails.py": "raise ImportError",
    **{f"fresh_thread_{i}.py": "" for i in range(3)},
}


def traced(folder, python, *requests, options=()):
    """(trace of the program while it handles the requests, its truth)"""
    command = [python, machine.PROGRAMS / "python_events.py", machine.cudart(), folder / "truth.json"]
    with tracing.Running(command, folder) as program:
        program.wait_line("ready")
        with tracing.Tracer(folder, "-p", program.pid, "--agent", "off", *options) as tracer:
            for request in requests:
                program.ask(request)
            tracer.interrupt().must_be(0)
        program.end()
    truth = reading.program(folder / "truth.json")
    truth["zero_ns"] = reading.start_ns(folder / "trace.gpt")  # of the trace's times, by the program's clock
    return reading.trace_of(folder / "trace.json"), truth


def span(event, trace):
    """(start, end) in ns since the start of the trace; the program's own times are rounded to a microsecond."""
    base = min(e["ts"] for e in trace["traceEvents"])
    assert base == 0
    return chrome.ns(event["ts"]), chrome.ns(event["ts"] + event["dur"])


@pytest.fixture(scope="session")
def inside(every_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("inside")
    modules = folder / "modules"
    for name, text in FRESH.items():
        (modules / name).parent.mkdir(parents=True, exist_ok=True)
        (modules / name).write_text(text)
    return traced(folder, every_python, "collect", f"import {modules}")


def test_each_collection_is_a_slice_of_its_generation(inside):
    trace, truth = inside
    slices = sorted(chrome.events(trace, "python_gc"), key=lambda e: e["ts"])
    assert [e["args"]["generation"] for e in slices] == [generation for generation, *_ in truth["collections"]]
    assert len(slices) > 6


def test_collections_lie_at_their_times_on_their_threads(inside):
    trace, truth = inside
    slices = sorted(chrome.events(trace, "python_gc"), key=lambda e: e["ts"])
    offset = truth["zero_ns"]
    longest = max(stop - start for _, start, stop, _ in truth["collections"])
    for event, (_, start, stop, thread) in zip(slices, truth["collections"]):
        begin, end = span(event, trace)
        assert begin + offset < stop + longest and end + offset > start - longest
        assert thread in (None, event["args"]["thread"])


def test_each_import_of_a_new_module_is_one_slice(inside):
    trace, _ = inside
    names = collections.Counter(e["args"]["module"] for e in chrome.events(trace, "python_import"))
    assert {name: count for name, count in names.items() if name.startswith("fresh_")} == {
        "fresh_plain": 1, "fresh_package": 1, "fresh_package.inner": 1, "fresh_outer": 1, "fresh_nested": 1,
        "fresh_\u00e4": 1, "fresh_fails": 1, "fresh_missing": 1, "fresh_thread_0": 1, "fresh_thread_1": 1,
        "fresh_thread_2": 1}


def test_an_import_inside_an_import_lies_inside_it(inside):
    trace, _ = inside
    by_name = {e["args"]["module"]: e for e in chrome.events(trace, "python_import")}
    for outer, inner in (("fresh_outer", "fresh_nested"), ("fresh_package.inner", "fresh_package")):
        (begin, end), (inner_begin, inner_end) = span(by_name[outer], trace), span(by_name[inner], trace)
        assert begin < inner_begin <= inner_end < end
        assert by_name[outer]["tid"] == by_name[inner]["tid"]


def test_nothing_inside_an_interpreter_is_lost(inside):
    trace, _ = inside
    receipt = reading.receipt(trace)
    assert (receipt["python_events_lost"], receipt["python_unpaired"], receipt["lost"]) == (0, 0, 0)
    assert not [e for e in chrome.events(trace, "python_gc", "python_import") if "end" in e["args"]]
    assert not [note for note in trace["gputrace"]["notes"] if "timeline" in note]


def test_what_a_stripped_interpreter_hides_is_a_note(tmp_path):
    python = machine.python("3.12")
    library = next(python.parents[1].glob("lib/libpython3.12.so.1.0"))
    subprocess.run(["strip", "--strip-all", "-o", tmp_path / library.name, library], check=True)
    (tmp_path / "fresh_plain.py").write_text("")
    command = [python, machine.PROGRAMS / "python_events.py", machine.cudart(), tmp_path / "truth.json"]
    with tracing.Running(command, tmp_path, env={"LD_LIBRARY_PATH": tmp_path}) as program:
        program.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", program.pid, "--agent", "off") as tracer:
            program.ask("collect")
            program.ask(f"import {tmp_path}")
            tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    notes = [note for note in trace["gputrace"]["notes"] if "timeline" in note]
    assert len(notes) == 1 and "collections are not on the timeline" in notes[0]
    assert not chrome.events(trace, "python_gc")
    assert "fresh_plain" in {e["args"]["module"] for e in chrome.events(trace, "python_import")}


# ---- --python-calls -----------------------------------------------------------------------------------

@pytest.fixture(scope="session", params=[version for version in CALLS_TRACED if version in machine.BUILT])
def called(request, tmp_path_factory):
    python = machine.built_python(request.param)  # Debian's Pythons have no symbol of the evaluation loop
    return traced(tmp_path_factory.mktemp("called"), python, "call", options=["--python-calls"])


def functions(trace):
    return chrome.events(trace, "python_function")


def of_program(event):
    return "/python_events.py(" in event["name"]


def test_every_call_of_every_function_is_one_slice(called):
    trace, truth = called
    counts = collections.Counter()
    for event in functions(trace):
        if of_program(event) and event["args"]["from"] == "calls":
            where, _, name = event["name"].rpartition(": ")
            line = where.rpartition("(")[2].rstrip(")")
            counts["profile" if name == "profile" else f"{line} {name}"] += 1
    del counts[next(key for key in counts if key.endswith(" call"))]  # it was entered before the program counted
    assert counts == truth["calls"]
    assert counts["profile"] > 5000


def test_calls_that_were_open_before_the_trace_are_drawn_from_stacks(called):
    trace, _ = called
    drawn = {e["name"].rpartition(": ")[2] for e in functions(trace) if e["args"]["from"] == "snapshots"}
    assert drawn == {"<module>", "main"}


def whole(stack, names):
    """The stack, with frames that were left out of it filled in from the names."""
    for at, frame in enumerate(stack):
        if frame.endswith(" frames left out]"):
            missing = int(frame[1:].split()[0])
            return stack[:at] + names[at:at + missing] + stack[at + 1:]
    return stack


def test_a_cuda_call_lies_in_the_slices_of_its_stack(called):
    trace, _ = called
    launches = [e for e in chrome.events(trace, *chrome.API) if e["name"] == "cudaLaunchKernel"]
    assert len(launches) >= 4
    by_thread = collections.defaultdict(list)
    for event in functions(trace):
        begin, end = chrome.ns(event["ts"]), chrome.ns(event["ts"]) + chrome.ns(event["dur"])
        # of two equal slices the first in the file encloses the other, as in viewers
        by_thread[event["tid"]].append((begin, -end, len(by_thread[event["tid"]]), event["name"].rpartition(": ")[2]))
    for launch in launches:
        time = chrome.ns(launch["ts"])
        around = [name for begin, end, _, name in sorted(by_thread[launch["tid"]]) if begin <= time <= -end]
        stack = [frame.rpartition("): ")[2] for frame in reading.stack_of(launch).split(";")]
        assert around[::-1] == whole(stack, around[::-1])


def test_no_call_is_lost_and_every_end_is_seen(called):
    trace, _ = called
    receipt = reading.receipt(trace)
    assert (receipt["python_calls_lost"], receipt["python_unpaired"], receipt["lost"]) == (0, 0, 0)
    # `call`, the caller that reads lines, and their callees may be open when the trace ends.
    assert not [e for e in functions(trace) if e["args"].get("end") and of_program(e)]


def test_python_calls_are_refused_where_calls_run_inside_the_interpreter(tmp_path):
    command = [machine.any_python(), machine.PROGRAMS / "python_events.py", machine.cudart(), tmp_path / "truth.json"]
    with tracing.Running(command, tmp_path) as program:
        program.wait_line("ready")
        done = tracing.gputrace(tmp_path, "-p", program.pid, "--python-calls", "-d", "10s").must_be(1)
    assert "--python-calls" in done.stderr and "3.6 to 3.10" in done.stderr


def test_a_refused_interpreter_beside_an_able_one_is_a_note(tmp_path):
    programs = [[machine.python(version), machine.PROGRAMS / "python_events.py", machine.cudart(), tmp_path / version]
                for version in ("3.10", "3.12")]
    with tracing.Running(programs[0], tmp_path) as able, tracing.Running(programs[1], tmp_path) as refused:
        able.wait_line("ready")
        refused.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", f"{able.pid},{refused.pid}", "--agent", "off", "--python-calls") as tracer:
            able.ask("call")
            tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    assert [note for note in trace["gputrace"]["notes"] if "3.12" in note and "no exact Python calls" in note]
    assert {e["args"]["from"] for e in functions(trace) if e["pid"] == able.pid} >= {"calls"}
