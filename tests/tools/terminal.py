#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Run a command on a terminal of its own and talk to it.

usage: terminal.py COMMAND... < SCRIPT
SCRIPT has lines "expect TEXT" (wait until TEXT was printed) and "send TEXT"
(\\r, \\x03 and so on as in Python).  The exit status is the command's own, 128 + N
when signal N killed it, 99 when a text or the end did not come; all output goes
to stdout.
"""
import os
import pty
import select
import signal
import sys
import time

LIMIT = 120  # seconds for one text, or for the end


def read_some(fd, seconds):
    if not select.select([fd], [], [], seconds)[0]:
        return b""
    try:
        data = os.read(fd, 65536)
    except OSError:
        return None
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return data or None


def expect(fd, seen, text):
    end = time.monotonic() + LIMIT
    while text not in seen:
        data = read_some(fd, 0.2)
        if data is None or time.monotonic() > end:
            return None
        seen += data
    return seen[seen.index(text) + len(text):]


def finish(pid, fd):
    """Show what is still printed until the command has ended; its status, None if it does not."""
    end = time.monotonic() + LIMIT
    data = b""
    while time.monotonic() < end:
        if data is not None:
            data = read_some(fd, 0.2)
        else:
            time.sleep(0.02)
        if not data:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return status
    return None


def main():
    script = sys.stdin.read().splitlines()
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    seen = b""
    for line in script:
        verb, _, rest = line.partition(" ")
        text = rest.encode().decode("unicode_escape").encode("latin-1")
        if verb == "send":
            os.write(fd, text)
        elif verb == "expect":
            seen = expect(fd, seen, text)
            if seen is None:
                print("\nterminal.py: did not come: " + rest)
                os.kill(pid, signal.SIGKILL)
                return 99
    status = finish(pid, fd)
    if status is None:
        print("\nterminal.py: the command did not end")
        os.kill(pid, signal.SIGKILL)
        return 99
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


sys.exit(main())
