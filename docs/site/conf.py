"""The site of the documents, by Sphinx: `make docs` builds it in `build/site`.

Its sources are the Markdown files as they stand in the repository, so that the root is the
repository's. What they have no text for, the API and the options of commands, is made here of
docstrings and of the command line itself.
"""

from __future__ import annotations

import builtins
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from docs.site.command_page import command_page  # noqa: E402 - the path is set above
from docs.site.labs_archive import LINK, write_labs  # noqa: E402
from docs.site.navigation import SOURCES, navigation  # noqa: E402
from docs.site.notebook_page import notebook_page  # noqa: E402

project = "Tandem"
author = "the authors of Tandem"
copyright = author

extensions = [
    "myst_parser",  # Markdown
    "sphinx.ext.autodoc",  # the API from docstrings
]
root_doc = "README"
include_patterns = [*SOURCES]
exclude_patterns = ["build", ".venv"]

myst_heading_anchors = 4
# Programs in the project's own languages, and output of commands.
highlight_language = "text"

# Two hyphens begin an option, and are no dash.
smartquotes_action = "qe"
# In docstrings, as in Markdown, `this` is code.
default_role = "literal"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
# Shown by its name: what NumPy takes for an array is eight types long.
autodoc_type_aliases = {"ArrayLike": "numpy.typing.ArrayLike"}
add_module_names = False
# It is not the class that Sphinx's types say.
NUMPY_FORM: Any = Config(napoleon_use_ivar=True)
# A name that several classes have, such as `type`, in the types of docstrings.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "Tandem"
html_css_files = ["site.css"]
html_static_path = [str(HERE / "static")]
html_copy_source = False
html_show_sphinx = False


def add_text(app: Sphinx, name: str, source: list[str]) -> None:
    """Adds to a page what its file does not have."""
    match name:
        case "README":
            source[0] += navigation()
        case "docs/labs/README":
            source[0] = source[0].replace("\n## For the teacher", LINK + "\n## For the teacher")
        case "docs/site/commands":
            source[0] += command_page()
        case _ if Path(app.env.doc2path(name)).suffix == ".ipynb":
            source[0] = notebook_page(source[0], Path(app.env.doc2path(name)).name)


def convert_docstring(
    app: Sphinx, what: Any, name: str, found: object, options: object, lines: list[str]
) -> None:
    """Brings a docstring into Sphinx's form.

    Sections have NumPy's form. Of attributes, Napoleon would take what stands before a colon for a
    type. Indented paragraphs of modules, grammars and examples, are literal.
    """
    if what == "module":
        lines[:] = re.sub(r"\n\n(?= {4})", "\n\n::\n\n", "\n".join(lines)).splitlines()
    elif what not in ("attribute", "data", "property"):
        docstring = NumpyDocstring(lines, NUMPY_FORM, app, what, name, found, options)
        lines[:] = docstring.lines()


def unlink_builtins(app: Sphinx, doctree: Any) -> None:
    """Python's own names are no links: Sphinx would take `bytes` for an attribute of that name."""
    for node in [*doctree.findall(pending_xref)]:
        if node.get("refdomain") == "py" and hasattr(builtins, node["reftarget"]):
            node.replace_self(node.children)


def show_aliases(
    app: Sphinx, what: Any, name: str, found: object, options: object, signature: Any, returns: Any
) -> tuple[Any, Any]:
    """The signature with names for `autodoc_type_aliases`, also where they are part of a union."""
    pattern, name_alone = r"TypeAliasForwardRef\('([^']*)'\)", r"\1"
    first, second = (text and re.sub(pattern, name_alone, text) for text in (signature, returns))
    return first, second


def add_files(app: Sphinx, error: Exception | None) -> None:
    """README.html again, by the name that servers look for, and the archives of the labs."""
    if error is None and app.builder.name == "html":
        shutil.copyfile(app.outdir / "README.html", app.outdir / "index.html")
        write_labs(HERE.parent / "labs", app.outdir / "docs" / "labs")


def setup(app: Sphinx) -> None:
    app.add_source_suffix(".ipynb", "markdown")
    app.add_lexer("graph", TextLexer)  # the language of networks
    app.connect("source-read", add_text)
    app.connect("autodoc-process-docstring", convert_docstring)
    app.connect("autodoc-process-signature", show_aliases)
    app.connect("doctree-read", unlink_builtins)
    app.connect("build-finished", add_files)
