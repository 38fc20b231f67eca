"""Commands of a Slurm that answer what was recorded, and whose srun runs on made nodes."""

from pathlib import Path

from tests.conftest import DATA
from tests.sysfs import Sysfs

_SCRIPTS = {
    "sinfo": '[ ! -e {folder}/down ] || {{ echo "sinfo: error: no controller" >&2; exit 1; }}',
    "sbatch": "exit 1",
    "sacct": '[ -e {folder}/accounts ] || {{ echo "accounting is disabled" >&2; exit 1; }}',
    "scontrol": "cat {folder}/$2.txt",
    "srun": """\
for word; do
    case $word in
        --mpi=list) exec cat {folder}/mpi.txt ;;
        --nodelist=*) node=${{word#*=}} ;;
        --partition=*) partition=${{word#*=}} ;;
    esac
done
echo "$partition $node" >> {folder}/asked
for what in $node $partition; do
    [ ! -e {folder}/$what.says ] || {{ cat {folder}/$what.says >&2; exit 1; }}
done
while [ "$1" != sh ]; do shift; done
echo "a prolog says this"
printf '#!/bin/sh\\necho %s\\n' $node > {folder}/bin/hostname
chmod +x {folder}/bin/hostname
SYSFS={folder}/$node/sys exec "$@"
""",
}


class Slurm:
    """`bin` has the commands; what is named as in tests/data/slurm is what scontrol tells."""

    def __init__(self, folder: Path, kind: str = "mixed"):
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir(parents=True)
        for name, text in _SCRIPTS.items():
            self.command(name, text.format(folder=folder))
        for name, source in {
            "node": f"nodes-{kind}",
            "partition": f"partitions-{kind}",
            "config": "config-22.05",
            "mpi": "mpi-22.05",
        }.items():
            (folder / f"{name}.txt").write_text((DATA / f"slurm/{source}.txt").read_text())

    def command(self, name, text):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def node(self, name) -> Sysfs:
        """Make the sysfs of a node, without any adapter."""
        return Sysfs(self.folder / name)

    def says(self, what, message):
        """Let srun refuse what goes to a node or partition."""
        (self.folder / f"{what}.says").write_text(f"srun: error: {message}\n")

    def edit(self, name, old, new):
        path = self.folder / f"{name}.txt"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def asked(self):
        """Return what srun was asked for: partition and node."""
        path = self.folder / "asked"
        return path.read_text().split("\n")[:-1] if path.exists() else []
