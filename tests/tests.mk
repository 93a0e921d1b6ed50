# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The checks; included by the top Makefile.
#
#   check            everything that needs neither PyTorch nor a GPU; installs what it needs first
#   check-dockerfile the instructions of Dockerfile, stage by stage, in roots of a bare Debian 12 (root, minutes)
#   check-fresh      the README's first commands, `make check` among them, on a bare Debian 12 (root, half an hour)
#   check-quick      before each commit: the build, unit tests, includes, circles, documents, formatting (two minutes)
#   check-unit       unit tests and the agent's (no root needed for most)
#   check-e2e        the real program on real processes (root)
#   check-further    end-to-end tests that only repeat on one more CPython, or once more, what others show (root)
#   check-hold       a command that starts 1,000 programs, each with a library of its own: no stop is seen, no launch missed (root)
#   check-inject     the agent let in and out 1,000 times, gputrace killed 200 times, and 200 times with --ops; 7,500 forks and 300 epochs (root)
#   check-torch      the end-to-end tests on PyTorch
#   check-models     GPU time by module of models from torchvision, transformers and diffusers (root)
#   check-trace-processor  files with a timeline in Perfetto's trace_processor, which not every machine can have
#   check-public-traces  exposed communication in the traces with which HTA tests itself, which not every machine can have
#   check-torch-all  the tests of older versions, on each PyTorch that PyPI has and gputrace knows (an hour, 35 GB)
#   check-kernels    the end-to-end tests that depend on the kernel, on each of KERNELS_WANTED in qemu (root)
#   check-sanitize   the unit tests again, with AddressSanitizer and UndefinedBehaviorSanitizer; those of code with
#                    several threads with ThreadSanitizer
#   sanitized        GOALS="unit lint": these goals in the first one's build
#   fuzz-short       each fuzz target for FUZZ_SECONDS

FUZZ_SECONDS ?= 20
KERNELS_WANTED ?= 5.10 6.1 6.12 6.18 7.2

UNIT_SRC := $(wildcard tests/unit/*/test_*.c)
UNIT_OBJ := $(UNIT_SRC:%.c=$(BUILD)/%.o)
# All programs are in one folder, whichever subfolder has their source: build/tests/unit/test_site.
UNIT_BIN := $(addprefix $(BUILD)/tests/unit/,$(basename $(notdir $(UNIT_SRC))))
comma := ,
CONSUMED := $(addprefix $(BUILD)/tests/e2e/consumers/,sample rank_logs)
RELOG := $(BUILD)/tests/relog
LOG_RECORDS := $(BUILD)/tests/log_records
# A gputrace that also keeps its records as they were before packing.
TEED := $(BUILD)/tests/gputrace-teed
TRACE_DUMP := $(BUILD)/tests/trace_dump
TRACE_PRINT_OBJ := $(BUILD)/tests/unit/trace_print.o
# Cuts a model into a trace of many parts; random models to cut.
TRACE_CUT_OBJ := $(addprefix $(BUILD)/tests/unit/,trace_cut.o trace_cut_part.o random_model.o)
CUT := $(BUILD)/tests/cut
OBJECTS += $(UNIT_OBJ) $(TRACE_PRINT_OBJ) $(TRACE_CUT_OBJ) $(CONSUMED:=.o) $(RELOG).o $(LOG_RECORDS).o $(TRACE_DUMP).o \
	$(CUT).o $(BUILD)/tests/tee_records.o

$(UNIT_OBJ) $(TRACE_CUT_OBJ) $(TRACE_PRINT_OBJ) $(TRACE_DUMP).o $(CONSUMED:=.o) $(CUT).o: private BASE_CFLAGS += -Itests/unit
$(filter $(BUILD)/tests/unit/attach/%,$(UNIT_OBJ)): | $(SKELETON)
# It compiles the walker, which reads words out of byte arrays.
$(BUILD)/tests/unit/target/test_python_modules.o: private BASE_CFLAGS += -Ibpf -fno-strict-aliasing
# Each line of a test runs once or a few times: to optimize them takes longer than it saves.
$(UNIT_OBJ): private EXTRA_CFLAGS += -O0
# Its assembly needs more registers than clang leaves free at -O0.
$(BUILD)/tests/unit/attach/test_inject_remote.o: private EXTRA_CFLAGS += -O1

.SECONDEXPANSION:
$(filter-out $(BUILD)/tests/unit/test_agent_%,$(UNIT_BIN)): $$(filter %/$$(@F).o,$(UNIT_OBJ)) $(TRACE_PRINT_OBJ) $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LIBS) -lcmocka -ldl -lpthread

$(patsubst %,$(BUILD)/tests/unit/test_%,analyze_parts breakdown analyze_idle model_receipt_parts timeline_parts trace_cut model_slice report_tree report_lines): $(TRACE_CUT_OBJ)

# Its NVML's process is a stand-in in some tests, and reads the simulated NVML in others.
$(BUILD)/tests/unit/test_gpu_counters: $(SIM_NVML)
$(BUILD)/tests/unit/test_gpu_counters: private override EXTRA_LDFLAGS += -Wl,--wrap=nvml_process_start -Wl,--wrap=nvml_driver_loaded
$(BUILD)/tests/unit/capture/test_gpu_counters.o: private EXTRA_CFLAGS += -DSIMULATED_NVML='"$(abspath $(SIM_NVML))"'

$(TEED): $(BUILD)/user/cmd/main.o $(BUILD)/tests/tee_records.o $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $^ $(LIBS) \
		$(patsubst %,-Wl$(comma)--wrap=log_writer_%,append append_locked finish)

# relog converts logs of version 1 to the current one; log_records writes a log's records as they were before packing.
$(RELOG) $(LOG_RECORDS): %: %.o $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $^ $(LIBS)

# Prints what a trace of one log delivers.
$(TRACE_DUMP): $(TRACE_DUMP).o $(TRACE_PRINT_OBJ) $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $^ $(LIBS)

# Writes the output for a log that is read in parts.
$(CUT): $(CUT).o $(TRACE_CUT_OBJ) $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $^ $(LIBS)

# The sample run in every format, and logs of ranks, for tests with other tools' readers.
$(CONSUMED): %: %.o $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $^ $(LIBS)

.SECONDARY:
.PHONY: unit check check-quick check-fresh check-dockerfile check-unit check-unit-programs check-e2e check-e2e-all check-further check-hold check-inject check-torch check-torch-all check-models \
	check-trace-processor check-public-traces check-kernels sanitized check-sanitize check-threads fuzz-programs fuzz-short
unit: $(UNIT_BIN) $(RELOG) $(LOG_RECORDS) $(TEED) $(TRACE_DUMP) $(CUT) $(CONSUMED)

# In steps, as each needs what the previous one has installed.
check:
	@tools/deps build test
	@tools/fetch || echo "check: goes on without that"
	@$(MAKE) --no-print-directory check-unit
	@$(MAKE) --no-print-directory check-e2e

check-dockerfile:
	@tools/deps test
	@BUILD=$(BUILD) tools/check-fresh --dockerfile

check-fresh:
	@tools/deps test
	@BUILD=$(BUILD) tools/check-fresh

# One test needs a real libcudart; without a network it is skipped.
check-unit-programs: $(UNIT_BIN)
	@GPUTRACE_CUDART="$$(tools/get-cudart)" tests/run_unit $(UNIT_BIN)

check-unit: check-unit-programs check-agent

# Without the agent in whole processes, which takes a minute.
check-quick: all check-unit-programs check-includes check-circles check-docs check-format

# Tests that need one more program run `make` with this BUILD.
PYTEST = GPUTRACE_BUILD=$(BUILD) BUILD=$(BUILD) "$$(tools/get-pytest)" -m pytest -p no:cacheprovider --strict-markers -ra tests/e2e

# Without Perfetto's trace_processor, which only Perfetto's own host has, the tests that need it are not collected; nor
# are those of public traces, which are in no package.
ABSENT = $$(tools/get-trace-processor installed >/dev/null 2>&1 || echo ' and not trace_processor')$$(tools/get-hta-traces \
	installed >/dev/null 2>&1 || echo ' and not public_traces')
check-e2e: all simgpu $(CONSUMED)
	@$(PYTEST) -m "not torch and not further$(ABSENT)" $(PYTEST_FLAGS)

check-trace-processor: all simgpu $(CONSUMED)
	@tools/get-trace-processor >/dev/null
	@$(PYTEST) -m trace_processor $(PYTEST_FLAGS)

check-public-traces: all
	@tools/get-hta-traces >/dev/null
	@$(PYTEST) -m public_traces $(PYTEST_FLAGS)

check-hold: all
	@GPUTRACE_STARTS=1000 $(PYTEST)/test_command.py -k no_parent_sees

check-inject: all simgpu
	@GPUTRACE_TEST_CYCLES=1000 GPUTRACE_TEST_KILLS=200 GPUTRACE_TEST_TIMES=20 $(PYTEST)/test_inject.py \
		-k "again_and_again or forks_all_the_time or not_called_by_a_thread"
	@GPUTRACE_TEST_KILLS=200 GPUTRACE_TEST_FORK_ROUNDS=50 $(PYTEST)/test_torch_lifetimes.py -k "again_and_again or forked_child"

check-torch: all simgpu $(CONSUMED) check-gpu-simulated
	@$(PYTEST) -m "torch and not further" $(PYTEST_FLAGS)

# What only repeats on one more CPython, or once more, what check-e2e and check-torch show.
check-further: all simgpu
	@tools/get-models >/dev/null
	@$(PYTEST) -m further $(PYTEST_FLAGS)

check-models: all simgpu
	@tools/get-models >/dev/null
	@$(PYTEST)/test_torch_models.py $(PYTEST_FLAGS)

# Versions with CUDA 13 on the simulated GPU; the others, which have another CUDA, on the CPU.
TORCH_WITH_CUDA_13 ?= 2.11.0 2.12.1 2.13.0 2.14.1
TORCH_ON_CPU ?= 1.13.1 2.4.1 2.8.0 debian
check-torch-all: all simgpu
	@failed=; for version in $(TORCH_WITH_CUDA_13) $(TORCH_ON_CPU); do echo "==== PyTorch $$version"; \
		case " $(TORCH_ON_CPU) " in *" $$version "*) only='cpu-older or (lifetimes and older)' ;; *) only=older ;; esac; \
		GPUTRACE_OLDER_TORCH=$$version && export GPUTRACE_OLDER_TORCH && tools/get-torch older >/dev/null && \
		$(PYTEST) -m torch -k "$$only" $(PYTEST_FLAGS) || failed="$$failed $$version"; done; \
	[ -z "$$failed" ] || { echo "check-torch-all: failed with PyTorch$$failed"; exit 1; }

# DIVIDED=FOLDER, which must be empty or not exist yet: runs at the same time divide the test files between them.
check-e2e-all: all simgpu $(CONSUMED)
	@tools/get-torch >/dev/null
	@marked="not further$(ABSENT)"; \
		export GPUTRACE_TEST_DIVIDED="$(abspath $(DIVIDED))"; $(PYTEST) -m "$$marked" $(PYTEST_FLAGS)

check-kernels: all simgpu
	@tools/deps test kernels
	@BUILD=$(BUILD) tests/kernels/check $(KERNELS_WANTED)

# In folders of their own, as every object differs.  -g1: a report needs functions and lines, but nothing else of -g.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZED_BUILD := $(BUILD)/sanitize
# By clang, whose warnings CI has from here, too.  The sanitizer's library is shared: a program that contains an allocator
# itself is none that gputrace enters between two instructions.
SANITIZER_LIBRARIES = $(dir $(shell $(CLANG) -print-file-name=libclang_rt.asan-$(shell uname -m).so))
sanitized: $(SKELETON)
	@$(MAKE) --no-print-directory BUILD=$(SANITIZED_BUILD) SKELETONS=$(SKELETONS) CC=$(CLANG) CFLAGS='-O1 -g1 $(SANITIZE)' \
		EXTRA_LDFLAGS='-shared-libasan -Wl,-rpath,$(SANITIZER_LIBRARIES)' $(GOALS)

# With ThreadSanitizer only those files are built that its programs have, as their debug information says.
SOURCES_OF = for program in $(1); do readelf --debug-dump=info --dwarf-depth=1 $$program; done | \
	sed -n 's|.*DW_AT_name.* \(user/.*\)\.c$$|$(BUILD)/threads/\1.o|p' | sort -u | tr '\n' ' '
check-sanitize:
	@$(MAKE) --no-print-directory sanitized GOALS=check-unit-programs
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/threads SKELETONS=$(SKELETONS) CFLAGS='-O1 -g1 -fsanitize=thread' \
		LIB_OBJ="$$($(call SOURCES_OF,$(THREADED:$(BUILD)/%=$(SANITIZED_BUILD)/%)))" check-threads

# ThreadSanitizer's shadow memory may collide with randomised mappings: setarch -R turns randomisation off.
THREADED := $(patsubst %,$(BUILD)/tests/unit/test_%,cancel capture_notices capture_run entering flight log_segments log_writer model_calls view workers)
check-threads: $(THREADED)
	@for program in $(THREADED); do TSAN_OPTIONS=halt_on_error=1 setarch -R "$$program" >"$$program.log" 2>&1 || \
		{ cat "$$program.log"; exit 1; }; done; echo "ThreadSanitizer: $(words $(THREADED)) programs, no race"

# ---- fuzzing: clang's libFuzzer over objects built for it ---------------------------------------
FUZZ := $(BUILD)/fuzz
FUZZ_BIN := $(patsubst tests/fuzz/%.c,$(FUZZ)/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_LIB := $(patsubst %.c,$(FUZZ)/%.o,$(foreach d,base target cupti log model input timeline,$(wildcard user/$(d)/*.c user/$(d)/*/*.c)))
FUZZ_AGENT := $(FUZZ)/user/agent/send/batch_send.o
FUZZ_CUBIN := $(patsubst %,$(FUZZ)/user/agent/kernels/%.o,cubin_bytes cubin_elf cubin_lines)
FUZZ_HTTP := $(FUZZ)/user/view/http_request.o
FUZZ_DUMP := $(patsubst %.c,$(FUZZ)/%.o,$(wildcard user/dump/*.c user/dump/*/*.c) user/base/library_file.c)
FUZZ_FOREIGN := $(patsubst %,$(FUZZ)/user/attach/%.o,clients/foreign_records clients/tsc emit/emit)
FUZZ_TRACE_CUT := $(FUZZ)/unit/trace_cut.o $(FUZZ)/unit/trace_cut_part.o
FUZZ_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined
OBJECTS += $(FUZZ_LIB) $(FUZZ_AGENT) $(FUZZ_CUBIN) $(FUZZ_HTTP) $(FUZZ_DUMP) $(FUZZ_FOREIGN) $(FUZZ_TRACE_CUT) $(FUZZ_BIN:%=%.o)

$(FUZZ)/user/%.o: user/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) FUZZ $<
	$(Q)$(CLANG) $(BASE_CFLAGS) -O1 -g1 -fsanitize=fuzzer-no-link $(FUZZ_SANITIZE) -MMD -MP -c $< -o $@

$(FUZZ)/%.o: tests/fuzz/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) FUZZ $<
	$(Q)$(CLANG) $(BASE_CFLAGS) -Itests/unit -O1 -g1 -fsanitize=fuzzer-no-link $(FUZZ_SANITIZE) -MMD -MP -c $< -o $@

$(FUZZ)/unit/%.o: tests/unit/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) FUZZ $<
	$(Q)$(CLANG) $(BASE_CFLAGS) -Itests/unit -O1 -g1 -fsanitize=fuzzer-no-link $(FUZZ_SANITIZE) -MMD -MP -c $< -o $@

$(FUZZ)/libgputrace.a: $(FUZZ_LIB) $(BUILD)/members
	$(Q)rm -f $@ && $(AR) rcs $@ $(FUZZ_LIB)

$(FUZZ)/fuzz_agent_records: $(FUZZ_AGENT)
$(FUZZ)/fuzz_cubin: $(FUZZ_CUBIN)
$(FUZZ)/fuzz_dump_file: $(FUZZ_DUMP)
$(FUZZ)/fuzz_foreign_records: $(FUZZ_FOREIGN)
$(FUZZ)/fuzz_http_request: $(FUZZ_HTTP)
$(FUZZ)/fuzz_log: $(FUZZ_TRACE_CUT)
$(FUZZ)/fuzz_%: $(FUZZ)/fuzz_%.o $(FUZZ)/libgputrace.a
	$(say) LINK $@
	$(Q)$(CLANG) -fsanitize=fuzzer $(FUZZ_SANITIZE) -o $@ $(filter %.o,$^) $(FUZZ)/libgputrace.a -lelf -lz -liberty -lzstd -lsqlite3

fuzz-programs: $(FUZZ_BIN)

fuzz-short: $(FUZZ_BIN)
	@tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_BIN)
