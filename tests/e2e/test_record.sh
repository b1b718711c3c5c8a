#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# hwtrace record: what the program sees of it (nothing), and what the user gets.
. tests/lib.sh
top=$PWD
listener=$programs/listener
cd "$tmp" || exit 1

if ! "$hwtrace" list | grep -q '^qemu *yes'; then
	skip record "the software trace unit is not usable here"
	exit 0
fi
rec() { "$hwtrace" record --backend qemu -o out.data "$@"; }
# A complete file; `hwtrace info` reads all of it.
complete() { "$hwtrace" info "$1"; }

# -- status and streams -----------------------------------------------------
# status NAME WANT COMMAND...: record COMMAND; the exit status is WANT
status() {
	_name=$1 _want=$2
	shift 2
	rec "$@" >out.txt 2>err.txt
	_got=$?
	if [ "$_got" -eq "$_want" ]; then pass "$_name"; else fail "$_name" "status $_got, not $_want: $(cat err.txt)"; fi
}

status exit-status 7 sh -c 'exit 7'
status exit-status-0 0 true
says closing-line 'hwtrace record: backend qemu, 1 process, 1 thread, [1-9][0-9]* bytes of trace, 0 bytes lost, out.data' err.txt
# The shell's own 128 + N: record dies of the signal that killed the program.
for s in 9 11 15 6; do
	status "killed-by-$s" $((128 + s)) sh -c "kill -$s \$\$"
	check "complete-after-$s" complete out.data
done
python3 - "$hwtrace" <<'PY' && pass dies-of-the-same-signal || fail dies-of-the-same-signal
import subprocess, sys
p = subprocess.run([sys.argv[1], "record", "-q", "-o", "sig.data", "sh", "-c", "kill -TERM $$"], stderr=subprocess.DEVNULL)
sys.exit(p.returncode != -15)
PY

printf 'one\ntwo\000three' >in.bin
rec cat <in.bin >out.bin 2>err.txt
same stdin-stdout in.bin out.bin
rec sh -c 'echo to-err >&2' 2>err.txt >out.txt
says stderr '^to-err$' err.txt
[ -s out.txt ] && fail stdout-untouched "$(cat out.txt)" || pass stdout-untouched
rec sh -c 'echo "$0|$1|$2|$#|$FOO"' 'a b' '' 'c$' >out.txt 2>/dev/null
FOO=bar rec sh -c 'echo "$0|$1|$2|$#|$FOO"' 'a b' '' 'c$' >got.txt 2>/dev/null
echo 'a b||c$|2|bar' >want.txt
same arguments-environment want.txt got.txt
# No descriptor of ours, none of the program's is missing.
sh -c 'cd /proc/self/fd && echo *' >want.txt 2>/dev/null
rec sh -c 'cd /proc/self/fd && echo *' >got.txt 2>/dev/null
same descriptors want.txt got.txt
rec -- sh -c 'exit 3' 2>/dev/null
[ $? -eq 3 ] && pass dashes || fail dashes

# -- scripts ------------------------------------------------------------------
printf '#!/bin/sh -u\necho "$0 $1"\n' >script && chmod +x script
printf '#!./script first\n' >script2 && chmod +x script2
printf 'echo no-interpreter $1\n' >plain && chmod +x plain
for s in script script2 plain; do
	./$s x >want.txt
	rec ./$s x >got.txt 2>/dev/null
	same "run-$s" want.txt got.txt
done

# -- own failures ---------------------------------------------------------------
rm -f out.data out.data.old
status not-found 127 no-such-program
says not-found-text 'no-such-program: no such program in PATH' err.txt
status not-found-path 127 ./no/such/program
printf 'x' >not-executable
status not-executable 126 ./not-executable
status folder 126 /
printf '#!/no/such/interpreter\n' >bad && chmod +x bad
status bad-interpreter 127 ./bad
says bad-interpreter-text 'interpreter /no/such/interpreter does not exist' err.txt
[ -e out.data ] && fail no-file-left || pass no-file-left
"$hwtrace" record -o no/such/folder/x sh -c 'echo ran >ran' 2>err.txt
[ $? -eq 125 ] && [ ! -e ran ] && pass missing-folder || fail missing-folder "$(cat err.txt)"
says missing-folder-text 'folder no/such/folder: No such file' err.txt
"$hwtrace" record --no-such-option true 2>/dev/null
[ $? -eq 125 ] && pass usage-error || fail usage-error
"$hwtrace" record --backend none true 2>err.txt
[ $? -eq 125 ] && pass unknown-backend || fail unknown-backend
"$hwtrace" record --backend qemu -p $$ 2>err.txt
[ $? -eq 125 ] && pass qemu-cannot-attach || fail qemu-cannot-attach
status filter-error 125 --filter nonsense true
status no-such-module 0 --module 'no-such*' --module 'libc*' sh -c :
says no-such-module-text "no-such\*: no such module was loaded" err.txt
[ "$(grep -c 'no such module' err.txt)" -eq 1 ] && pass module-met || fail module-met "$(cat err.txt)"
status filter-of-nothing 0 --filter 0x1000-0x2000 --filter getppid@libc.so.6 sh -c :
says filter-of-nothing-text "filter 0x1000-0x2000: no code was mapped there" err.txt
[ "$(grep -c 'no code was mapped' err.txt)" -eq 1 ] && pass filter-met || fail filter-met "$(cat err.txt)"
status pid-0 125 -p 0
status overwrite-0 125 --overwrite 0 true
status filter-symbol 125 --filter no_such_function@sh sh -c :
says filter-symbol-text "no function 'no_such_function'" err.txt

# -- the file ---------------------------------------------------------------------
"$hwtrace" record sh -c : 2>/dev/null && "$hwtrace" record true 2>/dev/null
[ -s perf.data ] && [ -s perf.data.old ] && pass keeps-old-file || fail keeps-old-file "$(ls -l)"
cp perf.data before
"$hwtrace" record --filter nonsense true 2>/dev/null
same failure-leaves-file before perf.data
"$hwtrace" record -p 2147483647 2>/dev/null
same failed-attach-leaves-file before perf.data
# Nor does the file before that go.
cp perf.data.old before.old
"$hwtrace" record --filter no_such_function@sh sh -c : 2>/dev/null
"$hwtrace" record -b ptrace --filter nonsense true 2>/dev/null
same failure-leaves-the-older-file before.old perf.data.old
printf '#!/bin/sh\nexit 3\n' >fake && chmod +x fake && mkdir fakes && mv fake fakes/qemu-x86_64
PATH=$PWD/fakes:$PATH "$hwtrace" record -b qemu true 2>err.txt
[ $? -eq 125 ] && cmp -s before perf.data && cmp -s before.old perf.data.old && [ ! -e perf.data.recording ] &&
	pass no-program-leaves-both || fail no-program-leaves-both "$(ls -l; cat err.txt)"
echo precious >stale.old
"$hwtrace" record -o stale -p 2147483647 2>/dev/null
[ ! -e stale ] && [ -e stale.old ] && pass failed-attach-makes-no-file || fail failed-attach-makes-no-file "$(ls -l)"
[ "$(stat -c %a perf.data)" = 600 ] && pass file-mode || fail file-mode "$(stat -c %a perf.data)"
# A link is followed: the file that it leads to is kept, and written anew.
mkdir links && echo precious >links/real && ln -s links/real link.data
"$hwtrace" record -q -o link.data true
[ -L link.data ] && [ "$(cat links/real.old)" = precious ] && check through-link-file complete links/real ||
	fail through-link-file "$(ls -l link.data links)"
# Nothing of the system's own: as root a mistake would replace it.
ln -s fifo.data pipe.data && ln -s /no/such/file lost.data
ln -s /proc/self/fd/1 stdout.data && mkfifo fifo.data
rm -f ran
for f in pipe.data lost.data stdout.data fifo.data -; do
	"$hwtrace" record -o "$f" sh -c 'echo ran >ran' 2>err.txt | cat >out.txt
	if [ -e ran ] || [ -e "$f.old" ] || [ ! -s err.txt ]; then
		fail "no-file-for-a-capture $f" "$(ls -l; cat err.txt)"
	else
		pass "no-file-for-a-capture $f"
	fi
done
# Two into one file: the second gives way, before it runs anything.
mkfifo busy
"$hwtrace" record -q -o one.data sh -c 'echo ready; read x' <busy >out.txt 2>&1 &
pid=$!
exec 3>busy
wait_for ready out.txt
"$hwtrace" record -o one.data sh -c 'echo ran >ran' 2>err.txt
[ $? -eq 125 ] && [ ! -e ran ] && [ ! -e one.data.old ] && pass two-into-one || fail two-into-one "$(ls; cat err.txt)"
says two-into-one-text 'one.data: is being written by another recording' err.txt
exec 3>&-
wait $pid
check two-into-one-whole complete one.data
"$hwtrace" info -i one.data --fail-on-loss >/dev/null 2>err.txt && pass two-into-one-lossless || fail two-into-one-lossless "$(cat err.txt)"
# 64 blocks of 512 bytes, and a trace that is longer
(ulimit -S -f 64; "$hwtrace" record -o full.data sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 5' 2>err.txt)
_rc=$?
[ $_rc -eq 125 ] && pass disk-full-status || fail disk-full-status "status $_rc: $(cat err.txt)"
says disk-full-text 'full.data: offset 0x[0-9a-f]*: cannot write' err.txt
says disk-full-runs-on 'the program runs on' err.txt
check disk-full-readable complete full.data

# Not even a header: a message, a status, and no file.
text=$( (ulimit -f 0; exec "$hwtrace" record -o none.data true) 2>&1)
[ $? -eq 125 ] && pass no-room-status || fail no-room-status "$text"
echo "$text" >got.txt
says no-room-text '^hwtrace: .*: cannot .*File too large; raise the limit that ulimit -f shows' got.txt
[ -z "$(find . -name 'none.data*')" ] && pass no-room-no-file || fail no-room-no-file "$(ls none.data*)"
text=$( (ulimit -v 200000; exec "$hwtrace" record --backend qemu -o none.data true) 2>&1)
is no-addresses-status 125 $?
printf '%s\n' "$text" >got.txt
says no-addresses-text '^hwtrace: cannot map .* MiB of addresses: .*; raise the limit that ulimit -v shows' got.txt
text=$( (ulimit -n 5; exec "$hwtrace" record -o none.data true) 2>&1)
[ $? -eq 125 ] && pass no-descriptors-status || fail no-descriptors-status "$text"
echo "$text" >got.txt
says no-descriptors-text '^hwtrace: .*Too many open files; raise the limit that ulimit -n shows' got.txt
[ -z "$(find . -name 'none.data*')" ] && pass no-descriptors-no-file || fail no-descriptors-no-file "$(ls none.data*)"
for n in 4 5 6 7; do
	text=$( (ulimit -n $n; exec "$hwtrace" record --backend ptrace -o none.data true) 2>&1)
	[ $? -eq 125 ] && pass no-descriptors-ptrace-$n || fail no-descriptors-ptrace-$n "$text"
	echo "$text" >got.txt
	says no-descriptors-ptrace-text-$n '^hwtrace: .*Too many open files; raise the limit that ulimit -n shows$' got.txt
done

# What was broken off before the file had its name is told, can be read, and is kept.
cp full.data broken.data.recording
"$hwtrace" script -i broken.data >out.txt 2>err.txt
[ $? -eq 1 ] && pass broken-off-status || fail broken-off-status "$(cat err.txt)"
says broken-off-text 'broken.data: no such file; a recording .* is read with -i broken.data.recording$' err.txt
check broken-off-readable complete broken.data.recording
"$hwtrace" record -q -o broken.data true 2>err.txt
says broken-off-kept-text 'a recording that was broken off is kept as broken.data.recording.old' err.txt
same broken-off-kept full.data broken.data.recording.old
check broken-off-next complete broken.data

# -- what the man page says of the emulation ---------------------------------------------
cat >kernel.txt <<'WANT'
signal 62: killed by 62
signal 63: killed by 63
signal 64: killed by 64
clone, VM: shares memory
clone, VM and VFORK: shares memory
deleted: has a name
WANT
cat >emulated.txt <<'WANT'
signal 62: killed by 62
signal 63: Invalid argument
signal 64: Invalid argument
clone, VM: Invalid argument
clone, VM and VFORK: copies memory
deleted: No such file or directory
WANT
# limits NAME STATUS OPTION...
limits() {
	_name=$1 _status=$2
	shift 2
	cp "$programs/limits" limits
	(exec "$@" ./limits) >got.txt 2>err.txt
	_rc=$?
	[ $_rc -eq "$_status" ] && pass "limits-$_name-status" || fail "limits-$_name-status" "status $_rc"
}
limits kernel 162 env
same limits-kernel kernel.txt got.txt
limits ptrace 162 "$hwtrace" record -q --backend ptrace -o limits.data
same limits-ptrace kernel.txt got.txt
case $(qemu-x86_64 --version) in
*' 7.2'*)
	limits qemu 164 "$hwtrace" record -q --backend qemu -o limits.data
	same limits-qemu emulated.txt got.txt
	;;
*) skip limits-qemu "the man page tells of QEMU 7.2" ;;
esac
page=$OLDPWD/man/hwtrace-record.1
for text in 'Signals 63 and 64 cannot be sent' 'killed by 34,$' 'CLONE_VM$' '/proc/self/exe$'; do
	says "limits-told, $text" "$text" "$page"
done

# -- processes and threads ----------------------------------------------------------
status children 3 sh -c 'for i in 1 2 3 4 5; do /bin/true; done; (exit 2); /bin/echo x | /bin/cat; exit 3'
says children-counted 'backend qemu, [1-9][0-9]* processes' err.txt
status no-inherit 0 --no-inherit sh -c '/bin/true; /bin/true; exit 0'
says no-inherit-counted 'backend qemu, 1 process, 1 thread' err.txt

# By a descriptor that the exec closes.
status exec-by-descriptor 0 perl -e 'open(F, "<", "/bin/echo"); exec { "/proc/self/fd/" . fileno(F) } "echo", "by fd"'
says exec-by-descriptor-output '^by fd$' out.txt
"$hwtrace" info out.data 2>/dev/null >got.txt
says exec-by-descriptor-followed "found *$(realpath /bin/echo)" got.txt

# A program that was started by a relative name finds itself from any folder.
cp "$(realpath /bin/sh)" ownsh
echo "./ownsh -c 'cd / && exec /proc/self/exe -c \"echo again\"'" >moves
for how in "./ownsh -c" "sh -c"; do
	status "find-itself, $how" 0 $how ". ./moves"
	says "find-itself-output, $how" '^again$' out.txt
done

# What is no whole program: not the trace unit is to blame.
head -c 3000 "$programs/static" >cut
head -c 60 "$programs/static" >stub
{ head -c 16 "$programs/static"; printf '\003\000\076\000'; head -c 4000 /dev/zero; } >hollow
chmod +x cut stub hollow
rm -f none.data
for how in cut stub hollow; do
	_need=$(readelf -lW "$programs/static" | awk '$1 == "LOAD" { print $2, $5 }' |
		while read -r _at _size; do echo $((_at + _size)); done | sort -n | tail -n 1)
	[ $how != stub ] || _need=64
	case $how in
	hollow) _why='qemu-x86_64 ended while it loaded it' ;;
	*) _why="it was cut off, it has $(stat -c %s $how) bytes of at least $_need" ;;
	esac
	"$hwtrace" record --backend qemu -o none.data ./$how >out.txt 2>err.txt
	[ $? -eq 126 ] && pass no-program-$how-status || fail no-program-$how-status "$(cat err.txt)"
	tail -n 1 err.txt >got.txt
	says no-program-$how-text "^hwtrace: .*$how: cannot be executed: $_why" got.txt
	[ ! -e none.data ] && pass no-program-$how-no-file || fail no-program-$how-no-file
done
"$hwtrace" record -q --backend qemu -o out.data sh -c './cut; true' >out.txt 2>err.txt
says no-program-child 'cut (process [0-9]*) was not traced: it ended while the emulator loaded it$' err.txt

# What cannot be followed runs all the same, and is named.
# unfollowed NAME TEXT COMMAND...
unfollowed() {
	_name=$1 _text=$2
	shift 2
	"$@" >want.txt 2>/dev/null || { skip "$_name" "$1 is not permitted here"; return; }
	status "$_name" 0 "$@"
	same "$_name-output" want.txt out.txt
	says "$_name-text" "$_text" err.txt
}
mkdir -p jail && cp "$programs/static" jail/
cat >nameless.py <<'PY'
import os
f = os.memfd_create("nameless")
os.write(f, open("/bin/echo", "rb").read())
os.execve(f, ["echo", "from memory"], os.environ)
PY
unfollowed nameless 'its file has no name any more; it runs untraced' /usr/bin/python3 -S -E nameless.py
unfollowed other-user 'sh is not followed: its process has become another user' \
	setpriv --reuid 65534 --clear-groups sh -c 'id -u'
unfollowed fewer-rights 'sh (process [0-9]*) was not traced' setpriv --bounding-set=-all --inh-caps=-all sh -c 'echo fewer'
unfollowed other-root 'static is not followed: its process .* sees another file system' chroot jail /static
unfollowed other-numbers 'are not followed: they are in another PID namespace' unshare -pf sh -c 'echo $$; (exit 3); echo $?'

# One after another and all at once: each thread is there, whole, and alike.
for how in '1000 1' '200 100'; do
	set -- $how
	status "threads-$1-by-$2" 0 "$programs/manythreads" "$1" "$2" 100
	says "threads-$1-by-$2-counted" "1 process, $(($1 + 1)) threads" err.txt
	perf script -i out.data --itrace=i1i -F tid,ip,sym 2>err.txt | awk '$NF == "work" { n[$1]++ }
		END { for (t in n) print n[t] }' | sort | uniq -c | awk '{ print $1, ($2 > 300) }' >got.txt
	echo "$1 1" >want.txt
	same "threads-$1-by-$2-whole" want.txt got.txt
done
status processes 0 sh -c 'i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i + 1)); done'
says processes-counted '61 processes, 61 threads' err.txt
perf script -i out.data --itrace=i1i -F comm,tid,ip 2>err.txt | awk '$1 == "true" { n[$2]++ } END { for (t in n) c++; print c }' >got.txt
perf script -i out.data --itrace=e >>got.txt 2>/dev/null
echo 60 >want.txt
same processes-whole want.txt got.txt
rec sh -c '(until [ -e go ]; do sleep 0.1; done; echo late >late) & echo now' >got.txt 2>err.txt
[ ! -e late ] && pass ends-with-the-command || fail ends-with-the-command
: >go
wait_for late late && pass left-behind-runs-on || fail left-behind-runs-on

# -- the last bytes only --------------------------------------------------------------
status overwrite 0 --overwrite 64K "$programs/manythreads" 1 1 1000000
says overwrite-loss '[1-9][0-9]* bytes lost' err.txt
perf script -i out.data --itrace=i1i -F tid,sym,ip 2>/dev/null | tail -n 1 >got.txt
says overwrite-end 'exit' got.txt
perf script -i out.data --itrace=e 2>/dev/null | grep -c 'instruction trace error' >got.txt
says overwrite-one-gap '^1$' got.txt
# What the recorder says it lost is what reports say.
bytes=$(sed -n 's/.* \([0-9]*\) bytes lost.*/\1/p' err.txt)
"$hwtrace" info --losses out.data 2>got.txt >/dev/null
says overwrite-told-in-reports "^lost: AUX data lost (1 place, ${bytes:-none} bytes)" got.txt

# -- filters: only this code is in the trace ----------------------------------------------
# covered WANT FIELDS OPTIONS...: perf's view of what ran
covered() {
	_want=$1 _fields=$2
	shift 2
	echo end | rec "$@" "$listener" >out.txt 2>err.txt
	[ $? -eq 4 ] && perf script -i out.data --itrace=i1i -F "$_fields" 2>/dev/null | awk '{ print $NF }' | sort -u >got.txt
	echo "$_want" | cmp -s - got.txt || { head -n 5 got.txt err.txt; return 1; }
}
dso=$(realpath "$listener")
check filter-module covered "($dso)" ip,sym,dso --module listener
check filter-module-path covered "($dso)" ip,sym,dso --module '*/tests/programs/l*'
"$hwtrace" script out.data >/dev/null 2>got.txt
says filter-told-by-reports "^hwtrace: out.data: recorded with --module .*: what lies outside was not recorded" got.txt
"$hwtrace" info out.data >got.txt 2>/dev/null
says filter-in-info '^filter: *--module \*/tests/programs/l\*$' got.txt
check filter-symbol covered say ip,sym --filter say@listener
check filter-symbol-path covered say ip,sym --filter "say@$listener"
# One instruction: endbr64 or the first of the prologue.
check filter-length covered say ip,sym --filter "say+1@$listener"
check filter-two sh -c '
	echo end | "$0" record -q -o out.data --filter say@listener --filter main@listener "$1" >/dev/null
	perf script -i out.data --itrace=i1i -F ip,sym 2>/dev/null | awk "{ print \$NF }" | sort -u | tr "\n" " " | grep -qx "main say "' "$hwtrace" "$listener"

# -- signals ------------------------------------------------------------------------
# Sent to record: passed on.  SIGINT is ignored by what a script runs in the background.
mkfifo in
"$hwtrace" record --backend qemu -o out.data "$listener" <in >out.txt 2>err.txt &
pid=$!
exec 3>in
wait_for ready out.txt
for s in TERM USR1 HUP; do
	kill -$s $pid
	if wait_for "got $s" out.txt; then pass "passes-on-$s"; else fail "passes-on-$s" "$(cat out.txt)"; fi
done
echo end >&3
exec 3>&-
wait $pid
[ $? -eq 4 ] && pass status-after-signals || fail status-after-signals

# kill -9 of record: the program runs on by itself, to its own end.
mkfifo in2
"$hwtrace" record --backend qemu -o out.data "$listener" <in2 >out.txt 2>err.txt &
pid=$!
exec 3>in2
wait_for ready out.txt
kill -9 $pid
wait $pid 2>/dev/null
i=0
while [ $i -lt 2000 ]; do echo "$i" >&3; i=$((i + 1)); done
echo end >&3
exec 3>&-
if wait_for 'line 1999' out.txt; then pass outlives-record; else fail outlives-record "$(tail -n 3 out.txt)"; fi
check interrupted-file complete out.data

# -- on a terminal ------------------------------------------------------------------
talk ctrl-c 130 "$hwtrace" record -o int.data sh -c 'echo ready; read x' <<'TALK'
expect ready
send \x03
expect bytes lost, int.data
TALK
check ctrl-c-complete complete int.data
ctrl_c qemu "$listener"
job_control qemu "$listener"
# The hangup of a terminal is told to the leader of the session alone: here that is record.
python3 - "$hwtrace" <<'PY' && pass hangup || fail hangup "the program did not get it"
import os, pty, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], [sys.argv[1], "record", "-q", "-o", "hup.data", "sh", "-c", "echo ready; sleep 30"])
seen = b""
while b"ready" not in seen:
    seen += os.read(fd, 1000)
os.close(fd)
sys.exit(os.waitpid(pid, 0)[1] != signal.SIGHUP)
PY
check hangup-complete complete hup.data
