/* The curve of a pair that is alone: messages of all sizes to the partner, each timed.
 *
 * The answer to each has 8 bytes, so that the curve is of one direction: the time of a message is
 * that of both without half of what two messages of 8 bytes take. Of each size the median counts,
 * and the 99th percentile tells of what now and then takes longer. Of the smallest messages both
 * ends time the call that posts one, too: that is the overhead o of LogP as its authors measure it
 * (Culler et al. 1996), for what is sent at once. detection/loggp.py makes parameters of it. */
#include "all_pairs.h"

#include <math.h>
#include <stdlib.h>

/* Round trips of a size: to warm up, at least, and at most. */
enum { WARM = 2, LEAST = 5, MOST = 1000 };
/* Bytes of the smallest message, and of each answer. */
enum { SMALL = 8 };
/* Of the time of a loop that those of one size take: a curve is measured several times. */
static const double SHARE = 0.4;

/* Seconds of each round trip, and of each call that posts a message. */
struct times {
    double trip[MOST], post[MOST];
};

long curve_bytes(int k)
{
    return (long)SMALL << k;
}

static double quantile(double *values, long count, double share)
{
    qsort(values, (size_t)count, sizeof *values, order_of_doubles);
    return values[(long)(share * (double)(count - 1) + 0.5)];
}

static int send_message(void *from, long bytes, int to, const struct part *part, double *post)
{
    MPI_Request request;
    double begin = MPI_Wtime();
    int status = MPI_Isend(from, (int)bytes, MPI_BYTE, to, part->tag, data, &request);
    *post = MPI_Wtime() - begin;
    return status == MPI_SUCCESS ? wait_all(1, &request, part->patience) : status;
}

static int receive_message(void *into, long bytes, int from, const struct part *part)
{
    MPI_Request request;
    int status = MPI_Irecv(into, (int)bytes, MPI_BYTE, from, part->tag, data, &request);
    return status == MPI_SUCCESS ? wait_all(1, &request, part->patience) : status;
}

static int ask(const struct part *part, long bytes, long trips, struct times *times)
{
    int status = MPI_SUCCESS;
    for (long i = 0; i < trips && status == MPI_SUCCESS; i++) {
        double begin = MPI_Wtime();
        status = send_message(buffers->out, bytes, part->to, part, &times->post[i]);
        if (status == MPI_SUCCESS)
            status = receive_message(buffers->in[0], SMALL, part->to, part);
        times->trip[i] = MPI_Wtime() - begin;
    }
    return status;
}

static int answer(const struct part *part, long bytes, long trips, struct times *times)
{
    int status = MPI_SUCCESS;
    for (long i = 0; i < trips && status == MPI_SUCCESS; i++) {
        status = receive_message(buffers->in[0], bytes, part->from, part);
        if (status == MPI_SUCCESS)
            status = send_message(buffers->out, SMALL, part->from, part, &times->post[i]);
    }
    return status;
}

/* Agree on the round trips of a size: the one that asks decides by those that warm up. */
static int agree(const struct part *part, long bytes, long *trips, struct times *times)
{
    double posted;
    int status = (part->to != NOBODY ? ask : answer)(part, bytes, WARM, times);
    if (status != MPI_SUCCESS)
        return status;
    if (part->to == NOBODY)
        return receive_message(&buffers->ping, sizeof buffers->ping, part->from, part);
    double each = fmax(fmin(times->trip[0], times->trip[WARM - 1]), 1e-9);
    buffers->ping = (long)fmin(fmax(SHARE * common.time * 1e-3 / each, LEAST), MOST);
    *trips = buffers->ping;
    return send_message(&buffers->ping, sizeof buffers->ping, part->to, part, &posted);
}

void curve(struct part *part, struct report *report)
{
    bool asks = part->to != NOBODY;
    if (!asks && part->from == NOBODY)
        return;
    struct times *times = allocate(1, sizeof *times);
    struct curve *curve = &report->curve;
    int status = MPI_SUCCESS;
    double back = 0;
    for (int k = 0; k < SIZES && curve_bytes(k) <= all_pairs_options.bytes; k++) {
        long bytes = curve_bytes(k), trips = 0;
        status = agree(part, bytes, &trips, times);
        if (!asks)
            trips = buffers->ping;
        /* The first one waits for what was agreed on. */
        if (status == MPI_SUCCESS)
            status = (asks ? ask : answer)(part, bytes, 1, times);
        if (status == MPI_SUCCESS)
            status = (asks ? ask : answer)(part, bytes, trips, times);
        if (status != MPI_SUCCESS)
            break;
        double median = quantile(times->trip, trips, 0.5);
        if (k == 0)
            curve->overhead = quantile(times->post, trips, 0.5);
        /* Noise may have made the first ones longer than these. */
        back = fmin(k == 0 ? HUGE_VAL : back, median / 2);
        curve->median[k] = median - back;
        curve->late[k] = quantile(times->trip, trips, 0.99) - back;
        curve->sizes = k + 1;
    }
    free(times);
    if (status != MPI_SUCCESS)
        fail(asks ? &report->sent : &report->received, status, CURVE);
}
