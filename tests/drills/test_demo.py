"""`make demo`: what it says where there is no SimGrid. With it a person looks at what it prints."""

import subprocess

from tests.places import ROOT


def test_without_simgrid_a_line_says_how_to_get_it(tmp_path):
    script = ROOT / "tests/drills/demo.sh"
    done = subprocess.run(
        ["/bin/sh", script, tmp_path / "demo"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "demo: there is no SimGrid here; Debian: apt install libsimgrid-dev, or: spack install "
        "simgrid\n"
    )
    assert not (tmp_path / "demo").exists()
