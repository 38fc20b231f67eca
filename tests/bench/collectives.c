/* collectives REPEATS: microseconds of MPI_Allreduce of 8 bytes and of MPI_Alltoall of 8 bytes a
 * rank, for tests/bench/simulation.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, repeats = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double one = 1, sum, *out = calloc((size_t)ranks, sizeof *out);
    double *in = calloc((size_t)ranks, sizeof *in), begin, seconds[2];
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int which = 0; which < 2; which++) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        for (int i = 0; i < repeats; i++)
            if (which)
                MPI_Alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, MPI_COMM_WORLD);
            else
                MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        seconds[which] = (MPI_Wtime() - begin) / repeats;
    }
    if (!rank)
        printf("allreduce %g alltoall %g\n", seconds[0] * 1e6, seconds[1] * 1e6);
    free(out);
    free(in);
    return MPI_Finalize();
}
