"""Runs a command to its end, within a limit."""

import dataclasses
import os
import selectors
import signal
import subprocess
import time

SECONDS = 100  # for one command; one that takes longer is tried once more
# What `rankwright profile` says of a run that other programs disturbed. The guide shows undisturbed ones.
DISTURBED = "other programs ran beside it"
PAUSES = (1, 2, 4, 8)  # seconds before it is tried again


@dataclasses.dataclass
class Done:
    code: int
    out: str
    err: str
    both: str  # in the order in which they came, as far as it is known
    hung: bool = False

    def changed(self, change):
        return Done(self.code, change(self.out), change(self.err), change(self.both), self.hung)


def run(command, folder, environment, program=("/bin/sh", "-ec")):
    """Runs a shell command. On a busy machine launchers hang now and then, and runs are disturbed: then again."""
    done = tried(command, folder, environment, program)
    if done.hung:
        done = tried(command, folder, environment, program)
    for pause in PAUSES:
        if DISTURBED not in done.both:
            break
        time.sleep(pause)
        done = tried(command, folder, environment, program)
    return done


def tried(command, folder, environment, program):
    """Runs a command to its end, or ends it with all that it started."""
    child = subprocess.Popen(
        [*program, command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    end = time.monotonic() + SECONDS
    texts = {child.stdout: b"", child.stderr: b""}
    both = b""
    with selectors.DefaultSelector() as selector:
        for stream in texts:
            selector.register(stream, selectors.EVENT_READ)
        # A daemon that it leaves behind may keep the pipes open: then its own end is enough.
        while selector.get_map() and time.monotonic() < end and (child.poll() is None or selector.select(0)):
            for key, _ in selector.select(0.2):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                texts[key.fileobj] += chunk
                both += chunk
    hung = False
    try:
        code = child.wait(max(0.1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        code, hung = child.wait(), True
        both += f"\n(ended after {SECONDS} s)\n".encode()
    out, err = texts[child.stdout], texts[child.stderr]
    child.stdout.close()
    child.stderr.close()
    return Done(code, *(text.decode(errors="replace") for text in (out, err, both)), hung)
