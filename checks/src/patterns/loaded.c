/* What the load of some nodes does to the messages of others, in one job.
 *
 * The nodes are divided: victims measure, aggressors load the network (loaded_load.c) or do nothing.
 * A cycle has a window for each load, and begins with another one than the cycle before, so that
 * what drifts does not count as load. In a window the victims measure three quantities in turn:
 *
 * - latency: 8 bytes to and from a neighbour in a ring of all victims in random order, both at once.
 * - exchange: --bytes, likewise.
 * - allreduce: the sum of 8 bytes of all victims.
 *
 * Each cycle has another ring. Each victim exchanges with one neighbour for half of --time, then
 * with the other one: pairs, and not the ring at once, in which each would be as slow as the slowest
 * and nobody could tell who suffers. Of an odd number one is idle in each half.
 *
 * Each repetition is timed, and counted in a bin of its length: the bins are 1/64 of the power of two
 * below, so that a time of them is known within 1.6 %. A loop goes on for its time, in batches of
 * about an eighth of that without load; the first repetitions of a batch (--warmup) are not counted.
 * A neighbour that is late is part of a time, whatever made it late. */
#include "loaded.h"
#include "schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum quantity { LATENCY, EXCHANGE, ALLREDUCE, QUANTITIES };
static const char *const quantity_names[] = {"latency", "exchange", "allreduce"};
static const char *const mean_names[] = {"latency_us", "exchange_us", "allreduce_us"};

enum { SMALL = 8, BATCHES = 8, FEW_NODES = 20, SUB = 64, BINS = 36 * SUB };

static double share = 0.5, limit = 60;
static long cycles = 8, bytes = 131072, load_bytes = 131072, ranks_each = 1;

static const struct setting options[] = {
    {"share", NUMBER, &share, 0.1, 0.9,
        "of the nodes that are victims, about: one of each 1/share neighbours (0.5); of fewer than "
        "20 nodes it is a half"},
    {"cycles", COUNT, &cycles, 1, 1000, "of a window for each load (8)"},
    {"bytes", BYTES, &bytes, 1, 1 << 28, "of a message of the exchange (128k)"},
    {"load-bytes", BYTES, &load_bytes, 1, 1 << 26, "of a message of the aggressors (128k)"},
    {"ranks", COUNT, &ranks_each, 1, 4096, "on each node, one after the other (1)"},
    {"limit", NUMBER, &limit, 1e-3, 1e6, "seconds that a load lasts in a window at most (60)"},
};

/* --- who is a victim -------------------------------------------------------------------------- */

struct division {
    int nodes, victims, aggressors; /* nodes; ranks of both */
    int loads;                      /* that there are: all, or all but the last one */
    long *victim_nodes;             /* in growing order */
    int *number;                    /* of each node among them, NOBODY of an aggressor */
    int *ranks;                     /* of the victims, in growing order, then the aggressors in random
                                     * order: what goes to the first one meets others in each run */
};

/* One of each block of neighbours in the list of nodes is of the smaller side, by the seed: nodes of
 * a switch mostly follow each other, so that each switch has nodes of both sides. */
static struct division divide(void)
{
    int nodes = world.ranks / (int)ranks_each, count = 0;
    size_t ranks = (size_t)world.ranks;
    struct division d = {.nodes = nodes, .victim_nodes = allocate(ranks, sizeof *d.victim_nodes),
        .number = allocate(ranks, sizeof *d.number), .ranks = allocate(ranks, sizeof *d.ranks)};
    double part = nodes < FEW_NODES ? 0.5 : share;
    int block = (int)lround(1 / fmin(part, 1 - part)), chosen = 0;
    uint64_t state = (uint64_t)common.seed;
    for (int node = 0; node < nodes; node++) {
        if (node % block == 0)
            chosen = node + (int)(random_next(&state) % (uint64_t)block);
        bool is_victim = (node == chosen) == (part <= 0.5);
        d.number[node] = is_victim ? count : NOBODY;
        if (is_victim)
            d.victim_nodes[count++] = node;
    }
    d.victims = count * (int)ranks_each;
    d.aggressors = world.ranks - d.victims;
    int *order = allocate((size_t)d.aggressors, sizeof *order);
    random_order(order, d.aggressors, (uint64_t)common.seed, 0);
    for (int rank = 0, victims = 0, others = 0; rank < world.ranks; rank++)
        if (d.number[rank / ranks_each] != NOBODY)
            d.ranks[victims++] = rank;
        else
            d.ranks[d.victims + order[others++]] = rank;
    free(order);
    return d;
}

static int node_of(int rank) { return rank / (int)ranks_each; }

/* The names of the nodes, to rank 0; a node whose ranks stand on several hosts ends the program. */
static void say_division(const struct division *d)
{
    enum { ROOM = MPI_MAX_PROCESSOR_NAME + 1 };
    char *all = world.rank ? NULL : allocate((size_t)world.ranks, ROOM);
    const char **names = allocate((size_t)d->nodes, sizeof *names);
    CHECKED(MPI_Gather(world.node, ROOM, MPI_CHAR, all, ROOM, MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int rank = 0; all && rank < world.ranks; rank++) {
        const char *name = all + (size_t)rank * ROOM;
        if (rank % ranks_each == 0)
            names[node_of(rank)] = name;
        else if (strcmp(names[node_of(rank)], name))
            die("--ranks %ld: two ranks of a node stand on %s and %s", ranks_each,
                names[node_of(rank)], name);
    }
    record_begin(stdout, "division");
    if (!world.rank)
        put_texts("nodes", d->nodes, names);
    put_counts("victims", d->victims / (int)ranks_each, d->victim_nodes);
    put_texts("loads", d->loads, load_names);
    record_end();
    free(names);
    free(all);
}

/* --- what a victim measures ------------------------------------------------------------------- */

struct samples {
    long count;
    double sum; /* s */
    long bins[BINS];
};

/* The halves of a window: with the neighbour of the next even place in the ring, or odd one. */
enum { HALVES = 2 };

struct victim {
    MPI_Comm all;
    int count, partners[HALVES]; /* ranks, or NOBODY */
    unsigned char *out, *in;
    int bytes, partner; /* now */
    long batch[QUANTITIES];
    struct samples *samples; /* LOADS x QUANTITIES */
};

/* Of 0 ... 63 ns one for each, then 64 for each power of two; utils/acceptance/suites/loaded.py
 * knows it, too. */
static int bin_of(double seconds)
{
    uint64_t ns = (uint64_t)llround(fmax(seconds, 0) * 1e9), octave = 0;
    while (ns >> octave >= 2 * SUB)
        octave++;
    uint64_t bin = octave * SUB + (ns >> octave);
    return bin < BINS ? (int)bin : BINS - 1;
}

static void allreduce(void *context)
{
    const struct victim *v = context;
    int64_t one = 1, sum = 0;
    CHECKED(MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_SUM, v->all));
    if (sum != v->count)
        die("the allreduce of %d ones is %lld", v->count, (long long)sum);
}

static void exchange(void *context)
{
    const struct victim *v = context;
    CHECKED(MPI_Sendrecv(v->out, v->bytes, MPI_BYTE, v->partner, 0, v->in, v->bytes, MPI_BYTE,
        v->partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* A batch; `samples` NULL: it is not counted. */
static void run_batch(struct victim *v, enum quantity quantity, long count, struct samples *samples)
{
    step *once = quantity == ALLREDUCE ? allreduce : exchange;
    if (quantity != ALLREDUCE && v->partner == NOBODY)
        return;
    for (long i = -common.warmup; i < count; i++) {
        double begin = MPI_Wtime();
        once(v);
        double seconds = MPI_Wtime() - begin;
        if (i < 0 || !samples)
            continue;
        samples->count++;
        samples->sum += seconds;
        samples->bins[bin_of(seconds)]++;
    }
}

/* How many repetitions take about a part of --time for the slowest victim; one may be idle. */
static long calibrated(struct victim *v, enum quantity quantity)
{
    for (long count = 1;; count *= 2) {
        double begin = MPI_Wtime();
        run_batch(v, quantity, count, NULL);
        double took = MPI_Wtime() - begin;
        CHECKED(MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, v->all));
        if (took * BATCHES >= common.time * 1e-3 || count >= 1 << 24)
            return count;
    }
}

static struct message message(int sender, int receiver, int window)
{
    return (struct message){sender, receiver, window, TIMED};
}

/* Batches until the time of all is over; `samples` NULL: they are calibrated. All agree after each
 * batch, so that one that is idle does not run ahead. */
static void measure_half(struct victim *v, enum quantity quantity, struct samples *samples)
{
    int more = 1;
    if (!samples)
        v->batch[quantity] = calibrated(v, quantity);
    for (double end = MPI_Wtime() + common.time * 1e-3 / HALVES; samples && more;) {
        run_batch(v, quantity, v->batch[quantity], samples);
        more = MPI_Wtime() < end;
        CHECKED(MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MAX, v->all));
    }
}

/* Both halves; `told` has room for count and sum of each, of which this victim's come `apart`. */
static void measure_quantity(struct victim *v, enum quantity quantity, int window,
    struct samples *samples, double *told, size_t apart)
{
    v->bytes = quantity == LATENCY ? SMALL : (int)bytes;
    for (int half = 0; half < HALVES; half++) {
        size_t size = (size_t)v->bytes;
        int partner = v->partner = v->partners[half];
        double *of = told + (size_t)half * apart;
        if (partner != NOBODY)
            message_fill(v->out, size, message(world.rank, partner, window));
        memset(v->in, 0, size);
        of[0] = -(double)samples->count;
        of[1] = -samples->sum;
        measure_half(v, quantity, window ? samples : NULL);
        of[0] += (double)samples->count;
        of[1] += samples->sum;
        if (partner != NOBODY && quantity != ALLREDUCE)
            message_require(v->in, size, message(partner, world.rank, window));
    }
}

/* Take the partners of a cycle: the neighbours in a ring of all victims in random order. */
static void set_ring(struct victim *v, const struct division *d, int cycle)
{
    size_t count = (size_t)d->victims;
    int *order = allocate(count, sizeof *order);
    long *ring = allocate(count, sizeof *ring);
    random_order(order, d->victims, (uint64_t)common.seed, (uint64_t)cycle);
    for (int i = 0; i < d->victims; i++)
        ring[i] = d->ranks[order[i]];
    for (int i = 0; i < d->victims; i++)
        if (ring[i] == world.rank)
            for (int half = 0; half < HALVES; half++) {
                int with = i % 2 == half ? i + 1 : i - 1;
                bool is_open = d->victims % 2 && (with < 0 || with == d->victims);
                v->partners[half] =
                    is_open ? NOBODY : (int)ring[(with + d->victims) % d->victims];
            }
    record_begin(stdout, "ring");
    put_count("cycle", cycle);
    put_counts("ranks", d->victims, ring);
    record_end();
    free(ring);
    free(order);
}

/* --- a window --------------------------------------------------------------------------------- */

enum { VICTIMS_S, LOAD_S, LOAD_BYTES, CUT, MEANS };

static void say_window(const double *told, int victims, int window, int cycle, enum load load)
{
    double *means = allocate((size_t)victims * HALVES, sizeof *means);
    record_begin(stdout, "window");
    put_count("number", window);
    put_count("cycle", cycle);
    put_text("load", load_names[load]);
    put_number("victims_s", told[VICTIMS_S]);
    put_number("load_s", told[LOAD_S]);
    put_count("cut", (long)told[CUT]);
    put_number("load_MBps", told[LOAD_S] > 0 ? told[LOAD_BYTES] / told[LOAD_S] / 1e6 : 0);
    for (int quantity = 0; quantity < QUANTITIES; quantity++) {
        for (int i = 0; i < HALVES * victims; i++) {
            const double *of = told + MEANS + 2 * (i * QUANTITIES + quantity);
            means[i] = of[0] > 0 ? of[1] / of[0] * 1e6 : 0;
        }
        put_values(mean_names[quantity], HALVES * victims, means);
    }
    record_end();
    free(means);
}

/* Window 0, without a load, calibrates. */
static void run_window(
    struct victim *v, const struct division *d, int window, int cycle, enum load load)
{
    int victims = d->victims / (int)ranks_each, mine = d->number[node_of(world.rank)];
    size_t half = 2 * (size_t)victims * QUANTITIES, count = MEANS + HALVES * half;
    double *told = allocate(count, sizeof *told);
    CHECKED(MPI_Barrier(MPI_COMM_WORLD));
    double begin = MPI_Wtime();
    if (mine == NOBODY) {
        struct load_done done = load_run(load, limit);
        told[LOAD_S] = done.seconds;
        told[LOAD_BYTES] = done.bytes;
        told[CUT] = done.cut;
    } else {
        for (int quantity = 0; quantity < QUANTITIES; quantity++) {
            struct samples *samples = &v->samples[(int)load * QUANTITIES + quantity];
            double *of = told + MEANS + 2 * (mine * QUANTITIES + quantity);
            measure_quantity(v, quantity, window, samples, of, half);
        }
        if (world.rank == d->ranks[0]) {
            told[VICTIMS_S] = MPI_Wtime() - begin;
            load_stop(d->ranks[d->victims]);
        }
    }
    CHECKED(MPI_Reduce(world.rank ? told : MPI_IN_PLACE, told, (int)count, MPI_DOUBLE, MPI_SUM, 0,
        MPI_COMM_WORLD));
    if (window)
        say_window(told, victims, window, cycle, load);
    free(told);
}

/* --- the times of all windows ----------------------------------------------------------------- */

/* Collect the samples of the ranks of a node in rank 0. */
static void collect(struct samples *sum, const struct samples *mine, int node)
{
    struct samples *other = allocate(1, sizeof *other);
    for (int rank = node * (int)ranks_each; rank < (node + 1) * (int)ranks_each; rank++) {
        if (world.rank == rank && rank)
            CHECKED(MPI_Send(mine, sizeof *mine, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
        if (!world.rank && rank)
            CHECKED(MPI_Recv(
                other, sizeof *other, MPI_BYTE, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        const struct samples *from = rank ? other : mine;
        sum->count += from->count;
        sum->sum += from->sum;
        for (int i = 0; i < BINS; i++)
            sum->bins[i] += from->bins[i];
    }
    free(other);
}

static void say_times(const struct victim *v, int node, int place)
{
    struct samples *sum = allocate(1, sizeof *sum);
    long *bins = allocate(BINS, sizeof *bins), *counts = allocate(BINS, sizeof *counts);
    int used = 0;
    collect(sum, &v->samples[place], node);
    for (long i = 0; i < BINS; i++)
        if (sum->bins[i]) {
            bins[used] = i;
            counts[used++] = sum->bins[i];
        }
    record_begin(stdout, "times");
    put_text("load", load_names[place / QUANTITIES]);
    put_text("quantity", quantity_names[place % QUANTITIES]);
    put_count("node", node);
    put_count("count", sum->count);
    put_number("sum_us", sum->sum * 1e6);
    put_counts("bins", used, bins);
    put_counts("counts", used, counts);
    record_end();
    free(counts);
    free(bins);
    free(sum);
}

/* --- the job ---------------------------------------------------------------------------------- */

static void say_load_plan(const struct division *d)
{
    size_t samples = LOADS * QUANTITIES * sizeof(struct samples);
    record_begin(stdout, "plan");
    put_count("memory_B", (long)(load_memory(d->aggressors, load_bytes) + 2 * (size_t)bytes +
                                 samples));
    /* Loops end after the batch in which --time is over. */
    put_number("expected_s",
        common.time * 1e-3 * QUANTITIES * (LOADS * (double)cycles * (1 + 1.0 / BATCHES) + 1));
    record_end();
}

static void run(void)
{
    if (world.ranks % ranks_each || world.ranks / ranks_each < 4)
        die("--ranks %ld: %d ranks are not those of four nodes or more", ranks_each, world.ranks);
    struct division d = divide();
    bool is_victim = d.number[node_of(world.rank)] != NOBODY;
    int place = 0, window = 1;
    say_load_plan(&d);
    while (d.ranks[place] != world.rank)
        place++;
    struct victim v = {.count = d.victims, .samples = allocate(LOADS * QUANTITIES, sizeof *v.samples)};
    CHECKED(MPI_Comm_split(MPI_COMM_WORLD, is_victim, place, &v.all));
    if (is_victim) {
        size_t room = (size_t)(bytes > SMALL ? bytes : SMALL);
        v.out = allocate(room, 1);
        v.in = allocate(room, 1);
    } else {
        d.loads = load_begin(v.all, load_bytes) ? LOADS : BROADCAST_GET;
    }
    CHECKED(MPI_Bcast(&d.loads, 1, MPI_INT, d.ranks[d.victims], MPI_COMM_WORLD));
    say_division(&d);
    for (int cycle = 1; cycle <= cycles; cycle++) {
        set_ring(&v, &d, cycle);
        if (cycle == 1)
            run_window(&v, &d, 0, cycle, ISOLATED);
        for (int i = 0; i < d.loads; i++)
            run_window(&v, &d, window++, cycle, (enum load)((cycle - 1 + i) % d.loads));
    }
    for (int i = 0; i < d.victims / ranks_each; i++)
        for (int k = 0; k < d.loads * QUANTITIES; k++)
            say_times(&v, (int)d.victim_nodes[i], k);
    if (!is_victim)
        load_end();
    CHECKED(MPI_Comm_free(&v.all));
    free(v.out);
    free(v.in);
    free(v.samples);
    free(d.victim_nodes);
    free(d.number);
    free(d.ranks);
}

const struct pattern loaded = {.name = "loaded",
    .help = "latency, exchange and allreduce of some nodes, while others load the network",
    .options = options,
    .count = sizeof options / sizeof *options,
    .least_ranks = 4,
    .run = run};
