/* The aggressors: steps of a load, before each of which they agree on whether it is the last one.
 *
 * - Incast: all send to the first one, OUTSTANDING messages in each step.
 * - All-to-all: MPI_Alltoall, with smaller messages where there are so many that its buffers would
 *   be over MOST_TO_ALL.
 * - Broadcast-get: all read the memory of the first one (MPI_Get), as often in each step.
 *
 * The first aggressor alone hears of the end. Each step begins with a non-blocking reduction of what
 * it knows, which ends when all have begun the step: so all do the same number of steps, none waits
 * for one that has ended, and who serves MPI_Get is inside the MPI until the others have theirs. */
#include "loaded.h"

#include <stdlib.h>

enum { OUTSTANDING = 8, SLOTS = 32, MOST_TO_ALL = 1 << 26, STOP = 7 };

const char *const load_names[LOADS] = {"isolated", "nothing", "incast", "alltoall", "get"};

static struct {
    MPI_Comm comm;
    int rank, count;
    int bytes, bytes_to_all;
    unsigned char *out, *in;
    MPI_Win window; /* onto `out` of the first one, if `has_window` */
    int has_window;
} all;

static long bytes_to_all(int aggressors, long bytes)
{
    long most = MOST_TO_ALL / aggressors;
    return bytes < most ? bytes : most > 0 ? most : 1;
}

/* Each of two buffers: of an all-to-all, or of what is on its way in another step. */
static size_t buffer(int aggressors, long bytes)
{
    size_t to_all = (size_t)aggressors * (size_t)bytes_to_all(aggressors, bytes);
    size_t slots = (size_t)SLOTS * (size_t)bytes;
    return to_all > slots ? to_all : slots;
}

size_t load_memory(int aggressors, long bytes) { return 2 * buffer(aggressors, bytes); }

bool load_begin(MPI_Comm aggressors, long bytes)
{
    all.comm = aggressors;
    CHECKED(MPI_Comm_rank(aggressors, &all.rank));
    CHECKED(MPI_Comm_size(aggressors, &all.count));
    all.bytes = (int)bytes;
    all.bytes_to_all = (int)bytes_to_all(all.count, bytes);
    size_t size = buffer(all.count, bytes);
    all.out = allocate(size, 1);
    all.in = allocate(size, 1);
    /* Open MPI 4.1 over TCP, for one, may have nothing for it. */
    all.has_window = MPI_Win_create(all.out, all.rank ? 0 : (MPI_Aint)bytes, 1, MPI_INFO_NULL,
                         aggressors, &all.window) == MPI_SUCCESS;
    CHECKED(MPI_Allreduce(MPI_IN_PLACE, &all.has_window, 1, MPI_INT, MPI_MIN, aggressors));
    return all.has_window;
}

void load_end(void)
{
    if (all.has_window)
        CHECKED(MPI_Win_free(&all.window));
    free(all.out);
    free(all.in);
}

void load_stop(int aggressor)
{
    CHECKED(MPI_Send(NULL, 0, MPI_BYTE, aggressor, STOP, MPI_COMM_WORLD));
}

/* --- steps: each returns the bytes that all of them moved -------------------------------------- */

static void post(int slot, MPI_Request *requests)
{
    CHECKED(MPI_Irecv(all.in + (size_t)slot * (size_t)all.bytes, all.bytes, MPI_BYTE,
        MPI_ANY_SOURCE, 0, all.comm, &requests[slot]));
}

/* Receive what the others send, with so many receives at once as there are slots. */
static void receive_all(long messages)
{
    MPI_Request requests[SLOTS];
    MPI_Status status;
    int slots = messages < SLOTS ? (int)messages : SLOTS, which;
    for (int slot = 0; slot < slots; slot++)
        post(slot, requests);
    for (long left = messages; left > 0; left--) {
        CHECKED(MPI_Waitany(slots, requests, &which, &status));
        if (left > slots)
            post(which, requests);
    }
}

static double incast(void)
{
    MPI_Request requests[OUTSTANDING];
    MPI_Status statuses[OUTSTANDING];
    long messages = (long)(all.count - 1) * OUTSTANDING;
    if (!all.rank) {
        receive_all(messages);
    } else {
        for (int i = 0; i < OUTSTANDING; i++)
            CHECKED(MPI_Isend(all.out, all.bytes, MPI_BYTE, 0, 0, all.comm, &requests[i]));
        CHECKED(MPI_Waitall(OUTSTANDING, requests, statuses));
    }
    return (double)messages * all.bytes;
}

static double all_to_all(void)
{
    CHECKED(MPI_Alltoall(all.out, all.bytes_to_all, MPI_BYTE, all.in, all.bytes_to_all, MPI_BYTE,
        all.comm));
    return (double)all.count * (all.count - 1) * all.bytes_to_all;
}

static double get(void)
{
    if (all.rank) {
        CHECKED(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, all.window));
        for (int i = 0; i < OUTSTANDING; i++)
            CHECKED(MPI_Get(all.in + (size_t)i * (size_t)all.bytes, all.bytes, MPI_BYTE, 0, 0,
                all.bytes, MPI_BYTE, all.window));
        CHECKED(MPI_Win_unlock(0, all.window));
    }
    return (double)(all.count - 1) * OUTSTANDING * all.bytes;
}

static double (*const steps[LOADS])(void) = {
    [INCAST] = incast, [ALL_TO_ALL] = all_to_all, [BROADCAST_GET] = get};

/* --- a window --------------------------------------------------------------------------------- */

/* Wait until the victims have measured, without a message meanwhile. */
static void wait_idle(void)
{
    MPI_Status status;
    if (!all.rank)
        CHECKED(MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, STOP, MPI_COMM_WORLD, &status));
    CHECKED(MPI_Bcast(&(int){0}, 1, MPI_INT, 0, all.comm));
}

struct load_done load_run(enum load load, double limit)
{
    struct load_done done = {0, 0, 0};
    if (!steps[load]) {
        wait_idle();
        return done;
    }
    MPI_Request heard = MPI_REQUEST_NULL, agreed;
    MPI_Status status;
    if (!all.rank)
        CHECKED(MPI_Irecv(
            NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, STOP, MPI_COMM_WORLD, &heard));
    double begin = MPI_Wtime();
    int stop = 0, last = 0;
    while (!last) {
        if (!all.rank && !stop)
            CHECKED(MPI_Test(&heard, &stop, &status));
        int mine = stop || (!all.rank && MPI_Wtime() - begin > limit);
        CHECKED(MPI_Iallreduce(&mine, &last, 1, MPI_INT, MPI_MAX, all.comm, &agreed));
        done.bytes += steps[load]();
        CHECKED(MPI_Wait(&agreed, &status));
    }
    CHECKED(MPI_Barrier(all.comm));
    done.seconds = MPI_Wtime() - begin;
    done.cut = !stop;
    CHECKED(MPI_Wait(&heard, &status)); /* the message comes, also after `limit` */
    return all.rank ? (struct load_done){0, 0, 0} : done;
}
