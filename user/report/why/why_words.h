/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A loss (analyze/why/why.h) in words: what it is, where, the evidence in the log, what to try. */
#pragma once

#include "analyze/analyze.h"
#include "analyze/why/why_findings.h"

/* Losses below this share of the time looked at are not mentioned: one part in this many. */
#define WHY_LEAST_SHARE 100u

/* If all losses together are below this share, nothing needs fixing. */
#define WHY_MEND_SHARE 20u

/* A line that reads at most this much at once reads one number: .item() and the like. */
#define WHY_NUMBER_BYTES 8u

/* The names of a cause (why_causes.h): for programs ("python", "data", ...), and for people. */
const char *why_cause_name(enum why_cause cause);
const char *why_title(const struct analyses *all, enum why_cause cause); /* a loss as title */
const char *why_short(enum why_cause cause);

static inline const char *why_name(const struct model *model, uint32_t name)
{
	return name == NONE || name >= model->string_count ? "?" : model->strings[name];
}

/*
 * What happened in the row's time: "waited in cudaStreamSynchronize"; "" if no line is to blame.  The caller frees it.
 */
char *idle_words(const struct idle *idle, const struct idle_row *row);

/* The same of a charge. */
char *idle_charge_words(const struct idle *idle, const struct idle_charge *charge);

/*
 * The place of one of its lines: with the library's line that ran for it, and the caller by which it is told apart from
 * others.  The caller frees this and all texts below.
 */
char *why_place(const struct analyses *all, const struct why_loss *loss, const struct why_line *line,
		enum line_brevity brevity);

/* The line of it alone, without the call there; "before train.py:42 forward" if that launched next and no line is to
 * blame. */
char *why_brief_place(const struct analyses *all, const struct why_loss *loss, const struct why_line *line,
		      enum line_brevity brevity);

/* Whether the process is named with a place: there are several, or it has no work on a GPU, which is news. */
bool why_names_process(const struct analyses *all, uint32_t process);

/* The place, with its process where that is named. */
char *why_where(const struct analyses *all, const struct why_loss *loss, const struct why_line *line);

/* The module of PyTorch for most of the line's time, "Net.blocks.0.up", "[no name] Replica"; NULL: none is known. */
char *why_layer(const struct analyses *all, const struct why_line *line);

/* "data loading", "data loading (12.3 ms of it no CPU)": a finding has all causes of a culprit. */
char *why_causes_text(const struct why_finding *finding);

/* The figures of the log that show the loss. */
char *why_evidence(const struct analyses *all, const struct why_loss *loss);

char *why_advice(const struct analyses *all, const struct why_loss *loss);
/* What to do where samples or waits were left out on purpose for half of such a loss or more; NULL: they were not. */
const char *why_lowered_advice(const struct analyses *all, const struct why_loss *loss);

/* "The GPU was busy for 61.2 % of ..." */
char *why_busy(const struct analyses *all);

/* Where no loss is worth mentioning: whether little was lost, or no cause stands out. */
char *why_nothing(const struct analyses *all);

/* Why nothing can be said, and what to record; NULL: something can be said. */
char *why_unknown(const struct analyses *all);

/* What makes the answer less certain: one sentence per index; NULL: no more. */
char *why_caution(const struct analyses *all, unsigned index);

/* The number of losses worth mentioning: the first ones of all->why.losses. */
size_t why_worth(const struct analyses *all);
