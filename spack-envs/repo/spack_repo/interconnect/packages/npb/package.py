"""NPB for a GCC of version 10 or newer."""

from spack_repo.builtin.packages.npb.package import Npb as Builtin


class Npb(Builtin):
    __doc__ = Builtin.__doc__

    def flag_handler(self, name, flags):
        # randi8 writes hexadecimal constants into places where Fortran does not allow them.
        if name == "fflags" and self.spec.satisfies("@:3.3 %fortran=gcc@10:"):
            flags.append("-fallow-invalid-boz")
        return (flags, None, None)
