/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program that embeds Python: starts and ends it ROUNDS times.  Each time it runs FILE with the words after it (%d is
 * the round) and then FILE's worker() in a thread that Python did not start.
 *
 *     embedded LIBPYTHON|- ROUNDS FILE LIBCUDART WORD...
 *
 * Opens LIBPYTHON by dlopen; with "-" the program is linked with one.  If EMBEDDED_WAITS is set it prints its pid
 * before that, and continues when it reads a line.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*initialize)(int);
static int (*run)(const char *, void *);
static int (*finalize)(void);
static int (*ensure)(void);
static void (*release)(int);
static void *(*save_thread)(void);
static void (*restore_thread)(void *);

static void *find(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);

	if (!function) {
		fprintf(stderr, "no %s\n", name);
		exit(1);
	}
	return function;
}

static void find_all(void)
{
	*(void **)&initialize = find("Py_InitializeEx");
	*(void **)&run = find("PyRun_SimpleStringFlags");
	*(void **)&finalize = find("Py_FinalizeEx");
	*(void **)&ensure = find("PyGILState_Ensure");
	*(void **)&release = find("PyGILState_Release");
	*(void **)&save_thread = find("PyEval_SaveThread");
	*(void **)&restore_thread = find("PyEval_RestoreThread");
}

static void run_or_exit(const char *code)
{
	if (run(code, NULL))
		exit(1);
}

/* A CUDA call before Python knows the thread. It has no stack; the thread's later calls have one. */
static void call_without_python(const char *cudart)
{
	void *library = dlopen(cudart, RTLD_NOW | RTLD_NOLOAD);
	int (*synchronize)(void) = NULL;

	if (library)
		*(void **)&synchronize = dlsym(library, "cudaDeviceSynchronize");
	if (!synchronize)
		exit(1);
	synchronize();
}

static void *work(void *cudart)
{
	int state;

	call_without_python(cudart);
	state = ensure();

	run_or_exit("worker()");
	release(state);
	return NULL;
}

/* The words become part of the program text: they must have no quotes or backslashes. */
static void run_round(int number, char **words)
{
	char code[8192] = "import sys\nsys.argv = [";
	size_t used = strlen(code);
	pthread_t thread;
	void *state;

	for (char **word = words; *word; word++)
		used += (size_t)snprintf(code + used, sizeof(code) - used, "'%s'.replace('%%d', '%d'), ", *word,
					 number);
	snprintf(code + used, sizeof(code) - used,
		 "]\n__file__ = sys.argv[0]\nexec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'))\n");
	initialize(0);
	run_or_exit(code);
	state = save_thread();
	if (pthread_create(&thread, NULL, work, words[1]) || pthread_join(thread, NULL))
		exit(1);
	restore_thread(state);
	run_or_exit("finish()");
	if (finalize())
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	if (getenv("EMBEDDED_WAITS")) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		getchar();
	}
	if (strcmp(argv[1], "-") && !dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	find_all();
	for (int i = 0; i < atoi(argv[2]); i++)
		run_round(i, argv + 3);
	return 0;
}
