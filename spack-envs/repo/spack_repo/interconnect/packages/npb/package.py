"""NPB 3.4.3, DT, and NPB for a GCC of version 10 or newer."""

from spack.package import filter_file, variant, version
from spack_repo.builtin.packages.npb.package import Npb as Builtin


class Npb(Builtin):
    __doc__ = Builtin.__doc__

    # Recipes of May 2026 and newer have it, too.
    version("3.4.3", sha256="a97c03d7e87ab826fba79c754415a13632c5273877abad270c85201db0f86aeb")

    # Its makefiles have `dt`, the data traffic, and so has what the recipe does with names.
    variant(
        "names",
        default=",".join(Builtin.valid_names),
        values=(*Builtin.valid_names, "dt"),
        multi=True,
        description="Benchmark names (comma separated list)",
    )

    def patch(self):
        # DT counts on integers that overflow and wrap. GCC takes it that they do not, from -O2 on:
        # then its classes A and B have wrong results.
        if not self.spec.satisfies("%c=nvhpc"):
            makefile = f"NPB{self.version.up_to(2)}-MPI/DT/Makefile"
            filter_file(r"\$\{CCOMPILE\} \$<", "${CCOMPILE} -fwrapv $<", makefile)

    def flag_handler(self, name, flags):
        # randi8 writes hexadecimal constants into places where Fortran does not allow them.
        if name == "fflags" and self.spec.satisfies("@:3.3 %fortran=gcc@10:"):
            flags.append("-fallow-invalid-boz")
        return (flags, None, None)
