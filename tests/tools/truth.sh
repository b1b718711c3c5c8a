#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a program executes, by QEMU's own log: one address a line on stdout.
#
#	truth.sh OUT PROGRAM [ARG...]
#
# The program's own output goes to OUT. The environment is empty, address
# randomisation is off and the seed is fixed: record with
# `env -i setarch -R ...` and `-seed 1` too, and addresses are comparable.
# QEMU_MODE="" leaves whole blocks together; the default is -singlestep.
set -eu
out=$1
shift
tools=${BUILD:-build}/tests/tools
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkfifo "$dir/log"
"$tools/truth" <"$dir/log" &
env -i setarch -R qemu-x86_64 -seed 1 ${QEMU_MODE--singlestep} -strace -d nochain,exec,in_asm -D "$dir/log" "$@" >"$out" || true
wait
