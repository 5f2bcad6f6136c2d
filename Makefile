# One word per command; `make help` lists them. A fresh clone needs Python >= 3.11, make and a C++20 compiler: every
# command makes .venv and installs what it needs. A second call only does what has changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/stamp
PY := $(BIN)/python
PIP := $(PY) -m pip install --quiet --quiet
CMAKE := $(BIN)/cmake
ENGINE := pyproject.toml CMakeLists.txt $(shell find cmake cpp -type f)
CPP := $(shell find cpp tests/cpp benchmarks -name '*.[chi]pp' -o -name '*.inl')

# Extra arguments: make test ARGS="-k neighbors -x"; how long to fuzz: make fuzz SECONDS_OF_FUZZ=600
ARGS ?=
WORKERS ?= auto
SECONDS_OF_FUZZ ?= 60
JOBS ?= $(shell nproc 2> /dev/null || echo 2)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONUTF8 := 1

.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: help demo test referee native lint tidy format bench docs sanitize fuzz stubs wheel build clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 12

# --- the environment: one stamp per set of requirements, all of them read from pyproject.toml ------------------------

requirements = $(PY) -c 'import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
  sets = project["project"]["optional-dependencies"]; sets["base"] = project["project"]["dependencies"]; \
  sets["build"] = project["build-system"]["requires"] + ["cmake>=3.24", "ninja"]; \
  print("\n".join(line for name in sys.argv[1:] for line in sets[name]))'

$(STAMP)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "tonari needs Python >= 3.11, and $(PYTHON) is not. Name another one: make PYTHON=python3.12"; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { echo "no venv: on Debian and Ubuntu, apt install python3-venv"; exit 1; }
	@$(PIP) --upgrade pip
	@mkdir -p $(STAMP) && touch $@

$(STAMP)/base: pyproject.toml $(STAMP)/venv
	@echo "installing the libraries that tonari uses and its build tools"
	@$(requirements) build base > $@.txt
	@$(PIP) -r $@.txt
	@touch $@

$(STAMP)/dev $(STAMP)/docs $(STAMP)/bench: $(STAMP)/%: pyproject.toml $(STAMP)/base
	@echo "installing what '$*' needs"
	@$(requirements) $* > $@.txt
	@$(PIP) -r $@.txt
	@touch $@

$(STAMP)/engine: $(ENGINE) $(STAMP)/base
	@command -v $${CXX:-c++} > /dev/null || { \
	  echo "no C++ compiler '$${CXX:-c++}' found: install one (Debian: apt install g++) or name it: CXX=clang++ make"; exit 1; }
	@echo "compiling the engine"
	@$(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

build: $(STAMP)/engine ## compile the engine and install tonari into .venv

# --- what a user looks at ---------------------------------------------------------------------------------------------

demo: $(STAMP)/engine ## compare classifiers on a small table; write a model, a report and a result into demo/
	$(BIN)/tonari compare examples/data/penguins.csv --target species --output demo --force
	@$(BIN)/tonari predict demo/model.tonari examples/data/penguins.csv --output demo/predictions.csv --force --quiet
	@echo "and     demo/predictions.csv, by tonari predict demo/model.tonari examples/data/penguins.csv"

docs: $(STAMP)/engine $(STAMP)/docs ## build the documentation into docs/_site
	@$(PY) -m sphinx --quiet --fail-on-warning --keep-going --builder html docs docs/_site
	@echo "docs/_site/index.html"

# --- checks -----------------------------------------------------------------------------------------------------------

test: $(STAMP)/engine $(STAMP)/dev native ## native tests, then the Python tests and every example in the documents
	$(PY) -m pytest --numprocesses $(WORKERS) --maxprocesses 8 $(ARGS)

referee: $(STAMP)/engine $(STAMP)/dev ## scikit-learn's own tests, with our classes in their place
	$(PY) tests/referee/run_scikit_learn_tests.py $(ARGS)

# The native tests need doctest, a header that no Python index carries.
doctest_found = printf '\#include <doctest/doctest.h>\n' | $${CXX:-c++} -std=c++20 -E -x c++ - > /dev/null 2>&1
native_build = $(CMAKE) -S . -B $(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DTONARI_PYTHON=OFF \
  -DTONARI_TESTS=ON -DCMAKE_BUILD_TYPE=$(2) $(3) --log-level=WARNING > /dev/null && $(CMAKE) --build $(1) -- --quiet

native: $(STAMP)/base
	@if $(doctest_found); then \
	  $(call native_build,build/native,Release) && $(BIN)/ctest --test-dir build/native --parallel $(JOBS) --output-on-failure; \
	else \
	  echo "native tests LEFT OUT: no header doctest/doctest.h (Debian: apt install doctest-dev; macOS: brew install doctest)"; \
	fi

lint: $(STAMP)/engine $(STAMP)/dev ## style, types, import law, C++ style and analysis, drift of the stubs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	@$(MAKE) --no-print-directory --jobs $(JOBS) tidy
	@$(call stubgen,build/_core.pyi) && diff -u src/tonari/_core.pyi build/_core.pyi || { \
	  echo "src/tonari/_core.pyi is not what the engine says: run make stubs"; exit 1; }

# clang-tidy, one stamp per source, so that only what has changed is read again.
TIDY := $(patsubst %.cpp,build/tidy/%.ok,$(filter %.cpp,$(CPP)))
tidy: $(TIDY)

build/tidy/compile_commands.json: CMakeLists.txt $(wildcard cmake/*.cmake tests/cpp/CMakeLists.txt) $(STAMP)/dev
	@$(CMAKE) -S . -B build/tidy -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
	  -DPython_EXECUTABLE=$(CURDIR)/$(PY) -Dnanobind_DIR=$$($(PY) -m nanobind --cmake_dir) \
	  -DTONARI_BENCH=ON -DTONARI_TESTS=$$($(doctest_found) && echo ON || echo OFF) --log-level=WARNING > /dev/null
	@touch $@

build/tidy/%.ok: %.cpp build/tidy/compile_commands.json .clang-tidy $(filter-out %.cpp,$(CPP))
	@mkdir -p $(@D)
	@if grep -q '$(CURDIR)/$<"' build/tidy/compile_commands.json; then \
	  echo "clang-tidy $<" && $(BIN)/clang-tidy -quiet -p build/tidy $< 2> $@.log || { cat $@.log; exit 1; }; \
	else \
	  echo "clang-tidy LEFT OUT $< (native tests need doctest)"; \
	fi
	@touch $@

format: $(STAMP)/dev ## write Python and C++ the way lint wants them
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP)

stubgen = $(PY) -m nanobind.stubgen --quiet --module tonari._core --output-file $(1)
stubs: $(STAMP)/engine ## write src/tonari/_core.pyi anew from the compiled module
	@$(call stubgen,src/tonari/_core.pyi)

fuzz: $(STAMP)/engine $(STAMP)/dev ## the random tests, with fresh seeds and many more cases
	$(PY) -m pytest -m hypothesis --hypothesis-profile fuzz --numprocesses $(WORKERS) $(ARGS)
	$(PY) tests/fuzz/fuzz_model_file.py --seconds $(SECONDS_OF_FUZZ)
	$(PY) tests/fuzz/fuzz_neighbors.py --seconds $(SECONDS_OF_FUZZ)

# Undefined behaviour and bad addresses, then data races, in the native tests; then the Python tests of the neighbours
# on an engine built with the address sanitizer. That build lives in its own environment, which borrows .venv's libraries.
ASAN := build/asan-python
sanitize: $(STAMP)/engine $(STAMP)/dev ## native tests under ASan + UBSan and TSan, neighbours' tests under ASan
	@$(doctest_found) || { echo "sanitize needs doctest (Debian: apt install doctest-dev)"; exit 1; }
	@echo "address and undefined" && $(call native_build,build/asan,RelWithDebInfo,-DTONARI_SANITIZE=address)
	$(BIN)/ctest --test-dir build/asan --output-on-failure
	@echo "thread" && $(call native_build,build/tsan,RelWithDebInfo,-DTONARI_SANITIZE=thread)
	$(BIN)/ctest --test-dir build/tsan --output-on-failure
	@echo "address and undefined, from Python" && rm -rf $(ASAN) && $(PYTHON) -m venv --without-pip $(ASAN)
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
	  $$($(ASAN)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/libraries.pth
	@$(PY) -m pip --python $(ASAN)/bin/python install --quiet --quiet --no-build-isolation --no-deps --ignore-installed \
	  --config-settings=build-dir=build/asan-module --config-settings=cmake.build-type=RelWithDebInfo \
	  --config-settings=cmake.define.TONARI_SANITIZE=address .
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	  $(ASAN)/bin/python -m pytest -p no:cacheprovider tests/contract/test_neighbors_*.py $(ARGS)

bench: $(STAMP)/engine $(STAMP)/bench ## measure against the rivals; writes benchmarks/results
	$(PY) -m benchmarks $(ARGS)

# --- what is given away -----------------------------------------------------------------------------------------------

# The wheel is tried where nothing can be compiled: no compiler by name, and an empty PATH.
TRY := build/try-wheel
wheel: $(STAMP)/dev ## build sdist and wheel; install the wheel without a compiler and try it
	@rm -rf dist $(TRY)
	@$(PY) -m build --no-isolation --outdir dist . > build/wheel.log 2>&1 || { cat build/wheel.log; exit 1; }
	@$(PYTHON) -m venv $(TRY)
	@cd $(TRY) && env PATH=$(CURDIR)/$(TRY)/bin CC=/bin/false CXX=/bin/false \
	  bin/python -m pip install --quiet --quiet --only-binary :all: $(CURDIR)/dist/*.whl
	@cd $(TRY) && env PATH=$(CURDIR)/$(TRY)/bin bin/python $(CURDIR)/tests/smoke.py
	@ls -l dist

clean: ## remove everything that was built (.venv stays)
	rm -rf build dist demo docs/_site $(STAMP)/engine .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks examples docs -name __pycache__ -prune -exec rm -rf {} +
