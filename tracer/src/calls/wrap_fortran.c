/* wrap_fortran.c - the wrappers of generated/calls.h in Fortran. */
#include "fortran_wrapper.h"

#ifndef RW_WITHOUT_FORTRAN
#include "call_forms.h"
#endif
