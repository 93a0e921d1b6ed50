/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libFuzzer target: mutated databases of nsys and nvprof. */
#include <sqlite3.h>

#include "foreign_input.h"

#define TID "1174405191" /* pid 70, thread 71 */

static const char nsys[] =
	"PRAGMA page_size=512; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
	"INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'_Z1kv'),(3,'f'),(4,'a.py');"
	"CREATE TABLE META_DATA_EXPORT (name, value); INSERT INTO META_DATA_EXPORT VALUES ('HOST','h');"
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs); INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES "
	"(9);"
	"CREATE TABLE ANALYSIS_DETAILS (startTime, stopTime); INSERT INTO ANALYSIS_DETAILS VALUES (0,900);"
	"CREATE TABLE TARGET_INFO_GPU (id, name, smCount); INSERT INTO TARGET_INFO_GPU VALUES (0,'G',2);"
	"CREATE TABLE CUDA_CALLCHAINS (id, symbol, module, stackDepth, line);"
	"INSERT INTO CUDA_CALLCHAINS VALUES (1,3,4,0,7),(1,3,4,1,8);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start,end,globalTid,correlationId,nameId,returnValue,callchainId);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10,14," TID ",5,1,0,1),(20,24," TID ",6,1,0,NULL);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,contextId,streamId,correlationId,globalPid,"
	"demangledName,gridX,graphNodeId); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (15,17,0,1,7,5,70<<24,2,4,9);"
	"CREATE TABLE NVTX_EVENTS (start,end,eventType,text,globalTid,textId,domainId);"
	"INSERT INTO NVTX_EVENTS VALUES (5,50,59,'a'," TID ",NULL,0),(6,9,60,NULL," TID ",3,1),(1,NULL,75,'d'," TID
	",NULL,1),(7,NULL,34,'m'," TID ",NULL,0);";

static const char nvprof[] =
	"PRAGMA page_size=512; CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);"
	"INSERT INTO StringTable VALUES (1,'_Z1kv'),(2,'r');"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (cbid,start,end,processId,threadId,correlationId,returnValue);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (211,10,14,70,71,5,0);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,contextId,streamId,correlationId,name);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (15,17,0,1,7,5,1);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (flags,timestamp,id,objectKind,objectId,name,domain);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES "
	"(2,8,1,2,x'4600000047000000',2,0),(4,19,1,2,x'4600000047000000',0,0);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE (id,name,uuid); INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES "
	"(0,2,x'00');";

static size_t make_database(const char *statements, uint8_t *data, size_t max_size)
{
	sqlite3_int64 size = 0;
	unsigned char *bytes;
	sqlite3 *base;

	if (sqlite3_open(":memory:", &base) != SQLITE_OK ||
	    sqlite3_exec(base, statements, NULL, NULL, NULL) != SQLITE_OK)
		abort();
	bytes = sqlite3_serialize(base, "main", &size, 0);
	if (!bytes || (size_t)size > max_size)
		size = 0;
	else
		memcpy(data, bytes, (size_t)size);
	sqlite3_free(bytes);
	sqlite3_close(base);
	return (size_t)size;
}

/* Most inputs start from a valid database. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	if (size < 512 || seed % 64 == 0)
		size = make_database(seed & 64 ? nsys : nvprof, data, max_size);
	return LLVMFuzzerMutate(data, size, max_size);
}
