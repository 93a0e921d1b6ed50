# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads logs (.gpt); written from docs/log-format.md alone, to show that the page is enough to write a reader.

Of a log that is still being written, or was cut short, it reads the whole segments.  Needs Python 3.8 and libzstd.so.1.
"""

import ctypes
import itertools
import pathlib
import struct
import zlib

HEADER, SEGMENT = struct.Struct("<IHHQqIII"), struct.Struct("<8I4Q4I")
RECORD = struct.Struct("<IHH")  # size, type, flags
TRAILER = struct.Struct("<QQII")  # index_offset, index_bytes, flags, magic
MAGIC, SEGMENT_MAGIC, TRAILER_MAGIC, VERSION = 0x0a545047, 0x0a474553, 0x0a444e45, 2
BYTES_MAX = 64 << 20  # of a segment's records, packed and unpacked


class Damaged(Exception):
    """The file is not a log, or a part of the log is inconsistent."""


def padded(size):
    return size + 7 & ~7


def split(data, sizes):
    ends = list(itertools.accumulate(sizes))
    return [data[end - size:end] for size, end in zip(sizes, ends)]


# ---- the schema ----

class Field:
    def __init__(self, text):
        self.name, bits, self.code = text.split(":")
        self.size = int(bits) // 8
        self.mask = (1 << int(bits)) - 1


class Type:
    def __init__(self, line):
        number, self.name, fixed, *words = line.split(" ")
        self.type, self.fixed = int(number), int(fixed)
        tails = [at for at, word in enumerate(words) if word == "records" or word.startswith("array:")]
        at = tails[0] if tails else len(words)
        self.fields = [Field(text) for text in words[:at]]
        self.tail, _, size = words[at].partition(":") if tails else ("bytes", "", "")
        self.element, self.element_size = [Field(text) for text in words[at + 1:]], int(size or 0)


# ---- columns ----

class Columns:
    """Reads values from packed bytes, one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Damaged("a column is cut")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self):
        value = shift = 0
        while shift < 64:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
        raise Damaged("a number does not end")

    def column(self):
        """A column's bytes; an empty column stands for zeros only."""
        return self.take(self.number())

    def ended(self, values):
        if self.at != len(self.data):
            raise Damaged("there is more than there should be")
        return values

    def raw(self, size):
        """A column of `size` raw bytes."""
        inner = Columns(self.column() or bytes(size))
        return inner.ended(inner.take(size))

    def numbers(self, count):
        inner = Columns(self.column() or bytes(count))
        quick = len(inner.data) == count and max(inner.data, default=0) < 128  # each is one byte
        return list(inner.data) if quick else inner.ended([inner.number() for _ in range(count)])

    def differences(self, count):
        return [value >> 1 ^ -(value & 1) for value in self.numbers(count)]

    def sums(self, count, mask, first=0):
        return [value & mask for value in itertools.accumulate([first, *self.differences(count)])][1:]

    def listed(self, count, size):
        """Values that are stored as indices into a list of the values so far."""
        data = self.column()
        inner, known, values = Columns(data), [0], []
        for _ in range(count if data else 0):
            number = inner.number()
            if number == len(known):
                known.append(int.from_bytes(inner.take(size), "little"))
            if number >= len(known):
                raise Damaged("a number that no value has yet")
            values.append(known[number])
        return inner.ended(values) if data else [0] * count

    def fields(self, fields, count):
        """{name: values}"""
        found = {}
        for field in fields:
            if field.code.startswith("+"):
                base = found[field.code[1:]]
                values = [b + d & field.mask for b, d in zip(base, self.differences(count))]
            elif field.code in ("id", "pid"):
                values = self.listed(count, field.size)
            elif field.code == "raw":
                values = [int.from_bytes(piece, "little") for piece in split(self.raw(count * field.size), [field.size] * count)]
            else:  # delta, time, wall
                values = self.sums(count, field.mask)
            found[field.name] = values
        return found


# ---- records ----

class Record:
    """values: the fields by name; {} for a record that is not in the schema, whose tail is all after the header."""

    def __init__(self, row, size, kind, flags, values=(), tail=b""):
        self.row, self.size, self.type, self.flags, self.values = row, size, kind, flags, dict(values)
        self.tail, self.records = tail, []  # bytes; records inside it, which come before these bytes

    @property
    def data(self):
        """The record's bytes before gputrace packed them."""
        fields = self.row.fields if self.row else ()
        return b"".join([RECORD.pack(self.size, self.type, self.flags),
                         *(self.values[field.name].to_bytes(field.size, "little") for field in fields),
                         *(inner.data for inner in self.records), self.tail])


def raw_record(columns):
    size, kind, flags = RECORD.unpack(columns.take(RECORD.size))
    return Record(None, size, kind, flags, tail=columns.take(max(size - RECORD.size, 0)))


def array_tails(columns, row, lengths):
    counts = [length // row.element_size for length in lengths]
    values = columns.fields(row.element, sum(counts))
    rests = [length % row.element_size for length in lengths]
    elements = [b"".join(value.to_bytes(field.size, "little") for field, value in zip(row.element, element))
                for element in zip(*values.values())]
    bodies = split(b"".join(elements), [count * row.element_size for count in counts])
    return [body + rest for body, rest in zip(bodies, split(columns.raw(sum(rests)), rests))]


def records_of(columns, row, count):
    """All records of a type."""
    sizes = columns.sums(count, 0xffffffff, row.fixed)
    if min(sizes) < row.fixed or sum(sizes) > BYTES_MAX:
        raise Damaged("sizes of records that cannot be")
    flags = columns.sums(count, 0xffff)
    values = columns.fields(row.fields, count)
    lengths = [size - row.fixed for size in sizes]
    if row.tail == "array":
        tails = array_tails(columns, row, lengths)
    else:
        if row.tail == "records":
            lengths = columns.numbers(count)
        if sum(lengths) > BYTES_MAX:
            raise Damaged("sizes of tails that cannot be")
        tails = split(columns.raw(sum(lengths)), lengths)
    return [Record(row, sizes[k], row.type, flags[k], ((name, of[k]) for name, of in values.items()), tails[k])
            for k in range(count)]


def nested(ordered):
    """The records in order, with nested ones moved into the record that contains them."""
    for record in ordered:
        room = record.size - record.row.fixed - len(record.tail) if record.row and record.row.tail == "records" else 0
        while room > 0:
            inner = next(ordered, None)
            if inner is None:
                raise Damaged("records are missing in another")
            record.records.append(inner)
            room -= inner.size
        if room < 0:
            raise Damaged("records that do not fit into another")
        yield record


def unpack(schema, packed):
    """The records of a segment."""
    columns = Columns(packed)
    count = columns.number()
    if count > BYTES_MAX // RECORD.size:
        raise Damaged("more records than there is room for")
    order = columns.numbers(count)
    found = {}
    for kind in sorted(set(order)):
        if kind and kind not in schema:
            raise Damaged("a type that is not in the schema")
        raw = Columns(b"" if kind else columns.column())
        many = order.count(kind)
        found[kind] = iter(records_of(columns, schema[kind], many) if kind else raw.ended([raw_record(raw) for _ in range(many)]))
    return columns.ended(list(nested(next(found[kind]) for kind in order)))


# ---- the file ----

def decompress(frame, size):
    """The content of a zstd frame, `size` bytes."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    buffer = ctypes.create_string_buffer(size or 1)
    if library.ZSTD_decompress(buffer, size, frame, len(frame)) != size:
        raise Damaged("a frame does not hold what the segment's header says")
    return buffer.raw[:size]


class Segment:
    """A segment's header and its frame, after the checksum has been verified."""

    def __init__(self, data, at):
        (magic, self.header_size, body_bytes, self.packed_bytes, self.record_bytes, self.record_count, self.repeated,
         self.sequence, self.first_ns, self.last_ns, self.first_wall_ns, self.last_wall_ns, self.flags, checksum, kinds,
         processes) = SEGMENT.unpack_from(data, at)
        body = at + self.header_size
        self.offset, self.end = at, body + padded(body_bytes)
        self.frame = data[body:body + body_bytes]
        if magic != SEGMENT_MAGIC or self.header_size < SEGMENT.size or len(data) < self.end:
            raise Damaged("no whole segment")
        if zlib.crc32(data[at:at + 68] + bytes(4) + data[at + 72:body] + self.frame) != checksum:
            raise Damaged("its checksum does not hold")
        self.kinds = {kind: count for kind, _, count in struct.iter_unpack("<HHI", data[at + 80:at + 80 + 8 * kinds])}
        self.pids = None if processes == 0xffffffff else struct.unpack_from(f"<{processes}I", data, at + 80 + 8 * kinds)

    def records(self, schema):
        """All records, including repeated ones."""
        if max(self.packed_bytes, self.record_bytes) > BYTES_MAX:
            raise Damaged("larger than a segment can be")
        return unpack(schema, decompress(self.frame, self.packed_bytes))


class Log:
    """A log's header, its schema, and its segments up to the first incomplete one."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        if len(self.data) < HEADER.size:
            raise Damaged("too short for a log")
        magic, version, size, self.start_ns, self.wall_offset_ns, schema_bytes, _, checksum = HEADER.unpack_from(self.data)
        if magic != MAGIC or version != VERSION:
            raise Damaged("not a log of this version")
        self.end = size + padded(schema_bytes)  # the end of what can be read
        text = self.data[size:size + schema_bytes]
        if len(self.data) < self.end or zlib.crc32(text) != checksum:
            raise Damaged("its schema is damaged")
        self.schema = {row.type: row for row in map(Type, filter(None, text.decode().split("\n")))}
        self.segments = []
        while len(self.data) - self.end >= SEGMENT.size:
            try:
                self.segments.append(Segment(self.data, self.end))
            except Damaged:
                break
            self.end = self.segments[-1].end

    def records(self):
        """Every record, with nested ones in its `records`.  After a gap descriptions may come more than once."""
        last, gap = -1, False
        for segment in self.segments:
            gap |= segment.sequence != last + 1
            yield from segment.records(self.schema)[0 if gap else segment.repeated:]
            last = segment.sequence

    def index(self):
        """The offsets of the segments by the index at the end of the file; None: there is no index."""
        at = len(self.data) - TRAILER.size
        offset, size, _, magic = TRAILER.unpack_from(self.data, at) if at > 0 else (0, 0, 0, 0)
        if magic != TRAILER_MAGIC or offset + size != at:
            return None
        _, header_size, _, count, checksum = struct.unpack_from("<IIQII", self.data, offset)
        if zlib.crc32(self.data[offset:offset + 20] + bytes(4) + self.data[offset + 24:at]) != checksum:
            return None
        places = [(offset + header_size, None)]
        for _ in range(count):
            entry, _ = places[-1]
            place, _, size = struct.unpack_from("<QII", self.data, entry)  # offset; of the header: magic, header_size
            places.append((entry + 8 + size, place))
        return [place for _, place in places[1:]]
