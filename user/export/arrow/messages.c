/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arrow's messages (arrow.apache.org, "Arrow Columnar Format"; format/Message.fbs, Schema.fbs, File.fbs): a head, which
 * is a FlatBuffer, and a body of buffers.  Dictionaries follow the rows that refer to them, as they are complete only
 * when all rows are known.  A file may do so, as its footer says where they are.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "export/arrow/file.h"
#include "model/model.h"

#define MAGIC "ARROW1"
#define CONTINUATION UINT32_MAX
#define VERSION_5 4 /* enum MetadataVersion */

enum { /* union MessageHeader */
       HEADER_SCHEMA = 1,
       HEADER_DICTIONARY = 2,
       HEADER_ROWS = 3,
};

enum { /* union Type */
       TYPE_INT = 2,
       TYPE_UTF8 = 5,
};

/* Numbers of fields of Arrow's tables. */
enum {
	MESSAGE_VERSION = 0,
	MESSAGE_HEADER_TYPE = 1,
	MESSAGE_HEADER = 2,
	MESSAGE_BODY = 3,
	SCHEMA_FIELDS = 1,
	SCHEMA_METADATA = 2,
	KEY_VALUE_KEY = 0,
	KEY_VALUE_VALUE = 1,
	FIELD_NAME = 0,
	FIELD_NULLABLE = 1,
	FIELD_TYPE_TYPE = 2,
	FIELD_TYPE = 3,
	FIELD_DICTIONARY = 4,
	FIELD_CHILDREN = 5,
	INT_BITS = 0,
	INT_SIGNED = 1,
	ENCODING_ID = 0,
	ENCODING_INDEX = 1,
	ROWS_LENGTH = 0,
	ROWS_NODES = 1,
	ROWS_BUFFERS = 2,
	DICTIONARY_ID = 0,
	DICTIONARY_ROWS = 1,
	FOOTER_VERSION = 0,
	FOOTER_SCHEMA = 1,
	FOOTER_DICTIONARIES = 2,
	FOOTER_BATCHES = 3,
};

struct node {
	int64_t length, nulls;
};

struct buffer {
	int64_t offset, length;
};

static const struct {
	const char *name;
	uint8_t bytes;
	bool is_signed;
	uint8_t dictionary;
} columns[ARROW_COLUMN_COUNT] = {
#define COLUMN(enumerator, name, bytes, is_signed, dictionary)                                                         \
	[ARROW_COLUMN_##enumerator] = {name, bytes, is_signed, dictionary},
	ARROW_COLUMNS(COLUMN)
#undef COLUMN
};

/* ---- bytes ----------------------------------------------------------------------------------------------------------
 */

static void put_bytes(struct arrow *arrow, const void *bytes, size_t length)
{
	sink_put(arrow->out, bytes, length);
	arrow->written += length;
}

static uint64_t pad_length(uint64_t length)
{
	return (length + 7) & ~7ull;
}

static void put_padding(struct arrow *arrow, uint64_t length)
{
	static const char zeros[8];

	put_bytes(arrow, zeros, (size_t)(pad_length(length) - length));
}

static void put_padded(struct arrow *arrow, const void *bytes, size_t length)
{
	put_bytes(arrow, bytes, length);
	put_padding(arrow, length);
}

/* ---- the schema -----------------------------------------------------------------------------------------------------
 */

static uint32_t make_int(struct flat *flat, unsigned bytes, bool is_signed)
{
	flat_table_begin(flat);
	flat_field(flat, INT_BITS, 4, 8 * bytes);
	flat_field(flat, INT_SIGNED, 1, is_signed);
	return flat_table_end(flat);
}

static uint32_t make_field(struct flat *flat, unsigned column)
{
	uint32_t name = flat_text(flat, columns[column].name), children = flat_places(flat, NULL, 0);
	uint32_t type = make_int(flat, columns[column].bytes, columns[column].is_signed), encoding = 0;
	bool is_text = columns[column].dictionary != ARROW_NUMBERS;

	if (is_text) {
		flat_table_begin(flat);
		flat_field(flat, ENCODING_ID, 8, columns[column].dictionary);
		flat_field_place(flat, ENCODING_INDEX, type);
		encoding = flat_table_end(flat);
		flat_table_begin(flat);
		type = flat_table_end(flat);
	}
	flat_table_begin(flat);
	flat_field_place(flat, FIELD_NAME, name);
	flat_field(flat, FIELD_NULLABLE, 1, true);
	flat_field(flat, FIELD_TYPE_TYPE, 1, is_text ? TYPE_UTF8 : TYPE_INT);
	flat_field_place(flat, FIELD_TYPE, type);
	if (is_text)
		flat_field_place(flat, FIELD_DICTIONARY, encoding);
	flat_field_place(flat, FIELD_CHILDREN, children);
	return flat_table_end(flat);
}

static uint32_t make_pair(struct flat *flat, const char *key, const char *value)
{
	uint32_t key_place = flat_text(flat, key), value_place = flat_text(flat, value);

	flat_table_begin(flat);
	flat_field_place(flat, KEY_VALUE_KEY, key_place);
	flat_field_place(flat, KEY_VALUE_VALUE, value_place);
	return flat_table_end(flat);
}

static uint32_t make_schema(struct arrow *arrow)
{
	const struct model_source *source = model_source(arrow->timeline->model);
	struct flat *flat = &arrow->flat;
	uint32_t fields[ARROW_COLUMN_COUNT], pairs[3], list, metadata;
	char begin[24];

	for (unsigned i = 0; i < ARROW_COLUMN_COUNT; i++)
		fields[i] = make_field(flat, i);
	list = flat_places(flat, fields, ARROW_COLUMN_COUNT);
	snprintf(begin, sizeof(begin), "%" PRIu64, arrow->timeline->start_ns + (uint64_t)source->wall_offset_ns);
	pairs[0] = make_pair(flat, "exporter", "gputrace " GPUTRACE_VERSION);
	pairs[1] = make_pair(flat, "begin_unix_ns", begin);
	pairs[2] = make_pair(flat, "target", source->target);
	metadata = flat_places(flat, pairs, 3);
	flat_table_begin(flat);
	flat_field_place(flat, SCHEMA_FIELDS, list);
	flat_field_place(flat, SCHEMA_METADATA, metadata);
	return flat_table_end(flat);
}

/* ---- messages -------------------------------------------------------------------------------------------------------
 */

/* Writes the head of the message that was built; the caller writes the body. */
static struct arrow_block put_head(struct arrow *arrow, unsigned header_type, uint32_t header, uint64_t body)
{
	struct arrow_block block = {.offset = (int64_t)arrow->written, .body_bytes = (int64_t)body};
	struct flat *flat = &arrow->flat;
	uint32_t prefix[2] = {CONTINUATION};
	const char *bytes;
	uint32_t message;
	size_t size;

	flat_table_begin(flat);
	flat_field(flat, MESSAGE_BODY, 8, body);
	flat_field_place(flat, MESSAGE_HEADER, header);
	flat_field(flat, MESSAGE_VERSION, 2, VERSION_5);
	flat_field(flat, MESSAGE_HEADER_TYPE, 1, header_type);
	message = flat_table_end(flat);
	bytes = flat_finish(flat, message, &size);
	prefix[1] = (uint32_t)size;
	put_bytes(arrow, prefix, sizeof(prefix));
	put_bytes(arrow, bytes, size);
	block.head_bytes = (int32_t)(sizeof(prefix) + size);
	return block;
}

void arrow_put_begin(struct arrow *arrow)
{
	put_padded(arrow, MAGIC, strlen(MAGIC));
	flat_begin(&arrow->flat);
	put_head(arrow, HEADER_SCHEMA, make_schema(arrow), 0);
}

static uint32_t make_rows(struct flat *flat, uint64_t length, const struct node *nodes, size_t node_count,
			  const struct buffer *buffers, size_t buffer_count)
{
	uint32_t node_list = flat_structs(flat, nodes, sizeof(*nodes), node_count);
	uint32_t buffer_list = flat_structs(flat, buffers, sizeof(*buffers), buffer_count);

	flat_table_begin(flat);
	flat_field(flat, ROWS_LENGTH, 8, length);
	flat_field_place(flat, ROWS_NODES, node_list);
	flat_field_place(flat, ROWS_BUFFERS, buffer_list);
	return flat_table_end(flat);
}

static uint64_t add_buffer(struct buffer *buffer, uint64_t offset, uint64_t length)
{
	*buffer = (struct buffer){.offset = (int64_t)offset, .length = (int64_t)length};
	return offset + pad_length(length);
}

/* Writes the collected rows. */
void arrow_put_batch(struct arrow *arrow)
{
	struct node nodes[ARROW_COLUMN_COUNT];
	struct buffer buffers[2 * ARROW_COLUMN_COUNT];
	size_t valid_bytes = (arrow->rows + 7) / 8;
	uint64_t body = 0;

	for (unsigned i = 0; i < ARROW_COLUMN_COUNT; i++) {
		nodes[i] =
			(struct node){.length = arrow->rows, .nulls = (int64_t)(arrow->rows - arrow->columns[i].count)};
		body = add_buffer(&buffers[2 * i], body, valid_bytes);
		body = add_buffer(&buffers[2 * i + 1], body, (uint64_t)columns[i].bytes * arrow->rows);
	}
	flat_begin(&arrow->flat);
	array_push(&arrow->batches, put_head(arrow, HEADER_ROWS,
					     make_rows(&arrow->flat, arrow->rows, nodes, ARROW_COLUMN_COUNT, buffers,
						       2 * ARROW_COLUMN_COUNT),
					     body));
	for (unsigned i = 0; i < ARROW_COLUMN_COUNT; i++) {
		struct arrow_values *values = &arrow->columns[i];

		put_padded(arrow, values->valid, valid_bytes);
		put_padded(arrow, values->data, (size_t)columns[i].bytes * arrow->rows);
		memset(values->valid, 0, valid_bytes);
		memset(values->data, 0, (size_t)columns[i].bytes * arrow->rows);
		values->count = 0;
	}
	arrow->rows = 0;
}

/* Writes the offsets of texts and the texts; the NULs between them in texts->characters are left out. */
static int put_dictionary(struct arrow *arrow, unsigned dictionary)
{
	const struct texts *texts = &arrow->dictionaries[dictionary];
	size_t count = texts->at.count, characters = texts->characters.used - count;
	struct node node = {.length = (int64_t)count};
	struct buffer buffers[3];
	uint64_t body = add_buffer(&buffers[0], 0, 0);
	uint32_t rows, header;

	if (characters > INT32_MAX)
		return -EFBIG;
	body = add_buffer(&buffers[1], body, 4 * (uint64_t)(count + 1));
	body = add_buffer(&buffers[2], body, characters);
	flat_begin(&arrow->flat);
	rows = make_rows(&arrow->flat, count, &node, 1, buffers, 3);
	flat_table_begin(&arrow->flat);
	flat_field(&arrow->flat, DICTIONARY_ID, 8, dictionary);
	flat_field_place(&arrow->flat, DICTIONARY_ROWS, rows);
	header = flat_table_end(&arrow->flat);
	arrow->dictionary_blocks[dictionary] = put_head(arrow, HEADER_DICTIONARY, header, body);
	for (uint32_t i = 0; i <= count; i++) {
		uint32_t offset = (uint32_t)((i < count ? texts->at.items[i] : texts->characters.used) - i);

		put_bytes(arrow, &offset, sizeof(offset));
	}
	put_padding(arrow, 4 * (uint64_t)(count + 1));
	for (uint32_t i = 0; i < count; i++)
		put_bytes(arrow, texts_at(texts, i), strlen(texts_at(texts, i)));
	put_padding(arrow, characters);
	return 0;
}

static void put_footer(struct arrow *arrow)
{
	static const uint32_t end_of_stream[2] = {CONTINUATION, 0};
	struct flat *flat = &arrow->flat;
	uint32_t schema, dictionaries, batches, footer;
	const char *bytes;
	uint32_t length;
	size_t size;

	put_bytes(arrow, end_of_stream, sizeof(end_of_stream));
	flat_begin(flat);
	schema = make_schema(arrow);
	dictionaries = flat_structs(flat, arrow->dictionary_blocks, sizeof(arrow->dictionary_blocks[0]),
				    ARROW_DICTIONARY_COUNT);
	batches = flat_structs(flat, arrow->batches.items, sizeof(arrow->batches.items[0]), arrow->batches.count);
	flat_table_begin(flat);
	flat_field(flat, FOOTER_VERSION, 2, VERSION_5);
	flat_field_place(flat, FOOTER_SCHEMA, schema);
	flat_field_place(flat, FOOTER_DICTIONARIES, dictionaries);
	flat_field_place(flat, FOOTER_BATCHES, batches);
	footer = flat_table_end(flat);
	bytes = flat_finish(flat, footer, &size);
	length = (uint32_t)size;
	put_bytes(arrow, bytes, size);
	put_bytes(arrow, &length, sizeof(length));
	put_bytes(arrow, MAGIC, strlen(MAGIC));
}

int arrow_put_end(struct arrow *arrow)
{
	int error = 0;

	for (unsigned i = 0; i < ARROW_DICTIONARY_COUNT && !error; i++)
		error = put_dictionary(arrow, i);
	if (!error)
		put_footer(arrow);
	return error;
}
