/* What rank 0 does in a round: it sends the order, measures as all do, and collects the reports. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "all_pairs.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So many pairs that do not answer are not the fault of each of the others. */
enum { STRIKES = 4, BYTES_OF_WHY = 512, REPORTING = 4, WAIT_FOR_THE_END = -1 };

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
    char *line = allocate(BYTES_OF_WHY, 1);
    va_list values;
    va_start(values, format);
    vsnprintf(line, BYTES_OF_WHY, format, values);
    va_end(values);
    for (char *c = line; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    return line;
}

void leader_begin(struct leader *l, const char **names)
{
    size_t ranks = (size_t)world.ranks;
    *l = (struct leader){.names = names, .order = allocate(1, order_bytes()),
        .reports = allocate(ranks, sizeof *l->reports), .gone = allocate(ranks, sizeof *l->gone),
        .silent = allocate(ranks, sizeof *l->silent), .why = allocate(ranks, sizeof *l->why),
        .strikes = allocate(ranks, sizeof *l->strikes)};
    for (int q = 0; q < QUANTITIES; q++) {
        l->values[q] = allocate(ranks, sizeof *l->values[q]);
        l->order->repetitions[q] = q == LATENCY ? 10 : 1;
    }
}

/* --- orders and reports ----------------------------------------------------------------------- */

static void leave_out(struct leader *l, int rank, char *why)
{
    l->gone[rank] = why;
    fprintf(stderr, "patterns: %s is left out from now on: %s\n", l->names[rank], why);
}

/* Tell whether a rank gets the order, and reports: the last one is for all that listen. */
static bool takes_part(const struct leader *l, int rank)
{
    bool has_part = !l->order->number || l->order->to[rank] != GONE;
    return rank && !l->silent[rank] && has_part;
}

static void send_orders(struct leader *l)
{
    MPI_Request *requests = allocate((size_t)world.ranks, sizeof *requests);
    for (int rank = 0; rank < world.ranks; rank++) {
        requests[rank] = MPI_REQUEST_NULL;
        if (takes_part(l, rank))
            CHECKED(MPI_Isend(l->order, (int)order_bytes(), MPI_BYTE, rank, ORDER, control,
                &requests[rank]));
    }
    if (wait_all(world.ranks, requests, patience(1, HUGE_VAL)) != MPI_SUCCESS) {
        /* Somebody does not take it, and then does not report. The old one stays for MPI. */
        struct order *old = l->order;
        l->order = allocate(1, order_bytes());
        memcpy(l->order, old, order_bytes());
        l->abandoned++;
    }
    free(requests);
}

static void collect_reports(struct leader *l)
{
    size_t ranks = (size_t)world.ranks;
    MPI_Request *requests = allocate(ranks, sizeof *requests);
    MPI_Status *statuses = allocate(ranks, sizeof *statuses);
    int *which = allocate(ranks, sizeof *which), count = 0, status = MPI_SUCCESS;
    for (int rank = 0; rank < world.ranks; rank++) {
        requests[rank] = MPI_REQUEST_NULL;
        if (takes_part(l, rank))
            CHECKED(MPI_Irecv(&l->reports[rank], (int)sizeof *l->reports, MPI_BYTE, rank, REPORT,
                control, &requests[rank]));
    }
    while (count != MPI_UNDEFINED && status == MPI_SUCCESS)
        status = wait_some(
            world.ranks, requests, &count, which, statuses, patience(REPORTING, HUGE_VAL));
    for (int rank = 1; rank < world.ranks; rank++)
        if (requests[rank] != MPI_REQUEST_NULL) {
            l->silent[rank] = true;
            l->abandoned++;
            if (!l->gone[rank])
                leave_out(l, rank, text("it did not report within %g s",
                    REPORTING * all_pairs_options.timeout));
        }
    free(which);
    free(statuses);
    free(requests);
}

/* --- what a round says ------------------------------------------------------------------------ */

static char *words(const struct leader *l, const struct failure *failure, int other)
{
    static const char *const stages[] = {
        [CONNECT] = "first message", [LATENCY_TURN] = "latency", [BANDWIDTH_TURN] = "bandwidth",
        [BOTH_AT_ONCE] = "both", [CURVE] = "curve"};
    const char *stage = stages[failure->stage];
    char mpi[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    switch (failure->outcome) {
    case NO_ANSWER:
        return text("%s: %s did not answer within %g s", stage, l->names[other],
            all_pairs_options.timeout);
    case WRONG_DATA:
        return text("%s: wrong data from byte %zu on: expected 0x%02x, found 0x%02x", stage,
            failure->fault.offset, failure->fault.expected, failure->fault.found);
    default:
        MPI_Error_string(failure->error, mpi, &length);
        return text("%s: an error of MPI: %s", stage, mpi);
    }
}

/* The rank that receives what a rank sends to a node: inside of its own one it is the second. */
static int rank_of(int sender, int receiver)
{
    return receiver == sender ? nodes + sender : receiver;
}

static char *why_failed(struct leader *l, int sender, int receiver)
{
    int ends[] = {sender, receiver};
    for (int i = 0; i < 2; i++)
        if (l->gone[ends[i]])
            return text("%s was left out: %s", l->names[ends[i]], l->gone[ends[i]]);
    if (l->reports[sender].alone || l->reports[receiver].alone)
        return text("the ranks did not meet within %g s", 4 * all_pairs_options.timeout);
    const struct failure *sent = &l->reports[sender].sent;
    const struct failure *received = &l->reports[receiver].received;
    const struct failure *failure = sent->outcome != GOOD ? sent : received;
    if (failure->outcome == GOOD)
        return NULL;
    if (failure->outcome == NO_ANSWER) {
        l->strikes[sender]++;
        l->strikes[receiver]++;
    }
    return words(l, failure, failure == sent ? receiver : sender);
}

static void conclude(struct leader *l, const int *to)
{
    for (int rank = 0; rank < world.ranks; rank++)
        l->abandoned += l->reports[rank].abandoned + l->reports[rank].alone;
    for (int rank = 0; rank < nodes; rank++) {
        int receiver = to[rank] >= 0 ? rank_of(rank, to[rank]) : NOBODY;
        free(l->why[rank]);
        l->why[rank] = receiver >= 0 ? why_failed(l, rank, receiver) : NULL;
        l->failed += l->why[rank] != NULL;
        for (int q = 0; q < QUANTITIES; q++) {
            double each = l->reports[rank].loop[q] / (double)l->order->repetitions[q];
            bool has = receiver >= 0 && !l->gone[rank] && !l->gone[receiver] && each > 0;
            has = has && l->reports[receiver].received.outcome != WRONG_DATA;
            l->values[q][rank] = !has ? 0
                : q == LATENCY ? each / 2 * 1e6
                               : (double)all_pairs_options.bytes / each / 1e6;
        }
    }
    /* Rank 0 writes the file, and stays. */
    for (int rank = 1; rank < world.ranks; rank++)
        if (l->strikes[rank] >= STRIKES && !l->gone[rank])
            leave_out(l, rank, text("%d of its pairs did not answer", l->strikes[rank]));
}

/* Tell whether somebody fell out of step, so that pairs did not send when they should. */
static bool out_of_step(const struct leader *l)
{
    for (int rank = 0; rank < world.ranks; rank++)
        if (!l->gone[rank] && l->reports[rank].alone)
            return true;
    return false;
}

/* The shortest of all loops of a quantity, seconds; 0: there is none. */
static double shortest(const struct leader *l, enum quantity quantity)
{
    double least = 0;
    for (int rank = 0; rank < world.ranks; rank++) {
        double seconds = l->reports[rank].shortest[quantity];
        if (seconds > 0 && (least == 0 || seconds < least))
            least = seconds;
    }
    return least;
}

/* Tell whether a loop was shorter than `seconds`; then the next ones have enough repetitions. */
static bool lengthen(struct leader *l, double seconds)
{
    bool any = false;
    for (enum quantity q = LATENCY; q < QUANTITIES; q++) {
        double least = shortest(l, q);
        if (least == 0 || least >= seconds)
            continue;
        double target = fmax(common.time * 1e-3 / LOOPS, 1.5 * least_loop());
        double factor = fmin(fmax(target / least, 1.2), 30);
        l->order->repetitions[q] = (long)ceil((double)l->order->repetitions[q] * factor);
        any = true;
    }
    return any;
}

static void once(struct leader *l, const int *to)
{
    memset(l->reports, 0, (size_t)world.ranks * sizeof *l->reports);
    for (int rank = nodes; rank < world.ranks; rank++)
        l->order->to[rank] = GONE;
    for (int rank = 0; rank < nodes; rank++) {
        int receiver = to[rank] >= 0 ? rank_of(rank, to[rank]) : to[rank];
        if (receiver >= 0 && l->gone[receiver])
            receiver = NOBODY;
        l->order->to[rank] = l->gone[rank] ? GONE : receiver;
        /* Inside the two exchange, as a pair does that is measured alone. */
        if (receiver >= nodes && !l->gone[rank])
            l->order->to[receiver] = rank;
    }
    l->order->number = ++l->measured;
    send_orders(l);
    round_measure(l->order, &l->reports[0]);
    collect_reports(l);
}

void leader_measure(struct leader *l, const int *to)
{
    /* Twice at most: a round may be repeated for each reason. */
    for (int tries = 0; tries < 3; tries++) {
        once(l, to);
        bool again = out_of_step(l);
        again = lengthen(l, least_loop()) || again;
        if (!again)
            break;
    }
    conclude(l, to);
}

double leader_calibrate(struct leader *l, const int *to)
{
    double begin;
    int *good = allocate((size_t)nodes, sizeof *good);
    memcpy(good, to, (size_t)nodes * sizeof *good);
    do {
        begin = MPI_Wtime();
        once(l, good);
        /* What fails is tried once more when it is measured, and not before. */
        for (int rank = 0; rank < nodes; rank++)
            if (good[rank] >= 0 &&
                (l->reports[rank].sent.outcome != GOOD ||
                    l->reports[rank_of(rank, good[rank])].received.outcome != GOOD))
                good[rank] = NOBODY;
        /* With half the time that is aimed at the pairs of other rounds may be faster. */
    } while (lengthen(l, fmax(common.time * 0.5e-3 / LOOPS, 1.25 * least_loop())));
    double seconds = MPI_Wtime() - begin;
    free(good);
    return seconds;
}

void leader_measure_inside(struct leader *l, const int *to)
{
    long between[QUANTITIES];
    memcpy(between, l->order->repetitions, sizeof between);
    leader_calibrate(l, to);
    leader_measure(l, to);
    memcpy(l->order->repetitions, between, sizeof between);
}

void leader_curve(struct leader *l, int sender, int receiver)
{
    int *to = allocate((size_t)nodes, sizeof *to);
    for (int rank = 0; rank < nodes; rank++)
        to[rank] = NOBODY;
    to[sender] = receiver;
    l->order->curve = 1;
    once(l, to);
    conclude(l, to);
    l->order->curve = 0;
    free(to);
}

/* --- the end ---------------------------------------------------------------------------------- */

static _Noreturn void wait_for_the_end(void)
{
    for (;;)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

/* What was given up may keep MPI from ending in good order. */
static _Noreturn void end(int status)
{
    CHECKED(MPI_Finalize());
    exit(status);
}

void leader_end(struct leader *l, int status)
{
    l->order->number = 0;
    l->order->status = l->abandoned ? WAIT_FOR_THE_END : status;
    send_orders(l);
    if (!status && !l->abandoned)
        return;
    output_end();
    if (!l->abandoned)
        end(status);
    abort_all(status ? status : EXIT_FAILURE);
}

void follow(void)
{
    struct order *order = allocate(1, order_bytes());
    for (;;) {
        struct report report;
        MPI_Request request;
        CHECKED(MPI_Irecv(order, (int)order_bytes(), MPI_BYTE, 0, ORDER, control, &request));
        /* As long as it takes: rank 0 may wait for others, or write. */
        CHECKED(wait_all(1, &request, patience(HUGE_VAL, HUGE_VAL)));
        if (!order->number)
            break;
        round_measure(order, &report);
        CHECKED(MPI_Isend(&report, (int)sizeof report, MPI_BYTE, 0, REPORT, control, &request));
        CHECKED(wait_all(1, &request, patience(HUGE_VAL, HUGE_VAL)));
    }
    int status = order->status;
    free(order);
    if (status == WAIT_FOR_THE_END)
        wait_for_the_end();
    if (status)
        end(status);
}
