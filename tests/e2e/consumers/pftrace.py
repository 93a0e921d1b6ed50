# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads .pftrace by Perfetto's own protobuf classes (PyPI's `perfetto`), like trace_processor: packets in order of
time, those of equal time in the order of the file; an end closes the slice that was opened last on its track.

pftrace.py FILE prints the contents as JSON: the package is installed for one interpreter only.
"""

import collections
import json
import sys

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
MONOTONIC, REALTIME = 3, 1


class Interned:
    """Interned data of one sequence of packets."""

    def __init__(self):
        self.tables = collections.defaultdict(dict)

    def add(self, data):
        for kind in ("event_categories", "event_names", "debug_annotation_names"):
            for entry in getattr(data, kind):
                self._put(kind, entry.iid, entry.name)
        for kind in ("function_names", "source_paths", "debug_annotation_string_values"):
            for entry in getattr(data, kind):
                self._put(kind, entry.iid, entry.str.decode("utf-8", "strict"))
        for entry in data.mappings:
            self._put("mappings", entry.iid, entry)
        for entry in data.frames:
            assert entry.mapping_id in self.tables["mappings"]
            self._put("frames", entry.iid, (self.tables["function_names"][entry.function_name_id],
                                            self.tables["source_paths"][entry.source_path_iid], entry.line_number))
        for entry in data.callstacks:
            self._put("callstacks", entry.iid, [self.tables["frames"][frame] for frame in entry.frame_ids])

    def _put(self, kind, iid, value):
        assert iid and iid not in self.tables[kind], f"{kind} {iid} is there twice"
        self.tables[kind][iid] = value


def value_of(annotation, texts):
    if annotation.array_values:
        return [value_of(value, texts) for value in annotation.array_values]
    value = getattr(annotation, annotation.WhichOneof("value"))
    return texts[value] if annotation.HasField("string_value_iid") else value


def read(path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    trace = perfetto_trace_pb2.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    sequences, tracks, events, clocks = {}, {}, [], {}
    for packet in trace.packet:
        if packet.trusted_packet_sequence_id not in sequences:
            assert packet.trusted_packet_sequence_id == len(sequences) + 1  # one for each trace in the file
            assert packet.sequence_flags == 1 and packet.trace_packet_defaults.timestamp_clock_id == MONOTONIC
            sequences[packet.trusted_packet_sequence_id] = Interned()
        assert not packet.DiscardUnknownFields()
        interned = sequences[packet.trusted_packet_sequence_id]
        interned.add(packet.interned_data)
        if packet.HasField("clock_snapshot"):
            assert not clocks
            assert packet.clock_snapshot.primary_trace_clock == MONOTONIC
            clocks = {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            known = tracks.setdefault(track.uuid, (packet.trusted_packet_sequence_id, track))
            assert known[0] == packet.trusted_packet_sequence_id, "a track is of two traces"
            tracks[track.uuid] = known[0], track
        if packet.HasField("track_event"):
            event, tables = packet.track_event, interned.tables
            assert packet.sequence_flags == 2 or event.type == END
            events.append((packet.timestamp, event, {
                "name": tables["event_names"][event.name_iid] if event.name_iid else None,
                "cat": [tables["event_categories"][iid] for iid in event.category_iids],
                "stack": tables["callstacks"][event.callstack_iid] if event.callstack_iid else None,
                "args": {tables["debug_annotation_names"][a.name_iid]: value_of(a, tables["debug_annotation_string_values"])
                         for a in event.debug_annotations}}))
    return summary({uuid: track for uuid, (_, track) in tracks.items()}, sorted(events, key=lambda event: event[0]), clocks)


def summary(tracks, events, clocks):
    open_slices, found = collections.defaultdict(list), {"slices": [], "instants": [], "counters": [], "begun": [], "ended": []}
    for at, event, known in events:
        assert event.track_uuid in tracks, event
        known.update(start=at, track=event.track_uuid, out=list(event.flow_ids), into=list(event.terminating_flow_ids))
        found["begun"] += [[flow, at] for flow in event.flow_ids]
        found["ended"] += [[flow, at] for flow in event.terminating_flow_ids]
        if event.type == BEGIN:
            open_slices[event.track_uuid].append(known)
            found["slices"].append(known)
        elif event.type == END:
            known = open_slices[event.track_uuid].pop()
            known["dur"] = at - known["start"]
        elif event.type == INSTANT:
            found["instants"].append(known)
        elif event.type == COUNTER:
            found["counters"].append([event.track_uuid, at, getattr(event, event.WhichOneof("counter_value_field"))])
    assert not any(open_slices.values()), "a slice that does not end"
    parents = {track.parent_uuid for track in tracks.values()} - {0}
    assert parents <= set(tracks)
    found["tracks"] = {uuid: {"name": track.name, "parent": track.parent_uuid,
                              "process": [track.process.pid, track.process.process_name] if track.HasField("process") else None,
                              "thread": [track.thread.pid, track.thread.tid, track.thread.thread_name]
                              if track.HasField("thread") else None,
                              "unit": track.counter.unit_name} for uuid, track in tracks.items()}
    found["clocks"] = clocks
    return found


if __name__ == "__main__":
    json.dump(read(sys.argv[1]), sys.stdout)
