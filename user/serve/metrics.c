/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "serve/metrics.h"

#include <inttypes.h>

#include "report/table/text.h"
#include "report/why/why_words.h"

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static bool has_uuid(const struct live_gpu *gpu)
{
	return any_of(sizeof(gpu->uuid), i, gpu->uuid[i]);
}

/* By its uuid: processes number the GPUs that they see, so one number may be another GPU's in another window. */
static bool is_gpu(const struct live_gpu *known, const struct live_gpu *gpu)
{
	if (has_uuid(known) || has_uuid(gpu))
		return !memcmp(known->uuid, gpu->uuid, sizeof(gpu->uuid));
	return known->gpu == gpu->gpu;
}

/* That of its first window, or the lowest that no other one has. */
static uint32_t choose_label(const struct metrics *metrics, uint32_t number)
{
	for (uint32_t label = number, next = 0;; label = next++)
		if (!any_of(metrics->gpu_count, i, metrics->gpus[i].sums.gpu == label))
			return label;
}

/* NULL: there are too many. */
static struct metrics_gpu *find_gpu(struct metrics *metrics, const struct live_gpu *sums)
{
	struct metrics_gpu *gpu = find_item(metrics->gpus, metrics->gpu_count, item, is_gpu(&item->sums, sums));

	if (gpu || metrics->gpu_count == LIVE_GPUS_MOST)
		return gpu;
	gpu = &metrics->gpus[metrics->gpu_count];
	*gpu = (struct metrics_gpu){.sums.gpu = choose_label(metrics, sums->gpu)};
	memcpy(gpu->sums.uuid, sums->uuid, sizeof(sums->uuid));
	metrics->gpu_count++;
	return gpu;
}

static void add_gpu(struct metrics_gpu *gpu, const struct live_gpu *sums)
{
	gpu->sums.busy_ns += sums->busy_ns;
	gpu->sums.launches += sums->launches;
	gpu->no_work_ns -= sums->busy_ns;
	for (unsigned i = 0; i < WHY_CAUSES; i++) {
		gpu->sums.idle_ns[i] += sums->idle_ns[i];
		gpu->no_work_ns -= sums->idle_ns[i];
	}
	gpu->last_busy_ns = sums->busy_ns;
}

/* An agent that says more is not believed. */
#define AGENT_LOSS_MOST 1000000000000ull

static void add_losses(struct metrics *metrics, const struct live_sums *sums)
{
	uint64_t *most = metrics->agent_losses;

#define ADD(member, ...)                                                                                               \
	if (sums->member > *most && sums->member <= AGENT_LOSS_MOST)                                                   \
		*most = sums->member;                                                                                  \
	most++;
	GPT_AGENT_LOSSES(ADD)
#undef ADD
}

void metrics_add_window(struct metrics *metrics, const struct live_sums *sums)
{
	metrics->summed_ns += sums->span_ns;
	metrics->gpus_left_out = sums->gpus_left_out;
	for (unsigned i = 0; i < sums->gpu_count; i++)
		(void)find_gpu(metrics, &sums->gpus[i]);
	/* a GPU that was there before and has no work now is idle, too */
	for (unsigned i = 0; i < metrics->gpu_count; i++) {
		metrics->gpus[i].no_work_ns += sums->span_ns;
		metrics->gpus[i].last_span_ns = sums->span_ns;
		metrics->gpus[i].last_busy_ns = 0;
	}
	for (unsigned i = 0; i < sums->gpu_count; i++) {
		struct metrics_gpu *gpu = find_gpu(metrics, &sums->gpus[i]);

		if (gpu)
			add_gpu(gpu, &sums->gpus[i]);
		else
			metrics->gpus_left_out++;
	}
	add_losses(metrics, sums);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void put_head(struct sink *page, const char *name, const char *type, const char *help)
{
	sink_literal(page, "# HELP gputrace_");
	sink_text(page, name);
	sink_char(page, ' ');
	sink_text(page, help);
	sink_literal(page, "\n# TYPE gputrace_");
	sink_text(page, name);
	sink_char(page, ' ');
	sink_text(page, type);
	sink_char(page, '\n');
}

static void put_name(struct sink *page, const char *name, const char *labels)
{
	sink_literal(page, "gputrace_");
	sink_text(page, name);
	if (*labels) {
		sink_char(page, '{');
		sink_text(page, labels);
		sink_char(page, '}');
	}
	sink_char(page, ' ');
}

static void put_count(struct sink *page, const char *name, const char *labels, uint64_t count)
{
	put_name(page, name, labels);
	sink_u64(page, count);
	sink_char(page, '\n');
}

/* In seconds, exactly. */
static void put_seconds(struct sink *page, const char *name, const char *labels, uint64_t ns)
{
	char fraction[16];

	put_name(page, name, labels);
	sink_u64(page, ns / 1000000000);
	snprintf(fraction, sizeof(fraction), ".%09" PRIu64 "\n", ns % 1000000000);
	sink_text(page, fraction);
}

#define LABELS_MAX 96

static const char *label_pair(char labels[LABELS_MAX], uint32_t gpu, const char *cause)
{
	snprintf(labels, LABELS_MAX, "gpu=\"%" PRIu32 "\"%s%s%s", gpu, cause ? ",cause=\"" : "", cause ? cause : "",
		 cause ? "\"" : "");
	return labels;
}

static const char *format_label(char labels[LABELS_MAX], const char *name, const char *value)
{
	snprintf(labels, LABELS_MAX, "%s=\"%s\"", name, value);
	return labels;
}

static void put_gpu_idle(struct sink *page, const struct metrics_gpu *gpu)
{
	char labels[LABELS_MAX];

	for (unsigned cause = 0; cause < WHY_CAUSES; cause++)
		if (gpu->sums.idle_ns[cause])
			put_seconds(page, "gpu_idle_seconds_total",
				    label_pair(labels, gpu->sums.gpu, why_cause_name(cause)), gpu->sums.idle_ns[cause]);
	put_seconds(page, "gpu_idle_seconds_total", label_pair(labels, gpu->sums.gpu, "no_work"), gpu->no_work_ns);
}

/* "GPU-..." as NVML has it. */
static void put_gpu_info(struct sink *page, const struct live_gpu *gpu)
{
	char labels[LABELS_MAX], uuid[48] = "";

	for (size_t i = 0; has_uuid(gpu) && i < sizeof(gpu->uuid); i++)
		snprintf(uuid + strlen(uuid), sizeof(uuid) - strlen(uuid), "%s%02x",
			 !i					   ? "GPU-"
			 : (i == 4 || i == 6 || i == 8 || i == 10) ? "-"
								   : "",
			 gpu->uuid[i]);
	snprintf(labels, sizeof(labels), "gpu=\"%" PRIu32 "\",uuid=\"%s\"", gpu->gpu, uuid);
	put_count(page, "gpu_info", labels, 1);
}

static void put_gpus(struct sink *page, const struct metrics *metrics)
{
	char labels[LABELS_MAX];

	put_head(page, "gpu_info", "gauge", "Which GPU has which number here; the uuid where it is known.");
	for (unsigned i = 0; i < metrics->gpu_count; i++)
		put_gpu_info(page, &metrics->gpus[i].sums);

	put_head(page, "gpu_busy_seconds_total", "counter", "Time in which the GPU ran work of traced processes.");
	for (unsigned i = 0; i < metrics->gpu_count; i++)
		put_seconds(page, "gpu_busy_seconds_total", label_pair(labels, metrics->gpus[i].sums.gpu, NULL),
			    metrics->gpus[i].sums.busy_ns);
	put_head(page, "gpu_idle_seconds_total", "counter",
		 "Time in which it did not, by what kept it waiting (causes of gputrace why); no_work: no operation of "
		 "the window is on both sides.");
	for (unsigned i = 0; i < metrics->gpu_count; i++)
		put_gpu_idle(page, &metrics->gpus[i]);
	put_head(page, "gpu_launches_total", "counter", "Launches of kernels and graphs that ran on the GPU.");
	for (unsigned i = 0; i < metrics->gpu_count; i++)
		put_count(page, "gpu_launches_total", label_pair(labels, metrics->gpus[i].sums.gpu, NULL),
			  metrics->gpus[i].sums.launches);
	put_head(page, "gpus_left_out", "gauge", "GPUs of the latest window beyond those that have numbers.");
	put_count(page, "gpus_left_out", "", metrics->gpus_left_out);
}

static void put_windows(struct sink *page, const struct metrics *metrics)
{
	put_head(page, "summed_seconds_total", "counter",
		 "Time of the recording that is in the sums of GPUs: busy and idle, of each since it was first seen.");
	put_seconds(page, "summed_seconds_total", "", metrics->summed_ns);
	put_head(page, "unsummed_seconds_total", "counter", "Time of the recording that is not in them, by reason.");
	put_seconds(page, "unsummed_seconds_total", "reason=\"busy\"", metrics->unsummed_ns[UNSUMMED_BUSY]);
	put_seconds(page, "unsummed_seconds_total", "reason=\"cost\"", metrics->unsummed_ns[UNSUMMED_COST]);
	put_seconds(page, "unsummed_seconds_total", "reason=\"failed\"", metrics->unsummed_ns[UNSUMMED_FAILED]);
	put_seconds(page, "unsummed_seconds_total", "reason=\"dropped\"", metrics->unsummed_ns[UNSUMMED_DROPPED]);
	put_seconds(page, "unsummed_seconds_total", "reason=\"untimed\"", metrics->unsummed_ns[UNSUMMED_UNTIMED]);
}

static void put_losses(struct sink *page, const struct metrics *metrics)
{
	const uint64_t *agents = metrics->agent_losses;
	char labels[LABELS_MAX];

	put_head(page, "lost_total", "counter",
		 "Records and other things that were lost, by cause; of what agents lose the most that was seen at "
		 "once.");
#define PUT(counter, name, ...)                                                                                        \
	put_count(page, "lost_total", format_label(labels, "cause", #name),                                            \
		  metrics->totals.counters[GPT_COUNTER_##counter]);
	GPT_COUNTER_LOSSES(PUT)
#undef PUT
#define PUT(member, name, ...) put_count(page, "lost_total", format_label(labels, "cause", "agent_" #name), *agents++);
	GPT_AGENT_LOSSES(PUT)
#undef PUT
}

static void put_steps(struct sink *page, const struct served_totals *totals)
{
	static const char name[] = "step_duration_seconds";

	if (!totals->has_steps)
		return;
	put_head(page, name, "summary", "Steps of training; quantiles are of the latest 1,024.");
	if (totals->steps) {
		put_seconds(page, name, "quantile=\"0.5\"", totals->step_median_ns);
		put_seconds(page, name, "quantile=\"0.99\"", totals->step_p99_ns);
	}
	put_seconds(page, "step_duration_seconds_sum", "", totals->steps_ns);
	put_count(page, "step_duration_seconds_count", "", totals->steps);
}

static void put_recording(struct sink *page, const struct served_totals *totals)
{
	put_head(page, "build_info", "gauge", "The version of gputrace.");
	put_count(page, "build_info", "version=\"" GPUTRACE_VERSION "\"", 1);
	put_head(page, "start_time_seconds", "gauge", "When the recording began, since 1970.");
	put_seconds(page, "start_time_seconds", "", (uint64_t)totals->start_wall_ns);
	put_head(page, "recorded_seconds_total", "counter", "How long it has lasted.");
	put_seconds(page, "recorded_seconds_total", "", totals->recorded_ns);
	put_head(page, "calls_total", "counter", "CUDA calls that were recorded.");
	put_count(page, "calls_total", "", totals->calls);
	put_head(page, "collector_cpu_seconds_total", "counter", "CPU time of gputrace itself.");
	put_seconds(page, "collector_cpu_seconds_total", "", totals->cpu_ns);
	if (totals->has_cost) {
		put_head(page, "cost_seconds_total", "counter",
			 "Time of traced programs that went into BPF programs, and the way into them.");
		put_seconds(page, "cost_seconds_total", "", totals->cost_ns);
	}
	put_head(page, "files_written_total", "counter", "Logs that were written, by who asked for them.");
	put_count(page, "files_written_total", "by=\"user\"", totals->files[SERVED_BY_USER]);
	put_count(page, "files_written_total", "by=\"event\"", totals->files[SERVED_BY_EVENT]);
	put_head(page, "files_failed_total", "counter", "Logs that could not be written.");
	put_count(page, "files_failed_total", "", totals->files_failed);
}

static void put_profiles(struct sink *page, const struct metrics *metrics)
{
	if (!metrics->has_profiles)
		return;
	put_head(page, "profiles_written_total", "counter", "Profiles of a minute that were written.");
	put_count(page, "profiles_written_total", "", metrics->profiles);
	put_head(page, "profiles_failed_total", "counter", "Profiles that were not.");
	put_count(page, "profiles_failed_total", "", metrics->profiles_failed);
}

void metrics_put(const struct metrics *metrics, struct sink *page)
{
	put_recording(page, &metrics->totals);
	put_profiles(page, metrics);
	put_gpus(page, metrics);
	put_windows(page, metrics);
	put_steps(page, &metrics->totals);
	put_losses(page, metrics);
}

/* ---- lines for people -------------------------------------------------------------------------------------------- */

static void put_line(struct sink *lines, char *text)
{
	sink_text(lines, text);
	sink_char(lines, '\n');
	free(text);
}

static uint64_t sum_lost(const struct metrics *metrics)
{
	const uint64_t *agents = metrics->agent_losses;
	uint64_t lost = 0;

#define ADD(counter, ...) lost += metrics->totals.counters[GPT_COUNTER_##counter];
	GPT_COUNTER_LOSSES(ADD)
#undef ADD
#define ADD(...) lost += *agents++;
	GPT_AGENT_LOSSES(ADD)
#undef ADD
	return lost;
}

void metrics_put_status(const struct metrics *metrics, struct sink *lines)
{
	const struct served_totals *totals = &metrics->totals;

	put_line(lines, xasprintf("recording for %s: %s CUDA calls, %s lost; gputrace used %s of a processor",
				  number_time(totals->recorded_ns).text, number_count(totals->calls).text,
				  number_count(sum_lost(metrics)).text, number_time(totals->cpu_ns).text));
	for (unsigned i = 0; i < metrics->gpu_count; i++) {
		const struct metrics_gpu *gpu = &metrics->gpus[i];

		put_line(lines,
			 xasprintf("GPU %" PRIu32 ": busy %s %% of the last %s, %s launches so far", gpu->sums.gpu,
				   number_percent((double)gpu->last_busy_ns, (double)gpu->last_span_ns).text,
				   number_time(gpu->last_span_ns).text, number_count(gpu->sums.launches).text));
	}
	if (!metrics->gpu_count)
		put_line(lines, xasprintf("no GPU work of a traced process so far, in %s",
					  number_time(metrics->summed_ns).text));
	if (totals->has_steps && totals->steps)
		put_line(lines,
			 xasprintf("%s steps: median %s, p99 %s", number_count(totals->steps).text,
				   number_time(totals->step_median_ns).text, number_time(totals->step_p99_ns).text));
	put_line(lines,
		 xasprintf("%s logs written because a user asked, %s because something happened, %s not written",
			   number_count(totals->files[SERVED_BY_USER]).text,
			   number_count(totals->files[SERVED_BY_EVENT]).text, number_count(totals->files_failed).text));
}
