#include "warning.h"

#include <stdarg.h>
#include <stdio.h>

void rw_warn(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "rankwright tracer: %s\n", line);
}
