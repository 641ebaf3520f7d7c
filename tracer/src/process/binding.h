/* binding.h - where this process may run. */
#ifndef RANKWRIGHT_BINDING_H
#define RANKWRIGHT_BINDING_H

#pragma GCC visibility push(hidden)

/* Records the PUs that this process may run on, and the NUMA nodes that they belong to. */
void rw_record_binding(void);

#pragma GCC visibility pop
#endif
