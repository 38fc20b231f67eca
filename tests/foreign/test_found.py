"""What fuzzing and properties have found: each a small input that once ended in a traceback."""

import pytest

from acceptance.core.errors import Fault, ParseError
from tests.foreign import READERS, examples

DEEP = "[" * 50_000
JSON_DEEP = f'{{"a": {DEEP}'
#: Reader -> inputs.
FOUND = {
    # Nested deeper than Python's stack.
    "core.state_files.read": [DEEP, JSON_DEEP],
    "campaigns.protocol.verify": [JSON_DEEP],
    "machine.schedulers._of_flux": [JSON_DEEP],
    "machine.spack.read_lock": [
        JSON_DEEP,
        '{"roots": [{"hash": "h"}], "concrete_specs": {"h": {"name": "n", "version": "1", '
        '"arch": {"target": "t"}, "dependencies": "m"}}}',
    ],
    "machine.slurm.options_of": ["--requires=--"],
    "machine.spack.read_packages": [JSON_DEEP],
    "ledger.records.decode": [
        JSON_DEEP,
        examples.sessions()[0].replace('"keys": {', f'"keys": {{"a": {DEEP}, ', 1),
    ],
    "ledger.durations._shares": [JSON_DEEP],
    "references.external.read": ["a: " + "[" * 1500, "a: {$index: [!!bool x]}"],
    # Scalars that are not of their tag, of which PyYAML raises what Python does.
    "references.tolerances.Tolerances.load": [
        *("a: " + "[" * 1500, "a: 2001-13-45", "a: !!timestamp x", "a: !!bool x", "a: !!int ''"),
        *("a: !!float x", f"a: {'9' * 5000}"),
    ],
    # A file that was cut while it was written.
    "rfm.marks.read": ["\fb\ns\nh\n77 (sh) S 1\nsh\0"],
    "fabric.routes.Routes.of": [
        f"Unicast lids [0x0-0x2c] of switch guid {guid} (leaf01):\n0x17 {port} : (x)\n"
        for guid in examples.topology().devices
        for port in ("999", "9" * 5000)
    ],
    "fabric.outputs.parse_netdiscover": [examples.netdiscover()[0].replace("[1]", "[300]")],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in FOUND.items() for text in texts],
    ids=lambda each: each[:30],
)  # fmt: skip
def test_what_was_found_is_refused_as_declared(name, text):
    reader = READERS[name]
    try:
        reader.read(text.encode("utf-8", "surrogatepass"))
    except reader.raises as fault:
        refused = str(fault)
    else:
        refused = "nothing"
    assert refused


def test_a_port_that_no_switch_has_is_told_with_its_line():
    with pytest.raises(ParseError, match=r":\d+: no port has a number above 254"):
        READERS["fabric.outputs.parse_netdiscover"].read(
            examples.netdiscover()[0].replace("[1]", "[300]").encode()
        )
    with pytest.raises(Fault, match="dump_lfts:2: no port has this number"):
        READERS["fabric.routes.Routes.of"].read(
            b"Unicast lids [0x0-0x2c] of switch guid 0x1 (leaf01):\n0x17 999 : (x)\n"
        )
