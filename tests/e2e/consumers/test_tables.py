# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sample log's tables: json follows its schema, and csv, md and the page have json's figures."""

import csv
import json
import re
import sys
import unicodedata

import pytest
from fetching import ROOT, fetched

TYPES = {"string": str, "integer": int, "number": (int, float)}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


@pytest.fixture(scope="session")
def jsonschema():
    sys.path.insert(0, fetched("get-pypi", sys.executable, "jsonschema==4.26.0"))
    try:
        import jsonschema as package
    finally:
        sys.path.pop(0)
    return package


def not_a_number(constant):
    raise ValueError(constant)


def loaded(path):
    document = json.loads(path.read_bytes().decode("utf-8", "strict"), parse_constant=not_a_number)
    return document, {table["id"]: table for table in document["tables"]}


def assert_follows_the_schema(jsonschema, path):
    document, _ = loaded(path)
    schema = json.loads((ROOT / "docs/tables.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    for table in document["tables"]:
        names = [column["name"] for column in table["columns"]]
        assert len(set(names)) == len(names), table["id"]
        for row in table["rows"]:
            assert list(row) == names
            for column in table["columns"]:
                value = row[column["name"]]
                assert value is None or isinstance(value, TYPES[column["type"]]), (table["id"], column, value)


def csv_tables(path):
    """[(id, [names], [[cells]])]; an empty line separates two tables."""
    tables = []
    with open(path, newline="", encoding="utf-8", errors="strict") as file:
        records = list(csv.reader(file, strict=True))
    begins = True
    for record in records:
        if not record:
            begins = True
        elif begins:
            tables.append((record[0], []))
            begins = False
        else:
            tables[-1][1].append(record)
    return [(name, records[0] if records else [], records[1:]) for name, records in tables]


def as_csv(value):
    return "" if value is None else value if isinstance(value, str) else float(value)


def from_csv(text, value):
    return text if value is None or isinstance(value, str) else float(text)


def assert_csv_says_what_json_says(csv_path, json_path):
    document, _ = loaded(json_path)
    *tables, notes = csv_tables(csv_path)
    assert len(tables) == len(document["tables"])
    for table, (name, names, rows) in zip(document["tables"], tables):
        assert (name, names) == (table["id"], [column["name"] for column in table["columns"]])
        assert len(rows) == len(table["rows"])
        for row, cells in zip(table["rows"], rows):
            assert [from_csv(cell, value) for cell, value in zip(cells, row.values())] == [as_csv(value) for value in row.values()]
    assert notes[0] == "notes"
    assert notes[2] == [[table["id"], note] for table in document["tables"] for note in table["notes"]]


def md_rows(path):
    """Cells of every line of a table, split as on GitHub."""
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.startswith("|")]
    return [re.findall(r"((?:\\.|[^|\\])*)\|", line[1:]) for line in lines]


def section(report, title):
    """The rows under a title of the page, and their column names."""
    lines = report.split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith(title))
    rows = []
    for line in lines[at + 2:]:
        if not line.startswith("  ") or line.startswith("  ..."):
            break
        rows.append(line.split())
    return lines[at + 1].split(), rows


def test_json_follows_the_schema(sample, jsonschema):
    assert_follows_the_schema(jsonschema, sample / "tables.json")
    assert_follows_the_schema(jsonschema, sample / "activities.json")


def test_json_of_odd_logs_follows_the_schema(odd, jsonschema):
    folder, _ = odd
    assert_follows_the_schema(jsonschema, folder / "tables.json")
    assert_follows_the_schema(jsonschema, folder / "activities.json")


def test_csv_says_what_json_says(sample):
    assert_csv_says_what_json_says(sample / "tables.csv", sample / "tables.json")
    assert_csv_says_what_json_says(sample / "activities.csv", sample / "activities.json")


def test_csv_of_odd_logs_says_what_json_says(odd):
    folder, _ = odd
    assert_csv_says_what_json_says(folder / "tables.csv", folder / "tables.json")
    assert_csv_says_what_json_says(folder / "activities.csv", folder / "activities.json")


def test_the_page_has_the_figures_of_json(sample):
    _, tables = loaded(sample / "tables.json")
    (unit, *_), rows = section((sample / "report.txt").read_text(), "GPU time by kernel")
    assert len(rows) == min(10, len(tables["kernels"]["rows"]))
    for cells, row in zip(rows, tables["kernels"]["rows"]):
        assert float(cells[0].replace(",", "")) == pytest.approx(row["gpu_ns"] / UNITS[unit], abs=0.051)
        assert float(cells[1]) == pytest.approx(row["percent"], abs=0.051)
        assert int(cells[2].replace(",", "")) == row["calls"]
        assert float(cells[3].replace(",", "")) == pytest.approx(row["avg_ns"] / 1e3, abs=0.051)


def test_md_has_the_first_rows_of_the_page(sample):
    _, rows = section((sample / "report.txt").read_text(), "GPU time by kernel")
    pasted = [[cell.strip().strip("`") for cell in cells] for cells in md_rows(sample / "tables.md")]
    for cells in rows[:5]:
        assert any(found[:4] == cells[:4] for found in pasted), cells


def test_md_has_as_many_cells_in_each_row_of_a_table(odd):
    folder, _ = odd
    for name in "tables.md", "activities.md":
        text = (folder / name).read_text(encoding="utf-8")
        assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"]
        for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
            assert len({len(re.findall(r"(?:\\.|[^|\\])*\|", line)) for line in table.split("\n")[:-1]}) == 1, table


def test_the_list_of_gpu_activities_is_in_order_and_adds_up_to_the_sums(sample):
    _, lists = loaded(sample / "activities.json")
    rows = lists["gpu_trace"]["rows"]
    assert rows and [row["start_ns"] for row in rows] == sorted(row["start_ns"] for row in rows)
    for total in lists["gpu_sum"]["rows"]:
        times = [row["duration_ns"] for row in rows if row["name"] == total["name"]]
        assert (len(times), sum(times), min(times), max(times)) == (total["calls"], total["ns"], total["min_ns"], total["max_ns"])
    assert sum(total["calls"] for total in lists["gpu_sum"]["rows"]) == len(rows)


def test_the_sums_are_those_of_the_report(sample):
    _, lists = loaded(sample / "activities.json")
    _, tables = loaded(sample / "tables.json")
    sums = {row["name"]: (row["ns"], row["calls"]) for row in lists["gpu_sum"]["rows"]}
    for kernel in tables["kernels"]["rows"]:
        assert sums[kernel["kernel"]] == (kernel["gpu_ns"], kernel["calls"])
    calls = {row["name"]: (row["ns"], row["calls"]) for row in lists["api_sum"]["rows"]}
    assert calls == {row["call"]: (row["ns"], row["calls"]) for row in tables["calls"]["rows"]}
    assert lists["receipt"] == tables["receipt"]
