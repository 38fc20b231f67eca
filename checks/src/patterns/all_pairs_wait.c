#define _POSIX_C_SOURCE 200809L /* sched_yield, nanosleep */
#include "all_pairs.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { POLLS = 256, TAGS = 30000 }; /* every MPI has tags up to 32,767 */
static const double SHORT = 0.1; /* s */

struct patience patience(double idle, double all)
{
    double timeout = all_pairs_options.timeout;
    return (struct patience){idle * timeout, timeout ? MPI_Wtime() + all * timeout : 0, 0};
}

/* Now and then look at the clock, and let another process have the core: a test may have more
 * ranks than cores, where a rank that spins keeps away the one it waits for. Sleep between two
 * looks when nothing has come for as long as no message takes. */
static bool late(long polls, struct patience *patience)
{
    if (polls % POLLS != POLLS - 1)
        return false;
    double now = MPI_Wtime();
    if (polls == POLLS - 1) {
        patience->asleep = now + SHORT;
        patience->end = fmin(patience->end, now + patience->idle);
    }
    if (now > patience->asleep)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    else
        sched_yield();
    return now > patience->end;
}

int wait_all(int count, MPI_Request *requests, struct patience patience)
{
    static MPI_Status *statuses; /* gcc takes MPICH's MPI_STATUSES_IGNORE for too short an array */
    if (!statuses)
        statuses = allocate((size_t)world.ranks, sizeof *statuses);
    if (patience.end == 0)
        return MPI_Waitall(count, requests, statuses);
    for (long polls = 0;; polls++) {
        int done = 0, status = MPI_Testall(count, requests, &done, statuses);
        if (status != MPI_SUCCESS || done)
            return status;
        if (late(polls, &patience))
            return TIMED_OUT;
    }
}

int wait_some(
    int count, MPI_Request *requests, int *done, int *which, MPI_Status *statuses,
    struct patience patience)
{
    if (patience.end == 0) {
        /* Not MPI_Waitsome: SimGrid's asks now and then, and the time until then counts. */
        int status = MPI_Waitany(count, requests, &which[0], &statuses[0]);
        *done = which[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
        statuses[0].MPI_ERROR = status;
        return status == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
    }
    for (long polls = 0;; polls++) {
        int status = MPI_Testsome(count, requests, done, which, statuses);
        if (status != MPI_SUCCESS || *done)
            return status;
        if (late(polls, &patience))
            return TIMED_OUT;
    }
}

/* A dissemination barrier (Hensgen, Finkel, Manber 1988) among those that are left: in step s each
 * tells the one 2^s places further, and hears of the one 2^s places before. */
bool meet(MPI_Comm comm, const int *to, long number, struct patience patience)
{
    static char nothing; /* requests that are given up still point to it */
    int *left = allocate((size_t)world.ranks, sizeof *left), count = 0, place = -1;
    int tag = FIRST_BARRIER + (int)(number % TAGS);
    bool all = true;
    for (int rank = 0; rank < world.ranks; rank++) {
        if (rank == world.rank)
            place = count;
        if (to[rank] != GONE)
            left[count++] = rank;
    }
    for (int step = 1; step < count && all; step *= 2) {
        MPI_Request requests[2];
        int next = left[(place + step) % count], before = left[(place + count - step) % count];
        all = MPI_Irecv(&nothing, 0, MPI_BYTE, before, tag, comm, &requests[0]) == MPI_SUCCESS &&
              MPI_Isend(&nothing, 0, MPI_BYTE, next, tag, comm, &requests[1]) == MPI_SUCCESS &&
              wait_all(2, requests, patience) == MPI_SUCCESS;
    }
    free(left);
    return all;
}
