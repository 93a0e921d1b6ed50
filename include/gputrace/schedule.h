/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Which steps of training are recorded, counted as torch.profiler.schedule does.  The collector gives them to the agent
 * by semaphores, one for each bit of these numbers: it writes nothing else into a process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/values.h>

struct gpt_schedule {
	uint32_t skip_first, wait, warmup, active; /* steps; active 0: there is no schedule */
	uint32_t repeat;			   /* cycles, 0: as many as there are */
	uint32_t skip_first_wait;		   /* 1: the first cycle does not wait */
	uint32_t by;				   /* enum gpt_step_by */
	uint32_t name;				   /* GPT_STEP_BY_RANGE: gpt_schedule_hash of the range's name */
	uint32_t windows_ms; /* instead of cycles windows of that length, of which half are recorded; 0: cycles */
	uint32_t listener;   /* requester's number, always set; see gpt_listener_is_valid */
};

#define GPT_SCHEDULE_FIELDS 10u
#define GPT_LISTENER_BITS 20u
#define GPT_SCHEDULE_STEPS_MAX ((1u << 16) - 1) /* the limit of each step count and of repeat */
#define GPT_SCHEDULE_BITS (5u * 16u + 1u + 3u + 32u + 16u + GPT_LISTENER_BITS)

_Static_assert(sizeof(struct gpt_schedule) == GPT_SCHEDULE_FIELDS * sizeof(uint32_t), "fields without holes");

/*
 * The bit after the fields: the recording has begun. Until then no step is counted, as its launches might not be seen.
 */
#define GPT_SCHEDULE_BEGUN GPT_SCHEDULE_BITS
#define GPT_SCHEDULE_SEMAPHORES (GPT_SCHEDULE_BITS + 1u)

/* How many bits of the field are transferred, the lowest first. */
static inline unsigned gpt_schedule_field_bits(unsigned field)
{
	static const uint8_t bits[GPT_SCHEDULE_FIELDS] = {16, 16, 16, 16, 16, 1, 3, 32, 16, GPT_LISTENER_BITS};

	return bits[field];
}

/*
 * Exactly half of the bits are set, so of two different numbers neither contains the other's bits. The semaphores of
 * several listeners show the OR of their numbers: a listener has left when a bit of its number is missing.
 */
static inline bool gpt_listener_is_valid(uint32_t number)
{
	return number >> GPT_LISTENER_BITS == 0 && (unsigned)__builtin_popcount(number) == GPT_LISTENER_BITS / 2;
}

/* FNV-1a. */
static inline uint32_t gpt_schedule_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash;
}

/* The window of a time (CLOCK_MONOTONIC), so that the processes of one machine change over at the same time. */
static inline uint64_t gpt_schedule_window(const struct gpt_schedule *schedule, uint64_t time_ns)
{
	return time_ns / (schedule->windows_ms * 1000000ull);
}

/* Of each two windows, 2n and 2n + 1, one is recorded: which one is random, and the same for all processes. */
static inline bool gpt_schedule_records_window(const struct gpt_schedule *schedule, uint64_t window)
{
	uint64_t mixed = (window / 2 + ((uint64_t)schedule->listener << 40)) * 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93ull;
	return (window & 1) == (mixed >> 40 & 1);
}

/* The phase of a step, counted from 0; *cycle: counted from 0, valid for WARMUP and ACTIVE. */
static inline enum gpt_step_phase gpt_schedule_phase(const struct gpt_schedule *schedule, uint64_t step,
						     uint32_t *cycle)
{
	uint64_t length = (uint64_t)schedule->wait + schedule->warmup + schedule->active, in;

	*cycle = 0;
	if (step < schedule->skip_first)
		return GPT_STEP_WAITING;
	step -= schedule->skip_first;
	if (schedule->skip_first_wait)
		step += schedule->wait;
	if (schedule->repeat && step / length >= schedule->repeat)
		return GPT_STEP_OVER;
	*cycle = (uint32_t)(step / length);
	in = step % length;
	if (in < schedule->wait)
		return GPT_STEP_WAITING;
	return in < (uint64_t)schedule->wait + schedule->warmup ? GPT_STEP_WARMUP : GPT_STEP_ACTIVE;
}
