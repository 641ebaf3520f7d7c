#include "state.h"

struct rw_tracer rw_tracer = {.lock = PTHREAD_MUTEX_INITIALIZER};
