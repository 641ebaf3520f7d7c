/*
 * abi_check.h - whether the program's MPI is one for which this tracer was compiled.
 *
 * Handles have other types in other ABIs, so that a wrapper of the wrong one cannot even pass calls
 * on. Where the MPI library is there at program start, the program is started anew without the tracer.
 * Where it comes later, there is no way back, and the program ends.
 */
#ifndef RANKWRIGHT_ABI_CHECK_H
#define RANKWRIGHT_ABI_CHECK_H

#pragma GCC visibility push(hidden)

/* To be called by whatever starts MPI, before the library is called: from then on PMPI_* can be
 * called. Ends the program if its MPI is one for which this tracer was not compiled. */
void rw_library_begin(void);

#pragma GCC visibility pop
#endif
