# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The situations of docs/gallery.md: `tools/demo NAME` prints the verdict that the page shows, on the line that is to
blame, with a time that the program itself has measured (tests/workloads/gallery.py)."""

import json
import re
import xml.etree.ElementTree

import machine
import pytest
import tracing

pytestmark = pytest.mark.alone  # CPU time that other tests take would be a cause, too

DEMO = machine.ROOT / "tools/demo"
PAGE = machine.ROOT / "docs/gallery.md"
# situation -> cause_id of the loss, or None: what idle time the line has by any cause, as it may have had no CPU
LOSSES = {"dataloader": None, "item": "sync", "small": "launch", "detokenizer": None}


def sections():
    """{situation: lines that the page shows of its output}"""
    found = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        name = re.search(r"^    tools/demo (\w+)$", section, re.M).group(1)
        found[name] = [line for line in section.split("```")[1].splitlines() if line and line != "..."]
    return found


def without_figures(text):
    """The text without what differs from run to run: numbers but those of lines, units, the host, widths of columns."""
    text = re.sub(r"\d[\d.,]* (?:[num]s|s|[KM]?B)\b", "T", text.replace(f"{machine.ROOT}/", ""))
    text = re.sub(r"nccl:[0-9a-f]+", "nccl:N", text)
    text = re.sub(r"(?<![:\w.,])\d[\d.,]*", "N", text)
    return [" ".join(line.split()) for line in re.sub(r"\S+(?= +python3 )", "HOST", text).splitlines()]


class Shown:
    def __init__(self, folder, name):
        self.folder, self.log = folder, folder / f"{name}.gpt"
        # with priority over other programs: the simulated GPU consists of threads, and idles while they have no CPU
        done = tracing.command(folder, "nice", "-n", "-15", DEMO, name, f"{folder}/", env={"DEMO_BUILT": 1}).must_be(0)
        self.text, self.truth = done.stdout, json.loads((folder / f"{name}.json").read_text())

    def tables(self, command):
        text = tracing.gputrace(self.folder, command, self.log, "--format", "json").must_be(0).stdout
        return {table["id"]: table["rows"] for table in json.loads(text)["tables"]}


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    made = {}

    def show(name):
        if name not in made:
            made[name] = Shown(tmp_path_factory.mktemp(name), name)
        return made[name]
    return show


def test_the_page_and_the_demo_have_the_same_situations():
    names = tracing.command(machine.ROOT, DEMO, "--list").must_be(0).stdout.split()
    assert names == list(sections())


@pytest.mark.parametrize("name", sections())
def test_what_the_page_shows_is_printed(shown, name):
    """A line that ends in "..." is the start of one that is printed."""
    printed = without_figures(shown(name).text)
    missing = [line for line in without_figures("\n".join(sections()[name]))
               if not any(one.startswith(line[:-4]) if line.endswith(" ...") else one == line for one in printed)]
    assert not missing, (missing, shown(name).text)


@pytest.mark.parametrize("name", LOSSES)
def test_the_line_has_the_time_that_the_program_lost_by_it(shown, name):
    truth = shown(name).truth
    if LOSSES[name]:
        rows = [row for row in shown(name).tables("why")["why_losses"] if row["cause_id"] == LOSSES[name]]
        assert [row["line_number"] for row in rows] == [truth["line"]] and rows[0]["cause"] in shown(name).text
        lost_ms = rows[0]["ns"] / 1e6
    else:
        rows = [row for row in shown(name).tables("report")["idle"] if row["line_number"] == truth["line"]]
        assert all(row["process"].endswith(f" {truth['pid']}") for row in rows), rows
        lost_ms = sum(row["idle_ns"] for row in rows) / 1e6
    assert 0.85 * truth["ms"] <= lost_ms <= 1.05 * truth["most_ms"], (truth, rows)


def test_the_late_rank_is_named_with_how_much_in_all(shown):
    truth, late = shown("rank").truth, shown("rank").tables("merge")["merge_ranks"]
    assert [row["rank"] for row in late if row["late"]] == [1] and late[1]["pid"] == truth["pid"]
    assert truth["ms"] * 0.99 <= late[1]["late_ns"] / 1e6 <= truth["most_ms"] * 1.01, (truth, late)


def test_memory_that_is_kept_is_on_its_line(shown):
    truth = shown("memory").truth
    (row,) = [row for row in shown("memory").tables("report")["memory"] if row["line_number"] == truth["line"]]
    assert row["not_freed_bytes"] == truth["bytes"]


def test_the_two_locks_of_a_hang_are_a_cycle(shown):
    truth, text = shown("hang").truth, shown("hang").text
    cycle = text.partition("who waits for whom\n  a cycle")[2]
    holds = re.findall(rf"of process {truth['pid']} waits for a threading.Lock, which thread \d+ holds in \S+ \(\S+gallery.py:(\d+)\)", cycle)
    assert sorted(map(int, holds)) == [truth["line"], truth["other_line"]], text


def test_an_unknown_situation_is_refused_with_those_there_are(tmp_path):
    done = tracing.command(tmp_path, DEMO, "nosuch").must_be(2)
    assert "there is no situation nosuch: dataloader item" in done.stderr and "./nosuch" in done.stderr and not list(tmp_path.iterdir())


def pictured(path):
    """The texts of a picture, which is well-formed."""
    assert path.stat().st_size <= 300 << 10
    return [element.text for element in xml.etree.ElementTree.parse(path).iter() if element.text]


def test_the_readmes_picture_names_the_line_and_says_that_the_gpu_is_simulated(shown, tmp_path):
    run, picture = shown("dataloader"), tmp_path / "picture.svg"
    outputs = tracing.outputs(tmp_path, "trace.json", "idle.folded")
    tracing.gputrace(tmp_path, "export", "--metric", "idle", *outputs, run.log).must_be(0)
    tracing.command(tmp_path, machine.ROOT / "tools/picture", *outputs[1::2], picture).must_be(0)
    place = f"gallery.py:{run.truth['line']}"
    idle_ms = sum(row["idle_ns"] for row in run.tables("report")["idle"] if row["cause_id"]) / 1e6
    for texts in pictured(picture), pictured(machine.ROOT / "docs/picture.svg"):
        assert any("simulated GPU" in text for text in texts)
        assert any(text.startswith(f"{place} Images.__getitem__ ") for text in texts), texts  # on the worker's row
        assert any(text.startswith(f"Images.__getitem__ ({place}): ") for text in texts), texts  # in the flame graph
    assert any(f"All idle time of the GPU, {idle_ms:.0f} ms" in text for text in pictured(picture))
