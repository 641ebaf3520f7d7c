/* warning.h - what the tracer says to the user. */
#ifndef RANKWRIGHT_WARNING_H
#define RANKWRIGHT_WARNING_H

#pragma GCC visibility push(hidden)

/* One line on stderr, "rankwright tracer: ...". */
void rw_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#pragma GCC visibility pop
#endif
