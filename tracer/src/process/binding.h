/* binding.h - the PUs that this process may run on. */
#ifndef RANKWRIGHT_BINDING_H
#define RANKWRIGHT_BINDING_H

#pragma GCC visibility push(hidden)

/* Records these PUs and their NUMA nodes. */
void rw_record_binding(void);

#pragma GCC visibility pop
#endif
