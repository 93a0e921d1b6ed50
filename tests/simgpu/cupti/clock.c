/*
 * clock.c: CUPTI's time. It is CLOCK_REALTIME unless the client registers a timestamp callback. Then
 * host records are stamped by calling it, and GPU times go through a line fitted between the time of
 * registration and now, as in the real library.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "stand-in.h"

struct pair {
	uint64_t mono, client;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(CUpti_TimestampCallbackFunc) callback;
static struct pair first, latest;

static struct pair pair_sample(CUpti_TimestampCallbackFunc client)
{
	struct pair best = {0, 0};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 10; i++) {
		uint64_t before = sim_now(), value = client(), after = sim_now();

		if (after - before < shortest) {
			shortest = after - before;
			best = (struct pair){before + (after - before) / 2, value};
		}
	}
	return best;
}

uint64_t clock_now(void)
{
	CUpti_TimestampCallbackFunc client = atomic_load(&callback);
	struct timespec now;

	if (client)
		return client();
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_convert(uint64_t mono)
{
	CUpti_TimestampCallbackFunc client = atomic_load(&callback);
	double slope;
	uint64_t result;

	if (!client)
		return sim_to_realtime(mono);
	pthread_mutex_lock(&lock);
	if (mono > latest.mono || latest.mono - first.mono < 1000000)
		latest = pair_sample(client);
	slope = (double)(latest.client - first.client) / (double)(latest.mono - first.mono);
	result = first.client + (uint64_t)(int64_t)(slope * (double)(int64_t)(mono - first.mono));
	pthread_mutex_unlock(&lock);
	return result;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
	if (!funcTimestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	first = latest = pair_sample(funcTimestamp);
	atomic_store(&callback, funcTimestamp);
	faults_clock_registered();
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	if (!timestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*timestamp = clock_now();
	return CUPTI_SUCCESS;
}
