# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Interpreters that lie about their state: no wrong frames, no crash of gputrace, no harm to other programs."""

import fake_python
import machine
import pytest
import pythons
import reading
import tracing

pytestmark = pytest.mark.alone  # two programs start at the same time, and each must be held at its library

LAUNCH = {"cudaLaunchKernel"}
LAUNCHES = 200
LAUNCHES_OF_A_SECOND = 500  # with their pauses; gputrace waits up to 0.3 s for an interpreter to start
VERSIONS = ("3.8", "3.12", "3.14")  # one for each way to find frames

FRAMES = {f"/nowhere/fake.py({line}): {name}" for line, name in ((10, "alpha"), (20, "beta"), (30, "gamma"))}
STACK = "/nowhere/fake.py(30): gamma;/nowhere/fake.py(20): beta;/nowhere/fake.py(10): alpha"


LIES = {  # each lie and the number of launches; a fake Python for each, one after the other during one trace
    **dict.fromkeys(("honest", "endless_threads", "endless_interpreters", "endless_frames", "frame_is_its_own_caller",
                     "thousands_of_frames", "top_in_kernel", "top_not_canonical", "caller_in_kernel", "caller_at_one",
                     "caller_at_the_end_of_a_page", "code_is_no_code", "code_in_kernel", "endless_names", "negative_names",
                     "names_of_no_kind", "names_in_kernel", "everything_changes"), LAUNCHES),
    **dict.fromkeys(("thread_in_kernel", "interpreter_in_kernel"), LAUNCHES_OF_A_SECOND)}
LIES_OF_OFFSETS = dict.fromkeys(("offsets_at_the_edges", "offsets_beyond"), LAUNCHES_OF_A_SECOND)
WITH_OFFSETS = ("3.13", "3.14", "3.15")  # the versions with debug offsets

# Each fake Python runs beside an honest program; a file gets its pid.
RUN_EACH = """liar=$1 cudart=$2 python=$3 program=$4; shift 4
while [ $# -gt 0 ]; do
	"$liar" "$1" "$cudart" "$2" & pid=$!
	"$python" "$program" "$cudart" --steps 3 --truth "$1.json" && wait $pid && echo "$1 $pid" >>pids || exit 1
	shift 2
done
"""


@pytest.fixture(scope="module", params=VERSIONS)
def version(request):
    return request.param


class Traced:
    """gputrace's results for a liar, and for the honest Pythons that ran beside it."""

    def __init__(self, folder, version, lies, cudart):
        self.folder, self.lies = folder, lies
        liar = fake_python.build(version, folder / f"python{version}")
        words = [word for lie in lies.items() for word in lie]
        command = ["sh", "-c", RUN_EACH, "sh", liar, cudart, machine.any_python(), machine.WORKLOADS / "real_cudart.py", *words]
        self.report = tracing.trace(folder, command, names=("trace.json", "trace.folded")).stdout
        self.trace = reading.trace_of(folder / "trace.json")
        self.pids = {lie: int(pid) for lie, pid in map(str.split, (folder / "pids").read_text().splitlines())}

    def of(self, lie):
        """What is known of one lie."""
        return Recorded(self, lie)


class Recorded:
    def __init__(self, traced, lie):
        self.events = [e for e in reading.chrome.events(traced.trace, "cuda_runtime") if e["pid"] == traced.pids[lie]]
        self.stacks = {reading.stack_of(event) for event in self.events}
        self.notes = [note for note in traced.trace["gputrace"]["notes"] if f"(pid {traced.pids[lie]})" in note]
        truth = reading.program(traced.folder / f"{lie}.json")
        assert reading.trace_stacks(traced.trace, reading.truth_calls(truth), truth["pid"]) == reading.truth_stacks(truth)
        assert len(self.events) == traced.lies[lie], traced.trace["gputrace"]["notes"]


@pytest.fixture(scope="module")
def kept():
    return {}  # by version: pytest may ask for a version twice


@pytest.fixture
def recorded(version, kept, tmp_path_factory):
    lies = {**(LIES if version in VERSIONS else {}), **(LIES_OF_OFFSETS if version in WITH_OFFSETS else {})}
    if version not in kept:
        kept[version] = Traced(tmp_path_factory.mktemp("liar"), version, lies, machine.cudart())
    return kept[version].of


def test_a_made_up_interpreter_that_keeps_to_the_layout_is_walked(recorded):
    honest = recorded("honest")
    assert honest.stacks == {STACK} and honest.notes == []


@pytest.mark.parametrize("lie", ["endless_threads", "endless_interpreters"])
def test_a_thread_that_is_not_found_in_an_endless_list_has_no_stack(recorded, lie):
    stacks = recorded(lie).stacks
    assert len(stacks) == 1 and next(iter(stacks)).startswith("none: "), stacks


@pytest.mark.parametrize("lie", ["endless_frames", "frame_is_its_own_caller", "thousands_of_frames"])
def test_frames_without_an_end_are_truncated(recorded, lie):
    endless = recorded(lie)
    for event in endless.events:
        frames = set(reading.stack_of(event).split(";"))
        assert event["args"]["Call stack cut"]
        assert frames & FRAMES and len(frames - FRAMES) <= 1  # a mark for omitted frames may be among them


@pytest.mark.parametrize("lie", ["top_in_kernel", "top_not_canonical", "caller_in_kernel", "caller_at_one",
                                 "caller_at_the_end_of_a_page", "code_is_no_code", "code_in_kernel"])
def test_a_walk_that_goes_astray_gives_no_stack(recorded, lie):
    stacks = recorded(lie).stacks
    assert len(stacks) == 1 and next(iter(stacks)).startswith("none: "), stacks


@pytest.mark.parametrize("lie", ["thread_in_kernel", "interpreter_in_kernel"])
def test_a_state_that_is_not_laid_out_so_is_reported_once(recorded, lie):
    lying = recorded(lie)
    assert len(lying.notes) == 1, lying.notes
    assert [stack for stack in lying.stacks if not stack.startswith("none: ")] == [] and "not laid out as in its headers" in lying.notes[0]


@pytest.mark.parametrize("version", WITH_OFFSETS, indirect=True)
@pytest.mark.parametrize("lie", LIES_OF_OFFSETS)
def test_debug_offsets_that_make_no_sense_are_reported_once(recorded, lie):
    lying = recorded(lie)
    assert len(lying.notes) == 1, lying.notes
    assert [stack for stack in lying.stacks if not stack.startswith("none: ")] == [] and "debug offsets that make no sense" in lying.notes[0]


@pytest.mark.parametrize("lie", ["endless_names", "negative_names", "names_of_no_kind", "names_in_kernel"])
def test_names_that_cannot_be_read_leave_their_frames(recorded, lie):
    stacks = recorded(lie).stacks
    assert len(stacks) == 1, stacks
    stack = stacks.pop()
    assert len(stack.split(";")) == 3
    assert len(stack) < 10000


def test_names_do_not_command_a_terminal_or_break_a_format(version, cudart, tmp_path):
    lie = "names_that_command_terminals"
    traced = Traced(tmp_path, version, {lie: LAUNCHES}, cudart)
    commanding = traced.of(lie)
    (line,) = [line for line in reading.folded(tmp_path / "trace.folded") if "beta (" in line and "gamma (" in line]
    for text in (traced.report, line, *commanding.stacks):
        assert not [c for c in text if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"]
    assert "gotcha" in line and "\n" not in line


def test_values_that_change_while_they_are_read_end_nothing(recorded):
    recorded("everything_changes")  # Recorded checks the launches


@pytest.mark.parametrize("version", ["3.6", "3.7", "3.9"])  # extensions of later versions need that symbol, too
def test_an_interpreter_without_the_symbol_that_leads_to_its_state_is_reported_once(cudart, version, tmp_path):
    python = pythons.without_runtime(version, tmp_path)
    program = [python, machine.WORKLOADS / "real_cudart.py", cudart, "--steps", "3"]
    tracing.trace(tmp_path, program)
    trace = reading.trace_of(tmp_path / "trace.json")
    (note,) = trace["gputrace"]["notes"]
    assert f"CPython {version}" in note and "cannot be examined" in note
    assert trace["gputrace"]["receipt"]["calls"] > 50
    assert trace["gputrace"]["receipt"]["calls_with_stack"] == 0
