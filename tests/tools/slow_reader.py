#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Run a command whose reader is slow, so that its work is long however fast it is.

usage: slow_reader.py OUT COMMAND...
The first byte of standard output is taken, then for a while nothing: the pipe
fills, and the command waits.  Standard output goes to OUT.  Standard error is a
terminal, and what it shows goes to our own standard output; with STDERR=pipe
it is a pipe; with STDOUT=terminal standard output is the same terminal.  The
exit status is the command's own.
"""
import os
import pty
import subprocess
import sys
import threading
import time

PAUSE = 1.5  # seconds, longer than the second after which a bar is drawn


def copy(fd, out):
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:  # a terminal that nobody holds any more
            return
        if not data:
            return
        out.write(data)
        out.flush()


def slowly(fd, out):
    out.write(os.read(fd, 1))
    time.sleep(PAUSE)
    copy(fd, out)


def main():
    ours, theirs = os.pipe() if os.environ.get("STDERR") == "pipe" else pty.openpty()
    both = os.environ.get("STDOUT") == "terminal"
    p = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=theirs if both else subprocess.PIPE,
                         stderr=theirs)
    os.close(theirs)
    with open(sys.argv[1], "wb") as out:
        if both:
            slowly(ours, sys.stdout.buffer)
        else:
            screen = threading.Thread(target=copy, args=(ours, sys.stdout.buffer))
            screen.start()
            slowly(p.stdout.fileno(), out)
            screen.join()
    return p.wait()


sys.exit(main())
