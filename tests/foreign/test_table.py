"""The table of readers is whole; each reads its examples, and refuses others as it declares."""

import ast
import re

import pytest

from tests.foreign import READERS
from tests.places import ROOT

PACKAGE = ROOT / "utils/acceptance"
#: How functions are called that read, and the first argument of those that are called otherwise.
READS = re.compile(r"parse|read|load|decode")
TEXTS = {"text", "lock", "blob", "output", "errors", "listing", "said"}
#: What looks like a reader of foreign text, and why it has no row.
NOT_FOREIGN = {
    "argparse gives it a word of the command line": (
        *("cli.main.parse", "cli.shared.day_of", "cli.shared.positive", "cli.shared.rounds"),
        *("cli.shared.fraction", "cli.shared.names", "cli.shared.read", "campaigns.changes.find"),
    ),
    "it writes text": (
        *("core.text.one_line", "core.text.printable", "core.text.clipped", "core.paths.named"),
        *("core.text.legal_name", "ledger.files.literal", "fabric.node.guid_text"),
        *("campaigns.state.name_holder", "core.text.markdown", "core.text.code"),
        *("site.init.prose",),
    ),
    "a reader with a row calls it": (
        *("core.records.read", "references.records.bounds", "suites.npb.check_sum"),
        *("suites.hpcc_output.general", "suites.osu.size_range", "references.library.load"),
        *("suites.output.LineReader", "suites.output.Tables", "machine.placement.no_gpus"),
        *(f"suites.{name}.Output" for name in ("cpmd", "hpcc_output", "imb_output", "namd", "osu")),
        *("suites.patterns.Output",),
    ),
    "it runs a program of the site's": (
        *("machine.missing.read_program", "machine.mpis.load", "rfm.configuration.load"),
    ),
    "what it reads is data already": ("machine.mpis.loads_modules", "regressions.history.load"),
    "test_progress.py damages each byte of its file": ("regressions.records.Kept.read",),
}


def _arguments(function):
    return [each.arg for each in function.args.args if each.arg not in ("self", "cls")]


def _reads(function):
    return READS.match(function.name) or TEXTS & {*_arguments(function)[:1]}


def _readers(path):
    """Yield the public functions and classes of a module that look like readers of text."""
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if getattr(node, "name", "_")[0] == "_":
            continue
        if isinstance(node, ast.FunctionDef) and _reads(node):
            yield f"{module}.{node.name}"
        for one in node.body if isinstance(node, ast.ClassDef) else ():
            decorators = [ast.unparse(each) for each in getattr(one, "decorator_list", ())]
            if "classmethod" in decorators and (_reads(one) or one.name == "of_data"):
                yield f"{module}.{node.name}.{one.name}"
            if getattr(one, "name", "") == "__init__" and _arguments(one)[:1] == ["text"]:
                yield f"{module}.{node.name}"


def test_each_reader_of_foreign_text_has_a_row():
    found = {
        name
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "report"  # which writes
        for name in _readers(path)
    }
    rows = {name for row, reader in READERS.items() for name in (row, *reader.also)}
    others = {name for names in NOT_FOREIGN.values() for name in names}
    assert found - rows - others == set(), "add a row to READERS, or say why not in NOT_FOREIGN"
    assert others - found == set(), "these are no readers any more"


@pytest.mark.parametrize("name", READERS)
def test_each_row_names_what_there_is(name):
    for each in (name, *READERS[name].also):
        room, module, *words = each.split(".")
        text = (PACKAGE / room / f"{module}.py").read_text(encoding="utf-8")
        assert re.search(rf"^ *(def|class) {words[-1]}\b", text, re.MULTILINE), each


@pytest.mark.parametrize("name", READERS)
def test_each_reader_reads_an_example(name):
    reader = READERS[name]
    read = 0
    for text in [*reader.examples()][:5]:
        try:
            reader.read(text.encode())
            read += 1
        except reader.raises:
            continue
    assert read
