#include "patterns.h"

#include <stdarg.h>
#include <stdio.h>

void say(const char *format, ...)
{
    if (world.rank)
        return;
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
}

void header(const char *key, const char *format, ...)
{
    char value[8192];
    va_list values;
    va_start(values, format);
    vsnprintf(value, sizeof value, format, values);
    va_end(values);
    for (char *c = value; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    say("# %s: %s\n", key, value);
}

void table(const char *name, const char *columns)
{
    say("# table: %s\n# columns: %s\n", name, columns);
}

void output_end(void)
{
    say("# end\n");
    if (!world.rank && (fflush(stdout) || ferror(stdout)))
        die("the output could not be written: is the file system full?");
}
