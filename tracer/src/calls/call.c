#include "call.h"

_Thread_local bool rw_inside __attribute__((tls_model("initial-exec")));
