/* What a rank does in a round, and how each quantity is measured.
 *
 * The ways of a round are taken in turns, so that no rank sends and receives at once: in a round in
 * which every rank did both, the answer to a ping would wait for the rank's own ping, and a link or
 * slot that cannot do both at full rate would look as slow one way as in both.
 * - latency: half of a ping-pong of 8 bytes; in a turn half of all ranks ask, the others answer.
 * - bandwidth: half of all ranks send, the others only receive (and acknowledge the last one).
 * - both: all ways of the round at once; each rank sends to one, and receives from another, so that
 *   every link carries both directions. Pairs that exchange were as even in the simulator, but take
 *   two transfers where a shift takes one. Between a and b alone, or in a chosen round that has
 *   a -> b and b -> a, the two exchange.
 * Part of a shift takes no link twice in a fat tree of which the whole shift takes none twice; what
 * the simulator says is in all_pairs.c. */
#define _POSIX_C_SOURCE 200809L /* pause */
#include "all_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

MPI_Comm control;
MPI_Comm data;
static int abandoned;

struct buffers *buffers;

static void make_buffers(void)
{
    buffers = allocate(1, sizeof *buffers);
    buffers->out = allocate((size_t)all_pairs_options.bytes, 1);
    for (int i = 0; i < WINDOW; i++)
        buffers->in[i] = allocate((size_t)all_pairs_options.bytes, 1);
}

void round_begin(void)
{
    CHECKED(MPI_Comm_dup(all, &control));
    CHECKED(MPI_Comm_dup(all, &data));
    CHECKED(MPI_Comm_set_errhandler(control, MPI_ERRORS_RETURN));
    CHECKED(MPI_Comm_set_errhandler(data, MPI_ERRORS_RETURN));
    make_buffers();
}

size_t order_bytes(void)
{
    return sizeof(struct order) + (size_t)world.ranks * sizeof(int);
}

/* For tests alone: PATTERNS_TEST_HANG=RANK:PARTNER lets RANK never answer PARTNER (-1: from the
 * third order on it does nothing at all), so that a test sees what becomes of the others. */
static int never_answers(void)
{
    int rank, partner;
    const char *text = getenv("PATTERNS_TEST_HANG");
    bool hangs = text && sscanf(text, "%d:%d", &rank, &partner) == 2 && rank == world.rank;
    return hangs ? partner : world.ranks;
}

void fail(struct failure *failure, int status, enum stage stage)
{
    abandoned++;
    if (failure->outcome != GOOD)
        return;
    *failure = (struct failure){status == TIMED_OUT ? NO_ANSWER : MPI_FAILED, (int)stage, status,
        {0}};
}

static void note(struct part *part, enum quantity quantity, struct report *report)
{
    qsort(part->seconds, LOOPS, sizeof *part->seconds, order_of_doubles);
    report->loop[quantity] = part->seconds[LOOPS / 2];
    report->shortest[quantity] = part->seconds[0];
}

/* --- latency ---------------------------------------------------------------------------------- */

static int receive_long(long *value, int from, const struct part *part)
{
    MPI_Request request;
    int status = MPI_Irecv(value, 1, MPI_LONG, from, part->tag, data, &request);
    return status == MPI_SUCCESS ? wait_all(1, &request, part->patience) : status;
}

static int send_long(const long *value, int to, const struct part *part)
{
    MPI_Request request;
    int status = MPI_Isend(value, 1, MPI_LONG, to, part->tag, data, &request);
    return status == MPI_SUCCESS ? wait_all(1, &request, part->patience) : status;
}

static void ask(struct part *part, struct report *report)
{
    struct buffers *b = buffers;
    bool wrong = false;
    int status = MPI_SUCCESS;
    for (int loop = 0; loop < LOOPS && status == MPI_SUCCESS; loop++) {
        double begin = MPI_Wtime();
        for (long i = 0; i < part->repetitions && status == MPI_SUCCESS; i++) {
            b->ping = part->phase + i;
            status = send_long(&b->ping, part->to, part);
            if (status == MPI_SUCCESS)
                status = receive_long(&b->pong, part->to, part);
            wrong = wrong || (status == MPI_SUCCESS && b->pong != b->ping);
        }
        part->seconds[loop] = MPI_Wtime() - begin;
    }
    if (status != MPI_SUCCESS)
        fail(&report->sent, status, part->stage);
    else if (wrong && report->sent.outcome == GOOD)
        report->sent = (struct failure){.outcome = WRONG_DATA, .stage = (int)part->stage};
    else
        note(part, LATENCY, report);
}

static void answer(struct part *part, struct report *report)
{
    int status = MPI_SUCCESS;
    for (long i = 0; i < LOOPS * part->repetitions && status == MPI_SUCCESS; i++) {
        status = receive_long(&buffers->ping, part->from, part);
        if (status == MPI_SUCCESS)
            status = send_long(&buffers->ping, part->from, part);
    }
    if (status != MPI_SUCCESS)
        fail(&report->received, status, part->stage);
}

static void validate(const struct part *part, struct report *report, int stage)
{
    long total = part->repetitions * part->loops;
    struct message message = {part->from, world.rank, part->phase, stage};
    struct failure *failure = &report->received;
    for (int i = 0; i < WINDOW && i < total && failure->outcome == GOOD; i++)
        if (!message_arrived(
                buffers->in[i], (size_t)all_pairs_options.bytes, message, &failure->fault)) {
            failure->outcome = WRONG_DATA;
            failure->stage = (int)part->stage;
        }
}

/* --- the stages of a round -------------------------------------------------------------------- */

struct round {
    const struct order *order;
    struct report *report;
    int from, turns;
    int *turn;
    long barriers;
};

/* Whether a partner does not answer; one whose data were wrong goes on. */
static bool lost(const struct failure *failure)
{
    return failure->outcome == NO_ANSWER || failure->outcome == MPI_FAILED;
}

/* Take part in a stage; `turn` -1: in all turns at once. */
static void take_part(struct round *r, enum stage stage, enum quantity quantity, int turn, int tag)
{
    const struct order *order = r->order;
    struct report *report = r->report;
    if (report->alone)
        return;
    bool timed = stage != CONNECT, rates = stage != LATENCY_TURN && stage != CURVE;
    struct part part = {.to = order->to[world.rank], .from = r->from, .stage = stage,
        .repetitions = timed ? order->repetitions[quantity] : 1, .loops = timed ? LOOPS : 1,
        .phase = (long)order->number * STAGES + (long)stage,
        .tag = (order->number % 1024) * 2 * STAGES + tag};
    if (part.to < 0 || lost(&report->sent) || (turn >= 0 && r->turn[world.rank] != turn))
        part.to = NOBODY;
    if (part.from < 0 || lost(&report->received) || part.from == never_answers() ||
        (turn >= 0 && r->turn[part.from] != turn))
        part.from = NOBODY;
    if (part.to != NOBODY && rates)
        message_fill(buffers->out, (size_t)all_pairs_options.bytes,
            (struct message){world.rank, part.to, part.phase, timed ? TIMED : UNTIMED});
    report->alone = !meet(control, order->to, ++r->barriers, patience(4, HUGE_VAL));
    if (report->alone)
        return;
    /* A slow pair that goes on has three time-outs; the others wait for it in the barrier. */
    part.patience = patience(1, 3);
    int before = abandoned;
    if (stage == CURVE)
        curve(&part, report);
    else if (!rates && part.to != NOBODY)
        ask(&part, report);
    else if (!rates && part.from != NOBODY)
        answer(&part, report);
    else if (rates && (part.to != NOBODY || part.from != NOBODY))
        stream(&part, report);
    if (rates && part.from != NOBODY && report->received.outcome == GOOD)
        validate(&part, report, timed ? TIMED : UNTIMED);
    if (rates && timed && part.to != NOBODY && report->sent.outcome == GOOD)
        note(&part, quantity, report);
    if (abandoned != before)
        make_buffers();
}

void round_measure(const struct order *order, struct report *report)
{
    /* Counted by the order, since not every rank has a part in each. */
    struct round r = {order, report, NOBODY, 0, allocate((size_t)world.ranks, sizeof(int)),
        (long)order->number * STAGES};
    *report = (struct report){0};
    r.turns = turns_of(order->to, world.ranks, r.turn);
    for (int rank = 0; rank < world.ranks; rank++)
        if (order->to[rank] == world.rank)
            r.from = rank;
    while (never_answers() == -1 && order->number >= 3)
        pause();
    if (order->curve)
        r.turns = 0;
    take_part(&r, order->curve ? CURVE : CONNECT, LATENCY, -1, 0);
    for (int turn = 0; turn < r.turns; turn++)
        take_part(&r, LATENCY_TURN, LATENCY, turn, 1 + turn);
    for (int turn = 0; turn < r.turns; turn++)
        take_part(&r, BANDWIDTH_TURN, BANDWIDTH, turn, 4 + turn);
    if (!order->curve)
        take_part(&r, BOTH_AT_ONCE, BOTH, -1, 7);
    report->abandoned = abandoned;
    free(r.turn);
}
