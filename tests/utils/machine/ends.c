/* Says on rank 0 why it ends, and ends as its argument says. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        fprintf(stderr, "ends: no room for 17 buffers\n");
        /* Time for the launcher to take it. */
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        if (!strcmp(how, "abort"))
            MPI_Abort(MPI_COMM_WORLD, 3);
        if (!strcmp(how, "exit"))
            exit(3);
        if (!strcmp(how, "kill"))
            raise(SIGKILL);
        if (!strcmp(how, "crash"))
            raise(SIGSEGV);
        MPI_Send(&rank, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
