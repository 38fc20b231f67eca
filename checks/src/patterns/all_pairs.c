/* Latency and bandwidth between all pairs of nodes, one rank a node, and inside of each with two.
 *
 * Rounds are shifts: in round k rank i sends to i+k and receives from i-k, so that all nodes are
 * busy and no two ways meet in a fat tree with static routes. The rounds come in an order of
 * which every beginning is spread over near and far; those for which --limit has no time are
 * counted. Each value is the median of three loops of at least 1 ms. A rank that waits in vain
 * goes on after --timeout, so that a pair that hangs is named, and the rest measured; a rank that
 * reports no more is left out, as is one of which four pairs did not answer. Then the status is
 * not 0. In the end pairs that were slow in their round, and as controls some that were not, are
 * measured again alone.
 *
 * Tried in SimGrid 3.32, 22.63 GB/s links, D-mod-k routes, leaves of 8 (64 nodes) or 16 (256),
 * messages of 256 KiB: lowest and highest GB/s, and the lowest share of the median of its round:
 *                                             64 nodes             256 nodes
 *   shifts, bandwidth and both                20.7..22.1  0.94     20.5..22.1  0.93
 *   pairs that exchange along a shift, both   20.7..22.1  0.94     20.5..22.1  0.93
 *   tournament of disjoint pairs, both        10.8..22.1  0.50     10.9..22.1  0.51
 *   shifts, 2:1 oversubscribed                11.0..22.1  0.51     10.9..22.1  0.51
 * What is left of shifts is the latency of near and far pairs in so small a message. In the tree
 * with 2:1 a round holds pairs within a leaf, which nobody disturbs, and pairs that share an
 * uplink. */
#include "all_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct all_pairs_options all_pairs_options = {
    .bytes = 4 << 20, .timeout = 10, .limit = 600, .ranks = 1, .output = "all-pairs.txt"};
int nodes;
MPI_Comm all;

static const struct setting options[] = {
    {"bytes", BYTES, &all_pairs_options.bytes, 1, 1 << 30, "of a message of the rates (4m)"},
    {"timeout", NUMBER, &all_pairs_options.timeout, 0, 1e6,
        "seconds that a pair has for what takes milliseconds (10; 0: for ever)"},
    {"limit", NUMBER, &all_pairs_options.limit, 1e-3, 1e7, "seconds for all (600)"},
    {"ranks", COUNT, &all_pairs_options.ranks, 1, 2,
        "on each node, one after the other (1); of 2 the inside of each node is measured, too"},
    {"shifts", LIST, &all_pairs_options.shifts, 1, 1e6, "only these rounds, like 1,2,5"},
    {"rounds", TEXT, &all_pairs_options.rounds, 0, 0,
        "file of rounds: lines `nodeA nodeB` (A sends to B), an empty line between two rounds"},
    {"output", TEXT, &all_pairs_options.output, 0, 0, "file of the values (all-pairs.txt)"},
};

static const char *check(void)
{
    return all_pairs_options.rounds && all_pairs_options.shifts.count
        ? "--shifts and --rounds: choose one"
        : NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Let ranks that stand for a node come first, and after them the second ones in the same order. */
static void order_ranks(void)
{
    if (world.ranks % all_pairs_options.ranks)
        die("--ranks 2: %d ranks are not two on each node", world.ranks);
    nodes = world.ranks / (int)all_pairs_options.ranks;
    int second = world.rank % (int)all_pairs_options.ranks;
    int place = second * nodes + world.rank / (int)all_pairs_options.ranks;
    CHECKED(MPI_Comm_split(MPI_COMM_WORLD, 0, place, &all));
    world.rank = place;
}

/* Name the nodes by rank: the first rank of a host has its name, the next ones host#1, host#2. */
static const char **names_of_ranks(void)
{
    enum { ROOM = MPI_MAX_PROCESSOR_NAME + 32 };
    size_t ranks = (size_t)world.ranks;
    char *each = world.rank ? NULL : allocate(ranks, ROOM), mine[ROOM] = "";
    for (size_t i = 0; i < sizeof world.node && world.node[i]; i++)
        mine[i] = strchr(" \t\n#", world.node[i]) ? '_' : world.node[i];
    CHECKED(MPI_Gather(mine, ROOM, MPI_CHAR, each, ROOM, MPI_CHAR, 0, all));
    if (world.rank)
        return NULL;
    const char **names = allocate(ranks, sizeof *names);
    for (size_t i = 0; i < ranks; i++)
        names[i] = each + i * ROOM;
    for (int i = nodes; i < world.ranks; i++)
        if (strcmp(names[i], names[i - nodes]))
            die("--ranks 2: two ranks that follow each other stand on %s and %s",
                names[i - nodes], names[i]);
    int *sorted = sorted_ranks(names), number = 0;
    for (int i = nodes - 1; i > 0; i--) {
        for (number = 0; number < i && !strcmp(names[sorted[i - number - 1]], names[sorted[i]]);)
            number++;
        if (number)
            snprintf(strchr(each + sorted[i] * (int)ROOM, '\0'), 16, "#%d", number);
    }
    for (int i = nodes; i < world.ranks; i++)
        snprintf(each + i * (int)ROOM, ROOM, "%.*s's second rank", ROOM - 16, names[i - nodes]);
    free(sorted);
    return names;
}

/* --- the rounds of a job ---------------------------------------------------------------------- */

struct rounds {
    struct chosen chosen;
    int count, next;
    int number; /* of the round that `to` describes */
    int *to;
};

static void rounds_begin(struct rounds *r, const char **names)
{
    *r = (struct rounds){
        .to = allocate((size_t)nodes, sizeof *r->to), .count = nodes - 1};
    if (all_pairs_options.shifts.count)
        r->count = all_pairs_options.shifts.count;
    if (all_pairs_options.rounds) {
        chosen_open(&r->chosen, all_pairs_options.rounds, names);
        r->count = r->chosen.rounds;
    }
}

static bool rounds_next(struct rounds *r)
{
    const struct numbers *shifts = &all_pairs_options.shifts;
    if (r->next == r->count)
        return false;
    int k = r->next++;
    r->number = all_pairs_options.rounds ? k + 1
        : shifts->count                  ? (int)shifts->values[k]
                                         : shift_of(k, nodes);
    if (all_pairs_options.rounds)
        return chosen_next(&r->chosen, r->to);
    shift_receivers(r->to, nodes, r->number);
    return true;
}

/* --- the job ---------------------------------------------------------------------------------- */

static double estimate_of(double begin, double round, int rounds)
{
    double all = MPI_Wtime() - begin + round * (rounds + 2 * CONTROLS);
    fprintf(stderr,
        "patterns: %d rounds of %.3g s: about %.3g s in all, pairs that turn out slow and are "
        "measured again not counted\n",
        rounds, round, all);
    if (all > all_pairs_options.limit)
        fprintf(stderr, "patterns: --limit %g has time for about %.0f of %d rounds\n",
            all_pairs_options.limit, rounds * all_pairs_options.limit / all, rounds);
    return all;
}

static void summary(const struct rounds *r, int left, long failed, const struct again *again,
    long not_again, double seconds)
{
    record_begin(stdout, "pairs");
    put_count("rounds", r->count);
    put_count("not_measured", left);
    put_count("failed", failed);
    put_count("suspects", again->suspects);
    put_count("not_again", not_again);
    put_number("whole_s", seconds);
    record_end();
}

static void lead(const char **names)
{
    /* The last tenth is for what is measured again, if so much is needed. */
    double begin = MPI_Wtime(), last = begin + 0.9 * all_pairs_options.limit, longest = 0;
    struct leader leader;
    struct rounds rounds;
    struct again again;
    leader_begin(&leader, names);
    again_begin(&again);
    rounds_begin(&rounds, names);
    bool more = rounds_next(&rounds);
    longest = leader_calibrate(&leader, rounds.to);
    double estimate = estimate_of(begin, longest, rounds.count);
    file_open(&leader, rounds.count, estimate);
    if (nodes < world.ranks)
        again_inside(&again, &leader);
    int left = rounds.count;
    /* The first one whatever the time: then there is something. */
    while (more && (left == rounds.count || MPI_Wtime() + longest < last)) {
        double start = MPI_Wtime();
        leader_measure(&leader, rounds.to);
        file_round(&leader, rounds.to, rounds.number);
        again_note(&again, &leader, rounds.to);
        longest = fmax(MPI_Wtime() - start, 0.9 * longest);
        more = rounds_next(&rounds);
        left--;
    }
    long not_again = again_measure(&again, &leader, begin + all_pairs_options.limit);
    file_end(left, not_again);
    summary(&rounds, left, leader.failed, &again, not_again, MPI_Wtime() - begin);
    leader_end(&leader, leader.failed ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void run(void)
{
    const struct numbers *shifts = &all_pairs_options.shifts;
    order_ranks();
    const char **names = names_of_ranks();
    if (nodes < 2)
        die("--ranks 2: one node: there is no pair");
    if (shifts->count && shifts->values[shifts->count - 1] >= nodes)
        die("--shifts: a shift by %ld requires more than %d nodes",
            shifts->values[shifts->count - 1], nodes);
    round_begin();
    if (world.rank)
        follow();
    else
        lead(names);
}

const struct pattern all_pairs = {.name = "all-pairs",
    .help = "latency and bandwidth between all pairs of nodes (one rank a node), and inside (two)",
    .options = options, .count = sizeof options / sizeof *options, .least_ranks = 2,
    .check = check, .run = run, .schedule = all_pairs_schedule};
