/* Messages that stream from one rank to another, and at the same time from a third one. */
#include "all_pairs.h"

enum { IN = 0, OUT = WINDOW, ACK_IN = 2 * WINDOW, ACK_OUT, REQUESTS };

/* The messages of a part on their way. Sending and receiving do not wait for each other: a slow
 * partner on one side would show on the other one, too. */
struct stream {
    struct part *part;
    MPI_Request requests[REQUESTS];
    int loop;             /* that is being sent */
    long sent, posted;    /* of this loop */
    long expected, received, total; /* of all loops */
    double begin;
    int failed_in, failed_out; /* status of MPI */
};

static void keep(int *failed, int status)
{
    if (*failed == MPI_SUCCESS)
        *failed = status;
}

static void post_in(struct stream *s, int slot)
{
    if (s->expected == s->total || s->failed_in != MPI_SUCCESS)
        return;
    s->expected++;
    keep(&s->failed_in, MPI_Irecv(buffers->in[slot], (int)all_pairs_options.bytes, MPI_BYTE,
                            s->part->from, s->part->tag, data, &s->requests[IN + slot]));
}

static void post_out(struct stream *s, int slot)
{
    if (s->posted == s->part->repetitions || s->failed_out != MPI_SUCCESS)
        return;
    s->posted++;
    keep(&s->failed_out, MPI_Isend(buffers->out, (int)all_pairs_options.bytes, MPI_BYTE,
                             s->part->to, s->part->tag, data, &s->requests[OUT + slot]));
}

static void begin_loop(struct stream *s)
{
    s->posted = 0;
    s->begin = MPI_Wtime();
    keep(&s->failed_out, MPI_Irecv(&buffers->ack_in, 1, MPI_CHAR, s->part->to,
                             s->part->tag + STAGES, data, &s->requests[ACK_IN]));
    for (int slot = 0; slot < WINDOW; slot++)
        post_out(s, slot);
}

static void done(struct stream *s, int which, int status)
{
    if (status != MPI_SUCCESS)
        keep(which < OUT || which == ACK_OUT ? &s->failed_in : &s->failed_out, status);
    else if (which < OUT) {
        s->received++;
        if (s->received % s->part->repetitions == 0) {
            keep(&s->failed_in, wait_all(1, &s->requests[ACK_OUT], s->part->patience));
            if (s->failed_in == MPI_SUCCESS)
                keep(&s->failed_in, MPI_Isend(&buffers->ack_out, 1, MPI_CHAR, s->part->from,
                                        s->part->tag + STAGES, data, &s->requests[ACK_OUT]));
        }
        post_in(s, which);
    } else if (which < ACK_IN)
        post_out(s, which - OUT);
    else if (which == ACK_IN) {
        s->part->seconds[s->loop++] = MPI_Wtime() - s->begin;
        if (s->loop < s->part->loops)
            begin_loop(s);
    }
}

void stream(struct part *part, struct report *report)
{
    struct stream s = {.part = part, .total = part->repetitions * part->loops};
    int count = 0, which[REQUESTS], status = MPI_SUCCESS;
    MPI_Status statuses[REQUESTS];
    for (int i = 0; i < REQUESTS; i++)
        s.requests[i] = MPI_REQUEST_NULL;
    if (part->from != NOBODY)
        for (int slot = 0; slot < WINDOW; slot++)
            post_in(&s, slot);
    if (part->to != NOBODY)
        begin_loop(&s);
    while (status != TIMED_OUT) {
        status = wait_some(REQUESTS, s.requests, &count, which, statuses, part->patience);
        if (count == MPI_UNDEFINED || (status != MPI_SUCCESS && status != MPI_ERR_IN_STATUS))
            break;
        for (int i = 0; i < count; i++)
            done(&s, which[i], status == MPI_SUCCESS ? MPI_SUCCESS : statuses[i].MPI_ERROR);
    }
    if (part->to != NOBODY && (s.loop < part->loops || s.failed_out != MPI_SUCCESS))
        fail(&report->sent, s.failed_out != MPI_SUCCESS ? s.failed_out : status, part->stage);
    if (part->from != NOBODY && (s.received < s.total || s.failed_in != MPI_SUCCESS))
        fail(&report->received, s.failed_in != MPI_SUCCESS ? s.failed_in : status, part->stage);
}
