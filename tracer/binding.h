/* binding.h - where this process may run. */
#ifndef RANKWRIGHT_BINDING_H
#define RANKWRIGHT_BINDING_H

#pragma GCC visibility push(hidden)

/* Records the affinity mask of the calling thread, and the NUMA nodes that its PUs belong to. */
void rw_record_binding(void);

#pragma GCC visibility pop
#endif
