/* Shifts, in an order of which each beginning is spread over all, and rounds that were chosen. */
#include "all_pairs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int divisor(int a, int b)
{
    return b ? divisor(b, a % b) : a;
}

/* Steps of about 0.618 (ranks-1), without a common divisor: a job whose time is up early has
 * measured near and far pairs. */
int shift_of(int k, int ranks)
{
    int rounds = ranks - 1, step = (int)(0.6180339887 * rounds);
    if (step < 1)
        step = 1;
    while (divisor(rounds, step) > 1)
        step++;
    return 1 + (int)((long)k * step % rounds);
}

void shift_receivers(int *to, int ranks, int shift)
{
    for (int rank = 0; rank < ranks; rank++)
        to[rank] = (rank + shift) % ranks;
}

/* The ways of a round are paths and rings. Along each the turns alternate; the last sender of an
 * odd ring has a turn of its own. */
int turns_of(const int *to, int ranks, int *turn)
{
    bool *receives = allocate((size_t)ranks, sizeof *receives);
    int turns = 0;
    for (int rank = 0; rank < ranks; rank++) {
        turn[rank] = -1;
        if (to[rank] >= 0)
            receives[to[rank]] = true;
    }
    /* First from where paths begin, then from anywhere on the rings that are left. */
    for (int pass = 0; pass < 2; pass++)
        for (int begin = 0; begin < ranks; begin++) {
            int at = begin, before = begin;
            if (pass == 0 && receives[begin])
                continue;
            for (int k = 0; to[at] >= 0 && turn[at] < 0; k++) {
                turn[at] = k % 2;
                before = at;
                at = to[at];
            }
            if (pass == 1 && before != begin && to[before] == begin && turn[before] == turn[begin])
                turn[before] = 2;
        }
    for (int rank = 0; rank < ranks; rank++)
        if (turn[rank] >= turns)
            turns = turn[rank] + 1;
    free(receives);
    return turns;
}

static void say_turn(int ranks, int phase, int rank, int receiver, int sender, int turn)
{
    record_begin(stdout, "schedule");
    put_count("ranks", ranks);
    put_count("phase", phase);
    put_count("rank", rank);
    put_count("to", receiver);
    put_count("from", sender);
    put_count("turn", turn);
    record_end();
}

void all_pairs_schedule(int ranks)
{
    int *to = allocate((size_t)ranks, sizeof *to), *turn = allocate((size_t)ranks, sizeof *turn);
    for (int k = 0; k < ranks - 1; k++) {
        int shift = shift_of(k, ranks);
        shift_receivers(to, ranks, shift);
        turns_of(to, ranks, turn);
        for (int rank = 0; rank < ranks; rank++)
            say_turn(ranks, shift, rank, to[rank], (rank + ranks - shift) % ranks, turn[rank]);
    }
    free(turn);
    free(to);
}

static const char **by_name;

/* Names of nodes are compared without their domain, which not everybody who names one writes. */
static int name_order(const char *left, const char *right)
{
    size_t a = strcspn(left, "."), b = strcspn(right, "."), both = a < b ? a : b;
    int order = strncmp(left, right, both);
    return order ? order : (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
    int a = *(const int *)left, b = *(const int *)right, order = name_order(by_name[a], by_name[b]);
    return order ? order : a - b;
}

int *sorted_ranks(const char **names)
{
    int *sorted = allocate((size_t)nodes, sizeof *sorted);
    for (int rank = 0; rank < nodes; rank++)
        sorted[rank] = rank;
    by_name = names;
    qsort(sorted, (size_t)nodes, sizeof *sorted, compare);
    return sorted;
}

static int rank_of(const struct chosen *chosen, const char *name)
{
    for (int low = 0, high = nodes; low < high;) {
        int middle = (low + high) / 2, rank = chosen->sorted[middle];
        int order = name_order(name, chosen->names[rank]);
        if (!order)
            return rank;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NOBODY;
}

/* Read `nodeA nodeB`: A sends to B. False: a name is not in the job (told when `tell`). */
static bool way(const struct chosen *chosen, char *text, int *to, bool *receives, bool tell)
{
    char *names[3] = {strtok(text, " \t\r\n"), strtok(NULL, " \t\r\n"), strtok(NULL, " \t\r\n")};
    if (!names[1] || names[2])
        die("%s, line %ld: not two names of nodes", all_pairs_options.rounds, chosen->line);
    int sender = rank_of(chosen, names[0]), receiver = rank_of(chosen, names[1]);
    for (int i = 0; i < 2; i++)
        if (tell && rank_of(chosen, names[i]) == NOBODY)
            fprintf(stderr, "patterns: %s, line %ld: the node %.200s is not in this job\n",
                all_pairs_options.rounds, chosen->line, names[i]);
    if (sender < 0 || receiver < 0)
        return false;
    if (sender == receiver || to[sender] >= 0 || receives[receiver])
        die("%s, line %ld: a node of a round may send to one other and receive from one",
            all_pairs_options.rounds, chosen->line);
    to[sender] = receiver;
    return receives[receiver] = true;
}

static bool next(struct chosen *chosen, int *to, bool tell)
{
    char text[2048];
    bool *receives = allocate((size_t)nodes, sizeof *receives), any = false;
    for (int rank = 0; rank < nodes; rank++)
        to[rank] = NOBODY;
    while (fgets(text, sizeof text, chosen->file)) {
        chosen->line++;
        if (!strchr(text, '\n') && !feof(chosen->file))
            die("%s, line %ld: too long", all_pairs_options.rounds, chosen->line);
        bool empty = strspn(text, " \t\r\n") == strlen(text);
        if (empty && any)
            break;
        if (!empty && *text != '#')
            any = way(chosen, text, to, receives, tell) || any;
    }
    free(receives);
    return any;
}

bool chosen_next(struct chosen *chosen, int *to)
{
    return next(chosen, to, false);
}

void chosen_open(struct chosen *chosen, const char *path, const char **names)
{
    int *to = allocate((size_t)nodes, sizeof *to);
    *chosen = (struct chosen){fopen(path, "r"), 0, 0, names, sorted_ranks(names)};
    if (!chosen->file)
        die("%s: cannot be read: rounds are lines of two nodes, an empty line between two", path);
    while (next(chosen, to, true))
        chosen->rounds++;
    if (!chosen->rounds)
        die("%s: no pair of nodes of this job", path);
    rewind(chosen->file);
    chosen->line = 0;
    free(to);
}
