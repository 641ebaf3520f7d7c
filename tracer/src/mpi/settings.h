/* settings.h - which collective algorithms and message limits the MPI library uses, as it says through MPI_T. */
#ifndef RANKWRIGHT_SETTINGS_H
#define RANKWRIGHT_SETTINGS_H

#pragma GCC visibility push(hidden)

/* Adds a record for each setting. Between MPI_Init and MPI_Finalize; takes up to 50 ms in Open MPI 4, which loads all its
 * plug-ins to list their variables. */
void rw_record_settings(void);

#pragma GCC visibility pop
#endif
