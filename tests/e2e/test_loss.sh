# SPDX-License-Identifier: BSD-2-Clause
# What was not recorded is a loss of the capture: every report says so, with who and why.
. tests/lib.sh

cd "$tmp" || exit 1
lost() { tail -n 1 "$1" | sed -n 's/^lost: //p'; }
# is NAME WANT GOT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted $2, got $3"; fi; }

# none_unknown FILE: coverage as JSON, in which each function ran or did not
none_unknown() {
	python3 -c '
import json, sys
states = [f["state"] for f in json.load(open(sys.argv[1]))["functions"]]
assert "hit" in states and "not hit" in states and "unknown" not in states, states' "$1"
}

# every_report NAME WANT FILE: all reports end in "lost: WANT", and fail where they are asked to
every_report() {
	_name=$1 _want=$2 _bad=
	for _how in info info+--losses+--json script script+--json script+--itrace=i1i script+--call-trace packets packets+--summary \
		coverage+--all-modules merge+--all-modules; do
		"$hwtrace" $(echo "$_how" | tr + ' ') --fail-on-loss "$3" >report.txt 2>report.err
		_rc=$?
		[ $_rc -eq 65 ] && [ "$(lost report.err)" = "$_want" ] || _bad="$_bad $_how: status $_rc, $(tail -n 1 report.err);"
	done
	is "$_name: in every report" "" "$_bad"
	"$hwtrace" archive -o "$3.har" "$3" >/dev/null 2>&1
	"$hwtrace" info --fail-on-loss "$3.har" >/dev/null 2>report.err
	is "$_name: in its archive" "65 $_want" "$? $(lost report.err)"
}

# -- a program that is not followed -------------------------------------------------
# unfollowed NAME PROGRAM WHY
unfollowed() {
	"$hwtrace" record -q -o "$1.data" sh -c "echo \$\$; exec $2" >"$1.out" 2>"$1.err"
	_pid=$(head -n 1 "$1.out")
	every_report "$1" "program not followed (1 place: process $_pid: $2 is not followed: $3; it runs untraced)" "$1.data"
	"$hwtrace" info --losses "$1.data" 2>/dev/null >"$1.info"
	check "$1: info lists it" grep -q "^  program not followed: process $_pid: $2 is not followed: $3; it runs untraced, from" "$1.info"
	check "$1: info names it without a decode" sh -c "'$hwtrace' info '$1.data' 2>/dev/null | grep -q '^missing: *program not followed: process $_pid: $2'"
	check "$1: info as JSON" sh -c "'$hwtrace' info --losses --json '$1.data' 2>/dev/null | python3 -c '
import json, sys
l = json.load(sys.stdin)[\"losses\"]
assert [(x[\"kind\"], x[\"pid\"], x[\"why\"]) for x in l] == [(\"program not followed\", $_pid, \"$2 is not followed: $3; it runs untraced\")], l'"
	check "$1: script shows it" sh -c "'$hwtrace' script -F pid '$1.data' 2>/dev/null | head -n 1 | grep -q '^ *$_pid *lost: program not followed: $2 is not followed'"
	check "$1: script as JSON" sh -c "'$hwtrace' script --json '$1.data' 2>/dev/null | head -n 1 | python3 -c '
import json, sys
x = json.loads(sys.stdin.readline())
assert (x[\"type\"], x[\"kind\"], x[\"pid\"]) == (\"gap\", \"program not followed\", $_pid), x'"
	"$hwtrace" coverage --all-modules --json - "$1.data" 2>/dev/null >"$1.json"
	is "$1: coverage counts it" 1 "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["gaps"])' "$1.json")"
	check "$1: coverage: nothing else is unknown" none_unknown "$1.json"
}
# Set-user-ID to somebody else; who is not root takes a program of root's.
setid=/bin/mount
[ "$(id -u)" != 0 ] || { setid=$tmp/setid; install -m 4755 -o 65534 "$programs/static" "$setid"; }
unfollowed set-id "$setid" 'it is set-user-ID or set-group-ID'
[ -x "$programs/i386" ] && unfollowed i386 "$programs/i386" 'it is an i386 program'

# -- perf reads such a file, tells of it too, and shows the same branches
perf script -i set-id.data --itrace=b -F ip,addr,flags >perf.txt 2>perf.err
is "perf reads it" 0 $?
check "perf tells of it" grep -q 'lost 1 chunks' perf.err
"$hwtrace" script --itrace=b -F ip,addr,flags set-id.data >ours.txt 2>/dev/null
check "perf shows something" test -s perf.txt
same "perf shows the same" perf.txt ours.txt

# -- more threads than streams ------------------------------------------------------
# Of 1 GiB each there is room for 15.  Who is not traced makes a process, and both execute a program.
crowd=$programs/crowd
"$hwtrace" record -q --buffer 1G -o crowd.data "$crowd" 14 /bin/echo there >crowd.out 2>crowd.err
printf 'the last one is here\na child\nthere\nthere\n' >want.txt
same "a crowd: the program runs to its end" want.txt crowd.out
"$hwtrace" info --losses crowd.data 2>crowd.err | sed -n '/^losses/,$p' | sed 's/, from .*//; s/[0-9]\{2,\}/N/g' >crowd.txt
cat >want.txt <<'WANT'
losses: 4
  not traced: thread N of process N: a thread is not traced: all N streams are in use
  not traced: process N: a process is not traced: the thread that made it is not
  program not followed: process N: a program is not followed: the thread that executes it is not traced
  program not followed: thread N of process N: a program is not followed: the thread that executes it is not traced
WANT
sort want.txt >want.sorted
sort crowd.txt >crowd.sorted
same "a crowd: each loss is told" want.sorted crowd.sorted
check "a crowd: the first ones in the last line" grep -q '^lost: not traced (2 places, the first: thread [0-9]* of process [0-9]*: a thread is not traced: all 15 streams are in use), program not followed (2 places, the first: ' crowd.err
# The thread that was not traced may have run any of it.
"$hwtrace" coverage --module crowd --json - crowd.data 2>/dev/null >crowd.json
check "a crowd: what was not seen is unknown" python3 -c '
import json, sys
states = {f["name"]: f["state"] for f in json.load(open(sys.argv[1]))["functions"]}
assert states["main"] == "hit" and states["one_of_many"] == "hit" and states["one_more"] == "unknown", states' crowd.json
"$hwtrace" record -q --buffer 1G -o crowd.data "$crowd" 13 /bin/echo there >crowd.out 2>&1
"$hwtrace" info --fail-on-loss crowd.data >/dev/null 2>crowd.err
is "a crowd that has room: nothing is lost" "0 nothing" "$? $(lost crowd.err)"

# -- killed -------------------------------------------------------------------------
# killed HOW STATUS LOST: how far the program counted, and how far the trace goes
line_of() { grep -n "$1 \*/" "$OLDPWD/tests/programs/killed.c" | cut -d: -f1; }
killed() {
	"$hwtrace" record -q -o "$1.data" "$programs/killed" "$1" >"$1.out" 2>"$1.err"
	is "$1: status" "$2" $?
	"$hwtrace" info --losses "$1.data" >"$1.info" 2>"$1.err"
	is "$1: lost" "$3" "$(lost "$1.err")"
	_n=0
	while ! grep -q '^counted' "$1.out" && [ $_n -lt 300 ]; do sleep 0.1; _n=$((_n + 1)); done
	"$hwtrace" coverage --module killed --lcov "$1.lcov" "$1.data" >/dev/null 2>&1
	_counted=$(sed -n 's/^counted //p' "$1.out")
	_line=$(line_of counted)
	case $1 in
	*wait*) _counted=0 ;;
	circle) _line=$(line_of turned) ;;
	esac
	_traced=$(sed -n "s/^DA:$_line,//p" "$1.lcov")
	# The last turn may have stored its count and not be in the trace.
	[ "$3" = nothing ] && _less=0 || _less=1
	if [ -n "$_traced" ] && [ "$_traced" -le "$_counted" ] && [ "$_traced" -ge $((_counted - _less)) ]; then
		pass "$1: to the last block"
	else
		fail "$1: to the last block" "counted ${_counted:-nothing}, the trace has ${_traced:-nothing}"
	fi
}
block='killed while running (1 place, at most one block)'
(
	killed run 137 "$block"
	killed wait 137 nothing
	for _again in 1 2 3; do
		killed circle 137 "$block"
	done
	for end in 'exit 0' 'fault 139' 'term 143'; do
		killed "beside-wait-${end% *}" "${end#* }" nothing
		killed "beside-run-${end% *}" "${end#* }" "$block"
	done
) 2>/dev/null # what the shell says of deaths
every_report killed "$block" run.data
"$hwtrace" coverage --module killed --json - run.data 2>/dev/null >run.json
check "killed: no function is unknown for that" none_unknown run.json
run=$(nm -S "$programs/killed" | sed -n 's/^\([0-9a-f]*\) \([0-9a-f]*\) t run$/\1 \2/p')
for e in $engines; do
	"$hwtrace" info --losses --engine "$e" run.data >run.info 2>/dev/null
	_ip=$(sed -n 's/^  stream [0-9]* offset 0x[0-9a-f]*: killed while running, [0-9]* bytes, after \(0x[0-9a-f]*\),.*: its thread was killed.*/\1/p' run.info)
	# A program that may lie anywhere lies at the start of a page.
	_at=$((${_ip:-0} & 4095)) _from=$((0x${run% *} & 4095)) _to=$(((0x${run% *} & 4095) + 0x${run#* }))
	[ "$_at" -ge "$_from" ] && [ "$_at" -lt "$_to" ] && pass "killed: in the function that counts, by $e" ||
		fail "killed: in the function that counts, by $e" "$(sed -n '/^losses/,$p' run.info)"
done
check "killed: the engines agree" "$hwtrace" verify run.data
perf script -i run.data --itrace=i1000000i -F ip >/dev/null 2>perf.err
is "killed: perf reads it" 0 $?
check "killed: perf tells of it" grep -q 'AUX data lost 1 times' perf.err

# -- a process that outlives the command ----------------------------------------------
# states FILE MAIN LATE: of the functions that the process runs, and what it leaves behind
states() {
	python3 -c '
import json, sys
states = {f["name"]: f["state"] for f in json.load(open(sys.argv[1]))["functions"]}
assert [states["main"], states["late"]] == sys.argv[2:], states' "$@"
}
# outlived BACKEND HOW: it goes on, and what it has yet to run is unknown
outlived() {
	_n=$1-$2
	rm -f go
	"$hwtrace" record -q --backend "$1" -o "$_n.data" "$programs/daemon" "$2" go >"$_n.out" 2>"$_n.err"
	is "outlived, $_n: status" 0 $?
	: >go
	check "outlived, $_n: it goes on" wait_for late "$_n.out"
	_pid=$(sed -n 's/.*process \([0-9]*\) (daemon) goes on untraced: recording ended with the command$/\1/p' "$_n.err")
	check "outlived, $_n: record tells, once" test "$(grep -c 'goes on untraced' "$_n.err")" -eq 1 -a -n "$_pid"
	"$hwtrace" coverage --module daemon --fail-on-loss --json - "$_n.data" >"$_n.json" 2>"$_n.err"
	is "outlived, $_n: lost" \
		"65 not traced (1 place: process $_pid: process $_pid (daemon) goes on untraced: recording ended with the command)" \
		"$? $(lost "$_n.err")"
	check "outlived, $_n: what was not seen is unknown" states "$_n.json" hit unknown
}
# waited_for BACKEND HOW: it has ended before the recording does; once in ten times, whatever else this machine does
waited_for() {
	_n=$1-$2 _try=0 _lost= _all=0
	while [ "$_lost" != "0 nothing" ] && [ $_try -lt 10 ]; do
		_try=$((_try + 1))
		"$hwtrace" record -q --backend "$1" -o "$_n.data" "$programs/daemon" "$2" go >"$_n.out" 2>"$_n.err"
		"$hwtrace" coverage --module daemon --fail-on-loss --json - "$_n.data" >"$_n.json" 2>"$_n.lost"
		_lost="$? $(lost "$_n.lost")"
		states "$_n.json" hit hit || [ "$_lost" != "0 nothing" ] || _all=1
	done
	is "waited for, $_n: nothing is lost" "0 nothing" "$_lost"
	check "waited for, $_n: nor told" test ! -s "$_n.err"
	is "waited for, $_n: all was seen" 0 $_all
}
for b in qemu ptrace; do
	for how in sleep run now; do outlived $b $how; done
	for how in wait soon; do waited_for $b $how; done
done

# Of many some are told by name, and all are in the file.
for b in qemu ptrace; do
	rm -f go
	"$hwtrace" record -q --backend $b -o many.data "$programs/daemon" many go >many.out 2>many.err
	: >go
	sed 's/process [0-9]*/process N/' many.err >many.txt
	cat >want.txt <<'WANT'
hwtrace: warning: process N (daemon) goes on untraced: recording ended with the command
hwtrace: warning: process N (daemon) goes on untraced: recording ended with the command
hwtrace: warning: process N (daemon) goes on untraced: recording ended with the command
hwtrace: warning: process N (daemon) goes on untraced: recording ended with the command
hwtrace: warning: 2 more processes go on untraced; hwtrace info --losses names each
WANT
	same "outlived, $b, six of them: told" want.txt many.txt
	is "outlived, $b, six of them: kept" 6 "$("$hwtrace" info --losses many.data 2>/dev/null | grep -c '^  not traced: .* goes on untraced')"
done
