"""The files by which a Spack and its package repository are known; nothing of it runs."""


def make(folder):
    """Make Spack 1.1.0 and a package repository beside it; return their roots."""
    root, packages = folder / "spack", folder / "spack-packages"
    (root / "bin").mkdir(parents=True)
    (root / "bin/spack").write_text("#!/bin/sh\n")
    (root / "bin/spack").chmod(0o755)
    (root / "lib/spack/spack").mkdir(parents=True)
    (root / "lib/spack/spack/__init__.py").write_text('__version__ = "1.1.0"\n')
    builtin = packages / "repos/spack_repo/builtin"
    builtin.mkdir(parents=True)
    (builtin / "repo.yaml").write_text("repo: {namespace: builtin}\n")
    return root, packages
