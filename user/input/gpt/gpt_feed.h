/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Feeds the records of a log to a builder, one after the other: how the log begins, each record, and how it ended. */
#pragma once

#include <gputrace/record.h>

#include "log/reader.h"
#include "model/builder.h"

void gpt_feed_begin(struct builder *builder, const struct log_reader *reader);
void gpt_feed_record(struct builder *builder, const struct gpt_record *record);
/* The record that the reader returned last. */
void gpt_feed_read(struct builder *builder, const struct log_reader *reader, const struct gpt_record *record);
void gpt_feed_end(struct builder *builder, const struct log_reader *reader);
