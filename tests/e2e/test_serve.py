# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`gputrace serve`: what Prometheus scrapes is what the program did; who may ask it, and that no client disturbs it."""

import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import machine
import pytest
import reading
import tracing

AS_USER = machine.PROGRAMS / "as_user.sh"
UNIT = machine.ROOT / "tools/package/gputrace.service"
STEPS = 40
SERVES = "/metrics; gputrace serve status, write and stop: "


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Serving(tracing.Running):
    """A gputrace serve with a socket in the folder, whose files are FOLDER/trace.*.gpt."""

    def __init__(self, folder, *arguments, by=(), program=machine.GPUTRACE, env=None, path="serve.sock"):
        limit = () if "--sums-limit" in arguments else ("--sums-limit", "100%")
        self.folder, self.port, self.socket = folder, free_port(), folder / path
        super().__init__([*by, program, "serve", "--port", self.port, "--socket", self.socket, "-o", folder / "trace.gpt", *limit, *arguments],
                         folder, env, stdin=None)
        self.said_begun = self.wait_line(SERVES, "stderr")

    def page(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=tracing.PATIENCE_S) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            return answer.read().decode()

    def value(self, series):
        """The value of a series; 0: there is none."""
        found = re.search("^" + re.escape(series) + r" (\S+)$", self.page(), re.M)
        return float(found.group(1)) if found else 0

    def ask(self, word, by=(), program=machine.GPUTRACE):
        return tracing.command(self.folder, *by, program, "serve", word, "--socket", self.socket)

    def wait_recorded(self, seconds):
        """Until so much more is in the sums."""
        before = self.value("gputrace_summed_seconds_total")
        tracing.until(lambda: self.value("gputrace_summed_seconds_total") >= before + seconds)


@contextlib.contextmanager
def target(folder, by=()):
    command = [*by, *tracing.on_simgpu(folder / "gpu.json", "/usr/bin/python3", machine.PROGRAMS / "obedient.py")]
    with tracing.Running(command, folder, env={"TMPDIR": folder}) as running:
        running.pid = int(running.wait_line("ready").split()[1])
        running.ask("steps 1")
        yield running


def work(target, folder):
    """Some steps; how many launches that were, by the program's own account."""
    tracing.until(lambda: tracing.agent_records(target.pid))
    target.ask("finish")
    target.ask("forget")
    target.ask(f"steps {STEPS}")
    target.ask("finish")
    target.ask(f"truth {folder}/truth.json")
    return sum(site["count"] for site in reading.program(folder / "truth.json")["sites"] if site["gpu_ns"])


def sum_of(page, name, *labels):
    return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
               if line.startswith(name + "{") and all(label in line for label in labels))


def busy_of(log):
    """Seconds in which GPU 0 was busy, by the report of a log."""
    report = json.loads(tracing.gputrace(log.parent, "report", log, "--format", "json", "--table", "gpus").must_be(0).stdout)
    (table,) = [table for table in report["tables"] if table["id"] == "gpus"]
    return sum(row["busy_ns"] for row in table["rows"]) / 1e9


class Prometheus(tracing.Running):
    """Debian's, which scrapes each second."""

    def __init__(self, folder, port):
        self.port = free_port()
        (folder / "prometheus.yml").write_text(
            f"global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: gputrace, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n")
        super().__init__(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                          f"--web.listen-address=127.0.0.1:{self.port}"], folder, stdin=None)

    def asks(self, query):
        """[(labels, value)]; []: it has not started, or not scraped yet."""
        address = f"http://127.0.0.1:{self.port}/api/v1/query?query={urllib.request.quote(query)}"
        try:
            with urllib.request.urlopen(address, timeout=tracing.PATIENCE_S) as answer:
                found = json.load(answer)["data"]["result"]
        except (urllib.error.URLError, ConnectionError):
            return []
        return [(each["metric"], float(each["value"][1])) for each in found]

    def wait(self, query, value):
        tracing.until(lambda: any(found == value for _, found in self.asks(query)))


@pytest.mark.parametrize("way", ("bpf", "agent"))
def test_prometheus_scrapes_what_the_program_did(tmp_path, way):
    with target(tmp_path) as program, Serving(tmp_path, "--way", way, "-p", program.pid, "--interval", "2s", "--flight-recorder", "300s") as serving:
        launches = work(program, tmp_path)
        tracing.until(lambda: serving.value('gputrace_gpu_launches_total{gpu="0"}') >= launches)
        with Prometheus(tmp_path, serving.port) as prometheus:
            prometheus.wait('gputrace_gpu_launches_total{gpu="0"}', launches)
            assert [value for _, value in prometheus.asks('up{job="gputrace"}')] == [1]
            ((_, busy),) = prometheus.asks("gputrace_gpu_busy_seconds_total")
            assert prometheus.asks("sum(gputrace_gpu_idle_seconds_total) > 0")
            assert bool(prometheus.asks("gputrace_cost_seconds_total > 0")) == (way == "bpf")
            assert prometheus.asks("gputrace_calls_total")[0][1] >= launches
            assert prometheus.asks("sum(gputrace_lost_total)")[0][1] == 0
            for example in re.findall(r"^    (sum.*|gputrace_step.*)$", (machine.ROOT / "docs/serve.md").read_text(), re.M):
                address = f"http://127.0.0.1:{prometheus.port}/api/v1/query?query={urllib.request.quote(example)}"
                assert json.load(urllib.request.urlopen(address))["status"] == "success"
        page = serving.page()
        checked = subprocess.run(["promtool", "check", "metrics"], input=page, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        assert (checked.returncode, checked.stdout) == (0, "")
        written = serving.ask("write").must_be(0).stdout.strip()
        serving.ask("stop").must_be(0)
        serving.end().must_be(0)
    assert busy > 0 and abs(busy_of(pathlib.Path(written)) - busy) < 1e-9
    assert not any(sum_of(page, "gputrace_unsummed_seconds_total", reason) for reason in ("busy", "failed", "dropped"))
    summed = float(re.search(r"^gputrace_summed_seconds_total (\S+)$", page, re.M).group(1))
    windows = (summed + sum_of(page, "gputrace_unsummed_seconds_total", "untimed")) / 2
    assert abs(windows - round(windows)) < 0.001, page


def test_busy_and_idle_of_a_gpu_are_all_of_the_time_since_it_was_seen(tmp_path):
    with target(tmp_path) as program, Serving(tmp_path, "-p", program.pid, "--interval", "2s") as serving:
        work(program, tmp_path)
        tracing.until(lambda: serving.value('gputrace_gpu_busy_seconds_total{gpu="0"}'))
        first = serving.page()
        serving.wait_recorded(2)
        second = serving.page()
        serving.ask("stop").must_be(0)
    def value(page, series):
        return float(re.search("^" + re.escape(series) + r" (\S+)$", page, re.M).group(1))
    def both(page):
        return sum_of(page, "gputrace_gpu_busy_seconds_total") + sum_of(page, "gputrace_gpu_idle_seconds_total")
    summed = [value(page, "gputrace_summed_seconds_total") for page in (first, second)]
    assert abs((both(second) - both(first)) - (summed[1] - summed[0])) < 1e-6
    assert sum_of(second, "gputrace_gpu_idle_seconds_total", 'cause="no_work"') > sum_of(first, "gputrace_gpu_idle_seconds_total", 'cause="no_work"')


def test_intervals_beyond_the_limit_of_sums_are_left_out_and_counted(tmp_path):
    left_out = 'gputrace_unsummed_seconds_total{reason="cost"}'
    with target(tmp_path) as program, Serving(tmp_path, "-p", program.pid, "--interval", "2s", "--sums-limit", "0.001%") as serving:
        tracing.until(lambda: serving.value(left_out) >= 4 and serving.value("gputrace_summed_seconds_total") > 0)
        page = serving.page()
        recorded = serving.value("gputrace_recorded_seconds_total")
        accounted = serving.value("gputrace_summed_seconds_total") + sum_of(serving.page(), "gputrace_unsummed_seconds_total")
        assert 0 <= recorded - accounted < 20, page
        serving.ask("stop").must_be(0)
        serving.end().must_be(0)


def test_status_write_and_stop_are_answered(tmp_path):
    with target(tmp_path) as program, Serving(tmp_path, "-p", program.pid, "--interval", "2s") as serving:
        launches = work(program, tmp_path)
        tracing.until(lambda: serving.value('gputrace_gpu_launches_total{gpu="0"}'))
        (server,) = [pid for pid in tracing.marked(serving.mark) if "gputrace-serve" in tracing.threads(pid)]
        rights = dict(line.split(":\t") for line in pathlib.Path(f"/proc/{server}/status").read_text().splitlines())
        assert all(int(rights[name], 16) == 0 for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")) and rights["NoNewPrivs"] == "1"
        assert rights["Seccomp"] == "2"
        # of the recording it has nothing open but its end of the link
        opened = [os.readlink(path) for path in pathlib.Path(f"/proc/{server}/fd").iterdir() if int(path.name) > 2]
        assert not [name for name in opened if "trace.gpt" in name or "signalfd" in name or "bpf" in name]
        status = serving.ask("status").must_be(0).stdout
        assert re.search(r"recording for .*: [\d,]+ CUDA calls, 0 lost", status) and f"{launches:,} launches so far" in status
        path = pathlib.Path(serving.ask("write").must_be(0).stdout.strip())
        assert path.parent == tmp_path and path.name.startswith("trace.2") and path.suffix == ".gpt"
        tracing.until(lambda: serving.value('gputrace_files_written_total{by="user"}') == 1)
        assert serving.ask("stop").must_be(0).stdout == "ended\n"
        serving.end().must_be(0)
        assert not serving.socket.exists()
        assert "no gputrace serves there" in serving.ask("status").must_be(1).stderr
    tracing.gputrace(tmp_path, "report", path).must_be(0)
    assert not (tmp_path / "trace.gpt").exists()


def test_the_end_writes_nothing(tmp_path):
    """Also where nothing could be written."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", disk], check=True)
    try:
        with target(tmp_path) as program, Serving(disk, "-p", program.pid, path="../serve.sock") as serving:
            work(program, tmp_path)
            serving.ask("stop").must_be(0)
            serving.end().must_be(0)
        assert not list(disk.glob("*.gpt*"))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_another_user_is_refused_and_root_is_answered(desk):
    """Also if the socket's mode lets him in."""
    (desk / "open").mkdir(mode=0o755)
    with target(desk) as program, Serving(desk, "-p", program.pid, path="open/serve.sock") as serving:
        assert "Permission denied" in serving.ask("status", by=tracing.AS_NOBODY, program=desk / "gputrace").must_be(1).stderr
        serving.socket.chmod(0o777)
        assert "it answers its own user and root" in serving.ask("stop", by=tracing.AS_NOBODY, program=desk / "gputrace").must_be(1).stderr
        serving.ask("status").must_be(0)
        serving.ask("stop").must_be(0)


def test_a_process_of_another_user_is_asked_by_root_alone_and_its_answer_is_made_safe(desk):
    answers = "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(sys.argv[1]); s.listen(); print('ready', flush=True)\n" \
              "while True: one = s.accept()[0]; one.send(b'good\\n\\x1b[2Jhello\\n') if one.recv(99) else None; one.close()"
    path = desk / "false.sock"
    with tracing.Running([*tracing.AS_NOBODY, "/usr/bin/python3", "-c", answers, path], desk) as false:
        false.wait_line("ready")
        path.chmod(0o777)
        as_user = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups")
        done = tracing.command(desk, *as_user, desk / "gputrace", "serve", "status", "--socket", path).must_be(1)
        assert "a process of another user answers there: it is not asked" in done.stderr
        assert tracing.gputrace(desk, "serve", "status", "--socket", path).must_be(0).stdout == "\ufffd[2Jhello\n"


def test_clients_that_send_garbage_or_nothing_disturb_nothing(tmp_path):
    garbage = random.Random(7)
    with target(tmp_path) as program, Serving(tmp_path, "-p", program.pid, "--interval", "2s") as serving, contextlib.ExitStack() as stack:
        for size in (0, 1, 100, 8192, 100000):
            with socket.create_connection(("127.0.0.1", serving.port)) as one, contextlib.suppress(ConnectionError):
                one.sendall(garbage.randbytes(size))
        with socket.create_connection(("127.0.0.1", serving.port)) as one:
            one.sendall(b"POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b" 405 " in one.recv(4096)
        with socket.create_connection(("127.0.0.1", serving.port)) as one:
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: rebound.example\r\n\r\n")
            assert b" 403 " in one.recv(4096)
        for _ in range(60):  # more than are served at a time, and none of them asks
            stack.enter_context(socket.create_connection(("127.0.0.1", serving.port)))
        answers = []
        for word in (b"", b"stop\n", b"\xff" * 9999, b"status" * 9):
            one = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            one.connect(str(serving.socket))
            one.send(word)
            answers += [one.recv(9999)] if word else []
        assert all(b"failed\nno such request" in answer for answer in answers)
        silent = []
        with contextlib.suppress(BlockingIOError):
            for _ in range(12):
                one = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                one.setblocking(False)
                one.connect(str(serving.socket))
                silent.append(one)
        launches = work(program, tmp_path)
        tracing.until(lambda: serving.value('gputrace_gpu_launches_total{gpu="0"}') == launches)
        tracing.until(lambda: all(map(has_answer, silent)))
        assert {one.recv(9999).split(b"\n")[1] for one in silent} == {b"too many ask at once: try again", b"it took too long"}
        serving.ask("stop").must_be(0)
        serving.end().must_be(0)


def has_answer(one):
    try:
        return one.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return False


def test_a_port_or_a_socket_in_use_is_named_and_a_socket_left_behind_is_replaced(tmp_path):
    with target(tmp_path) as program:
        with Serving(tmp_path, "-p", program.pid) as serving:
            words = ("serve", "-p", program.pid, "--socket", tmp_path / "other.sock")
            done = tracing.gputrace(tmp_path, *words, "--port", serving.port).must_be(1)
            assert f"serve: 127.0.0.1:{serving.port}: Address already in use: name another port with --port" in done.stderr
            done = tracing.gputrace(tmp_path, "serve", "-p", program.pid, "--port", free_port(), "--socket", serving.socket).must_be(1)
            assert "a gputrace serves there: gputrace serve stop ends it" in done.stderr
            done = tracing.gputrace(tmp_path, *words, "--port", free_port(), "--profiles", tmp_path / "none").must_be(1)
            assert f"--profiles {tmp_path}/none: cannot be written: " in done.stderr
            serving.ask("status").must_be(0)
            serving.kill_all()
            serving.process.wait()
        assert serving.socket.exists()
        with Serving(tmp_path, "-p", program.pid) as serving:
            assert any("was left by a gputrace that has ended; replaced" in line for line in serving.said)
            serving.ask("stop").must_be(0)
        file = tmp_path / "file.sock"
        file.write_text("kept")
        done = tracing.gputrace(tmp_path, "serve", "-p", program.pid, "--port", free_port(), "--socket", file).must_be(1)
        assert "is there and is no socket" in done.stderr and file.read_text() == "kept"


def test_a_trigger_writes_a_file_that_is_counted(tmp_path):
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "numbers_fills.py", tmp_path / "said")
    with tracing.Running(command, tmp_path) as program:
        program.wait_line("ready")
        with Serving(tmp_path, "-p", program.pid, "--interval", "2s", "--trigger", "idle>600ms") as serving:
            serving.wait_recorded(2)
            before = serving.value('gputrace_files_written_total{by="event"}')
            program.process.stdin.write("idle\n")
            program.process.stdin.flush()
            tracing.until(lambda: serving.value('gputrace_files_written_total{by="event"}') > before)
            assert serving.value('gputrace_files_written_total{by="user"}') == 0
            assert re.search(r" left GPU 0 without work for [\d.]+ s", serving.wait_line(": written, the last", "stderr"))
            serving.ask("stop").must_be(0)
    assert list(tmp_path.glob("trace.2*.gpt"))


@pytest.mark.torch
def test_steps_of_training_are_a_summary(tmp_path):
    code = """if True:
        import sys, time, torch
        layer = torch.nn.Linear(8, 8, device="cuda")
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        def step(pause):
            layer(torch.ones(8, 8, device="cuda")).sum().backward()
            time.sleep(pause)
            optimizer.step()
        step(0)
        print("ready", flush=True)
        sys.stdin.readline()
        begun = time.monotonic()
        for _ in range(41): step(0.2)
        step(2)
        print("took", time.monotonic() - begun, flush=True)
        sys.stdin.readline()"""
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.tool("get-torch"), "-c", code)
    with tracing.Running(command, tmp_path) as program:
        program.wait_line("ready")
        with Serving(tmp_path, "-p", program.pid, "--interval", "2s", "--ops") as serving:
            tracing.until(lambda: tracing.agent_records(program.pid))
            program.process.stdin.write("go on\n")
            program.process.stdin.flush()
            took = float(program.wait_line("took").split()[1])
            # where the first one began is not known
            tracing.until(lambda: serving.value("gputrace_step_duration_seconds_count") == 41)
            page = serving.page()
            serving.ask("stop").must_be(0)
    def value(series):
        return float(re.search("^" + re.escape(series) + r" (\S+)$", page, re.M).group(1))
    assert 10 < value("gputrace_step_duration_seconds_sum") < took
    assert 0.2 <= value('gputrace_step_duration_seconds{quantile="0.5"}') < 2 <= value('gputrace_step_duration_seconds{quantile="0.99"}')


def test_the_end_of_the_process_that_answers_ends_the_recording(tmp_path):
    with target(tmp_path) as program, Serving(tmp_path, "-p", program.pid) as serving:
        (server,) = [pid for pid in tracing.marked(serving.mark) if "gputrace-serve" in tracing.threads(pid)]
        os.kill(server, signal.SIGKILL)
        done = serving.end().must_be(1)
        assert "serve: the process that answers has ended, and so does the recording: start it again" in done.stderr


def test_a_profile_of_each_minute_is_kept_and_older_ones_go(tmp_path):
    folder = tmp_path / "profiles"
    folder.mkdir()
    names = [f"gputrace-2026010{day}T000000Z.pb.gz" for day in (1, 2, 3)]
    for name in (*names, "mine.pb.gz"):
        (folder / name).write_bytes(b"")
    with target(tmp_path) as program, Serving(tmp_path, "-p", program.pid, "--interval", "2s", "--profiles", f"{folder},keep=2") as serving:
        work(program, tmp_path)
        tracing.until(lambda: serving.value("gputrace_profiles_written_total") == 1)
        (profile,) = [path for path in folder.iterdir() if path.stat().st_size]
        assert sorted(path.name for path in folder.iterdir()) == [names[2], profile.name, "mine.pb.gz"]
        assert re.fullmatch(r"gputrace-\d{8}T\d{6}Z\.pb\.gz", profile.name)
        assert b"obedient.py" in subprocess.run(["zcat", profile], stdout=subprocess.PIPE, check=True).stdout
        assert serving.value("gputrace_profiles_failed_total") == 0
        serving.ask("stop").must_be(0)


def test_without_root_a_user_serves_his_own_programs(desk):
    with target(desk, by=(AS_USER,)) as program:
        runtime = desk / "runtime"
        runtime.mkdir()
        os.chown(runtime, 1000, 1000)
        runtime.chmod(0o700)
        env = {"XDG_RUNTIME_DIR": runtime}
        with Serving(desk, "-p", program.pid, "--interval", "2s", by=(AS_USER,), program=desk / "gputrace", env=env, path="runtime/gputrace/serve.sock") as serving:
            launches = work(program, desk)
            tracing.until(lambda: serving.value('gputrace_gpu_launches_total{gpu="0"}') == launches)
            assert (runtime / "gputrace").stat().st_mode & 0o777 == 0o700
            # found without --socket by that user, and asked by root
            tracing.command(desk, AS_USER, desk / "gputrace", "serve", "status", env=env).must_be(0)
            assert "neither XDG_RUNTIME_DIR nor" in tracing.command(desk, AS_USER, desk / "gputrace", "serve", "status", env={"XDG_RUNTIME_DIR": "/root"}).must_be(1).stderr
            serving.ask("status").must_be(0)
            tracing.command(desk, AS_USER, desk / "gputrace", "serve", "stop", env=env).must_be(0)
            serving.end().must_be(0)
        none = {"XDG_RUNTIME_DIR": ""}
        for words in (("serve", "status"), ("serve", "--way", "agent", "-p", program.pid, "--port", free_port())):
            done = tracing.command(desk, AS_USER, desk / "gputrace", *words, env=none).must_be(1)
            assert "neither XDG_RUNTIME_DIR nor /run/user/1000 is a folder of yours" in done.stderr


def unit_words(name):
    return re.search(rf"^{name}=(.*)$", UNIT.read_text(), re.M).group(1).split()


def test_the_unit_is_one_for_systemd(tmp_path):
    unit = tmp_path / "gputrace.service"
    unit.write_text(UNIT.read_text().replace("@BIN@", str(machine.BUILD)))
    done = tracing.command(tmp_path, "systemd-analyze", "verify", "--man=no", unit)
    assert (done.code, done.stderr) == (0, "")


def test_with_the_rights_of_the_unit_a_running_program_is_seen_whole(tmp_path):
    """Its capabilities, no new privileges, and a file system of which it may write the state folder alone."""
    capabilities = ",".join("+" + word[4:].lower() for word in unit_words("CapabilityBoundingSet"))
    confined = ("unshare", "-m", "sh", "-c", 'mount -o remount,bind,ro / && mount --bind "$PWD" "$PWD" && mount -o remount,bind,rw "$PWD" && cd "$PWD" && exec "$@"', "sh",
                "setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set=-all,{capabilities}")
    with target(tmp_path) as program, Serving(tmp_path, "-p", program.pid, "--interval", "2s", by=confined) as serving:
        launches = work(program, tmp_path)
        tracing.until(lambda: serving.value('gputrace_gpu_launches_total{gpu="0"}') == launches)
        pathlib.Path(serving.ask("write").must_be(0).stdout.strip()).stat()
        serving.ask("stop").must_be(0)
        serving.end().must_be(0)
