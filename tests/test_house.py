"""The law of the house: who may know whom, how long files are, what the engine exports, what an import costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

LIMIT = {".py": 500, ".cpp": 700, ".hpp": 700, ".inl": 700}
# Files that may be longer, with the length they have: a number here may fall, and nothing may be added.
LONGER: dict[str, int] = {}
HOMELESS = {"utils", "util", "helpers", "helper", "common", "misc", "stuff"}

# Which folders of cpp/ a folder may include. base stands at the bottom; index and learn are strangers.
MAY_INCLUDE = {
    "base": {"base"},
    "kernels": {"base", "kernels"},
    "index": {"base", "kernels", "index"},
    "learn": {"base", "kernels", "learn"},
    "bind": {"base", "kernels", "index", "learn", "bind"},
}
# Packages of src/tonari that may import the native module, and the one file of base that shows how it was built.
LEARNERS = {"neighbors", "svm", "tree", "ensemble", "linear_model", "discriminant_analysis"}
MAY_IMPORT_CORE = LEARNERS | {"metrics"}
MAY_IMPORT_CORE_TOO = {"src/tonari/base/config.py"}
# `import tonari` must not cost a table, plotting, web, template or terminal library.
HEAVY = {"duckdb", "matplotlib", "jinja2", "rich", "cyclopts", "pandas", "polars", "starlette", "uvicorn", "dask"}


def files(*folders: str, kinds: tuple[str, ...] = tuple(LIMIT)) -> list[Path]:
    """Every source file below these folders, generated ones left out."""
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob("*")))
    return [path for path in found if path.suffix in kinds and "_site" not in path.parts]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def code(path: Path) -> str:
    """A C++, CMake or Make file without its comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".cpp", ".hpp", ".inl"):
        return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"#[^\n]*", "", text)


# --- sizes and names ------------------------------------------------------------------------------------------------


def test_files_stay_short_enough_to_read() -> None:
    """Trap: files without end. An exception that is no longer needed must leave the list."""
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in every_source()}
    too_long = {
        file: lines for file, lines in lengths.items() if lines > LONGER.get(file, LIMIT[Path(file).suffix])
    }  # fmt: skip
    assert not too_long
    assert {file: lengths.get(file, 0) for file in LONGER} == LONGER
    assert all(LONGER[file] > LIMIT[Path(file).suffix] for file in LONGER)


def every_source() -> list[Path]:
    return files("cpp", "src", "tests", "benchmarks", "examples", "docs")


def test_no_file_is_a_drawer_for_everything() -> None:
    names = {name(path): set(path.stem.lower().strip("_").split("_")) for path in every_source()}
    assert not {file for file, words in names.items() if words & HOMELESS}


def test_unit_and_native_tests_mirror_the_source() -> None:
    """One word everywhere: a test lies where its subject lies."""
    for tests, source in (("tests/unit", "src/tonari"), ("tests/cpp", "cpp")):
        folders = {path.parent.relative_to(ROOT / tests) for path in files(tests)}
        assert not {folder for folder in folders if not (ROOT / source / folder).is_dir()}


def test_every_native_source_opens_with_its_licence() -> None:
    opening = "// SPDX-License-Identifier: BSD-3-Clause"
    sources = files("cpp", "tests/cpp", kinds=(".cpp", ".hpp", ".inl"))
    assert sources
    assert not [name(path) for path in sources if not path.read_text(encoding="utf-8").startswith(opening)]


# --- who may know whom ----------------------------------------------------------------------------------------------


def includes(path: Path) -> Iterator[str]:
    for match in re.finditer(r'^\s*#\s*include\s*([<"][^>"]+)[>"]', path.read_text(encoding="utf-8"), re.MULTILINE):
        yield match.group(1)


def test_native_folders_include_downwards_only() -> None:
    wrong = []
    for path in files("cpp"):
        folder = path.relative_to(ROOT / "cpp").parts[0]
        for included in includes(path):
            top = included[1:].split("/")[0]
            if included[0] == '"' and top in MAY_INCLUDE and top not in MAY_INCLUDE[folder]:
                wrong.append(f"{name(path)} includes {included[1:]}")
            if ".." in included:
                wrong.append(f"{name(path)} includes {included[1:]}: paths start at cpp/")
    assert not wrong


def test_only_bind_has_heard_of_python() -> None:
    wrong = [
        name(path)
        for path in files("cpp")
        if path.relative_to(ROOT / "cpp").parts[0] != "bind"
        and any(included[1:].startswith(("nanobind", "Python.h", "numpy/")) for included in includes(path))
    ]
    assert not wrong


def test_cmake_links_downwards_only() -> None:
    """The link order says the same law once more: a folder that uses another without leave does not link."""
    text = "\n".join(code(path) for path in [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))])
    linked: dict[str, set[str]] = {}
    for target, arguments in re.findall(r"target_link_libraries\(\s*(\w+)([^)]*)\)", text):
        linked.setdefault(target, set()).update(re.findall(r"tonari_(\w+)", arguments))
    for folder in ("base", "kernels", "index", "learn"):
        below = linked[f"tonari_{folder}"] - {"flags"}
        assert below <= MAY_INCLUDE[folder] - {folder}, folder


def packages() -> set[str]:
    return {path.parent.name for path in (ROOT / "src/tonari").glob("*/__init__.py")}


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that a Python file names in an import, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
            found.add(str(node.module))
    return frozenset(found)


def test_only_learners_and_metrics_import_the_native_module() -> None:
    for path in files("src", kinds=(".py",)):
        if any(module == "tonari._core" or module.startswith("tonari._core.") for module in imports(path)):
            package = path.relative_to(ROOT / "src/tonari").parts[0]
            assert package in MAY_IMPORT_CORE or name(path) in MAY_IMPORT_CORE_TOO, name(path)


def test_nothing_inside_goes_through_the_front_door() -> None:
    """`from tonari import compare` inside the package would be a way around the law that import-linter does not see."""
    for path in files("src/tonari", kinds=(".py",)):
        if path.parent != ROOT / "src/tonari":
            through = {module for module in imports(path) if module == "tonari" or re.fullmatch(r"tonari\.\w+", module)}
            assert through <= {"tonari"} | {f"tonari.{inner}" for inner in ("_core", "__version__", *packages())}, name(
                path
            )
            assert "tonari" not in through or through & {"tonari._core", "tonari.__version__"}, name(path)


def test_packages_import_downwards_only() -> None:
    """import-linter's contracts in pyproject.toml; they also see imports inside functions."""
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_import_law_names_every_package() -> None:
    """A package that the law does not name would be free to import anything."""
    law = next(contract for contract in SETTINGS["tool"]["importlinter"]["contracts"] if contract["id"] == "layers")
    named = set(re.findall(r"\w+", " ".join(law["layers"])))
    assert packages()
    assert packages() <= named
    waiting = set(re.findall(r"\((\w+)\)", " ".join(law["layers"])))
    assert not waiting & packages(), "these exist now: take away their brackets"


def test_no_pickle() -> None:
    """Trap 11: opening a model must not be able to run code."""
    banned = ("pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib.load", "joblib.dump")
    for path in files("src", "examples", "benchmarks", kinds=(".py",)):
        found = {module for module in imports(path) if module.startswith(banned)}
        assert not found, f"{name(path)} imports {found}"


# --- the native module ----------------------------------------------------------------------------------------------


def core() -> ModuleType:
    return importlib.import_module("tonari._core")


def families() -> set[str]:
    return {path.stem for path in (ROOT / "cpp/bind").glob("*.cpp")} - {"module"}


def test_bound_names_are_family_and_verb() -> None:
    public = {key: value for key, value in vars(core()).items() if not key.startswith("_")}
    assert 0 < len(public) <= 60
    for key, value in public.items():
        if inspect.isclass(value):
            assert re.fullmatch(r"[A-Z][A-Za-z0-9]+", key), key
        else:
            assert re.fullmatch(rf"({'|'.join(sorted(families()))})_[a-z0-9]+(_[a-z0-9]+)*", key), key


def test_module_lists_every_family() -> None:
    text = code(ROOT / "cpp/bind/module.cpp")
    assert set(re.findall(r"^\s*bind_(\w+)\(\w+\);", text, re.MULTILINE)) == families()


def test_bindings_release_the_gil_by_one_spelling() -> None:
    found = {name(path) for path in files("cpp/bind") if re.search(r"gil_scoped_release|PyEval_SaveThread", code(path))}
    assert len(found) <= 1, found
    assert not [name(path) for path in files("cpp") if "gil_scoped_acquire" in code(path) and "bind" not in path.parts]


def test_stubs_say_what_the_module_is(tmp_path: Path) -> None:
    out = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "--quiet", "--module", "tonari._core", "--output-file"]
    subprocess.run([*command, str(out)], check=True, capture_output=True, timeout=120)
    committed = (ROOT / "src/tonari/_core.pyi").read_text(encoding="utf-8")
    assert out.read_text(encoding="utf-8") == committed, "run make stubs"


def isa_objects() -> list[Path]:
    found = [
        path
        for build in (ROOT / "build").glob("*")
        if not build.name.startswith(("asan", "tsan", "tidy"))
        for path in build.rglob("isa_*.cpp.o")
        if "tonari_kernels.dir" in path.as_posix()
    ]
    return sorted(found)


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_kernels_of_one_instruction_set_export_one_table() -> None:
    """A weak symbol could be the copy of a shared inline function that the linker keeps for every processor."""
    objects = isa_objects()
    if not objects:
        pytest.skip("no object files below build/")
    for path in objects:
        listing = subprocess.run(["nm", "-C", str(path)], check=True, capture_output=True, text=True).stdout
        symbols = re.findall(r"^[0-9a-f]+ ([A-Za-z]) (.+)$", listing, re.MULTILINE)
        outside = [symbol for kind, symbol in symbols if kind in "TDRBGSCAi"]
        assert len(outside) == 1, f"{name(path)}: {outside}"
        weak = [symbol for kind, symbol in symbols if kind in "WwVvu"]
        assert not weak, f"{name(path)}: {weak}"


BUILD_FILES = ("CMakeLists.txt", "Makefile", "pyproject.toml")


@pytest.mark.parametrize(
    "banned",
    [
        r"-f+ast-math|-Ofast|-funsafe-math|/fp:fast|associative-math|GCC\s+optimize",
        r"-march=n+ative|-mtune=n+ative|-mcpu=n+ative",
        r"-ffp-contract=(fast|on)|FP_CONTRACT\s+ON",
        r"OpenMP|#\s*pragma\s+omp|<omp\.h>|cblas|find_package\(\s*(BLAS|LAPACK|MKL)",
    ],
)
def test_no_flag_that_changes_answers(banned: str) -> None:
    """Trap 3: fast-math changes the whole process; native builds crash elsewhere; contraction changes bits."""
    sources = (
        [ROOT / file for file in BUILD_FILES] + files("cpp") + files("cmake", "tests/cpp", kinds=(".cmake", ".txt"))
    )
    assert not [name(path) for path in sources if re.search(banned, code(path))]
    assert "-ffp-contract=off" in code(ROOT / "CMakeLists.txt")


# --- what an import costs -------------------------------------------------------------------------------------------

IMPORT = """
import importlib, json, os, sys, threading
importlib.import_module(sys.argv[1])
tasks = "/proc/self/task"
print(json.dumps({
    "modules": sorted({module.split(".")[0] for module in sys.modules}),
    "threads": len(os.listdir(tasks)) if os.path.isdir(tasks) else threading.active_count(),
}))
"""
ESTIMATORS = (
    "tonari.neighbors",
    "tonari.linear_model",
    "tonari.discriminant_analysis",
    "tonari.metrics",
    "tonari.model_selection.search",
)


@cache
def fresh_import(module: str) -> dict[str, Any]:
    one_blas_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, module],
        env={**os.environ, **one_blas_thread}, check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def test_import_brings_no_heavy_library() -> None:
    assert not HEAVY & set(fresh_import("tonari")["modules"])


@pytest.mark.parametrize("module", ESTIMATORS)
def test_estimators_bring_no_heavy_library(module: str) -> None:
    """scikit-learn imports some itself where they are installed (pandas, rich); nothing else may come."""
    theirs = set(fresh_import("sklearn.model_selection")["modules"])
    assert HEAVY & set(fresh_import(module)["modules"]) <= HEAVY & theirs < HEAVY


@pytest.mark.parametrize("module", ["tonari", *ESTIMATORS])
def test_import_starts_no_thread(module: str) -> None:
    """Trap 9: a thread that was started at import does not survive a fork."""
    assert fresh_import(module)["threads"] == 1


# --- what users are promised ----------------------------------------------------------------------------------------


def public() -> dict[str, Any]:
    """Everything that a package of tonari lists in `__all__`, by its full name."""
    package = importlib.import_module("tonari")
    folders = [module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg]
    modules = [package] + [importlib.import_module(f"tonari.{folder}") for folder in folders]
    return {
        f"{module.__name__}.{key}": getattr(module, key) for module in modules for key in getattr(module, "__all__", ())
    }


def test_every_public_name_is_documented() -> None:
    names = public()
    assert names
    documented = {key for key, value in names.items() if not callable(value) or inspect.getdoc(value)}
    assert documented == set(names)


def test_every_public_class_shows_an_example() -> None:
    """Errors are exempt: what raises them shows them."""
    classes = {key: value for key, value in public().items() if inspect.isclass(value)}
    learners = {key for key, value in classes.items() if not issubclass(value, Exception)}
    assert learners
    assert not {key for key in learners if ">>> " not in (inspect.getdoc(classes[key]) or "")}


def test_dependencies_are_the_documented_ones() -> None:
    """A new dependency needs a decision record, and the record of the build holds the list."""

    def bare(requirement: str) -> str:
        return re.split(r"[<>=~!\[ ;]", requirement)[0].lower()

    record = (ROOT / "docs/decisions/0004-build.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `([\w-]+)` +\|", record, re.MULTILINE)
    assert sorted(table) == sorted(bare(line) for line in SETTINGS["project"]["dependencies"])


def test_warnings_are_errors_and_expected_failures_are_strict() -> None:
    options = SETTINGS["tool"]["pytest"]["ini_options"]
    assert options["xfail_strict"] is True
    assert options["filterwarnings"][0] == "error"
    # What is let through names a module, a class or a message; a bare "ignore" would let everything through.
    assert all(re.match(r"(ignore|default):[^:]+:?\S*", line) for line in options["filterwarnings"][1:])
    assert SETTINGS["tool"]["mypy"]["strict"] is True


def test_one_version() -> None:
    version = SETTINGS["project"]["version"]
    assert importlib.import_module("tonari").__version__ == version
    # What a source tree that was never installed says.
    assert f'__version__ = "{version}"' in (ROOT / "src/tonari/base/config.py").read_text(encoding="utf-8")
    assert f"[{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
