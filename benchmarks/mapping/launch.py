"""Starts a program with a limit on its processor time; writes seconds and KiB that it used into a file.

    launch.py FILE SECONDS COMMAND...

A process of its own because the peak memory of a program counts that of the process that starts it: this one is small.
"""

import os
import resource
import sys


def main():
    file, seconds, *command = sys.argv[1:]
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    _, status, used = os.wait4(child, 0)
    with open(file, "w") as out:
        print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=out)
    code = os.waitstatus_to_exitcode(status)
    # The kernel says SIGXCPU first, then SIGKILL.
    sys.exit(code if code >= 0 else 128 - code)


main()
