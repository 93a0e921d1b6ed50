# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Asks Perfetto's trace_processor about a trace, by SQL."""

import subprocess
import tempfile

from fetching import fetched


NULL = '"[NULL]"'


def value_of(cell):
    """A value in a line of trace_processor's output; text must be selected as hex(...), as it is not escaped."""
    if cell.startswith('"') and cell != NULL:
        return bytes.fromhex(cell.strip('"')).decode("utf-8", "strict")
    return None if cell == NULL else float(cell) if "." in cell else int(cell)


def rows(trace, sql):
    """The rows of one SELECT on the trace: [(value, ...)]"""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as query:
        query.write(sql)
        query.flush()
        done = subprocess.run([fetched("get-trace-processor", "installed"), "-q", query.name, trace], stdin=subprocess.DEVNULL, capture_output=True,
                              encoding="utf-8", errors="strict")
    assert done.returncode == 0, done.stderr
    return [tuple(map(value_of, line.split(","))) for line in done.stdout.splitlines()[1:] if line]


def errors(trace):
    """[(statistic, count)] of errors and lost data."""
    return rows(trace, "SELECT hex(name), value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0")


# Where a slice is: the names of its row and of the rows above it.
PLACES = """
    WITH RECURSIVE above(track, up, names) AS (
        SELECT id, parent_id, coalesce(name, '') FROM track
        UNION ALL SELECT above.track, t.parent_id, coalesce(t.name, '') || ' / ' || above.names
        FROM above JOIN track t ON t.id = above.up)
    SELECT track, names FROM above WHERE up IS NULL"""


def slices(trace, columns, where="true"):
    """Columns of: s (slice), p (names of its rows), t (thread), o (process)."""
    return rows(trace, f"""
        SELECT {columns} FROM slice s LEFT JOIN ({PLACES}) p ON p.track = s.track_id
        LEFT JOIN thread_track tt ON tt.id = s.track_id LEFT JOIN thread t USING (utid)
        LEFT JOIN process_track pt ON pt.id = s.track_id
        LEFT JOIN process o ON o.upid = coalesce(t.upid, pt.upid)
        WHERE {where} ORDER BY s.ts, s.id""")


def arg(key, of="s.arg_set_id"):
    """SQL: an integer argument of a slice."""
    return f"(SELECT int_value FROM args a WHERE a.arg_set_id = {of} AND a.key IN ('debug.{key}', 'args.{key}'))"


def start(trace):
    return rows(trace, "SELECT start_ts FROM trace_bounds")[0][0]
