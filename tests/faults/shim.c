/* Loaded into programs by LD_PRELOAD: another clock, and the locks of a file system that has none.

   FAULTS_CLOCK names a file with the seconds to add to the clock, read at each call, so that it
   can jump while a program runs. FAULTS_LOCKS is `refused` (ENOLCK, as NFS without its lock
   daemon) or `granted` (to everybody, as NFS with `local_lock` or Lustre with `localflock`). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void)
{
    const char *path = getenv("FAULTS_CLOCK");
    char text[32] = "";
    int file = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    if (syscall(SYS_read, file, text, sizeof text - 1) < 0) text[0] = 0;
    syscall(SYS_close, file);
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int saved = errno, failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += shift();
        errno = saved;
    }
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec found;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *kept)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept) *kept = now.tv_sec;
    return now.tv_sec;
}

/* Returns 0 where the system is to be asked; else *answer is what it would say. */
static int locked(int *answer)
{
    const char *how = getenv("FAULTS_LOCKS");
    if (!how) return 0;
    *answer = strcmp(how, "refused") ? 0 : -1;
    if (*answer) errno = ENOLCK;
    return 1;
}

int flock(int file, int what)
{
    int answer;
    return locked(&answer) ? answer : (int)syscall(SYS_flock, file, what);
}

static int control(int file, int command, void *value)
{
    int answer, is_lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
                          command == F_OFD_SETLKW;
    return is_lock && locked(&answer) ? answer : (int)syscall(SYS_fcntl, file, command, value);
}

#define CONTROL(name)                        \
    int name(int file, int command, ...)     \
    {                                        \
        va_list values;                      \
        va_start(values, command);           \
        void *value = va_arg(values, void *); \
        va_end(values);                      \
        return control(file, command, value); \
    }
CONTROL(fcntl)
CONTROL(fcntl64)
