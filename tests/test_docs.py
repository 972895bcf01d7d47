"""The builder of the site: blocks run in order, and what is wrong fails the build."""

from __future__ import annotations

import importlib.util
import pathlib
import re
from types import ModuleType
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture
def build(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_of_docs", DOCS / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PAGES", tmp_path / "pages")
    monkeypatch.setattr(module, "SITE", tmp_path / "site")
    return module


def page(build: Any, tmp_path: pathlib.Path, text: str) -> str:
    source = tmp_path / "page.md"
    source.write_text(text)
    build.run_page(source, build.PAGES / "page.md")
    return (build.PAGES / "page.md").read_text()


def test_blocks_share_a_page_and_show_what_they_say(build: Any, tmp_path: pathlib.Path) -> None:
    text = "# P\n\n```python\nx = 3\nprint('three')\n```\n\n```python\nx + 1\n```\n\n```bash\nrm x\n```\n"
    shown = page(build, tmp_path, text)
    assert re.findall(r'title="output"}\n(.*?)\n```', shown, re.DOTALL) == ["three", "4"]
    assert "```bash\nrm x\n```" in shown


def test_hidden_blocks_and_markdown(build: Any, tmp_path: pathlib.Path) -> None:
    shown = page(build, tmp_path, "# P\n\n```python hide markdown\nprint('| a |\\n|---|\\n| 1 |')\n```\n")
    assert "python" not in shown and "| a |\n|---|\n| 1 |" in shown


def test_figures_are_pictures(build: Any, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    shown = page(build, tmp_path, "# P\n\n```python\nfrom matplotlib import pyplot\npyplot.plot([1, 2])\n```\n")
    assert "](page-1.svg)" in shown and (build.PAGES / "page-1.svg").stat().st_size > 1000


@pytest.mark.parametrize("code", ["1 / 0", "x = (", "import warnings\nwarnings.warn('old')", "assert 1 == 2"])
def test_a_block_that_fails_fails_the_build(build: Any, tmp_path: pathlib.Path, code: str) -> None:
    with pytest.raises(build.BlockError, match=r"page.md, block at line 8"):
        page(build, tmp_path, f"# P\n\n```python\ny = 1\n```\n\n```python\n{code}\n```\n")


def test_examples_with_prompts_run_and_are_fenced(build: Any, tmp_path: pathlib.Path) -> None:
    assert "```pycon\n>>> 1 + 1\n2\n```" in page(build, tmp_path, "# P\n\n>>> 1 + 1\n2\n\nText.\n")
    with pytest.raises(build.BlockError, match="Expected"):
        page(build, tmp_path, "# P\n\n>>> 1 + 1\n3\n\nText.\n")


def test_pages_without_their_packages_say_so(build: Any, tmp_path: pathlib.Path) -> None:
    shown = page(build, tmp_path, "<!-- needs: no_such_package -->\n# P\n\nText.\n\n```python\n1 / 0\n```\n")
    assert "were not run: no_such_package" in shown and "1 / 0" in shown


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<a href="other.html">x</a>', "other.html does not exist"),
        ('<a href="#nowhere">x</a>', "#nowhere has no such anchor"),
        ('<script src="https://cdn.example/x.js"></script>', "fetches"),
        ('<link rel="stylesheet" href="//fonts.example/css">', "fetches"),
    ],
)
def test_links_are_checked(build: Any, html: str, said: str) -> None:
    build.SITE.mkdir()
    (build.SITE / "index.html").write_text('<h1 id="top">T</h1><a href="#top">top</a><a href="https://x.example">x</a>')
    assert build.check_links() == 1
    (build.SITE / "index.html").write_text(html)
    with pytest.raises(SystemExit, match=re.escape(said)):
        build.check_links()


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text().split("nav:")[1]))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert pages | {"changes.md", "architecture.md"} == listed


def test_every_public_name_is_in_the_reference() -> None:
    import streamkernel

    text = "".join(path.read_text() for path in (DOCS / "api").glob("*.md"))
    named = set(re.findall(r"^::: [\w.]*?(\w+)$", text, re.MULTILINE))
    modules = {"batch", "datasets", "filters", "kernels", "live"}  # whose names stand there one by one
    members = {"load", "save"}  # of `streamkernel.checkpoint`
    assert set(streamkernel.__all__) - modules - members <= named
