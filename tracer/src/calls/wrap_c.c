/* wrap_c.c - the wrappers of generated/calls.h in C. */
#include "c_wrapper.h"

#include "call_forms.h"
