/*
 * one_sided.h - recording one-sided transfers between this rank and others.
 *
 * One function per signature, called by the wrappers after success. trace_format.h defines which calls are puts and
 * gets, and their bytes.
 */
#ifndef RANKWRIGHT_ONE_SIDED_H
#define RANKWRIGHT_ONE_SIDED_H

#include "../process/state.h"

#pragma GCC visibility push(hidden)

/* Before the first window is used, and after the last. */
void rw_one_sided_begin(void);
void rw_one_sided_end(void);

/* MPI_Put, MPI_Accumulate. */
void rw_record_put(const struct rw_call *call, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target, MPI_Win win);
void rw_record_get(const struct rw_call *call, int target, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Win win);
void rw_record_get_accumulate(const struct rw_call *call, MPI_Count origin_count,
                              MPI_Datatype origin_datatype, int target, MPI_Count target_count,
                              MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);
void rw_record_fetch_and_op(const struct rw_call *call, MPI_Datatype datatype, int target, MPI_Op op,
                            MPI_Win win);
void rw_record_compare_and_swap(const struct rw_call *call, MPI_Datatype datatype, int target,
                                MPI_Win win);

#pragma GCC visibility pop
#endif
