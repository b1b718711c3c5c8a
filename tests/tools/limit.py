#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Run a test for a limited time, and leave nothing of it behind.

usage: limit.py SECONDS NAME COMMAND...
The command runs in a session of its own, with nothing to read.  When the time is
over a line "not ok NAME: ..." and the processes that were left are printed, all
of them are ended, and the exit status is 124; else it is the command's own.
"""
import os
import signal
import subprocess
import sys
import time

GRACE = 10  # seconds from asking a test to end to ending it


def members(session):
    """(pid, state, command line) of each process in the session."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", errors="replace") as f:
                state, _, _, sid = f.read().rpartition(")")[2].split()[:4]
            with open(f"/proc/{pid}/cmdline", errors="replace") as f:
                line = f.read().replace("\0", " ").strip()
        except OSError:  # ended meanwhile
            continue
        if int(sid) == session and state != "Z":
            yield int(pid), state, line


def tell(session, signals):
    for pid, _, _ in members(session):
        for sig in signals:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass


def end(session):
    """Ask every process of the session to end, then make it."""
    tell(session, (signal.SIGTERM, signal.SIGCONT))
    until = time.monotonic() + GRACE
    while time.monotonic() < until and any(members(session)):
        time.sleep(0.1)
    while any(members(session)):
        tell(session, (signal.SIGKILL,))
        time.sleep(0.01)


def main():
    limit, name = float(sys.argv[1]), sys.argv[2]
    p = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, start_new_session=True)

    def stop(sig, _):
        end(p.pid)
        sys.exit(128 + sig)

    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, stop)
    try:
        status = p.wait(limit)
    except subprocess.TimeoutExpired:
        print(f"not ok {name}: it still runs after {limit:g} seconds (TEST_SECONDS) and is ended", flush=True)
        for pid, state, line in members(p.pid):
            print(f"    {pid} {state} {line}", flush=True)
        status = 124
    end(p.pid)
    p.wait()
    return 128 - status if status < 0 else status


sys.exit(main())
