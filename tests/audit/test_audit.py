"""What is locked has hashes, the bill of materials is whole, and silence is no good answer."""

import json
import re
import subprocess

import pytest

from tests import audit
from tests.audit import BAD, GOOD, NOT_LOOKED, Found, Locked, found_in, locks, read_lock, rounds
from tests.places import ROOT

#: Names of hosts that have packages: each machine has its own.
REGISTRIES = re.compile(
    r"\b(?:[\w-]+[.])*(?:pypi|pythonhosted)[.]org\b|\bartifact[o]ry\b|[\w.-]+/simple/"
)


def test_each_package_of_each_lock_file_has_a_version_and_hashes():
    known = locks()
    assert {*known} == {path.name for path in ROOT.glob("*.lock")}
    assert len(known) == 6
    for name, packages in known.items():
        assert packages, name
        assert not [each for each in packages if not each.hashes], name


def test_make_installs_nothing_without_hashes():
    recipe = (ROOT / "Makefile").read_text()
    installs = re.findall(r"\$\(PIP\) install (.*)", recipe)
    assert len(installs) >= 6
    for words in installs:
        assert "--require-hashes" in words or words == "--no-deps --no-build-isolation -e ."


def test_no_file_names_a_host_of_packages():
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, tracked):
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        assert not REGISTRIES.search(text), name
    for name in (("files", "pythonhosted", "org"), ("mirror", "artifact" + "ory", "example")):
        assert REGISTRIES.search(f"https://{'.'.join(name)}/x")


def test_a_lock_file_is_read_whole_or_refused(tmp_path):
    lock = tmp_path / "requirements.lock"
    line = f"a-b==1.0 ; python_version < '3.11' \\\n    --hash=sha256:{'0' * 64}\n"
    lock.write_text(f"{line}C.d==2\n")
    assert read_lock(lock) == [Locked("a-b", "1.0", 1), Locked("c-d", "2", 0)]
    lock.write_text(f"{line}git+https://example.org/x\n")
    with pytest.raises(ValueError, match=r"'git\+https://example.org/x' is no package"):
        read_lock(lock)


def test_no_package_stands_twice_in_a_question():
    packages = [Locked("a", "1", 1), Locked("a", "2", 1), Locked("b", "1", 1), Locked("a", "1", 1)]
    assert rounds(packages) == [[("a", "1"), ("b", "1")], [("a", "2")]]


GOOD_ANSWER = {"name": "A_b", "version": "1", "vulns": []}
BAD_ANSWER = {"name": "c", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}
#: What pip-audit prints, ending with 0, where a registry has no advisories.
SKIPPED = {"name": "c", "skip_reason": "Dependency not found"}


@pytest.mark.parametrize(
    ("answers", "status", "looked"),
    [
        ([GOOD_ANSWER, {**BAD_ANSWER, "vulns": []}], GOOD, 2),
        ([GOOD_ANSWER, BAD_ANSWER], BAD, 2),
        ([GOOD_ANSWER, SKIPPED], NOT_LOOKED, 1),
        ([SKIPPED], NOT_LOOKED, 0),
        ([GOOD_ANSWER], NOT_LOOKED, 1),
        ([], NOT_LOOKED, 0),
    ],
)
def test_what_was_not_looked_up_is_not_green(answers, status, looked):
    found = found_in(json.dumps({"dependencies": answers}), "", ["a-b", "c"])
    assert (found.status, found.looked) == (status, looked)
    assert ("X-1, fixed in 2" in "".join(found.advisories)) == (status == BAD)


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense"])
def test_no_answer_is_told(text):
    found = found_in(text, "first\nno route to host\n", ["a"])
    assert (found.status, found.left, found.why) == (NOT_LOOKED, ["a"], "no route to host")


def test_a_service_that_has_all_is_the_last_that_is_asked(monkeypatch):
    packages = [Locked("a", "1", 1), Locked("a", "2", 1)]
    asked = []

    def ask(service, pins):
        asked.append((service, pins))
        answers = [{"name": "a", "version": version, "vulns": []} for _, version in pins]
        return json.dumps({"dependencies": answers if service == "osv" else []}), ""

    monkeypatch.setattr(audit, "_ask", ask)
    found = audit.advisories(packages)
    assert [found[service].status for service in ("pypi", "osv")] == [NOT_LOOKED, GOOD]
    assert found["osv"] == Found(2)
    assert len(asked) == 4
    asked.clear()
    monkeypatch.setattr(audit, "SERVICES", ("osv", "pypi"))
    assert [*audit.advisories(packages)] == ["osv"]


def test_the_bill_of_materials_has_what_the_wheel_may_need_as_it_is_locked():
    pytest.importorskip("cyclonedx_py", reason="cyclonedx-bom is in the extra audit: make audit")
    locked = {each.name: each for each in locks()["requirements.lock"]}
    made = audit.bill(locked.values())
    assert audit.faults_of(made) == ""
    components = {audit.plain(each["name"]): each for each in made["components"]}
    stated = audit.requirements("interconnect-acceptance")
    assert stated <= components.keys() <= locked.keys()
    # Hatchling builds the wheel, which does without.
    assert locked.keys() - components.keys() >= {"hatchling"}
    for name, each in components.items():
        assert each["version"] == locked[name].version
        assert len(each["hashes"]) == locked[name].hashes
    graph = {each["ref"]: each["dependsOn"] for each in made["dependencies"]}
    assert {*graph["root-component"]} == {components[name]["bom-ref"] for name in stated}
    assert graph.keys() == {"root-component", *(each["bom-ref"] for each in components.values())}
    assert not REGISTRIES.search(json.dumps(made["components"]))
