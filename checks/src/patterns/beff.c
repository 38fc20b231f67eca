/* The effective bandwidth b_eff of Rabenseifner and Koniges (CUG 2001), as Fatoohi et al. 2006,
 * Section 3.1 and Table 1, report it. A program of our own, after the definition alone:
 *
 * b(pattern, size, method) = size x messages x repetitions / the longest loop of any process.
 * Maximum over methods (and repeats), average over the 21 sizes, logarithmic average over the ring
 * patterns and over the random ones, logarithmic average of these two.
 *
 * What the paper leaves open, and what was taken, mostly as the authors' b_eff 3.x has it:
 * - Each process sends to its left and its right neighbour and receives from both: two messages
 *   a process.
 * - Sizes: 1, 2, 4 ... 4,096 bytes, then 4,096 a, 4,096 a^2 ... 4,096 a^8 = Lmax. Lmax is the
 *   memory of a process (that of its node by the ranks there) / 128, at most --lmax: 1 MiB as in
 *   Table 1.
 * - Rings have 2, 4, 8, max(16, N/4), max(32, N/2), N of N processes, at most N. There are
 *   N/size + 0.4 rings, rounded down, of two sizes that differ by one; those of even size first.
 * - A random pattern is one ring of all processes in random order; 30 of them (--random).
 * - Three repeats (--repeat), of which the fastest counts. The length of the loop is not b_eff's
 *   (300 down to 1) but calibrated, so that none is under 1 ms.
 * - Alltoallv is on all processes, with two messages a process and none to the others.
 * - Ping-pong is between ranks 0 and 1: 2^20 bytes, for the latency 1 byte; half the round trip. */
#include "patterns.h"
#include "pingpong.h"
#include "rings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static long lmax = 1 << 20, random_patterns = 30;

static const struct setting options[] = {
    {"lmax", BYTES, &lmax, 8192, 1 << 27,
        "the largest message, bytes, if memory/128 is not less (1m)"},
    {"random", COUNT, &random_patterns, 1, 1000, "random patterns (30)"},
    REPEAT,
};

enum { METHODS = 3, PING_PONG = 1 << 20 };

/* Both directions: what goes to the right or comes from the left, then the other one. */
struct neighbours {
    unsigned char *out, *in; /* of two messages */
    int bytes, left, right;
    int *out_counts, *in_counts, *out_at, *in_at; /* Alltoallv, by rank */
};

static void sendrecv(void *context)
{
    const struct neighbours *n = context;
    CHECKED(MPI_Sendrecv(n->out, n->bytes, MPI_BYTE, n->right, 0, n->in, n->bytes, MPI_BYTE,
        n->left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECKED(MPI_Sendrecv(n->out + n->bytes, n->bytes, MPI_BYTE, n->left, 1, n->in + n->bytes,
        n->bytes, MPI_BYTE, n->right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void alltoallv(void *context)
{
    const struct neighbours *n = context;
    CHECKED(MPI_Alltoallv(n->out, n->out_counts, n->out_at, MPI_BYTE, n->in, n->in_counts,
        n->in_at, MPI_BYTE, MPI_COMM_WORLD));
}

static void nonblocking(void *context)
{
    const struct neighbours *n = context;
    MPI_Request requests[4];
    MPI_Status statuses[4]; /* gcc takes MPICH's MPI_STATUSES_IGNORE for too short an array */
    CHECKED(MPI_Irecv(n->in, n->bytes, MPI_BYTE, n->left, 0, MPI_COMM_WORLD, &requests[0]));
    CHECKED(MPI_Irecv(
        n->in + n->bytes, n->bytes, MPI_BYTE, n->right, 1, MPI_COMM_WORLD, &requests[1]));
    CHECKED(MPI_Isend(n->out, n->bytes, MPI_BYTE, n->right, 0, MPI_COMM_WORLD, &requests[2]));
    CHECKED(MPI_Isend(
        n->out + n->bytes, n->bytes, MPI_BYTE, n->left, 1, MPI_COMM_WORLD, &requests[3]));
    CHECKED(MPI_Waitall(4, requests, statuses));
}

static step *const methods[METHODS] = {sendrecv, alltoallv, nonblocking};
static const char *const names[METHODS] = {"sendrecv", "alltoallv", "nonblocking"};

/* In a ring of two, both messages go to the same rank: one block of twice the size. */
static void set_counts(struct neighbours *n)
{
    size_t bytes = (size_t)world.ranks * sizeof *n->out_counts;
    memset(n->out_counts, 0, bytes);
    memset(n->in_counts, 0, bytes);
    n->out_at[n->left] = n->in_at[n->right] = n->bytes;
    n->out_at[n->right] = n->in_at[n->left] = 0;
    n->out_counts[n->left] += n->bytes;
    n->out_counts[n->right] += n->bytes;
    n->in_counts[n->left] += n->bytes;
    n->in_counts[n->right] += n->bytes;
}

/* Messages to the right are told from those to the left by their phase. */
static void prepare(const struct neighbours *n, int pattern, int stage)
{
    size_t bytes = (size_t)n->bytes;
    message_fill(n->out, bytes, (struct message){world.rank, n->right, 2 * pattern, stage});
    message_fill(
        n->out + bytes, bytes, (struct message){world.rank, n->left, 2 * pattern + 1, stage});
    memset(n->in, 0, 2 * bytes);
}

static void require(const struct neighbours *n, int pattern, int stage)
{
    size_t bytes = (size_t)n->bytes;
    message_require(n->in, bytes, (struct message){n->left, world.rank, 2 * pattern, stage});
    message_require(
        n->in + bytes, bytes, (struct message){n->right, world.rank, 2 * pattern + 1, stage});
}

/* The accumulated bandwidth, MB/s. */
static double rate_of(struct timing timing, int bytes)
{
    double messages = 2.0 * world.ranks * (double)timing.repetitions;
    return bytes * messages / timing.longest / 1e6;
}

/* The rate by one method, the fastest of the repeats. */
static double run_method(struct neighbours *n, int pattern, int method)
{
    prepare(n, pattern, UNTIMED);
    time_loop(methods[method], n, 1, true);
    require(n, pattern, UNTIMED);
    prepare(n, pattern, TIMED);
    struct timing timing = measure(methods[method], n, true);
    require(n, pattern, TIMED);
    double rate = rate_of(timing, n->bytes);
    record_begin(stdout, "rate");
    put_count("pattern", pattern);
    put_count("size_B", n->bytes);
    put_text("method", names[method]);
    put_count("repetitions", timing.repetitions);
    put_number("loop_us", timing.shortest * 1e6);
    put_number("rate_MBps", rate);
    record_end();
    return rate;
}

/* Logarithmic averages over ring patterns, random patterns, and both. */
struct averages {
    double rings, random, both;
};

static struct averages average(const double *rates, int patterns)
{
    double rings = 0, random = 0;
    for (int i = 0; i < patterns; i++)
        *(i < RINGS ? &rings : &random) += log(rates[i]);
    rings /= RINGS;
    random /= patterns - RINGS;
    return (struct averages){exp(rings), exp(random), exp((rings + random) / 2)};
}

static void run_patterns(struct neighbours *n, const int *sizes, double *means, double *at_lmax)
{
    struct partners *partners = allocate((size_t)world.ranks, sizeof *partners);
    for (int pattern = 0; pattern < RINGS + random_patterns; pattern++) {
        rings_schedule(partners, world.ranks, pattern);
        n->right = partners[world.rank].to;
        n->left = partners[world.rank].from;
        for (int k = 0; k < BEFF_SIZES; k++) {
            n->bytes = sizes[k];
            set_counts(n);
            double best = 0;
            for (int method = 0; method < METHODS; method++)
                best = fmax(best, run_method(n, pattern, method));
            means[pattern] += best / BEFF_SIZES;
            at_lmax[pattern] = best;
        }
    }
    free(partners);
}

static void summary(
    unsigned char *out, unsigned char *in, const double *means, const double *at_lmax)
{
    int patterns = RINGS + (int)random_patterns;
    double ranks = world.ranks;
    struct averages all = average(means, patterns), largest = average(at_lmax, patterns);
    double latency = one_way(pingpong(out, in, 1, 1));
    double us = one_way(pingpong(out, in, PING_PONG, 1));
    record_begin(stdout, "summary");
    put_count("processes", world.ranks);
    put_number("b_eff_MBps", all.both);
    put_number("per_process_MBps", all.both / ranks);
    put_number("at_lmax_MBps", largest.both);
    put_number("at_lmax_per_process_MBps", largest.both / ranks);
    put_number("at_lmax_rings_MBps", largest.rings);
    put_number("at_lmax_rings_per_process_MBps", largest.rings / ranks);
    put_number("ping_pong_MBps", PING_PONG / us);
    put_number("latency_us", latency);
    record_end();
}

static void run(void)
{
    double memory = memory_per_rank();
    if (memory / 128 < (double)lmax)
        lmax = (long)(memory / 128);
    if (lmax < options[0].least)
        die("%.0f bytes of memory for each process: Lmax would be under 8192 bytes", memory);
    int sizes[BEFF_SIZES];
    beff_sizes(sizes, lmax);
    size_t buffer = 2 * (size_t)lmax, ranks = (size_t)world.ranks;
    if (buffer < PING_PONG)
        buffer = PING_PONG;
    size_t patterns = RINGS + (size_t)random_patterns;
    double *means;
    say_plan(2 * buffer + 7 * ranks * sizeof(int) + 2 * patterns * sizeof *means,
        (long)patterns * BEFF_SIZES * METHODS + 2);
    int *counts = allocate(4 * ranks, sizeof *counts);
    means = allocate(2 * patterns, sizeof *means);
    struct neighbours n = {.out = allocate(buffer, 1), .in = allocate(buffer, 1),
        .out_counts = counts, .in_counts = counts + ranks, .out_at = counts + 2 * ranks,
        .in_at = counts + 3 * ranks};
    run_patterns(&n, sizes, means, means + patterns);
    summary(n.out, n.in, means, means + patterns);
    free(n.in);
    free(n.out);
    free(means);
    free(counts);
}

static void print(int ranks)
{
    struct partners *partners = allocate((size_t)ranks, sizeof *partners);
    for (int pattern = 0; pattern < RINGS + random_patterns; pattern++) {
        rings_schedule(partners, ranks, pattern);
        for (int rank = 0; rank < ranks; rank++)
            say_partners(ranks, "pattern", pattern, rank, partners[rank]);
    }
    free(partners);
}

const struct pattern b_eff = {.name = "b-eff",
    .help = "the effective bandwidth of Rabenseifner and Koniges",
    .options = options,
    .count = sizeof options / sizeof *options,
    .least_ranks = 2,
    .run = run,
    .schedule = print};
