"""Build the site: run every code block, write pages with their output and figures, render them, check every link.

`python docs/build.py` renders with Zensical; `--builder mkdocs` with mkdocs-material, from the same `mkdocs.yml`;
`--only NAME` runs the blocks of one page alone. A block that fails fails the build, and so does a warning or a link
that leads nowhere. The pages are written to `build/docs`, the site to `build/site`.

Blocks fenced as `python` run in order, in one namespace a page, in an empty folder; `PAGE_FOLDER` is that of the page.
What is printed, the value of a last expression and figures stand below the block. Words after `python`: `hide` leaves
the source out, `markdown` takes what is printed as Markdown. Examples with prompts (`>>>`) run as doctests, and are
fenced where they are not. A page that needs packages says so in its first line, `<!-- needs: pyspark -->`; without them
it is shown but not run.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import contextlib
import doctest
import html.parser
import importlib.util
import io
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse
import warnings
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PAGES, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"
# Documents of the repository that are pages too.
OTHERS = {"changes.md": ROOT / "CHANGELOG.md", "architecture.md": ROOT / "ARCHITECTURE.md"}
# Where links of those documents, and of pages into the repository, lead on the site.
MOVED = {"CHANGELOG.md": "changes.md", "ARCHITECTURE.md": "architecture.md", "docs/distributed.md": "distributed.md"}
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPTS = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"\A<!-- needs: ([\w, ]+) -->\n")
# What must not be fetched when a page is opened.
FETCHED = re.compile(r"""<(?:script|link|img)\b[^>]*?(?:src|href)=["']?(?:https?:)?//""")


class BlockError(Exception):
    """A block failed."""


def run_page(source: pathlib.Path, target: pathlib.Path) -> tuple[str, int, float]:
    """Write a page with the output of its blocks: its name, how many ran, and the seconds they took."""
    began = time.perf_counter()
    text = _relinked(source.read_text(encoding="utf-8")) if source in OTHERS.values() else source.read_text("utf-8")
    needs = NEEDS.match(text)
    absent = [name for name in re.split(r"\W+", needs[1]) if not importlib.util.find_spec(name)] if needs else []
    if "\n```" not in text.split("\n>>> ")[0] or "\n>>> " in FENCE.sub("", text):
        text = _fenced(text)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        runner = Runner(source, target, folder, dry=bool(absent))
        page = FENCE.sub(runner.replace, text)
    if absent:
        note = f"!!! note\n    These examples were not run: {', '.join(absent)} is not installed here.\n\n"
        page = page.replace("\n\n", "\n\n" + note, 1)
    target.write_text(page, encoding="utf-8")
    return target.relative_to(PAGES).as_posix(), runner.count, time.perf_counter() - began


def _relinked(text: str) -> str:
    """A document of the repository with links to where its parts are on the site; others lose theirs."""

    def link(match: re.Match[str]) -> str:
        name, _, anchor = match[2].partition("#")
        if "://" in name or not name:
            return match[0]
        return f"[{match[1]}]({MOVED[name]}{'#' + anchor if anchor else ''})" if name in MOVED else match[1]

    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", link, text)


def _fenced(text: str) -> str:
    """Examples with prompts that stand free, between fences."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [PROMPTS.sub(lambda match: f"```pycon\n{match[0]}\n```", part) for part in parts[::2]]
    return "".join(parts)


class Runner:
    """Runs the blocks of one page."""

    def __init__(self, source: pathlib.Path, target: pathlib.Path, folder: str, dry: bool) -> None:
        self.source, self.target, self.folder, self.dry = source, target, folder, dry
        self.count = self.figures = 0
        self.names: dict[str, Any] = {"__name__": "__main__", "PAGE_FOLDER": target.parent}
        target.parent.mkdir(parents=True, exist_ok=True)

    def replace(self, match: re.Match[str]) -> str:
        """The block as the page shows it."""
        language, words, code = match[1], match[2].split(), match[3]
        if language not in ("python", "pycon") or self.dry:
            return match[0] if "hide" not in words else ""
        self.count += 1
        line = self.source.read_text("utf-8").count("\n", 0, max(0, self.source.read_text("utf-8").find(code))) + 1
        with contextlib.chdir(self.folder), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("error", category=DeprecationWarning, module="__main__")  # the block itself
            warnings.filterwarnings("ignore", category=ResourceWarning)
            warnings.filterwarnings("ignore", module="numba")
            try:
                if language == "pycon":
                    self._doctest(code, line)
                    return match[0]
                printed = self._run(code)
            except Exception as error:
                raise BlockError(
                    f"{self.source.name}, block at line {line}:\n{traceback.format_exc(limit=-4)}"
                ) from error
        shown = [] if "hide" in words else [f"```python\n{code}```"]
        if printed.strip():
            shown.append(
                printed if "markdown" in words else f'```{{.text .output title="output"}}\n{printed.rstrip()}\n```'
            )
        return "\n\n".join([*shown, *self._save_figures()])

    def _run(self, code: str) -> str:
        """What the block prints, with the value of its last expression."""
        tree = ast.parse(code)
        last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(tree.body[: -1 if last else None], []), "<block>", "exec"), self.names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "<block>", "eval"), self.names)
                if value is not None and not type(value).__module__.startswith("matplotlib"):
                    print(repr(value))
        return printed.getvalue()

    def _doctest(self, code: str, line: int) -> None:
        example = doctest.DocTestParser().get_doctest(code, self.names, self.source.name, str(self.source), line)
        said = io.StringIO()
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        result = doctest.DocTestRunner(optionflags=flags, verbose=False).run(example, out=said.write, clear_globs=False)
        self.names.update(example.globs)
        if result.failed:
            raise AssertionError(said.getvalue())

    def _save_figures(self) -> list[str]:
        """The figures that the block drew, as pictures beside the page."""
        if "matplotlib.pyplot" not in sys.modules:
            return []
        from matplotlib import pyplot

        pictures = []
        for number in pyplot.get_fignums():
            self.figures += 1
            name = f"{self.target.stem}-{self.figures}.svg"
            pyplot.figure(number).savefig(self.target.with_name(name), metadata={"Date": None})
            pictures.append(f"![Figure {self.figures} of this page]({name})")
        pyplot.close("all")
        return pictures


def prepare() -> None:
    """Settings of a process that runs pages."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ["STREAMKERNEL_ROOT"] = str(ROOT)
    # A small Spark; what it and Ray say on the way goes to a file.
    settings = {"spark.sql.shuffle.partitions": 2, "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    options = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{options} pyspark-shell"
    log = os.open(ROOT / "build" / "pages.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, sys.stderr.fileno())
    sys.path.insert(0, str(ROOT))
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {"figure.figsize": (8.0, 3.6), "svg.hashsalt": "streamkernel", "figure.dpi": 80, "font.size": 10}
    mpl.rcParams |= {"axes.spines.top": False, "axes.spines.right": False, "figure.constrained_layout.use": True}


def run_pages(only: list[str], workers: int) -> None:
    """Run every page, longest first."""
    sources = {path.relative_to(HERE): path for path in HERE.rglob("*.md")} | {
        pathlib.Path(name): path for name, path in OTHERS.items()
    }
    chosen = {name: path for name, path in sources.items() if not only or name.stem in only}
    if not only:
        shutil.rmtree(PAGES, ignore_errors=True)
    for asset in (HERE / "assets").rglob("*.*"):
        place = PAGES / asset.relative_to(HERE)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(asset, place)
    PAGES.parent.mkdir(exist_ok=True)
    order = sorted(chosen, key=lambda name: (name.stem != "distributed", -chosen[name].stat().st_size))
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, spawn, prepare) as pool:
        jobs = [pool.submit(run_page, chosen[name], PAGES / name) for name in order]
        failed = []
        for job in concurrent.futures.as_completed(jobs):
            try:
                name, count, seconds = job.result()
                print(f"{name}: {count} blocks, {seconds:.1f} s", flush=True)
            except BlockError as error:
                failed.append(str(error))
    if failed:
        raise SystemExit("\n".join(failed))


def render(builder: str) -> None:
    """The site from the pages, with warnings as errors."""
    shutil.rmtree(SITE, ignore_errors=True)
    command = {
        "zensical": ["zensical", "build", "--clean", "--strict"],
        "mkdocs": ["mkdocs", "build", "--quiet", "--strict"],
    }
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    program, *arguments = command[builder]
    program = shutil.which(program, path=os.path.dirname(sys.executable)) or program
    done = subprocess.run([program, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode or re.search(r"warning|issues? found", said.replace("No issues found", ""), re.IGNORECASE):
        raise SystemExit(f"{builder} does not build the site without warnings:\n{said}")


def drop_back_references() -> None:
    """Take away the ways back from references that no text refers to: docstrings list them without numbers."""
    for path in SITE.rglob("*.html"):
        text = path.read_text("utf-8")
        anchors = Anchors(text).anchors

        def kept(match: re.Match[str], anchors: set[str] = anchors) -> str:
            return match[0] if match[1] in anchors else ""

        path.write_text(re.sub(r'<a class="footnote-backref" href="#([^"]+)".*?</a>', kept, text), "utf-8")


class Anchors(html.parser.HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Remember what can be linked to, and what is linked."""
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in (("a", "href"), ("img", "src"), ("script", "src"), ("link", "href")) and value:
                self.links.append(value)


def check_links() -> int:
    """Raise an error unless every internal link and anchor resolves and nothing is fetched from elsewhere."""
    texts = {path: path.read_text("utf-8") for path in SITE.rglob("*.html")}
    pages = {path: Anchors(text) for path, text in texts.items()}
    wrong = [
        f"{path.relative_to(SITE)} fetches {found[0]}"
        for path, text in texts.items()
        if (found := FETCHED.search(text))
    ]
    checked = 0
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the root of the host
            continue
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            goal = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            goal = goal / "index.html" if goal.is_dir() else goal
            if not goal.exists():
                wrong.append(f"{path.relative_to(SITE)}: {link} does not exist")
            elif parts.fragment and goal in pages and urllib.parse.unquote(parts.fragment) not in pages[goal].anchors:
                wrong.append(f"{path.relative_to(SITE)}: {link} has no such anchor")
    if wrong:
        raise SystemExit("\n".join(wrong))
    return checked


def main() -> None:
    """Build."""
    parser = argparse.ArgumentParser(description="Build the site.")
    parser.add_argument("--builder", choices=("zensical", "mkdocs"), default="zensical")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="run the blocks of this page alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-run", action="store_true", help="render the pages that are there")
    arguments = parser.parse_args()
    if not arguments.no_run:
        run_pages(arguments.only, arguments.workers)
    render(arguments.builder)
    drop_back_references()
    print(f"{arguments.builder}: {check_links()} internal links resolve; the site is {SITE / 'index.html'}")


if __name__ == "__main__":
    main()
