# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Benchmarks of the cost of tracing; included by the top Makefile.
#
#   bench            all of them but scale, counters, view, ops, foreign, merge, blame, cost-limit, serve, default, newcomers, dump, gate, hours, modules and ways, one after the other; fails when one misses the project's numbers
#   bench-probe      a launch probe with its Python stack against an empty uprobe (root)
#   bench-calls      a Python call under --python-calls against a bare one (root)
#   bench-rate       nothing lost at the highest rate; the collector's CPU; attach and detach (root)
#   bench-inject     how long a thread is stopped when the agent is injected, and the cost of a launch then (root)
#   bench-model      CPU from log to model, and from a log with PyTorch's ops to a tree of calls
#   bench-log        bytes and CPU of packing a log
#   bench-export     CPU from model to files
#   bench-ops        the cost of recording PyTorch's ops, compared with torch.profiler (root, PyTorch, minutes)
#   bench-foreign    CPU and memory of a report of a Kineto trace and of databases of nsys and nvprof, made here (two minutes)
#   bench-blame      the cost of --cpu and --off-cpu for a program, and for a context switch (root)
#   bench-counters   the processor's time for clocks, power and memory of 1 and of 8 GPUs, on the simulated NVML (40 seconds)
#   bench-cost-limit what --cost-limit does to a program that launches below 120 frames, on the simulated GPU (root, a minute)
#   bench-serve      what gputrace serve takes of a processor at 10,000 launches a second, by process (root, two minutes)
#   bench-default    the cost of recording what runs and what waits by default, of training and of switching (root, PyTorch)
#   bench-newcomers  what a trace costs that waits for a container beside 5,000 processes and 50 execs a second (root, a minute)
#   bench-merge      time, CPU and memory of gputrace merge of two logs of 10 million launches, and of 64 of one million (60 s, 1 GB), made here (minutes, 7 GB of disk)
#   bench-dump       time of `gputrace dump` of 200, 1,600 and 10,002 threads, and a program's longest pause meanwhile (root)
#   bench-gate       how often `gputrace diff --fail-above 5` fails, of equal runs and of runs with 10 % more (root, 10 minutes)
#   bench-hours      memory and descriptors of gputrace and of a program at 10,000 launches a second, rotated and killed logs
#                    (root, simulated GPU, 15 minutes; HOURS_FLAGS="--seconds 3600" for an hour of each part)
#   bench-scale      time, CPU and memory from a log of 50 million launches to report and files (root, minutes, 1 GB of disk);
#                    SCALE_FLAGS="--launches 3000000 --only report" for less
#   bench-view       time until `gputrace view` shows the first of 10 million slices, or answers a zoom (root, to record)
#   bench-modules    a launch below calls of PyTorch's modules against one below the same frames without (root)
#   bench-ways       a launch with 16 frames by BPF and by the agent alone, on each CPython that pyenv has (root)

BENCH := $(BUILD)/tools/bench
BENCH_OBJ := $(addprefix $(BENCH)/,bench_probe.o bench_calls.o bench_model.o bench_log.o bench_export.o rank_logs.o)
BENCHES := $(BENCH_OBJ:.o=)
OBJECTS += $(BENCH_OBJ) $(BENCH)/traced.o

$(BENCH)/bench_probe.o $(BENCH)/bench_calls.o $(BENCH)/traced.o: | $(SKELETON)
$(BENCH)/bench_probe $(BENCH)/bench_calls: $(BENCH)/traced.o
$(BENCH)/bench_model.o $(BENCH)/bench_export.o $(BENCH)/rank_logs.o: private BASE_CFLAGS += -Itests/unit

$(BENCHES): %: %.o $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LIBS) -lpthread

$(BENCH)/hammer.so: tools/bench/hammer.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(BASE_CFLAGS) -O2 -g -shared -fPIC -o $@ $<

.PHONY: bench-counters bench benches bench-probe bench-calls bench-rate bench-inject bench-model bench-log bench-export bench-scale bench-view bench-ops bench-foreign bench-merge bench-blame bench-cost-limit bench-serve bench-default bench-newcomers bench-dump bench-gate bench-hours bench-modules bench-ways
benches: $(BENCHES) $(BENCH)/hammer.so

bench-counters: all simgpu
	@tools/bench/counters.py $(BUILD)

bench-cost-limit: all simgpu
	@tools/bench/cost_limit.py $(BUILD)

bench-hours: all simgpu $(BENCH)/hammer.so
	@tools/bench/hours.py $(BUILD) $(HOURS_FLAGS)

bench-serve: all simgpu
	@tools/bench/serve.py $(BUILD)
	@tools/bench/serve.py $(BUILD) --way agent

bench-modules: all simgpu
	@tools/bench/modules.py $(BUILD) $$(ls "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.*/bin/python3)

bench-ways: all simgpu
	@tools/bench/ways.py $(BUILD) $$(ls "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.*/bin/python3)

bench:
	@tools/deps build test
	@$(MAKE) --no-print-directory all benches simgpu
	@BUILD=$(BUILD) tools/bench/run

bench-probe bench-calls bench-rate bench-inject bench-model bench-log bench-export bench-scale bench-view bench-ops bench-foreign bench-merge bench-blame bench-default bench-newcomers bench-dump bench-gate: bench-%: all benches simgpu
	@BUILD=$(BUILD) tools/bench/run $*
