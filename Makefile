# zc: make, make demo, make check [T= J= SANITIZE=], make check-long [T= J= SANITIZE=], make check-portable,
# make check-sanitize, make unit, make lint [T=], make fuzz [CASES=], make clean;
# make install, install-strip and uninstall PREFIX= DESTDIR= INSTALL= unitdir=; make dist [DISTDIR=].
# Needs gcc or clang, GNU make and glibc 2.27.

VERSION  = 2.0.0
PREFIX  ?= /usr/local
DESTDIR ?=
bindir   = $(PREFIX)/bin
mandir   = $(PREFIX)/share/man
sharedir = $(PREFIX)/share/zc
docdir   = $(PREFIX)/share/doc/zc
bashdir  = $(PREFIX)/share/bash-completion/completions
zshdir   = $(PREFIX)/share/zsh/site-functions
unitdir  = $(sharedir)
INSTALL  = install

# The environment may set CC, CFLAGS, CPPFLAGS, LDFLAGS, PREFIX and DESTDIR.
ifeq ($(origin CC),default)
CC       = gcc
endif
CFLAGS  ?= -O2 -g -fdebug-prefix-map='$(CURDIR)=.'
WARN     = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-psabi
# Hardening, on by default; make HARDEN= HARDEN_LD= builds without.
FORTIFY  = $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN   = $(FORTIFY) -fstack-protector-strong -fstack-clash-protection -fPIE
HARDEN_LD = -pie -Wl,-z,relro,-z,now,-z,noexecstack
STD      = -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DVERSION='"$(VERSION)"' -pthread

# Where objects go, and where programs go.
OBJ      = build
BIN      =

# SANITIZE=address,undefined or SANITIZE=thread: all of it with sanitizers, in a directory of its own.
ifneq ($(SANITIZE),)
OBJ      = build/$(SANITIZE)
BIN      = $(OBJ)/
CFLAGS   = -O1 -g -fno-omit-frame-pointer -fsanitize=$(SANITIZE) -fno-sanitize-recover=undefined
HARDEN   = -fPIE
endif

TOOLS    = zcc zcs cyclesoak run_rr
PAGES    = $(wildcard man/*.[157])
SECTIONS = $(sort $(patsubst .%,%,$(suffix $(PAGES))))
DATA     = $(wildcard man/*.json lib/hosts/*.py)
SERVICES = $(wildcard lib/receive/*.service)
LIB      = common.o $(patsubst %.c,%.o,$(wildcard lib/*/*.c))
HELPERS  = $(patsubst tests/helpers/%.c,$(OBJ)/tests/%,$(wildcard tests/helpers/*.c)) $(OBJ)/tests/net
PRELOADS = $(patsubst tests/helpers/preload/%.c,$(OBJ)/tests/%.so,$(wildcard tests/helpers/preload/*.c))
FUZZ     = $(OBJ)/tests/fuzz/fuzz
UNITS    = $(patsubst tests/%.c,$(OBJ)/tests/%,$(wildcard tests/unit/*.c))

PROGRAMS = $(TOOLS) zc-hosts zc-plot

# The manual pages, and the scripts, as they are installed: with the version.
MAN      = $(PAGES:%=$(OBJ)/%)
SCRIPTS  = $(OBJ)/zc-hosts $(OBJ)/zc-plot
MODULES  = $(patsubst lib/hosts/%,$(OBJ)/%,$(wildcard lib/hosts/*.py))

all: $(TOOLS:%=$(BIN)%) $(SCRIPTS) $(MODULES) $(MAN)

$(TOOLS:%=$(BIN)%): $(BIN)%: $(OBJ)/%.o $(OBJ)/libzc.a
	$(CC) $(STD) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ -lm

# All parts; the linker takes what a program calls.
$(OBJ)/libzc.a: $(LIB:%=$(OBJ)/%)
	@rm -f $@
	$(AR) qcs $@ $^

$(OBJ)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(HARDEN) -I. -MMD -MP $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(MAN): $(OBJ)/%: % Makefile
	@mkdir -p $(@D)
	@sed 's/^\.Os Linux$$/.Os zc $(VERSION)/' $< >$@.new && mv $@.new $@

$(OBJ)/zc-hosts: lib/hosts/zc-hosts
$(OBJ)/zc-plot: lib/report/zc-plot
$(SCRIPTS): Makefile
	@mkdir -p $(@D)
	@sed 's/^VERSION = .*/VERSION = "$(VERSION)"/' $(filter lib/%,$^) >$@.new && chmod +x $@.new && mv $@.new $@

$(MODULES): $(OBJ)/%: lib/hosts/%
	@mkdir -p $(@D)
	@cp $< $@

# The tests' own programs: unit tests, and helpers such as peers that speak the 2001 wire.
LINK_TEST = $(CC) $(STD) $(WARN) $(HARDEN) -I. -MMD -MP $(CPPFLAGS) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $@ $< $(OBJ)/libzc.a -lm

$(OBJ)/tests/%: tests/%.c $(OBJ)/libzc.a
	@mkdir -p $(@D)
	$(LINK_TEST)

$(OBJ)/tests/%: tests/helpers/%.c $(OBJ)/libzc.a
	@mkdir -p $(@D)
	$(LINK_TEST)

$(OBJ)/tests/net: $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/helpers/net/*.c))
	@mkdir -p $(@D)
	$(CC) $(STD) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $@ $^

$(FUZZ): $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/fuzz/*.c)) $(OBJ)/libzc.a
	$(CC) $(STD) $(CFLAGS) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ -lm

# Where there are none the tests that preload one are skipped.
$(OBJ)/tests/%.so: tests/helpers/preload/%.c
	@mkdir -p $(@D)
	-$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -shared -o $@ $< -ldl

debug:
	$(MAKE) SANITIZE=address,undefined all

demo: all
	@tests/demo

# libFuzzer on each parser: make fuzz [CASES=N] [SEED=N] [FUZZ_CC=clang]
FUZZ_CC  = clang
CASES    = 1000000
SEED     = 1

$(OBJ)/fuzz/%: $(wildcard tests/fuzz/*.c) common.c $(wildcard lib/*/*.c)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(STD) $(WARN) -I. -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -DLIBFUZZER -DTARGET=$* -o $@ $(filter %.c,$^) -lm

fuzz: $(FUZZ)
	@for t in $$($(FUZZ)); do \
		$(MAKE) -s $(OBJ)/fuzz/$$t && $(OBJ)/fuzz/$$t -runs=$(CASES) -seed=$(SEED) -max_len=5000 -len_control=0 \
			-timeout=10 -artifact_prefix=$(OBJ)/fuzz/$$t- || exit; \
	done

# With LONG=1 in the environment the tests have their full sizes, and those run that have no other.
check-long: export LONG = 1

# These tests need neither root, namespaces nor an idle machine: for the build of a package.
check-portable: T = unit help wire zcc json completion

# Programs of tests are built side by side even without -j.
check check-long check-portable: all
	@$(MAKE) $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$$(getconf _NPROCESSORS_ONLN)) --no-print-directory -s test-programs
	@BIN='$(abspath ./$(BIN))' HELPERS='$(abspath $(OBJ)/tests)' CC='$(CC)' SANITIZE='$(SANITIZE)' \
		ONCE='$(ONCE)' J='$(J)' tests/run $(T)

# All tests on programs that sanitizers watch, first by those of addresses and undefined behaviour.
check-sanitize:
	$(MAKE) check SANITIZE=address,undefined
	$(MAKE) check SANITIZE=thread

# The unit tests, to be run one by one: build/tests/unit/NAME
unit: $(UNITS)

test-programs: $(HELPERS) $(PRELOADS) $(UNITS) $(FUZZ)

# Static checks, all or T=name: of each tool that is installed.
lint:
	@tests/lint $(T)

# What the sources mean depends on these.
lint: export LINT_FLAGS = $(STD) $(WARN) -I. $(CPPFLAGS)

STRIP_FLAG =

install: all
	$(INSTALL) -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(bashdir)' '$(DESTDIR)$(zshdir)'
	$(INSTALL) $(STRIP_FLAG) -m 755 $(TOOLS:%=$(BIN)%) '$(DESTDIR)$(bindir)'
	$(INSTALL) -m 755 $(SCRIPTS) '$(DESTDIR)$(bindir)'
	sed -i "s|\.\./share/zc|$$(realpath -m --relative-to='$(bindir)' '$(sharedir)')|" '$(DESTDIR)$(bindir)/zc-hosts'
	$(foreach s,$(SECTIONS),$(INSTALL) -d '$(DESTDIR)$(mandir)/man$s' && \
		$(INSTALL) -m 644 $(filter %.$s,$(MAN)) '$(DESTDIR)$(mandir)/man$s' &&) :
	for p in $(PROGRAMS); do $(INSTALL) -m 644 man/completion.bash '$(DESTDIR)$(bashdir)'/$$p || exit; done
	$(INSTALL) -m 644 man/completion.zsh '$(DESTDIR)$(zshdir)/_zc'
	$(INSTALL) -d '$(DESTDIR)$(sharedir)' '$(DESTDIR)$(docdir)' '$(DESTDIR)$(unitdir)'
	$(INSTALL) -m 644 $(DATA) '$(DESTDIR)$(sharedir)'
	for s in $(SERVICES); do sed 's|/usr/local/bin|$(bindir)|' $$s >'$(DESTDIR)$(unitdir)'/$${s##*/}; done
	chmod 644 $(SERVICES:lib/receive/%='$(DESTDIR)$(unitdir)/%')
	$(INSTALL) -m 644 README NEWS LICENSE '$(DESTDIR)$(docdir)'

install-strip: STRIP_FLAG = -s
install-strip: install

# Empty standard directories stay: other packages have them, too.
uninstall:
	rm -f $(PROGRAMS:%='$(DESTDIR)$(bindir)/%')
	rm -f $(foreach s,$(SECTIONS),$(patsubst man/%,'$(DESTDIR)$(mandir)/man$s/%',$(filter %.$s,$(PAGES))))
	rm -f $(PROGRAMS:%='$(DESTDIR)$(bashdir)/%') $(PROGRAMS:%='$(DESTDIR)$(zshdir)/_%') '$(DESTDIR)$(zshdir)/_zc'
	rm -f $(patsubst %,'$(DESTDIR)$(sharedir)/%',$(notdir $(DATA))) $(SERVICES:lib/receive/%='$(DESTDIR)$(unitdir)/%')
	rm -f $(patsubst %,'$(DESTDIR)$(docdir)/%',README NEWS LICENSE)
	for d in '$(DESTDIR)$(sharedir)' '$(DESTDIR)$(docdir)'; do \
		[ ! -d "$$d" ] || rmdir --ignore-fail-on-non-empty "$$d"; \
	done

# The sources as $(DISTDIR)/zc-VERSION.tar.gz; the same files make the same bytes.  They are those that
# git knows, without git all but what was built, and no hidden folders.
DIST     = zc-$(VERSION)
DISTDIR  = .
NOT_DIST = (\.[^/]*/|build/|debian/).*|\.gitignore|zcc|zcs|cyclesoak|run_rr|counts_per_sec|zc-.*\.tar(\.gz)?

dist:
	@if [ -e .git ]; then \
		files=$$(git ls-files) && made=$$(git log -1 --format=%ct) && \
		git ls-files -o --exclude-standard | grep -vxE '$(NOT_DIST)' | sed 's/^/not in git: /' >&2; \
	else \
		files=$$(find . -type f | cut -c 3-) && made=$$(stat -c %Y Makefile); \
	fi && \
	printf '%s\n' "$$files" | grep -vxE '$(NOT_DIST)' | LC_ALL=C sort | \
		tar -cf '$(DISTDIR)/$(DIST).tar' --format=ustar --transform='s,^,$(DIST)/,' --mode=u=rwX,go=rX \
			--owner=0 --group=0 --numeric-owner --mtime="@$${SOURCE_DATE_EPOCH:-$$made}" -T - && \
	gzip -nf9 '$(DISTDIR)/$(DIST).tar'

clean:
	rm -rf build $(TOOLS)

-include $(wildcard $(OBJ)/*.d $(OBJ)/lib/*/*.d $(OBJ)/tests/*.d $(OBJ)/tests/*/*.d)

.PHONY: all debug demo fuzz check check-long check-portable check-sanitize unit test-programs lint install install-strip uninstall dist clean
.SECONDARY:
