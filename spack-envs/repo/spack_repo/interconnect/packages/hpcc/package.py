"""HPCC for an MPI of version 3 or newer."""

from spack.package import filter_file
from spack_repo.builtin.packages.hpcc.package import Hpcc as Builtin


class Hpcc(Builtin):
    __doc__ = Builtin.__doc__

    def patch(self):
        super().patch()
        # MPI 3.0 removed what HPL packs its panels with; the successors take the same arguments.
        source = "hpl/src/comm/HPL_packL.c"
        filter_file(r"\bMPI_Address\b", "MPI_Get_address", source)
        filter_file(r"\bMPI_Type_struct\b", "MPI_Type_create_struct", source)
