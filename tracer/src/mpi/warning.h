/* warning.h - warnings to the user. */
#ifndef RANKWRIGHT_WARNING_H
#define RANKWRIGHT_WARNING_H

#pragma GCC visibility push(hidden)

/* Prints one line on stderr: "rankwright tracer: ...". */
void rw_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#pragma GCC visibility pop
#endif
