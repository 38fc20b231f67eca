/* What the aggressors of the pattern `loaded` do, and how it ends. */
#ifndef LOADED_H
#define LOADED_H

#include "patterns.h"

/* In the windows ISOLATED and NOTHING they do nothing: the one is compared with the other as with a
 * load, so that one sees what is no load. */
enum load { ISOLATED, NOTHING, INCAST, ALL_TO_ALL, BROADCAST_GET, LOADS };
extern const char *const load_names[LOADS];

/* What the aggressors of a window moved, told by the first of them; 0 of the others. `cut`: 1 if it
 * ended before the victims had measured all. */
struct load_done {
    double seconds, bytes, cut;
};

/* Bytes of the buffers of an aggressor, of so many with messages of so many bytes. */
size_t load_memory(int aggressors, long bytes);

/* For aggressors alone, and collective among them. False: the MPI lets nobody read memory, so that
 * there is no BROADCAST_GET. */
bool load_begin(MPI_Comm aggressors, long bytes);
/* Load the network until a victim calls load_stop, or for `limit` seconds. */
struct load_done load_run(enum load load, double limit);
void load_end(void);

/* Tell the first aggressor, by its rank, that the victims have measured all. */
void load_stop(int aggressor);

#endif
