# gputrace: build, install, check.
#
#   make deps            install what building, testing and the demo need (Debian packages, PyPI)
#   make                 build everything into $(BUILD); V=1 shows the commands
#   make demo            set up, build, trace a bundled program, show the report
#   make picture         docs/picture.svg, of one of the demo's programs
#   make check-quick     before each commit: unit tests, formatting, includes, circles, documents (two minutes)
#   make check           set up, then unit and end-to-end tests (the latter need root)
#   make check-torch     the same on PyTorch (PyPI, kept in a cache outside the tree)
#   make check-kernels   on Debian's kernels from 5.10 to 7.2, in qemu
#   make check-gpu       on the GPU of this machine, with PyTorch
#   make gpu-kit         the same as a folder to take along: one static gputrace, checks, no installation
#   make bench           what tracing costs, against the project's numbers
#   make lint check-format check-includes check-circles check-docs check-sanitize fuzz-short
#   make install PREFIX=/usr/local DESTDIR=    make uninstall, with the same words, removes it
#   make install CAPS=1  for a group to trace without root (CAPS_GROUP=gputrace): docs/security.md
#   make wheel deb tarball    what others install without building
#
# The tests' rules are in tests/*.mk, the simulated GPU's in tests/simgpu/simgpu.mk, the benches' in tools/bench/bench.mk,
# those of packages in tools/package/package.mk.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
VERSION := $(shell cat VERSION)
ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')

# Where the compiled BPF programs are: a build by another compiler or with a sanitizer takes those of the first one.
SKELETONS ?= $(BUILD)/bpf
WARNINGS := -Wall -Wextra -Werror -Wformat-security -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef \
	-Wwrite-strings -Wvla -Wno-unused-parameter
CFLAGS ?= -O2 -g
EXTRA_CFLAGS ?=
EXTRA_LDFLAGS ?=
BASE_CFLAGS := -std=gnu17 -D_GNU_SOURCE $(WARNINGS) -Iinclude -Iuser -I$(SKELETONS) -DGPUTRACE_VERSION='"$(VERSION)"'
LIBS := -lbpf -lelf -lz -lisal -liberty -lzstd -lsqlite3 -lncursesw -ltinfo -lm

USER_DIRS := $(patsubst user/%/,%,$(wildcard $(foreach d,base target log attach capture model input analyze timeline report export \
	top view serve dump cmd,user/$(d)/ user/$(d)/*/)))
USER_SRC := $(foreach d,$(USER_DIRS),$(wildcard user/$(d)/*.c))
USER_OBJ := $(USER_SRC:%.c=$(BUILD)/%.o)
# CUPTI's records: used by the agent, and by gputrace to read foreign buffers.  Compiled once, with the agent's flags.
CUPTI_SRC := $(wildcard user/cupti/*.c)
CUPTI_OBJ := $(CUPTI_SRC:%.c=$(BUILD)/%.o)
# The static gputrace has another gzip (user/export/file/deflater.h), an SQLite that loads nothing, and no NSS for users.
STATIC_OBJ := $(BUILD)/user/export/file/deflater_zlib.o $(BUILD)/user/export/sqlite/no_loading.o $(BUILD)/user/cmd/process/user_database_static.o
LIB_OBJ := $(filter-out $(BUILD)/user/cmd/main.o $(STATIC_OBJ),$(USER_OBJ)) $(CUPTI_OBJ)
LIB := $(BUILD)/libgputrace.a
BPF_SRC := $(wildcard bpf/*.bpf.c)
BPF_OBJ := $(BPF_SRC:bpf/%.bpf.c=$(BUILD)/bpf/%.bpf.o)
BPF_OLD_OBJ := $(BPF_OBJ:.bpf.o=.old.bpf.o)
BPF_CFLAGS := -O2 -g -target bpf -D__TARGET_ARCH_$(ARCH) -Iinclude -Ivmlinux -Ibpf -Wall -Wextra -Werror \
	-Wno-unused-parameter -mcpu=v3 -fdebug-compilation-dir=.
# The old programs are the same ones for Linux 5.10 to 5.16; the binary has both (user/attach/load/programs.c).
SKELETON := $(SKELETONS)/gputrace.skel.h $(SKELETONS)/gputrace_old.skel.h

# The agent is loaded into other people's processes: it has only what it needs and replaces none of their symbols.
AGENT := $(BUILD)/libgputrace-agent.so
AGENT_SRC := $(wildcard user/agent/*.c user/agent/*/*.c)
AGENT_OBJ := $(AGENT_SRC:%.c=$(BUILD)/%.o)
AGENT_CFLAGS := -Ibpf -fPIC -fvisibility=hidden -fno-stack-protector -U_FORTIFY_SOURCE -fcf-protection=none

# Objects whose -MMD files are read at the end; the included makefiles add their own.
OBJECTS := $(USER_OBJ) $(CUPTI_OBJ) $(AGENT_OBJ) $(BPF_OBJ) $(BPF_OLD_OBJ) $(BUILD)/user/nvml/program.o

ifeq ($(V),1)
say = @:
Q :=
else ifneq ($(findstring s,$(firstword -$(MAKEFLAGS))),)
say = @:
Q := @
else
say = @printf '  %-7s %s\n'
Q := @
endif

.PHONY: all clean help deps install uninstall demo picture format check-format check-includes check-circles check-docs tags lint FORCE
.DELETE_ON_ERROR:
all: $(BUILD)/gputrace $(AGENT)

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

# Everything compiled depends on `flags`, which names compilers and flags.  A library depends on `members`, the list of its
# objects: a source that is removed must leave it.  Both are written only where they differ: where nothing has changed,
# several makes may run in one folder.
FLAGS_NOW := $(CC) $(BASE_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) $(AGENT_CFLAGS) $(CLANG) $(BPF_CFLAGS)
MEMBERS_NOW := $(LIB_OBJ) $(AGENT_OBJ)
ifneq ($(file <$(BUILD)/flags),$(FLAGS_NOW))
$(BUILD)/flags: FORCE
endif
ifneq ($(file <$(BUILD)/members),$(MEMBERS_NOW))
$(BUILD)/members: FORCE
endif
$(BUILD)/flags: NOW = $(FLAGS_NOW)
$(BUILD)/members: NOW = $(MEMBERS_NOW)
MAKE_PID = $(shell echo $$PPID)
$(BUILD)/flags $(BUILD)/members: | $(BUILD)
	@$(file >$@.$(MAKE_PID),$(NOW))mv $@.$(MAKE_PID) $@

$(BUILD):
	@mkdir -p $@

# ---- BPF ------------------------------------------------------------------------------------
$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) BPF $<
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/bpf/%.old.bpf.o: bpf/%.bpf.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) BPF '$< (old kernels)'
	$(Q)$(CLANG) $(BPF_CFLAGS) -DGPT_OLD_KERNEL -MMD -MP -c $< -o $@

$(BUILD)/bpf/gputrace.o: $(BPF_OBJ)
$(BUILD)/bpf/gputrace_old.o: $(BPF_OLD_OBJ)
$(BUILD)/bpf/gputrace.o $(BUILD)/bpf/gputrace_old.o:
	$(say) LINK $@
	$(Q)$(BPFTOOL) gen object $@ $^

$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.o
	$(say) GEN $@
	$(Q){ echo "/* NOLINTBEGIN: bpftool's, not gputrace's */" && $(BPFTOOL) gen skeleton $< name $*_bpf && \
		echo "/* NOLINTEND */"; } >$@.tmp && mv $@.tmp $@

# Before the first build there is no dependency file yet: attach/ includes the skeletons, and cmd/ through it.
$(filter $(BUILD)/user/attach/% $(BUILD)/user/cmd/%,$(USER_OBJ)): | $(SKELETON)

# ---- user space -----------------------------------------------------------------------------
$(AGENT_OBJ) $(CUPTI_OBJ): $(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(AGENT_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c $< -o $@

# bpf/ reads words out of byte arrays, which clang's BPF allows.
$(BUILD)/user/agent/share/stacks.o: private AGENT_CFLAGS += -fno-strict-aliasing

# Calls NVML in a process of its own; gputrace's file has it (user/capture/nvml_process.c).  It names the oldest symbols of
# glibc, and its _start is its own, so that it runs wherever the static gputrace does.
NVML_PROGRAM := $(BUILD)/nvml-program
NVML_SRC := user/nvml/program.c
$(BUILD)/user/nvml/program.o: $(NVML_SRC) $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(BASE_CFLAGS) -O2 -fPIE -fno-stack-protector -U_FORTIFY_SOURCE -MMD -MP -c $< -o $@

$(NVML_PROGRAM): $(BUILD)/user/nvml/program.o
	$(say) LINK $@
	$(Q)$(CC) -pie -nostartfiles -s $< -Wl,-z,now -Wl,--build-id=none -Wl,--no-as-needed -l:libdl.so.2 -o $@

$(BUILD)/user/capture/nvml_process.o: $(NVML_PROGRAM)
$(BUILD)/user/capture/nvml_process.o: private EXTRA_CFLAGS += -DNVML_PROGRAM='"$(NVML_PROGRAM)"'
$(BUILD)/lint/user/capture/nvml_process.ok: private LINT_FLAGS := -DNVML_PROGRAM='"$(NVML_PROGRAM)"'

# The assembler reads these.
$(BUILD)/user/export/page/assets.o: $(wildcard user/export/page/*.*s)

$(LIB): $(LIB_OBJ) $(BUILD)/members
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIB_OBJ)

$(BUILD)/gputrace: $(BUILD)/user/cmd/main.o $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $^ $(LIBS)

# Needs only the kernel: for machines on which nothing can be installed (tests/gpu/gpu.mk).  ld warns of functions that
# need shared libraries at run time (dlopen, NSS).
STATIC_LIBS := $(filter-out -lisal,$(LIBS)) -lm
$(BUILD)/gputrace-static: $(BUILD)/user/cmd/main.o $(STATIC_OBJ) $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -static -Wl,--fatal-warnings -Wl,--wrap=dlopen -o $@ $^ $(STATIC_LIBS)

$(AGENT): $(AGENT_OBJ) $(CUPTI_OBJ) user/agent/agent.map $(BUILD)/members
	$(say) LINK $@
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-z,now -Wl,-z,nodelete -Wl,-z,defs -Wl,--version-script=user/agent/agent.map \
		-Wl,-soname,libgputrace-agent.so -o $@ $(AGENT_OBJ) $(CUPTI_OBJ) \
		-Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0

# The capabilities that tests/e2e/test_capabilities.py shows to be needed; before Linux 5.11 also for locked memory.
CAPS ?=
CAPS_GROUP ?= gputrace
CAPS_SET := cap_bpf,cap_perfmon,cap_sys_ptrace,cap_sys_admin,cap_sys_chroot,cap_setuid,cap_setgid,cap_dac_read_search
ifneq ($(filter 5.10.%,$(shell uname -r)),)
CAPS_SET := $(CAPS_SET),cap_sys_resource
endif

# With CAPS there are two of the program: bin/gputrace, which every user may execute, executes the other one where that
# helps (user/cmd/process/privileges.c). chgrp before setcap: a change of the group drops a file's capabilities.
CAPABLE = $(DESTDIR)$(PREFIX)/lib/gputrace/gputrace-capable
install: all pages
ifneq ($(CAPS),)
	@getent group '$(CAPS_GROUP)' >/dev/null || \
		{ echo 'install: no group $(CAPS_GROUP): groupadd $(CAPS_GROUP), or CAPS_GROUP=NAME' >&2 && exit 1; }
endif
	$(call install_tree,$(BUILD)/gputrace,$(AGENT),$(DESTDIR)$(PREFIX),site-functions)
	$(call install_unit,$(DESTDIR)$(PREFIX),$(PREFIX)/bin)
	$(call install_documents,$(DESTDIR)$(PREFIX)/share/doc/gputrace)
ifneq ($(CAPS),)
	install -m 750 $(BUILD)/gputrace $(CAPABLE) && chgrp '$(CAPS_GROUP)' $(CAPABLE) && \
		PATH="$$PATH:/usr/sbin:/sbin" setcap '$(CAPS_SET)=ep' $(CAPABLE)
endif

uninstall:
	$(call uninstall,$(DESTDIR)$(PREFIX))

# ---- set-up, demo, tidiness -------------------------------------------------------------------
deps:
	@tools/deps

demo:
	@BUILD='$(BUILD)' tools/demo

# The README's picture, of `tools/demo dataloader`; best on a quiet machine.
PICTURE := $(BUILD)/picture
picture:
	@BUILD='$(BUILD)' tools/demo dataloader $(PICTURE)
	$(Q)$(BUILD)/gputrace export -q --metric idle -o $(PICTURE)/idle.folded -o $(PICTURE)/trace.json $(PICTURE)/dataloader.gpt
	$(Q)tools/picture $(PICTURE)/trace.json $(PICTURE)/idle.folded docs/picture.svg

C_FILES = $(sort $(shell find bpf include user tests tools -name '*.[ch]'))

format:
	@clang-format -i $(C_FILES)

check-format:
	@clang-format --dry-run --Werror $(C_FILES)

# Checks includes against the table of docs/design/folders.md.
check-includes:
	@tools/check-includes

# Checks that no files of gputrace, or of the agent, depend on each other in a circle.
check-circles: $(BUILD)/user/cmd/main.o $(LIB_OBJ) $(AGENT_OBJ)
	@tools/check-circles $(BUILD)/user/cmd/main.o $(LIB_OBJ) -- $(AGENT_OBJ) $(CUPTI_OBJ)

# For editors: where each name is made, also those that macros make of rows.
tags:
	@tools/make-tags

# Checks that files and tests named in the documents exist.
lint: check-docs
check-docs:
	@tools/check-docs

# The number of states of a function that clang's analyzer examines (clang's default), which takes most of the time.
LINT_STATES ?= 225000
# CI: if any are named, only these files are examined so deeply, the others with LINT_STATES_OTHERS.
LINT_DEEP ?=
LINT_STATES_OTHERS ?= 10000
LINT_STATES_OF = $(if $(and $(LINT_DEEP),$(filter-out $(LINT_DEEP),$<)),$(LINT_STATES_OTHERS),$(LINT_STATES))
# A file is checked again when its object was rebuilt, so headers count, too.
LINT_OK := $(patsubst %.c,$(BUILD)/lint/%.ok,$(USER_SRC) $(CUPTI_SRC) $(AGENT_SRC) $(NVML_SRC))
lint: $(LINT_OK)
	@tools/check-prints
	@tools/check-messages
	@mkdir -p $(BUILD)/lint/cppcheck
	@cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr --enable=warning,performance,portability \
		--suppress=missingIncludeSystem --cppcheck-build-dir=$(BUILD)/lint/cppcheck -j 2 -Iinclude -Iuser \
		-D__$(shell uname -m)__ -D'LIBBPF_OPTS(type,name,...)=struct type name = {}' \
		$(USER_SRC) $(CUPTI_SRC) $(AGENT_SRC) $(NVML_SRC) 2>$(BUILD)/lint/cppcheck.err || { cat $(BUILD)/lint/cppcheck.err; false; }
	@! grep . $(BUILD)/lint/cppcheck.err # findings across files do not set its exit code

$(BUILD)/lint/%.ok: %.c $(BUILD)/%.o .clang-tidy
	@mkdir -p $(@D)
	$(say) TIDY $<
	$(Q)clang-tidy --quiet $< -- $(patsubst -I$(SKELETONS),-isystem$(SKELETONS),$(filter-out -W%,$(BASE_CFLAGS))) $(LINT_FLAGS) \
		$(if $(filter user/agent/%,$<),-Ibpf) -Xclang -analyzer-config -Xclang max-nodes=$(LINT_STATES_OF) 2>$@.err || \
		{ cat $@.err; false; }
	@touch $@

clean:
	rm -rf $(BUILD)

include tests/simgpu/simgpu.mk tests/tests.mk tests/agent.mk tests/gpu/gpu.mk tools/bench/bench.mk tools/package/package.mk
-include $(OBJECTS:.o=.d)
