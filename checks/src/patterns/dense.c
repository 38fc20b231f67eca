/* The dense communication patterns of Fatoohi et al. 2006, Section 3.3, phase by phase.
 *
 * What the paper leaves open, and what was taken (the pairs: see schedule.c):
 * - Each phase is timed alone, after a barrier: MPI_Sendrecv in a loop, of --repeat loops the one
 *   whose slowest rank is the fastest.
 * - The rate is that of one message stream in one direction: bytes x repetitions / the longer of
 *   the loops of sender and receiver. A pair exchanges twice as much.
 * - Phases are not timed together; the paper's figures show rates per phase. */
#include "patterns.h"
#include "schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct numbers sizes = {
    .count = 7, .values = {8, 128, 1024, 8192, 65536, 524288, 1048576}};
static long phases_wanted = 0;

static const struct setting options[] = {
    {"sizes", LIST, &sizes, 1, 1 << 30, "of the messages, bytes (8,128,1k,8k,64k,512k,1m)"},
    {"phases", COUNT, &phases_wanted, 0, 1e6,
        "random-pairwise: so many phases; else so many of all, evenly spread (0: all)"},
    REPEAT,
};

struct exchange {
    unsigned char *out, *in;
    int bytes;
    struct partners with;
};

static void exchange(void *context)
{
    const struct exchange *x = context;
    CHECKED(MPI_Sendrecv(x->out, x->bytes, MPI_BYTE, x->with.to, 0, x->in, x->bytes, MPI_BYTE,
        x->with.from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static struct message message(int sender, int receiver, long phase, int stage)
{
    return (struct message){sender, receiver, phase, stage};
}

/* Prepare the message of a stage. */
static void prepare(struct exchange *x, long phase, int stage)
{
    if (x->with.to == NOBODY)
        return;
    message_fill(x->out, (size_t)x->bytes, message(world.rank, x->with.to, phase, stage));
    memset(x->in, 0, (size_t)x->bytes);
}

static void require(const struct exchange *x, long phase, int stage)
{
    if (x->with.from != NOBODY)
        message_require(
            x->in, (size_t)x->bytes, message(x->with.from, world.rank, phase, stage));
}

/* Of the streams of a phase; a pair that exchanges counts once. */
struct rates {
    int streams, waiting, slow_from, slow_to;
    double distance, least, mean, most; /* distance: mean, on the ring of ranks; rates: MB/s */
};

static struct rates rates_of(
    const struct partners *partners, const double *seconds, double bytes)
{
    struct rates r = {.least = HUGE_VAL};
    for (int rank = 0; rank < world.ranks; rank++) {
        int to = partners[rank].to;
        if (to == NOBODY) {
            r.waiting++;
            continue;
        }
        if (partners[rank].from == to && to < rank)
            continue;
        double rate = bytes / fmax(seconds[rank], seconds[to]) / 1e6;
        if (rate < r.least) {
            r.slow_from = rank;
            r.slow_to = to;
        }
        r.least = fmin(r.least, rate);
        r.most = fmax(r.most, rate);
        r.mean += rate;
        r.distance += ring_distance(rank, to, world.ranks);
        r.streams++;
    }
    r.mean /= r.streams;
    r.distance /= r.streams;
    return r;
}

static void run_phase(
    struct exchange *x, const struct partners *partners, double *seconds, long phase)
{
    bool active = partners[world.rank].to != NOBODY;
    x->with = partners[world.rank];
    prepare(x, phase, UNTIMED);
    time_loop(exchange, x, 1, active);
    require(x, phase, UNTIMED);
    prepare(x, phase, TIMED);
    struct timing timing = measure(exchange, x, active);
    require(x, phase, TIMED);
    CHECKED(MPI_Gather(
        &timing.mine, 1, MPI_DOUBLE, seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    if (world.rank)
        return;
    struct rates r = rates_of(partners, seconds, (double)x->bytes * (double)timing.repetitions);
    record_begin(stdout, "phase");
    put_count("size_B", x->bytes);
    put_count("phase", phase);
    put_number("distance", r.distance);
    put_count("streams", r.streams);
    put_count("waiting", r.waiting);
    put_count("repetitions", timing.repetitions);
    put_number("loop_us", timing.shortest * 1e6);
    put_number("min_MBps", r.least);
    put_number("mean_MBps", r.mean);
    put_number("max_MBps", r.most);
    put_count("slowest_from", r.slow_from);
    put_count("slowest_to", r.slow_to);
    record_end();
}

/* The k-th of the phases that are measured, of `count` evenly spread over 1 ... total. */
static long chosen(long k, long count, long total)
{
    return count < 2 ? 1 : 1 + (k * (total - 1) + (count - 1) / 2) / (count - 1);
}

static void run(schedule *of_phase, long total, long count)
{
    size_t ranks = (size_t)world.ranks, largest = (size_t)sizes.values[sizes.count - 1];
    struct partners *partners;
    double *seconds;
    say_plan(2 * largest + ranks * (sizeof *partners + sizeof *seconds), sizes.count * count);
    struct exchange x = {.out = allocate(largest, 1), .in = allocate(largest, 1)};
    partners = allocate(ranks, sizeof *partners);
    seconds = allocate(ranks, sizeof *seconds);
    for (int i = 0; i < sizes.count; i++)
        for (long k = 0; k < count; k++) {
            x.bytes = (int)sizes.values[i];
            long phase = chosen(k, count, total);
            of_phase(partners, world.ranks, phase);
            run_phase(&x, partners, seconds, phase);
        }
    free(seconds);
    free(partners);
    free(x.in);
    free(x.out);
}

static void print(schedule *of_phase, int ranks, long total)
{
    struct partners *partners = allocate((size_t)ranks, sizeof *partners);
    for (long phase = 1; phase <= total; phase++) {
        of_phase(partners, ranks, phase);
        for (int rank = 0; rank < ranks; rank++)
            if (partners[rank].to != NOBODY)
                say_partners(ranks, "phase", phase, rank, partners[rank]);
    }
    free(partners);
}

static long at_most(long total)
{
    return phases_wanted && phases_wanted < total ? phases_wanted : total;
}

static long random_phases(int ranks)
{
    return phases_wanted ? phases_wanted : ranks - 1;
}

static void run_aapc(void) { run(aapc_schedule, world.ranks - 1, at_most(world.ranks - 1)); }
static void run_simple(void) { run(simple_schedule, world.ranks - 1, at_most(world.ranks - 1)); }
static void run_cumulative(void)
{
    run(cumulative_schedule, world.ranks / 2, at_most(world.ranks / 2));
}
static void run_random(void)
{
    run(random_schedule, random_phases(world.ranks), random_phases(world.ranks));
}

static void print_aapc(int ranks) { print(aapc_schedule, ranks, ranks - 1); }
static void print_simple(int ranks) { print(simple_schedule, ranks, ranks - 1); }
static void print_cumulative(int ranks) { print(cumulative_schedule, ranks, ranks / 2); }
static void print_random(int ranks) { print(random_schedule, ranks, random_phases(ranks)); }

#define DENSE(NAME, HELP, RUN, PRINT)                                                          \
    {.name = NAME, .help = HELP, .options = options,                                           \
        .count = sizeof options / sizeof *options, .least_ranks = 2, .run = RUN,               \
        .schedule = PRINT}

const struct pattern aapc = DENSE("aapc",
    "congestion-controlled all-to-all: in phase p to rank+p, from rank-p", run_aapc, print_aapc);
const struct pattern simple_pairwise = DENSE("simple-pairwise",
    "all ranks in pairs, in phase p at distance p", run_simple, print_simple);
const struct pattern cumulative_pairwise = DENSE("cumulative-pairwise",
    "in phase p the first p pairs", run_cumulative, print_cumulative);
const struct pattern random_pairwise = DENSE("random-pairwise",
    "all ranks in pairs, shuffled anew in each phase", run_random, print_random);
