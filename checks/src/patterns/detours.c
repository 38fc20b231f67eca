/* Why a small message is late: its sender was away, its receiver was, or the network took long.
 *
 * Ranks in pairs on two nodes exchange 8 bytes, again and again. Before it sends, a rank works for
 * a fixed time: it reads the clock, and a gap between two readings is a detour (the selfish detour
 * of P. Beckman et al., IEEE Cluster 2006). While it waits for the message it reads the clock
 * before each look. So of each message four times are known: before and after the call that sent
 * it, when the receiver last looked in vain, and when it had the message. A receiver that looked in
 * vain just before was there, and the message was not. Of one that had not looked for long nobody
 * knows since when the message was there, but it did not take it.
 *
 * What is written is bounded: of each pair the fastest exchange of each of WINDOWS parts of the
 * run, which match the clocks of both nodes, SAMPLES that are evenly spread, and of the slow ones
 * at most --keep, evenly spread, too; of each rank its LONGEST detours. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RUSAGE_THREAD, sched_getcpu */
#endif
#include "patterns.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { WINDOWS = 32, SAMPLES = 64, LONGEST = 8, MOST_EXCHANGES = 2000000 };

static struct {
    double work, detour, seconds;
    long ranks, keep;
} asked = {.work = 50, .detour = 1, .seconds = 5, .ranks = 1, .keep = 200};

static const struct setting options[] = {
    {"work", NUMBER, &asked.work, 1, 1e6, "before each message, us (50)"},
    {"detour", NUMBER, &asked.detour, 0.01, 1e6, "the shortest gap that is a detour, us (1)"},
    {"seconds", NUMBER, &asked.seconds, 0.01, 100, "of the exchanges of a pair (5)"},
    {"ranks", COUNT, &asked.ranks, 1, 4096, "on each node, one after the other (1)"},
    {"keep", COUNT, &asked.keep, 20, 1e6, "slow exchanges of a pair that are written (200)"},
};

/* Seconds of this rank's own clock (CLOCK_MONOTONIC) since its begin. */
struct stamps {
    double send, sent; /* before and after the call that sends */
    double looked;     /* before the last look in vain, or before its own last message */
    double got;
};

/* All are numbers, so that they are one message. */
struct account {
    double begin, cpu, least, worked, lost, count, switched, waited;
    double at[LONGEST], length[LONGEST]; /* longest first */
};

struct pair {
    int round, partner;
    bool is_first;
    long exchanges, most;
    struct stamps *mine;
};

static struct account account;

/* --- the clock -------------------------------------------------------------------------------- */

static double rate = 1;
static struct timespec begin;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((double)(t.tv_sec - begin.tv_sec) + (double)(t.tv_nsec - begin.tv_nsec) * 1e-9) * rate;
}

/* For tests alone: PATTERNS_TEST_CLOCK=RANK:PPM lets the clock of RANK run faster, as those of two
 * nodes differ. */
static void clock_begin(void)
{
    const char *text = getenv("PATTERNS_TEST_CLOCK");
    double ppm;
    int rank;
    if (text && sscanf(text, "%d:%lf", &rank, &ppm) == 2 && rank == world.rank)
        rate = 1 + ppm * 1e-6;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    double step = HUGE_VAL, last = now();
    for (int i = 0; i < 1000; i++) {
        double t = now();
        step = t > last ? fmin(step, t - last) : step;
        last = t;
    }
    account.begin = (double)begin.tv_sec * 1e9 + (double)begin.tv_nsec;
    /* A clock that is read slowly shows no shorter ones. */
    account.least = fmax(asked.detour * 1e-6, 10 * step);
}

/* --- a rank ----------------------------------------------------------------------------------- */

static void note(double at, double length)
{
    int i = LONGEST - 1;
    account.count++;
    account.lost += length;
    if (length <= account.length[i])
        return;
    for (; i > 0 && account.length[i - 1] < length; i--) {
        account.length[i] = account.length[i - 1];
        account.at[i] = account.at[i - 1];
    }
    account.length[i] = length;
    account.at[i] = at;
}

static void work(void)
{
    double start = now(), last = start;
    do {
        double t = now();
        if (t - last > account.least)
            note(last, t - last);
        last = t;
    } while (last - start < asked.work * 1e-6);
    account.worked += last - start;
}

static void wait_for(MPI_Request *request, struct stamps *stamps, double since)
{
    int done = 0;
    stamps->looked = since;
    for (;;) {
        double before = now();
        CHECKED(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            break;
        stamps->looked = before;
    }
    stamps->got = now();
}

static void send_to(const struct pair *pair, long long number, struct stamps *stamps)
{
    work();
    stamps->send = now();
    CHECKED(MPI_Send(&number, 1, MPI_LONG_LONG, pair->partner, 0, MPI_COMM_WORLD));
    stamps->sent = now();
}

static void expect(const struct pair *pair, long long *number, MPI_Request *request)
{
    CHECKED(MPI_Irecv(number, 1, MPI_LONG_LONG, pair->partner, 0, MPI_COMM_WORLD, request));
}

/* A message is the number of its exchange: 1 while nothing counts yet, below 0 the last one. */
static void lead(struct pair *pair)
{
    double start = now(), end = start + asked.seconds, warm = start + 0.05 * asked.seconds;
    long long number = 1, back = 0;
    MPI_Request request;
    for (;;) {
        struct stamps *stamps = &pair->mine[number - 1];
        bool is_last = now() > end || number == pair->most;
        expect(pair, &back, &request);
        send_to(pair, is_last ? -number : number, stamps);
        wait_for(&request, stamps, stamps->send);
        if (llabs(back) != number)
            die("the answer to message %lld is %lld", number, back);
        if (is_last)
            break;
        number += stamps->got > warm;
    }
    pair->exchanges = (long)number;
}

static void answer(struct pair *pair)
{
    double since = now();
    long long number = 0;
    MPI_Request request;
    while (number >= 0) {
        struct stamps stamps;
        long long last = number;
        expect(pair, &number, &request);
        wait_for(&request, &stamps, since);
        long long index = llabs(number);
        if (index < 1 || index > pair->most || index < last || index > last + 1)
            die("message %lld follows message %lld", number, last);
        send_to(pair, number, &stamps);
        pair->mine[index - 1] = stamps;
        since = stamps.send;
    }
    pair->exchanges = (long)-number;
}

/* How long this thread could run and did not, as Linux counts it: another one had its core. */
static double waited(void)
{
    double ran, delay = -1;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file && fscanf(file, "%lf %lf", &ran, &delay) != 2)
        delay = -1;
    if (file)
        fclose(file);
    return delay * 1e-9;
}

static void run_pair(struct pair *pair)
{
    struct rusage before, after;
    double delay = waited();
    getrusage(RUSAGE_THREAD, &before);
    (pair->is_first ? lead : answer)(pair);
    getrusage(RUSAGE_THREAD, &after);
    account.switched += (double)(after.ru_nivcsw - before.ru_nivcsw);
    account.waited = delay < 0 ? -1 : account.waited + waited() - delay;
    account.cpu = sched_getcpu();
}

/* --- what is written of a pair ---------------------------------------------------------------- */

enum { FASTEST, SAMPLE, SLOW };
static const char *const reasons[] = {"fastest", "sample", "slow"};

struct row {
    double why, number;
    struct stamps first, second;
};

struct summary {
    double rows, exchanges, usual, median, p99, p999, beyond, slow;
};

/* A round trip without the time between: no clock is compared with another one. */
static double round_trip(const struct stamps *first, const struct stamps *second)
{
    return first->got - first->send - (second->send - second->got);
}

static void add_row(struct row *rows, struct summary *all, int why, long i,
    const struct pair *pair, const struct stamps *theirs)
{
    rows[(long)all->rows++] = (struct row){why, (double)i, pair->mine[i], theirs[i]};
}

static void choose(struct row *rows, struct summary *all, const struct pair *pair,
    const struct stamps *theirs, const double *trips)
{
    long count = pair->exchanges, seen = 0, kept = 0;
    long windows = count < WINDOWS ? count : WINDOWS, samples = count < SAMPLES ? count : SAMPLES;
    for (long window = 0; window < windows; window++) {
        long from = window * count / windows, fastest = from;
        for (long i = from; i < (window + 1) * count / windows; i++)
            fastest = trips[i] < trips[fastest] ? i : fastest;
        add_row(rows, all, FASTEST, fastest, pair, theirs);
    }
    for (long k = 0; k < samples; k++)
        add_row(rows, all, SAMPLE, k * count / samples, pair, theirs);
    for (long i = 0; i < count; i++)
        all->slow += trips[i] > all->usual + all->beyond;
    for (long i = 0; i < count; i++) {
        if (trips[i] <= all->usual + all->beyond)
            continue;
        /* Of more than --keep those in which the count of the kept ones would rise. */
        if (++seen * asked.keep / fmax(all->slow, (double)asked.keep) >= (double)(kept + 1)) {
            add_row(rows, all, SLOW, i, pair, theirs);
            kept++;
        }
    }
}

static struct summary sum_up(struct row *rows, const struct pair *pair, const struct stamps *theirs)
{
    size_t count = (size_t)pair->exchanges;
    double *trips = allocate(count, sizeof *trips), *sorted = allocate(count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = trips[i] = round_trip(&pair->mine[i], &theirs[i]);
    qsort(sorted, count, sizeof *sorted, order_of_doubles);
    struct summary all = {.exchanges = (double)count, .usual = sorted[count / 4],
        .median = sorted[count / 2], .p99 = sorted[count * 99 / 100],
        .p999 = sorted[count * 999 / 1000]};
    /* Half as long again, and far beyond what good ones differ by. The lower quarter is undisturbed
     * even where most are not. */
    all.beyond = fmax(0.5 * all.usual, 10 * (all.usual - sorted[count / 20]));
    choose(rows, &all, pair, theirs, trips);
    free(sorted);
    free(trips);
    return all;
}

/* Times as whole ns, so that no digit is lost. */
static void put_times(const char *key, int count, const double *seconds)
{
    long ns[LONGEST];
    for (int i = 0; i < count; i++)
        ns[i] = lround(seconds[i] * 1e9);
    put_counts(key, count, ns);
}

static void put_stamps(const char *key, const struct stamps *stamps)
{
    put_times(key, 4, (const double[]){stamps->send, stamps->sent, stamps->looked, stamps->got});
}

static void write_pair(
    int round, int first, int second, const struct summary *all, const struct row *rows)
{
    record_begin(stdout, "pair");
    put_count("round", round);
    put_count("first", first);
    put_count("second", second);
    put_count("exchanges", (long)all->exchanges);
    put_number("usual_us", all->usual * 1e6);
    put_number("median_us", all->median * 1e6);
    put_number("p99_us", all->p99 * 1e6);
    put_number("p999_us", all->p999 * 1e6);
    put_number("beyond_us", all->beyond * 1e6);
    put_count("slow", (long)all->slow);
    record_end();
    for (long i = 0; i < (long)all->rows; i++) {
        record_begin(stdout, "exchange");
        put_text("why", reasons[(int)rows[i].why]);
        put_count("number", (long)rows[i].number);
        put_stamps("first_ns", &rows[i].first);
        put_stamps("second_ns", &rows[i].second);
        record_end();
    }
}

/* The second rank of each pair tells the first one, that one rank 0, which writes. */
static void collect(
    const struct pair *pair, int round, const int *firsts, const int *seconds, int pairs)
{
    enum { STAMPS = 1, SUMMARY, ROWS, NUMBERS = sizeof(struct stamps) / sizeof(double) };
    const MPI_Comm all = MPI_COMM_WORLD;
    int count = (int)pair->exchanges * NUMBERS;
    struct summary summary = {0};
    struct row *rows = allocate((size_t)(WINDOWS + SAMPLES + asked.keep), sizeof *rows);
    if (pair->partner >= 0 && !pair->is_first)
        CHECKED(MPI_Send(pair->mine, count, MPI_DOUBLE, pair->partner, STAMPS, all));
    if (pair->is_first) {
        struct stamps *theirs = allocate((size_t)pair->exchanges, sizeof *theirs);
        CHECKED(MPI_Recv(
            theirs, count, MPI_DOUBLE, pair->partner, STAMPS, all, MPI_STATUS_IGNORE));
        summary = sum_up(rows, pair, theirs);
        free(theirs);
    }
    const int of_row = sizeof *rows / sizeof(double), of_summary = sizeof summary / sizeof(double);
    if (pair->is_first && world.rank) {
        CHECKED(MPI_Send(&summary, of_summary, MPI_DOUBLE, 0, SUMMARY, all));
        CHECKED(MPI_Send(rows, (int)summary.rows * of_row, MPI_DOUBLE, 0, ROWS, all));
    }
    for (int i = 0; !world.rank && i < pairs; i++) {
        if (firsts[i]) {
            CHECKED(MPI_Recv(
                &summary, of_summary, MPI_DOUBLE, firsts[i], SUMMARY, all, MPI_STATUS_IGNORE));
            CHECKED(MPI_Recv(rows, (int)summary.rows * of_row, MPI_DOUBLE, firsts[i], ROWS, all,
                MPI_STATUS_IGNORE));
        }
        write_pair(round, firsts[i], seconds[i], &summary, rows);
    }
    free(rows);
}

/* --- the job ---------------------------------------------------------------------------------- */

static void write_accounts(void)
{
    const int numbers = sizeof account / sizeof(double);
    size_t ranks = (size_t)world.ranks;
    struct account *each = allocate(ranks, sizeof *each);
    char *names = allocate(ranks, sizeof world.node);
    CHECKED(
        MPI_Gather(&account, numbers, MPI_DOUBLE, each, numbers, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    CHECKED(MPI_Gather(world.node, sizeof world.node, MPI_CHAR, names, sizeof world.node, MPI_CHAR,
        0, MPI_COMM_WORLD));
    for (int rank = 0; !world.rank && rank < world.ranks; rank++) {
        struct account *of = &each[rank];
        int longest = of->count < LONGEST ? (int)of->count : LONGEST;
        record_begin(stdout, "detours");
        put_count("rank", rank);
        put_text("node", names + (size_t)rank * sizeof world.node);
        put_count("cpu", (long)of->cpu);
        put_count("begin_ns", (long)of->begin);
        put_number("least_us", of->least * 1e6);
        put_number("worked_us", of->worked * 1e6);
        put_number("lost_us", of->lost * 1e6);
        put_count("count", (long)of->count);
        put_count("switched", (long)of->switched);
        if (of->waited >= 0)
            put_number("waited_us", of->waited * 1e6);
        if (longest) {
            put_times("at_ns", longest, of->at);
            put_times("longest_ns", longest, of->length);
        }
        record_end();
    }
    free(names);
    free(each);
}

/* Nodes in pairs: 0 and 1, 2 and 3, ...; of an odd number the last one in a round of its own with
 * node 0. Rank k of a node has rank k of the other one. */
static int partner_of(int rank, int round)
{
    int per_node = (int)asked.ranks, nodes = world.ranks / per_node, node = rank / per_node;
    int other = round ? (node ? 0 : nodes - 1) : node ^ 1;
    bool has = round ? !node || node == nodes - 1 : other < nodes;
    return has ? other * per_node + rank % per_node : -1;
}

static void run(void)
{
    if (world.ranks % asked.ranks || world.ranks / asked.ranks < 2)
        die("--ranks %ld: %d ranks are not so many on each of two nodes or more", asked.ranks,
            world.ranks);
    int rounds = 1 + (int)(world.ranks / asked.ranks % 2);
    int *firsts = allocate((size_t)world.ranks, sizeof(int));
    int *seconds = allocate((size_t)world.ranks, sizeof(int));
    clock_begin();
    for (int round = 0; round < rounds; round++) {
        int pairs = 0;
        for (int rank = 0; rank < world.ranks; rank++)
            if (partner_of(rank, round) > rank) {
                firsts[pairs] = rank;
                seconds[pairs++] = partner_of(rank, round);
            }
        struct pair pair = {.round = round, .partner = partner_of(world.rank, round)};
        pair.is_first = pair.partner > world.rank;
        pair.most = (long)fmin(1 + asked.seconds * 1e6 / (2 * asked.work), MOST_EXCHANGES);
        pair.mine = allocate(pair.partner < 0 ? 0 : (size_t)pair.most, sizeof *pair.mine);
        CHECKED(MPI_Barrier(MPI_COMM_WORLD));
        if (pair.partner >= 0)
            run_pair(&pair);
        CHECKED(MPI_Barrier(MPI_COMM_WORLD));
        collect(&pair, round, firsts, seconds, pairs);
        free(pair.mine);
    }
    write_accounts();
    free(seconds);
    free(firsts);
}

const struct pattern detours = {.name = "detours",
    .help = "small messages of pairs of nodes, and why some are late: a node, or the network",
    .options = options,
    .count = sizeof options / sizeof *options,
    .least_ranks = 2,
    .run = run};
