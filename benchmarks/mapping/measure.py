"""Runs a mapper in a process of its own, with a limit on its processor time, and measures what it needs.

Of a library, processor time (all threads) and memory are those of the call itself, without the interpreter, imports and
the copy of the graph in the library's own form. Of a program they are those of the whole process, which reads the graph
and writes the answer.
"""

import ctypes
import dataclasses
import os
import pathlib
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "SCOTCH_PTHREAD_NUMBER": "1", "SCOTCH_DETERMINISTIC": "1"}
LAUNCH = pathlib.Path(__file__).resolve().parent / "launch.py"
OVER_LIMIT = (128 + signal.SIGXCPU, 128 + signal.SIGKILL)


@dataclasses.dataclass
class Outcome:
    status: str  # ok, limit, failed
    answer: object = None
    cpu_s: float = 0.0
    memory_mib: float = 0.0
    said: str = ""


def memory_mib(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def forget_peak():
    """Memory that was freed and that the process still holds would hide what the call takes."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def limit_cpu(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def call(ready, instance, graph, limit_s):
    """Forks; the child imports the library, calls it, and passes the answer back in a file."""
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                os.environ.update(ENVIRONMENT)
                run = ready(instance, graph)
                limit_cpu(cpu_s() + limit_s)
                forget_peak()
                memory_before, cpu_before = memory_mib("VmRSS"), cpu_s()
                core_of = run()
                cpu = cpu_s() - cpu_before
                memory = memory_mib("VmHWM") - memory_before
                pickle.dump((list(map(int, core_of)), cpu, memory), answer)
                answer.flush()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        status, _ = wait(child, limit_s)
        answer.seek(0)
        if status == "ok":
            return Outcome("ok", *pickle.load(answer))
        return Outcome(status, said=tail(said))


def execute(command, limit_s, folder):
    """Runs a program in a folder; what it wrote there is read by the caller."""
    usage = pathlib.Path(folder) / "usage"
    launch = [sys.executable, "-I", "-S", LAUNCH, usage, str(int(limit_s) + 1), *command]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(launch, cwd=folder, stdout=said, stderr=said, env={**os.environ, **ENVIRONMENT},
                                   start_new_session=True)
        try:
            code = process.wait(most_wall_s(limit_s))
        except subprocess.TimeoutExpired:
            return Outcome("limit", said=tail(said))
        finally:
            if process.poll() is None:  # an interrupt comes here too
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        printed = tail(said)
    cpu, memory = map(float, usage.read_text().split())
    status = "ok" if code == 0 else "limit" if code in OVER_LIMIT else "failed"
    return Outcome(status, None, cpu, memory / 1024, printed)


def wait(child, limit_s):
    deadline = time.monotonic() + most_wall_s(limit_s)
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    if os.WIFSIGNALED(status):
        stopped = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return "limit" if stopped else "failed", used
    return "ok" if os.WEXITSTATUS(status) == 0 else "failed", used


def most_wall_s(limit_s):
    """A process that waits for ever uses no processor time: others may slow it down tenfold, then it is ended."""
    return 60 + 10 * limit_s


def tail(stream):
    stream.seek(0)
    return stream.read().decode(errors="replace").strip()[-2000:]
