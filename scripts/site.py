#!/usr/bin/env python3
"""The site of the documentation: copies its sources, and checks the links of the built site.

usage: scripts/site.py stage FOLDER    copies the pages, and the files that they link to
       scripts/site.py check FOLDER    fails if a link of an HTML page leads nowhere
"""

import pathlib
import re
import shutil
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

ROOT = pathlib.Path(__file__).resolve().parent.parent


def pages():
    for pattern in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "bench/**/*.md"):
        yield from sorted(ROOT.glob(pattern))


def copy(source, folder):
    target = folder / source.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_file():
        shutil.copyfile(source, target)
    elif not (target / "index.md").exists() and not (source / "README.md").exists():
        # A folder without a page: one with its files.
        names = sorted(path.name for path in source.iterdir() if path.is_file())
        target.mkdir(exist_ok=True)
        for name in names:
            shutil.copyfile(source / name, target / name)
        lines = [f"# {source.relative_to(ROOT)}\n\n"] + [f"- [{name}]({name})\n" for name in names]
        (target / "index.md").write_text("".join(lines))


def stage(folder):
    for page in pages():
        copy(page, folder)
        text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S)  # without code
        for link in re.findall(r"\]\(([^)\s#]+)", text):
            if not urlsplit(link).scheme:
                copy((page.parent / link).resolve(), folder)


class Links(HTMLParser):
    """The links of a page, and the anchors that links to it may name."""

    def __init__(self, page):
        super().__init__()
        self.links, self.names = set(), {""}
        self.feed(page.read_text(errors="replace"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value is not None:
                self.links.add(value)
            if name in ("id", "name") and value is not None:
                self.names.add(value)


def check(folder):
    """All pages made of Markdown, and the first page of the API: Doxygen checks its others itself."""
    read = {}
    broken = []
    checked = 0
    for page in sorted(folder.rglob("*.html")):
        if "api" in page.relative_to(folder).parts[:1] and page.name != "index.html":
            continue
        for link in sorted(Links(page).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            path = unquote(parts.path)
            target = page if not path else folder / path[1:] if path[0] == "/" else page.parent / path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                broken.append(f"{page.relative_to(folder)}: {link}")
            elif parts.fragment and target.suffix == ".html":
                if target not in read:
                    read[target] = Links(target).names
                if unquote(parts.fragment) not in read[target]:
                    broken.append(f"{page.relative_to(folder)}: {link}")
    if broken or checked == 0:
        sys.exit("site.py: these links lead nowhere:\n  " + "\n  ".join(broken or ["there are none"]))
    print(f"{checked} links lead somewhere")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("stage", "check"):
        sys.exit(__doc__)
    {"stage": stage, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve())
