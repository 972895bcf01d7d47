"""What stands around the package: version, license, citation, links, and hooks that run what `.ci/run` runs."""

from __future__ import annotations

import importlib.metadata
import pathlib
import re
import tomllib

import pytest

import streamkernel

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "bench" / "README.md"]


def test_the_version_has_one_source() -> None:
    source = ROOT / PROJECT["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{streamkernel.__version__}"' in source.read_text().splitlines()
    assert "version" in PROJECT["project"]["dynamic"]
    assert "version" not in PROJECT["project"]
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert f"## {streamkernel.__version__}" in (ROOT / "CHANGELOG.md").read_text().splitlines()


def test_the_license_is_the_one_that_is_declared() -> None:
    project = PROJECT["project"]
    text = (ROOT / "LICENSE").read_text()
    assert project["license"] == "BSD-3-Clause"
    assert project["license-files"] == ["LICENSE"]
    assert text.startswith("BSD 3-Clause License")
    for author in project["authors"]:
        assert author["name"] in text
        assert author["name"] in (ROOT / "CITATION.cff").read_text()


def test_the_extras_that_users_are_told_of_exist() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    assert extras >= {"batch", "bench", "frames", "plot", "ray", "spark", "test"}
    assert set(importlib.metadata.metadata("streamkernel").get_all("Provides-Extra") or []) == extras
    named = {
        extra
        for path in [*DOCUMENTS, *sorted((ROOT / "streamkernel").rglob("*.py"))]
        for group in re.findall(r"(?:streamkernel|-e [\"']?\.)\[([\w,]+)\]", path.read_text())
        for extra in group.split(",")
    }
    assert named
    assert named <= extras


def test_hooks_run_what_continuous_integration_runs() -> None:
    script = re.sub(
        r"COVERAGE_FILE=\S+ | --cov(?:-report=)?(?= |$)", "", (ROOT / ".ci" / "run").read_text(), flags=re.MULTILINE
    )
    commands = {line.strip() for line in script.splitlines()}
    entries = re.findall(r"^ +entry: (?:env )?(.*)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert len(entries) == 5
    assert set(entries) <= commands
    # Every check of the script but Spark's, which needs Java, is a hook.
    checks = {line for line in commands if re.match(r"(ruff|mypy|pytest|NUMBA_DISABLE_JIT)", line)}
    assert checks - set(entries) <= {line for line in checks if "-m spark" in line}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: pathlib.Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text())
    # Pages that `docs/build.py` makes of the repository's own documents; it checks every link of the site itself.
    made = {"architecture.md", "changes.md"} if path.parent.name == "docs" else set()
    missing = [link for link in links if "://" not in link and link not in made and not (path.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("name", ["LICENSE", "CONTRIBUTING.md", "CITATION.cff", "ARCHITECTURE.md", "CHANGELOG.md"])
def test_the_readme_leads_to_it(name: str) -> None:
    assert f"]({name})" in (ROOT / "README.md").read_text()
