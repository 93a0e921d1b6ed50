/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the calls of PyTorch's autograd engine, without PyTorch: a thread that runs nodes for callers of backward().
 * Built as libtorch_cpu.so; engine.py says what to launch.  Each launch has a number, passed as its stream.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct dim3 {
	unsigned x, y, z;
};

struct shared { /* std::shared_ptr<GraphTask> */
	void *object, *control;
};

static int (*cuda_launch)(const void *, struct dim3, struct dim3, void **, size_t, void *);
static char objects[4][64];
static struct shared tasks[4];

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE static void launch(uint64_t number)
{
	const struct dim3 one = {1, 1, 1};

	cuda_launch((void *)0x1000, one, one, NULL, 0, (void *)number);
	__asm__ volatile("" ::: "memory");
}

/* Launches deep in the stack; the unused room keeps old return addresses. */
NOINLINE static void launch_deep(uint64_t number)
{
	volatile char room[60000];

	room[0] = 1;
	launch(number);
	room[1] = room[0];
}

static void thread_main(struct shared *task, const char *what);

/*
 * Each letter is an action of a node, in order: l launches, d launches deeper in the stack; both increase the number by
 * one. a and b run a node of task 0 or 1 inside this one.
 */
static uint64_t next_number;

/* torch::autograd::Engine::evaluate_function(std::shared_ptr<GraphTask>&, Node*, InputBuffer&, ...) */
NOINLINE void evaluate_function(void *engine, struct shared *task, const char *what) __asm__(
	"_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferE");
NOINLINE void evaluate_function(void *engine, struct shared *task, const char *what)
{
	for (; *what; what++) {
		if (*what == 'l')
			launch(next_number++);
		if (*what == 'd')
			launch_deep(next_number++);
		if (*what == 'a' || *what == 'b')
			thread_main(&tasks[*what - 'a'], "l");
		if (*what == '|') /* the rest is for thread_main */
			break;
	}
	__asm__ volatile("" ::: "memory");
}

/* Letters after `|` are actions of the engine's loop, after the node has returned. */
NOINLINE static void thread_main(struct shared *task, const char *what)
{
	const char *rest = strchr(what, '|');

	evaluate_function(NULL, task, what);
	for (; rest && *rest; rest++)
		if (*rest == 'd')
			launch_deep(next_number++);
	__asm__ volatile("" ::: "memory");
}

/* ---- the thread of a device ---------------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct shared *wanted;
static const char *wanted_what;

static void *device(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!wanted)
			pthread_cond_wait(&changed, &mutex);
		thread_main(wanted, wanted_what);
		wanted = NULL;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

/* torch::autograd::Engine::execute_with_graph_task(const std::shared_ptr<GraphTask>&, ...): returns in memory. */
NOINLINE void
execute_with_graph_task(void *result, void *engine, struct shared *task, const char *what, int here) __asm__(
	"_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_9GraphTaskEES2_INS0_4NodeEE");
NOINLINE void execute_with_graph_task(void *result, void *engine, struct shared *task, const char *what, int here)
{
	if (here) {
		thread_main(task, what);
		return;
	}
	pthread_mutex_lock(&mutex);
	wanted = task;
	wanted_what = what;
	pthread_cond_broadcast(&changed);
	while (wanted)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* ---- called by engine.py ------------------------------------------------------------------------------------- */

void setup(const char *cudart)
{
	pthread_t thread;

	cuda_launch = (int (*)(const void *, struct dim3, struct dim3, void **, size_t, void *))dlsym(
		dlopen(cudart, RTLD_NOW), "cudaLaunchKernel");
	for (int i = 0; i < 4; i++)
		tasks[i].object = objects[i];
	pthread_create(&thread, NULL, device, NULL);
}

/* Runs a task, on the device's thread or (here) on this one; launches get numbers from `first` on. */
void backward(int task, const char *what, int here, uint64_t first)
{
	char result[8];

	next_number = first;
	execute_with_graph_task(result, NULL, &tasks[task], what, here);
	__asm__ volatile("" ::: "memory");
}

static void *foreign(void *callback)
{
	((void (*)(void))callback)();
	launch_deep(next_number++);
	return NULL;
}

/* Calls Python on a thread that Python does not know, and launches there after the call has returned. */
void on_a_foreign_thread(void (*callback)(void))
{
	pthread_t thread;

	pthread_create(&thread, NULL, foreign, (void *)callback);
	pthread_join(thread, NULL);
}
