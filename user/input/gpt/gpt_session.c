/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The recording as a whole: the session, its texts, its clock, and its end. */
#include <errno.h>
#include <stdlib.h>

#include "input/gpt/gpt_records.h"

/* Thousandths of a percent: from the text, which older logs lack, else from the whole percents. */
static uint32_t min_complete_of(const struct gpt_session *event, struct text text)
{
	char digits[16], *end;
	unsigned long thousandths;

	if (text.size && text.size < sizeof(digits)) {
		memcpy(digits, text.bytes, text.size);
		digits[text.size] = '\0';
		thousandths = strtoul(digits, &end, 10);
		if (!*end && thousandths <= MODEL_COMPLETE)
			return (uint32_t)thousandths;
	}
	return event->min_complete <= 100 ? event->min_complete * 1000 : MODEL_COMPLETE;
}

#define SLEPT_NS_MAX (1ll << 60) /* 36 years: more is damage */

/* 0: the machine did not sleep, or the log is older. */
static int64_t slept_of(struct text text)
{
	char digits[24], *end;
	long long ns;

	if (!text.size || text.size >= sizeof(digits))
		return 0;
	memcpy(digits, text.bytes, text.size);
	digits[text.size] = '\0';
	errno = 0;
	ns = strtoll(digits, &end, 10);
	return *end || errno || ns < 0 || ns > SLEPT_NS_MAX ? 0 : ns;
}

static bool is_word(struct text text, const char *word)
{
	return text.size == strlen(word) && !memcmp(text.bytes, word, text.size);
}

bool gpt_add_session(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_session *event = (const struct gpt_session *)record;
	enum model_gpu_times gpu_times = MODEL_GPU_TIMES_UNKNOWN;
	const size_t step = strlen(GPT_SESSION_STEP);
	struct text fields[8];
	size_t at = 0;

	if (event->bytes > record->size - sizeof(*event))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		fields[i] = gpt_field(event->text, event->bytes, &at);
	if (fields[5].size)
		gpu_times = fields[5].size == 3 && !memcmp(fields[5].bytes, "off", 3) ? MODEL_GPU_TIMES_OFF
										      : MODEL_GPU_TIMES_MEANT;
	builder_set_source(builder, fields[0], fields[1], fields[2], fields[3], event->cpus);
	builder_set_boot(builder, fields[6], slept_of(fields[7]));
	for (struct text label; (label = gpt_field(event->text, event->bytes, &at)).size;)
		if (memchr(label.bytes, '=', label.size))
			builder_add_label(builder, label);
		else if (label.size > step && !memcmp(label.bytes, GPT_SESSION_STEP, step))
			builder_set_step(builder, (struct text){label.bytes + step, label.size - step});
		else if (is_word(label, GPT_SESSION_UNASKED))
			builder_set_unasked(builder);
		else if (is_word(label, GPT_SESSION_NO_SUDO))
			builder_set_no_sudo(builder);
	builder_set_options(builder, min_complete_of(event, fields[4]), event->metric_launches != 0, gpu_times);
	return true;
}

bool gpt_add_probes(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_text *event = (const struct gpt_text *)record;
	struct text text;

	if (!GPT_READ_FIELDS(event, &text))
		return false;
	builder_add_probes(builder, text);
	return true;
}

bool gpt_add_note(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_text *event = (const struct gpt_text *)record;
	struct text text;

	if (!GPT_READ_FIELDS(event, &text))
		return false;
	builder_add_note(builder, text);
	return true;
}

bool gpt_add_nvml(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_nvml *event = (const struct gpt_nvml *)record;
	struct text text;

	if (!GPT_READ_FIELDS(event, &text))
		return false;
	builder_set_nvml(builder, event->state, text);
	return true;
}

bool gpt_add_end(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_end *event = (const struct gpt_end *)record;
	struct new_end end = {.time_ns = event->time_ns,
			      .cpu_ns = event->cpu_ns,
			      .ring_bytes = event->ring_bytes,
			      .ring_bytes_max = event->ring_bytes_max,
			      .reason = GPT_END_ERROR};

	if (event->counters_count > (record->size - sizeof(*event)) / sizeof(event->counters[0]))
		return false;
	if (event->reason >= GPT_END_DURATION && event->reason <= GPT_END_WRITTEN)
		end.reason = (enum gpt_end_reason)event->reason;
	for (uint32_t i = 0; i < event->counters_count && i < GPT_COUNTER_COUNT; i++)
		end.counters[i] = event->counters[i];
	builder_set_end(builder, &end);
	return true;
}
