/* program.h - the name of this program. */
#ifndef RANKWRIGHT_PROGRAM_H
#define RANKWRIGHT_PROGRAM_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The file name of the program without folder, or of the script (with Python also: the module) that an interpreter
 * runs; its other arguments are not looked at. */
void rw_program_name(char *name, size_t room);

#pragma GCC visibility pop
#endif
