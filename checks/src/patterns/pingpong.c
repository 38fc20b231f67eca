#include "pingpong.h"

#include <string.h>

struct ping {
    unsigned char *out, *in;
    int bytes, partner;
};

static void round_trip(void *context)
{
    const struct ping *p = context;
    int other = world.rank ? 0 : p->partner;
    if (!world.rank)
        CHECKED(MPI_Send(p->out, p->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD));
    CHECKED(MPI_Recv(p->in, p->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (world.rank)
        CHECKED(MPI_Send(p->out, p->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD));
}

static void prepare(const struct ping *p, int stage)
{
    int other = world.rank ? 0 : p->partner;
    message_fill(
        p->out, (size_t)p->bytes, (struct message){world.rank, other, p->partner, stage});
    memset(p->in, 0, (size_t)p->bytes);
}

static void require(const struct ping *p, int stage)
{
    int other = world.rank ? 0 : p->partner;
    message_require(
        p->in, (size_t)p->bytes, (struct message){other, world.rank, p->partner, stage});
}

struct timing pingpong(unsigned char *out, unsigned char *in, int bytes, int partner)
{
    struct ping p = {out, in, bytes, partner};
    bool active = !world.rank || world.rank == partner;
    if (active)
        prepare(&p, UNTIMED);
    time_loop(round_trip, &p, 1, active);
    if (active) {
        require(&p, UNTIMED);
        prepare(&p, TIMED);
    }
    struct timing timing = measure(round_trip, &p, active);
    if (active)
        require(&p, TIMED);
    return timing;
}

double one_way(struct timing timing)
{
    return timing.mine / (double)timing.repetitions / 2 * 1e6;
}
