"""Adds the documents of the repository to the site, without copies of them."""

import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/fpdb/fpdb/blob/main/"
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#]+)(#[^)]*)?\)")


def documents(nav):
    """The pages of the navigation that are documents of the repository."""
    if isinstance(nav, str):
        return {nav} if nav.endswith(".md") else set()
    return set().union(*(documents(part) for part in (nav.values() if isinstance(nav, dict) else nav)))


def on_files(files, config):
    for file in list(files.documentation_pages()):
        files.remove(file)
    for name in documents(config.nav):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for path in sorted((ROOT / "docs/pictures").iterdir()):
        # MkDocs has found it in its folder of documents, under a name to which no document links.
        files.remove(files.get_file_from_path(f"pictures/{path.name}"))
        name = f"docs/pictures/{path.name}"
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links to what is not a page lead to the repository."""
    folder = (ROOT / page.file.src_uri).parent

    def target(match):
        path, anchor = match[1], match[2] or ""
        name = str((folder / path).resolve().relative_to(ROOT))
        if files.get_file_from_path(name):
            return match[0]
        if not (ROOT / name).exists():
            raise FileNotFoundError(f"{page.file.src_uri} links to {path}")
        return f"]({REPOSITORY}{name}{anchor})"

    return LINK.sub(target, markdown)
