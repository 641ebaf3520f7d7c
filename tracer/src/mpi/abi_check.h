/*
 * abi_check.h - whether the program's MPI library has the ABI for which this tracer was compiled.
 *
 * Types of handles differ between ABIs: a wrapper for another ABI cannot even forward a call. Where the MPI library
 * is loaded at program start, a constructor restarts the program without the tracer. Where a plug-in loads it later,
 * that is no longer possible, and the program ends.
 */
#ifndef RANKWRIGHT_ABI_CHECK_H
#define RANKWRIGHT_ABI_CHECK_H

#pragma GCC visibility push(hidden)

/* Called first by the wrappers that start MPI; afterwards PMPI_* can be called. Ends the program if its MPI library has
 * another ABI. */
void rw_library_begin(void);

#pragma GCC visibility pop
#endif
