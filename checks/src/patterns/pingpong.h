/* Ping-pong between rank 0 and another one, while all others wait. */
#ifndef PINGPONG_H
#define PINGPONG_H

#include "patterns.h"

/* The timing of round trips of rank 0 and `partner`; rank 0's `mine` is what counts. Messages are
 * validated before and after. `out` and `in` hold so many bytes. Collective. */
struct timing pingpong(unsigned char *out, unsigned char *in, int bytes, int partner);
/* Half a round trip, us. */
double one_way(struct timing timing);

#endif
