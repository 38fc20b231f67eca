/* Pairs that were slow in their round, and some that were not, measured once more alone.
 *
 * In a round all nodes are busy, and a pair may be slow because others took its links. A suspect is
 * well below the median of its round, a latency by what values of that round differ by; of each
 * sender the worst few are kept, and of each receiver as many are measured: a slow node of 1,024 has
 * 2,046 slow pairs, and ten of them tell enough. The controls are drawn among all the others, as
 * evenly as if all had been kept (Vitter 1985). */
#include "all_pairs.h"

#include <math.h>
#include <stdlib.h>

/* A healthy tree's shifts spread by 5 % in the simulator. A latency is suspect from 4 times what half
 * of its round is off the median, which 1 in 300 of normal noise is; where near and far pairs are in
 * a round that is more, and from LATE on a latency is suspect in any case. */
static const double SLOW = 1.08, LATE = 1.3, DEVIATIONS = 4;
/* Below so many values one slow node spoils the median: the upper quartile stands for it. */
enum { FEW = 8 };

void again_begin(struct again *again)
{
    *again = (struct again){
        .worst = allocate((size_t)nodes * WORST, sizeof *again->worst),
        .random = (uint64_t)common.seed};
}

static int larger_first(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

/* How well each sender did: a rate, or one divided by the latency. 0: no value. */
static double goodness(const struct leader *l, enum quantity quantity, int rank)
{
    double value = l->values[quantity][rank];
    return quantity == LATENCY && value > 0 ? 1 / value : value;
}

/* What is good in a round, and how many times worse a suspect is. */
struct usual {
    double center, limit;
};

static struct usual usual(const struct leader *l, enum quantity quantity, double *sorted)
{
    int count = 0;
    for (int rank = 0; rank < nodes; rank++)
        if (goodness(l, quantity, rank) > 0)
            sorted[count++] = goodness(l, quantity, rank);
    if (!count)
        return (struct usual){0, SLOW};
    qsort(sorted, (size_t)count, sizeof *sorted, larger_first);
    struct usual usual = {sorted[(count - 1) / (count < FEW ? 4 : 2)], SLOW};
    if (quantity != LATENCY)
        return usual;
    for (int i = 0; i < count; i++)
        sorted[i] = fabs(sorted[i] / usual.center - 1);
    qsort(sorted, (size_t)count, sizeof *sorted, larger_first);
    double seen = 1 + DEVIATIONS * sorted[count / 2];
    usual.limit = count < FEW ? LATE : fmin(LATE, fmax(SLOW, seen));
    return usual;
}

static void suspect(struct again *again, struct suspect new)
{
    struct suspect *least = &again->worst[new.sender * WORST];
    again->suspects++;
    for (int i = 1; i < WORST; i++)
        if (again->worst[new.sender * WORST + i].badness < least->badness)
            least = &again->worst[new.sender * WORST + i];
    if (least->badness < new.badness)
        *least = new;
}

static void maybe_control(struct again *again, int sender, int receiver)
{
    long place = again->unsuspected++;
    if (place >= CONTROLS)
        place = (long)(random_next(&again->random) % (uint64_t)again->unsuspected);
    if (place < CONTROLS)
        again->controls[place] = (struct suspect){.sender = sender, .receiver = receiver, .badness = 1};
}

/* How many times worse than its round the value of a rank is; 0: it is not. */
static double badness_of(const struct leader *l, const struct usual *of, int rank)
{
    double badness = 0;
    for (enum quantity q = LATENCY; q < QUANTITIES; q++) {
        double worse = of[q].center / goodness(l, q, rank);
        /* A latency counts as far as it is as unusual as a rate. */
        if (worse > of[q].limit)
            badness = fmax(badness, worse * SLOW / of[q].limit);
    }
    return badness;
}

static void find_usual(const struct leader *l, struct usual *of)
{
    double *sorted = allocate((size_t)nodes, sizeof *sorted);
    for (enum quantity q = LATENCY; q < QUANTITIES; q++)
        of[q] = usual(l, q, sorted);
    free(sorted);
}

void again_note(struct again *again, const struct leader *l, const int *to)
{
    struct usual of[QUANTITIES];
    find_usual(l, of);
    for (int rank = 0; rank < nodes; rank++) {
        if (to[rank] < 0 || l->why[rank])
            continue;
        double badness = badness_of(l, of, rank);
        if (badness > 0)
            suspect(again,
                (struct suspect){.sender = rank, .receiver = to[rank], .badness = badness});
        else
            maybe_control(again, rank, to[rank]);
    }
}

/* Inside no node disturbs another one: all are measured at once, and those that were slow again. */
void again_inside(struct again *again, struct leader *l)
{
    struct usual of[QUANTITIES];
    again->inside = allocate((size_t)nodes, sizeof *again->inside);
    shift_receivers(again->inside, nodes, 0);
    leader_measure_inside(l, again->inside);
    file_inside(l, again->inside);
    find_usual(l, of);
    for (int rank = 0; rank < nodes; rank++)
        if (l->why[rank] || badness_of(l, of, rank) == 0)
            again->inside[rank] = NOBODY;
}

static void measure_inside_again(struct again *again, struct leader *l)
{
    bool any = false;
    for (int rank = 0; again->inside && rank < nodes; rank++)
        any = any || again->inside[rank] >= 0;
    if (!any)
        return;
    leader_measure_inside(l, again->inside);
    for (int rank = 0; rank < nodes; rank++)
        if (again->inside[rank] >= 0)
            file_again(l, rank, rank, false);
}

static int worst_first(const void *left, const void *right)
{
    const struct suspect *a = left, *b = right;
    return (a->badness < b->badness) - (a->badness > b->badness);
}

static int worst_alone_first(const void *left, const void *right)
{
    const struct suspect *a = left, *b = right;
    return (a->alone < b->alone) - (a->alone > b->alone);
}

/* Compare a suspect with the worst control, which may be farther from its partner than most. */
static void compare(struct again *again, const struct leader *l, struct suspect *pair, bool control)
{
    for (enum quantity q = LATENCY; q < QUANTITIES && !l->why[pair->sender]; q++) {
        double value = goodness(l, q, pair->sender), *good = &again->good[q];
        if (control)
            *good = *good > 0 ? fmin(*good, value) : value;
        else
            pair->alone = fmax(pair->alone, *good / value);
    }
}

/* Alone the two exchange, so that `both` is of these two; what the way back measures is left. */
static bool alone(
    struct again *again, struct leader *l, struct suspect *pair, bool control, double end)
{
    static int *to;
    if (!to)
        to = allocate((size_t)nodes, sizeof *to);
    if (l->gone[pair->sender] || l->gone[pair->receiver] || MPI_Wtime() > end)
        return false;
    for (int rank = 0; rank < nodes; rank++)
        to[rank] = NOBODY;
    to[pair->sender] = pair->receiver;
    to[pair->receiver] = pair->sender;
    leader_measure(l, to);
    file_again(l, pair->sender, pair->receiver, control);
    compare(again, l, pair, control);
    return !l->why[pair->sender];
}

/* Choose suspects that are slow alone, too, the worst ones first; return their number. Several of a
 * node that is slow with all suffice, and leave room for those of others. */
static int choose_curves(struct again *again, const struct suspect **chosen)
{
    qsort(again->worst, (size_t)nodes * WORST, sizeof *again->worst, worst_alone_first);
    int *sends = allocate((size_t)nodes, sizeof *sends), count = 0;
    int *receives = allocate((size_t)nodes, sizeof *receives);
    for (int i = 0; i < nodes * WORST && again->worst[i].alone > 1 && count < CURVES; i++) {
        const struct suspect *pair = &again->worst[i];
        if (sends[pair->sender] == CURVES_OF_RANK || receives[pair->receiver] == CURVES_OF_RANK)
            continue;
        sends[pair->sender]++;
        receives[pair->receiver]++;
        chosen[count++] = pair;
    }
    free(sends);
    free(receives);
    return count;
}

/* The curves of suspects and of controls in turn, several times: what passes is seen by all. */
static void curves(struct again *again, struct leader *l, double end)
{
    const struct suspect *chosen[2 * CURVES];
    int suspects = choose_curves(again, chosen), count = suspects;
    for (int i = 0; i < CURVES && i < again->unsuspected; i++)
        chosen[count++] = &again->controls[i];
    if (!suspects || count == suspects || all_pairs_options.bytes < curve_bytes(0))
        return;
    for (int i = 0; i < CURVE_PASSES * count && MPI_Wtime() < end; i++) {
        const struct suspect *pair = chosen[i % count];
        if (l->gone[pair->sender] || l->gone[pair->receiver])
            continue;
        leader_curve(l, pair->sender, pair->receiver);
        file_curve(l, pair->sender, pair->receiver, i % count >= suspects);
    }
}

long again_measure(struct again *again, struct leader *l, double end)
{
    long left = again->suspects;
    measure_inside_again(again, l);
    int *of_receiver = allocate((size_t)nodes, sizeof *of_receiver);
    for (int i = 0; i < CONTROLS && i < again->unsuspected; i++)
        alone(again, l, &again->controls[i], true, end);
    qsort(again->worst, (size_t)nodes * WORST, sizeof *again->worst, worst_first);
    for (int i = 0; i < nodes * WORST && again->worst[i].badness > 0; i++)
        if (of_receiver[again->worst[i].receiver]++ < WORST)
            left -= alone(again, l, &again->worst[i], false, end);
    free(of_receiver);
    curves(again, l, end);
    return left;
}
