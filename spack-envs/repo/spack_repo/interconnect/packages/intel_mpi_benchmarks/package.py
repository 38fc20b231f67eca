"""IMB 2021.11, with the components that its makefile does not build by itself."""

from pathlib import Path

from spack.package import filter_file, install, version
from spack_repo.builtin.packages.intel_mpi_benchmarks.package import IntelMpiBenchmarks as Builtin

#: Persistent collectives are of MPI 4: with an older one there is no IMB-MPI4.
FURTHER = """
further:
\t-$(MAKE) -C src_cpp TARGET=MPI4
\t$(MAKE) -C src_cpp TARGET=HALO
"""


class IntelMpiBenchmarks(Builtin):
    __doc__ = Builtin.__doc__

    version("2021.11", sha256="728b522b3bb05580c26e374bfae2a262bf8007b3b2c7d4c9480e4363953270c7")

    # The components share objects, which two of them must not write at once.
    parallel = False

    def patch(self):
        if self.spec.satisfies("@2021.11"):
            # Headers of some MPIs have warnings. Only compilers of some names are asked for OpenMP,
            # and Spack names a compiler by its path.
            openmp = "$(if $(WITH_OPENMP),-fopenmp)"
            filter_file("-Werror", openmp, "src_cpp/Makefile", string=True)
            filter_file("-Werror", "", "src_c/P2P/Makefile", string=True)
            with Path("Makefile").open("a") as makefile:
                makefile.write(FURTHER)

    @property
    def build_targets(self):
        further = ["all", "further"] if self.spec.satisfies("@2021.11") else []
        return [*super().build_targets, *further]

    def install(self, spec, prefix):
        super().install(spec, prefix)
        for name in ("IMB-MPI4", "IMB-HALO"):
            for program in Path("src_cpp").glob(name):
                install(str(program), prefix.bin)
