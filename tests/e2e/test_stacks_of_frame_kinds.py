# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One kind of frame per test: the interpreter's own stack of each launch, compared with the trace, on every CPython."""

import machine
import pytest
import stacks
import tracing


class Particular:
    def __init__(self, folder):
        self.recorded, self.truth = stacks.recorded(folder / "truth.json")
        self.traced = stacks.traced(folder / "trace.json")

    def of(self, label):
        """(recorded launches with the label, the same launches in the trace)"""
        wanted = {tid: [e for e in launches if e.label == label] for tid, launches in self.recorded.items()}
        wanted = {tid: launches for tid, launches in wanted.items() if launches}
        numbers = {e.number for launches in wanted.values() for e in launches}
        return wanted, {tid: [g for g in self.traced.get(tid, ()) if g.number in numbers] for tid in wanted}

    def assert_exact(self, label, at_least, *functions):
        wanted, got = self.of(label)
        assert stacks.count(wanted) >= at_least
        text = {frame for launches in wanted.values() for launch in launches for frame in launch.frames}
        for function in functions:
            assert any(frame.endswith(function) for frame in text), f"{function} did not launch, so nothing is shown"
        stacks.assert_complete(stacks.assert_equal(wanted, got))


@pytest.fixture(scope="module")
def particular(every_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("particular")
    program = [every_python, machine.PROGRAMS / "frame_kinds.py", machine.cudart(), folder / "truth.json"]
    tracing.trace(folder, program, *tracing.CALLS_ALONE, names=("trace.json",))
    return Particular(folder)


def test_c_functions_in_between_do_not_end_a_stack(particular):
    particular.assert_exact("c_in_between", 12, "<lambda>")


def test_generators_stand_on_who_resumed_them(particular):
    particular.assert_exact("generators", 100, "inner", "outer")


def test_tasks_of_asyncio_stand_on_their_event_loop(particular):
    particular.assert_exact("asyncio_tasks", 24, "task", "run_forever")


def test_frames_of_the_interpreter_itself_do_not_show(particular):
    """From 3.13 on each new instance has such a frame; they take room, so that a stack of 100 __init__ may be cut."""
    wanted, got = particular.of("made_by_init")
    assert stacks.count(wanted) == 80
    for expected, seen in stacks.assert_equal(wanted, got):
        assert len(expected.frames) > 100
        stacks.assert_both_ends(expected, seen)


def test_names_and_paths_of_any_character_are_kept(particular):
    particular.assert_exact("characters", 18, "größe_ÿ_of", "größe_数字_ж_of", "größe_𐐨_数字_𐐀_of")


def test_odd_file_names_are_kept_on_one_line(particular):
    particular.assert_exact("files", 20, "f")


def test_long_names_are_kept_or_cut_with_a_mark(particular):
    particular.assert_exact("long_names", 16, "n" + 300 * "a", "n" + 511 * "a" + "...", "n" + 511 * "ÿ" + "...",
                            "n" + 150 * "ж", "n" + 255 * "ж" + "...", "n" + 127 * "𐐨" + "...")


def test_threads_that_c_made_have_their_own_stacks(particular):
    particular.assert_exact("threads_that_c_made", 80, "<lambda>")


def test_code_freed_and_made_again_on_threads_keeps_its_names(particular):
    assert particular.truth["short_lived_code"] > 10, "too few addresses were used again, so nothing was tested"
    particular.assert_exact("short_lived_code", 720, "made_0_0")


def test_a_frame_that_has_not_begun_does_not_show(particular):
    particular.assert_exact("not_begun", 56, "__del__")
