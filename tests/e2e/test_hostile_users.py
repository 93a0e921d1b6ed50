# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An ordinary user's processes and files cannot disturb root's trace of others, and the trace says whose they are."""

import contextlib
import struct
import subprocess

import fake_python
import logfile
import machine
import pytest
import reading
import tracing

pytestmark = pytest.mark.alone  # the whole machine is traced

USER = 65534
FILES = 2500
MANY_FILES = 20000
MANY_OF_ROOT = 18000
NAMED_MOST = 4  # at most N files of a user that cannot be probed are named
FURTHER = f"further files of user {USER} that cannot be probed are counted, and not named"
MANY_PROCESSES = 9000
FLOODS = 4


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    return machine.compile_program(machine.PROGRAMS / "serves_file.c", tmp_path_factory.mktemp("server") / "serves_file")


@pytest.fixture(scope="module")
def liar(tmp_path_factory):
    folder = tmp_path_factory.mktemp("liar")
    return fake_python.build("3.12", folder / "python3.12")


@contextlib.contextmanager
def served(server, folder, name, source):
    """Path of a FUSE file that the user serves."""
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
    """Every launch of the victim is there with its stack, as the victim recorded it."""
    truth, trace = reading.program(folder / "victim.json"), reading.trace_of(tracing.export_process(folder / "trace.gpt", victim.pid))
    assert truth["pid"] == victim.pid
    assert reading.trace_stacks(trace, reading.truth_calls(truth), victim.pid) == reading.truth_stacks(truth)


def losses(folder, victim):
    return reading.losses(reading.trace_of(tracing.export_process(folder / "trace.gpt", victim.pid)))


def notes(folder, victim):
    return reading.trace_of(tracing.export_process(folder / "trace.gpt", victim.pid))["gputrace"]["notes"]


def launch(victim, folder):
    victim.ask("steps 3")
    victim.ask(f"truth {folder / 'victim.json'}")


@pytest.mark.parametrize("lie", ["runtime_waits", "library_waits"])
def test_a_process_whose_memory_or_files_do_not_answer_is_left_alone_and_named(server, open_folder, lie, tmp_path):
    """Meanwhile another process is traced completely, and Ctrl-C ends the trace."""
    with served(server, open_folder, "libcudart.so.98", "-") as waiting, \
            attacker(open_folder, tmp_path, lie, waiting) as hostile, \
            tracing.target(tmp_path, open_folder / "libcudart.so.99") as victim, \
            tracing.Tracer(tmp_path, "--agent", "off", "-p", hostile.pid, "-p", victim.pid) as tracer:
        launch(victim, tmp_path)
        report = tracer.interrupt().must_be(0).stdout
    assert_whole(tmp_path, victim)
    assert logfile.has_note(tmp_path / "trace.gpt", f"pid {hostile.pid} (python3.12, of user {USER}) is left alone")
    assert " left alone: " in report


@pytest.fixture
def crowds(public):
    """crowds(FILES, LIBRARY): the command of programs/crowds.c as the user, in its own folder."""
    program = machine.compile_program(machine.PROGRAMS / "crowds.c", public / "crowds")
    files = public / "files"
    files.mkdir()
    files.chmod(0o777)
    return lambda *arguments: as_user(program, files, *arguments)


@pytest.fixture
def library(public):
    """The library that victims call."""
    library = public / "libcudart.so.99"
    library.write_bytes(machine.cudart().read_bytes())
    return library


@contextlib.contextmanager
def traced_victim(folder, library, *options, agent="off", limit=None):
    """A trace of the whole machine, in which a victim loads the library and launches; each launch must be there."""
    with tracing.Tracer(folder, "--agent", agent, *options, names=(), limit=limit) as tracer:
        yield tracer
        with tracing.target(folder, "late") as victim:
            tracer.victim = victim
            victim.ask(f"load {library}")
            tracer.wait_logged(logfile.has_probes, library)
            tracer.wait_logged(logfile.has_python, victim.pid)
            launch(victim, folder)
            tracer.done = tracer.interrupt().must_be_of_machine()
    assert_whole(folder, victim)


def test_a_user_with_many_files_that_change_all_the_time_hides_nobody(crowds, library, tmp_path):
    """More files than gputrace may have open, with names that CUDA's libraries could have."""
    with contextlib.ExitStack() as running, traced_victim(tmp_path, library, limit=2048):
        crowd = running.enter_context(tracing.Running(crowds(FILES), tmp_path))
        crowd.wait_line("ready")


@pytest.fixture
def small_library(public):
    """A library of 5 KB with one CUDA call."""
    (public / "small.c").write_text("int cudaLaunchKernel(void) { return 0; }\n")
    return machine.compile_library(public / "small.c", public / "small.so", "-nostdlib", "-s", "-Wl,-z,noseparate-code",
                                   "-Wl,--build-id=none")


def test_a_user_with_more_libraries_than_can_be_probed_hides_nobody_and_the_receipt_says_so(crowds, small_library, library,
                                                                                           tmp_path):
    """20,000 libraries, each with a CUDA call."""
    with tracing.Running(crowds(MANY_FILES, small_library), tmp_path) as crowd:
        crowd.wait_line("ready")
        with traced_victim(tmp_path, library) as tracer:
            tracer.wait_logged(logfile.has_note, FURTHER)
    assert " files with CUDA calls that could not be probed\n" in tracer.done.stdout
    said = notes(tmp_path, tracer.victim)
    assert FURTHER in said
    assert sum("files/libcudart-" in note for note in said) == NAMED_MOST
    assert "probes on " in tracer.done.stdout and " more" in tracer.done.stdout[tracer.done.stdout.index("probes on "):]


@pytest.fixture
def files_of_root(public):
    """Libraries without a CUDA call, more than are examined at a time (FILES_MAX)."""
    (public / "plain.c").write_text("int nothing(void) { return 0; }\n")
    plain = machine.compile_library(public / "plain.c", public / "plain.so", "-nostdlib", "-s", "-Wl,-z,noseparate-code",
                                    "-Wl,--build-id=none").read_bytes()
    folder = public / "of root"
    folder.mkdir()
    for number in range(MANY_OF_ROOT):
        (folder / f"plain-{number}.so").write_bytes(plain)
    return folder


def test_a_user_who_maps_more_of_root_s_files_than_are_examined_hides_nobody(files_of_root, public, library, tmp_path):
    """The user's first mapping has the highest address and is examined last: once it has probes, all others were."""
    maps = machine.compile_program(machine.PROGRAMS / "maps_only.c", public / "maps_only")
    last = public / "libcudart.so.98"
    last.write_bytes(library.read_bytes())
    with tracing.Running(as_user(maps, last, files_of_root), tmp_path) as running:
        running.wait_line("ready")
        with traced_victim(tmp_path, library) as tracer:
            tracer.wait_logged(logfile.has_probes, last)
    assert not any("more files than their part" in note for note in notes(tmp_path, tracer.victim))


def test_a_user_with_more_processes_than_can_be_followed_hides_nobody_and_is_named(library, public, tmp_path):
    """One user may use up half of the processes that are followed at a time (GPT_MAX_PROCESSES)."""
    program = machine.compile_program(machine.PROGRAMS / "many_processes.c", public / "many_processes", "-ldl")
    with contextlib.ExitStack() as running:
        with traced_victim(tmp_path, library) as tracer:
            many = running.enter_context(tracing.Running(as_user(program, library, MANY_PROCESSES), tmp_path))
            many.wait_line("loaded")
            tracer.wait_logged(logfile.has_probes, library)
            many.process.stdin.write("\n")
            many.process.stdin.flush()
            many.wait_line("ready")
        many.end().must_be(0)
    assert any(note.startswith(f"user {USER} has more processes than its part of the 16384") for note in notes(tmp_path, tracer.victim))


@pytest.fixture
def false_agent(public):
    """false_agent(WHAT): the command of programs/false_agent.py as the user."""
    for path in (machine.PROGRAMS / "false_agent.py", machine.AGENT):
        (public / path.name).write_bytes(path.read_bytes())
    return lambda what: as_user(machine.SYSTEM_PYTHON, public / "false_agent.py", public / machine.AGENT.name, what)


def test_a_process_that_says_what_it_was_not_asked_for_takes_nobody_s_report(false_agent, library, tmp_path):
    """A schedule by which nothing is to be recorded yet, and bytes that are no record: these are counted."""
    with contextlib.ExitStack() as running, traced_victim(tmp_path, library, agent="auto") as tracer:
        liar = running.enter_context(tracing.Running(false_agent("schedule"), tmp_path))
        liar.wait_line("sent")
    assert "omplete: " in tracer.done.stdout
    assert losses(tmp_path, tracer.victim)["malformed"] == 1


def test_a_user_who_floods_the_ring_buffer_takes_no_call_and_no_line_of_others(false_agent, library, tmp_path):
    """As fast as a processor can.  Each launch of the victim is there with its lines, and the user is named."""
    with contextlib.ExitStack() as running, \
            traced_victim(tmp_path, library, "--buffer", "1M", agent="auto") as tracer:
        for _ in range(FLOODS):
            running.enter_context(tracing.Running(false_agent("flood"), tmp_path)).wait_line("sent")
    assert losses(tmp_path, tracer.victim)["batches_lost"] > 0
    assert any(f"processes of user {USER} sent more than their part of the ring buffer" in note for note in notes(tmp_path, tracer.victim))


SECTION = "<IIQQQQIIQQ"  # Elf64_Shdr
STRINGS, SYMBOLS = 3, 11  # SHT_STRTAB, SHT_DYNSYM


def make_library_with_symbols(path, count):
    """Writes a sparse file with `count` undefined symbols."""
    names, at, symbol = b"\0.dynsym\0.dynstr\0", 4096, 24
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 128, 0, 64, 56, 1, 64, 3, 2)
    text = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 4096, 4096, 4096)
    sections = (struct.pack(SECTION, *[0] * 10), struct.pack(SECTION, 1, SYMBOLS, 2, at, at, count * symbol, 2, 1, 8, symbol),
                struct.pack(SECTION, 9, STRINGS, 2, 1024, 1024, len(names), 0, 0, 1, 0))
    with open(path, "wb") as file:
        file.write((header + text).ljust(128, b"\0") + b"".join(sections))
        file.seek(1024)
        file.write(names)
        file.truncate(at + count * symbol)
    path.chmod(0o755)


def assert_bounded(times_ns):
    """A process has 64 mapping records in half a second at most (GPT_MAPPED_MOST), so 129 take longer than that."""
    assert all(after - before >= 500000000 for before, after in zip(times_ns, times_ns[128:]))


def test_files_with_large_tables_of_symbols_that_change_all_the_time_cost_little_and_are_named(crowds, library, public,
                                                                                              tmp_path):
    """A symbol table of 480 MB, mapped and unmapped by three processes."""
    large = public / "libcudart.so.98"
    make_library_with_symbols(large, 20 << 20)
    subprocess.run(["chown", f"{USER}", large], check=True)
    with contextlib.ExitStack() as running:
        with traced_victim(tmp_path, library) as tracer:
            pids = [running.enter_context(tracing.Running(crowds(0, large), tmp_path)) for _ in range(3)]
            for crowd in pids:
                crowd.wait_line("ready")
            tracer.wait_logged(logfile.has_note, f"{large} cannot be probed (its table of symbols is too large)")
            most_kb = tracing.memory_most_kb(tracer.pid)
    assert most_kb < 480 << 10
    assert " with CUDA calls that could not be probed\n" in tracer.done.stdout
    for crowd in pids:
        times = logfile.mapped_times(tmp_path / "trace.gpt", crowd.pid)
        assert times
        assert_bounded(times)


def test_a_library_on_a_file_system_of_the_user_s_is_named_and_counted(server, open_folder, tmp_path):
    """Like AppImage, Apptainer and sshfs: root may not open it, and a probe would wait for the user's server."""
    with served(server, open_folder, "libcudart.so.98", machine.cudart()) as library:
        program = as_user(open_folder / "python3.12", "honest", library, "1000000")
        with tracing.Running(program, tmp_path) as running:
            running.wait_line("ready")
            with tracing.Tracer(tmp_path, "--agent", "off", "--min-complete", "100", "-p", running.pid) as tracer:
                report = tracer.interrupt().must_be(3).stdout
    assert logfile.has_note(tmp_path / "trace.gpt", f"{library} cannot be probed (a process of a user serves it (FUSE)")
    assert "with CUDA calls that could not be probed\n" in report
