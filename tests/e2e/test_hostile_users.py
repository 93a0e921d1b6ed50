# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What an ordinary user's processes and files can do to root's trace of others: nothing, and it is said whose they are."""

import contextlib
import subprocess

import fake_python
import logfile
import machine
import pytest
import reading
import tracing

USER = 65534
FILES = 2500


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    return machine.compile_program(machine.PROGRAMS / "serves_file.c", tmp_path_factory.mktemp("server") / "serves_file")


@pytest.fixture(scope="module")
def liar(tmp_path_factory):
    folder = tmp_path_factory.mktemp("liar")
    return fake_python.build("3.12", folder / "python3.12")


@contextlib.contextmanager
def served(server, folder, name, source):
    """A FUSE file of the user's: the path."""
    mount = folder / "mount"
    mount.mkdir()
    with tracing.Running([server, mount, name, source], folder) as running:
        running.wait_line("ready")
        try:
            yield mount / name
        finally:
            running.process.stdin.close()
            running.process.stdin = None
            running.process.wait(tracing.PATIENCE_S)
            subprocess.run(["umount", "-l", mount], stderr=subprocess.DEVNULL)


def as_user(*command):
    return [*tracing.AS_NOBODY, *command]


@pytest.fixture
def open_folder(public, liar, cudart):
    """A folder that the user may enter, with the program and the library that it runs."""
    for path, name in ((liar, "python3.12"), (cudart, "libcudart.so.99")):
        (public / name).write_bytes(machine.pathlib.Path(path).read_bytes())
        (public / name).chmod(0o755)
    return public


@contextlib.contextmanager
def attacker(open_folder, folder, lie, waiting):
    program = as_user(open_folder / "python3.12", lie, open_folder / "libcudart.so.99", "1000000")
    with tracing.Running(program, folder, {"WAITING_FILE": waiting}) as running:
        running.wait_line("ready")
        yield running


def assert_whole(folder, victim):
    """Every launch of it, with its stack, as it says itself."""
    truth, trace = reading.program(folder / "victim.json"), reading.trace_of(folder / "trace.json")
    assert truth["pid"] == victim.pid
    assert reading.trace_stacks(trace, reading.truth_calls(truth), victim.pid) == reading.truth_stacks(truth)


def launch(victim, folder):
    victim.ask("steps 3")
    victim.ask(f"truth {folder / 'victim.json'}")


@pytest.mark.parametrize("lie", ["runtime_waits", "library_waits"])
def test_a_process_whose_memory_or_files_do_not_answer_is_left_alone_and_named(server, open_folder, lie, tmp_path):
    """Another process is traced whole meanwhile, and Ctrl-C ends the trace."""
    with served(server, open_folder, "libcudart.so.98", "-") as waiting, \
            attacker(open_folder, tmp_path, lie, waiting) as hostile, \
            tracing.target(tmp_path, open_folder / "libcudart.so.99") as victim, \
            tracing.Tracer(tmp_path, "--agent", "off", "-p", hostile.pid, "-p", victim.pid) as tracer:
        launch(victim, tmp_path)
        report = tracer.interrupt().must_be(0).stdout
    assert_whole(tmp_path, victim)
    assert logfile.has_note(tmp_path / "trace.gpt", f"pid {hostile.pid} (python3.12, of user {USER}) is left alone")
    assert " left alone: " in report


def test_a_user_with_many_files_that_change_all_the_time_hides_nobody(public, tmp_path):
    """More files than gputrace may have open, by whose names they could be CUDA's."""
    crowds = machine.compile_program(machine.PROGRAMS / "crowds.c", public / "crowds")
    library = public / "libcudart.so.99"
    library.write_bytes(machine.cudart().read_bytes())
    files = public / "files"
    files.mkdir()
    files.chmod(0o777)
    with tracing.Tracer(tmp_path, "--agent", "off", limit=2048) as tracer, \
            tracing.Running(as_user(crowds, files, FILES), tmp_path) as crowd:
        crowd.wait_line("ready")
        with tracing.target(tmp_path, "late") as victim:
            victim.ask(f"load {library}")
            tracer.wait_logged(logfile.has_probes, library)
            tracer.wait_logged(logfile.has_python, victim.pid)
            launch(victim, tmp_path)
            tracer.interrupt().must_be(0)
    assert_whole(tmp_path, victim)


def test_a_library_on_a_file_system_of_the_user_s_is_named_and_counted(server, open_folder, tmp_path):
    """Root may not open it: AppImage, Apptainer, sshfs.  To probe it would be to wait for whoever serves it."""
    with served(server, open_folder, "libcudart.so.98", machine.cudart()) as library:
        program = as_user(open_folder / "python3.12", "honest", library, "1000000")
        with tracing.Running(program, tmp_path) as running:
            running.wait_line("ready")
            with tracing.Tracer(tmp_path, "--agent", "off", "--min-complete", "100", "-p", running.pid) as tracer:
                report = tracer.interrupt().must_be(3).stdout
    assert logfile.has_note(tmp_path / "trace.gpt", f"{library} cannot be probed (a process of a user serves it (FUSE)")
    assert "with CUDA calls that could not be probed\n" in report
