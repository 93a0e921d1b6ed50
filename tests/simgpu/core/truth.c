/*
 * truth.c: the ground truth: API calls and GPU work, one JSON object per line (README.md has the
 * fields). The file is mapped and written in place, so a process killed by SIGKILL loses nothing;
 * the unused end of its file then stays as zero bytes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"

#define WINDOW (8u << 20)
#define LINE 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static _Atomic int state; /* 0: not opened yet; 1: writing; -1: off */
static int file = -1;
static char *window;
static size_t window_used;
static off_t window_at;

static const char *const class_names[] = {
	[SIM_QUIET] = "quiet", [SIM_LAUNCH] = "launch", [SIM_COPY] = "copy", [SIM_SET] = "set",
	[SIM_SYNC] = "sync",   [SIM_ALLOC] = "alloc",	[SIM_FREE] = "free", [SIM_EVENT] = "event",
	[SIM_GRAPH] = "graph", [SIM_MODULE] = "module",
};
static const char *const fate_names[] = {
	[SIM_UNSEEN] = "unseen",
	[SIM_SENT] = "sent",
	[SIM_DROPPED] = "dropped",
	[SIM_ZEROED] = "zeroed",
};
static const char *const kind_names[] = {
	[SIM_KERNEL] = "kernel",
	[SIM_MEMCPY] = "memcpy",
	[SIM_MEMSET] = "memset",
};

static bool window_map(off_t at)
{
	if (posix_fallocate(file, at, WINDOW)) {
		fprintf(stderr, "simgpu: ground truth ends here: cannot extend its file\n");
		return false;
	}
	window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
	if (window == MAP_FAILED) {
		window = NULL;
		return false;
	}
	window_at = at;
	window_used = 0;
	return true;
}

/* Runs after exit handlers, which may still launch. */
__attribute__((destructor)) static void truth_close(void)
{
	pthread_mutex_lock(&lock);
	if (atomic_exchange(&state, -1) == 1 && window) {
		munmap(window, WINDOW);
		window = NULL;
		if (ftruncate(file, window_at + (off_t)window_used))
			perror("simgpu: ground truth");
		close(file);
		file = -1;
	}
	pthread_mutex_unlock(&lock);
}

/* "%p" in the name stands for the process id. */
static void truth_path(char *path, size_t size)
{
	const char *from = sim_options()->truth;
	size_t used = 0;

	while (*from && used + 12 < size) {
		if (from[0] == '%' && from[1] == 'p') {
			used += (size_t)snprintf(path + used, size - used, "%d", (int)getpid());
			from += 2;
		} else {
			path[used++] = *from++;
		}
	}
	path[used] = 0;
}

static void truth_begin(void)
{
	char path[512];

	truth_path(path, sizeof(path));
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file < 0 || !window_map(0)) {
		fprintf(stderr, "simgpu: cannot write the ground truth to %s\n", path);
		atomic_store(&state, -1);
		return;
	}
	atomic_store(&state, 1);
}

/* A forked child writes a file of its own with %p; without %p it writes nothing. */
static void truth_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	if (atomic_load(&state) != 1)
		return;
	munmap(window, WINDOW);
	close(file);
	window = NULL;
	if (strstr(sim_options()->truth, "%p"))
		truth_begin();
	else
		atomic_store(&state, -1);
}

static void truth_open(void)
{
	if (!sim_options()->truth) {
		atomic_store(&state, -1);
		return;
	}
	truth_begin();
	pthread_atfork(NULL, NULL, truth_forked);
}

bool sim_truth_on(void)
{
	int now = atomic_load_explicit(&state, memory_order_relaxed);

	if (!now) {
		pthread_once(&open_once, truth_open);
		now = atomic_load(&state);
	}
	return now > 0;
}

static void truth_append(const char *line, size_t size)
{
	pthread_mutex_lock(&lock);
	while (size && atomic_load(&state) == 1) {
		size_t room = WINDOW - window_used, part = size < room ? size : room;

		memcpy(window + window_used, line, part);
		window_used += part;
		line += part;
		size -= part;
		if (window_used == WINDOW) {
			munmap(window, WINDOW);
			window = NULL;
			if (!window_map(window_at + WINDOW))
				atomic_store(&state, -1);
		}
	}
	pthread_mutex_unlock(&lock);
}

static const char *escape_text(const char *text, char *out, size_t size)
{
	size_t used = 0;

	for (; *text && used + 8 < size; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			out[used++] = '\\';
		if (c < 0x20)
			used += (size_t)snprintf(out + used, size - used, "\\u%04x", c);
		else
			out[used++] = (char)c;
	}
	out[used] = 0;
	return out;
}

void sim_truth_api(const struct sim_api *call, uint64_t exit, int status)
{
	const struct sim_thread *self = sim_thread();
	char line[LINE], label[SIM_LABEL_SIZE * 2];
	int size = snprintf(line, sizeof(line),
			    "{\"is\":\"api\",\"name\":\"%s\",\"class\":\"%s\",\"domain\":%d,"
			    "\"cbid\":%u,\"pid\":%d,\"tid\":%d,\"corr\":%u,\"enter\":%llu,"
			    "\"exit\":%llu,\"status\":%d,\"label\":\"%s\"}\n",
			    call->info->name, class_names[call->info->class], call->info->domain, call->info->cbid,
			    self->pid, self->tid, call->correlation, (unsigned long long)call->enter,
			    (unsigned long long)exit, status, escape_text(self->label, label, sizeof(label)));

	truth_append(line, (size_t)size);
}

void sim_truth_line(const char *line)
{
	truth_append(line, strlen(line));
}

void sim_truth_work(const struct sim_work *work, enum sim_fate fate, int tid, const char *label)
{
	char line[LINE], safe_label[SIM_LABEL_SIZE * 2], name[2048];
	int size = snprintf(
		line, sizeof(line),
		"{\"is\":\"gpu\",\"kind\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"corr\":%u,"
		"\"device\":%u,\"context\":%u,\"stream\":%u,\"start\":%llu,\"end\":%llu,"
		"\"start_mono\":%llu,\"end_mono\":%llu,\"bytes\":%llu,\"copy\":%u,\"graph\":%u,"
		"\"node\":%llu,\"source_graph\":%u,\"source_node\":%llu,\"fate\":\"%s\",\"label\":\"%s\"}\n",
		kind_names[work->kind], escape_text(work->name, name, sizeof(name)), sim_thread()->pid, tid,
		work->correlation, work->device, work->context, work->stream,
		(unsigned long long)sim_to_realtime(work->start), (unsigned long long)sim_to_realtime(work->end),
		(unsigned long long)work->start, (unsigned long long)work->end, (unsigned long long)work->bytes,
		work->copy.copy_kind, work->graph, (unsigned long long)work->node, work->source_graph,
		(unsigned long long)work->source_node, fate_names[fate],
		escape_text(label, safe_label, sizeof(safe_label)));

	truth_append(line, (size_t)size);
}
