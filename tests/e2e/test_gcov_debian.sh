# SPDX-License-Identifier: BSD-2-Clause
# Lines of real programs against gcov's: zlib, bzip2 and Lua, whose sources apt fetches
# from Debian.  The same source, unoptimised and not instrumented, agrees line by line;
# optimised, on most of the lines that are left (docs/DIFFERENCES.md has the figures).
. tests/lib.sh

kept=$PWD/$BUILD/debian-sources
compare=$PWD/tests/tools/compare_gcov.py
if ! sh tests/tools/debian_source.sh "$kept" zlib bzip2 lua5.4 >"$tmp/apt" 2>&1; then
	skip "sources of Debian packages" "apt cannot fetch them: $(tail -n 1 "$tmp/apt")"
	exit 0
fi
cd "$tmp" || exit 1

# Addresses may decide what runs: the kernel shall not choose them, where it lets us say so.
setarch -R true 2>/dev/null && fixed="setarch -R" || fixed=

# against NAME FLAGS SOURCE...: jobs/NAME PROGRAM is run with the program built by gcc.
against() {
	name=$1 flags=$2
	shift 2
	mkdir -p "$name/gcov" "$name/O0" "$name/O2"
	for build in gcov:-O0\ --coverage O0:-O0 O2:-O2; do
		# shellcheck disable=SC2086
		if ! (cd "$name/${build%%:*}" && gcc ${build#*:} -g -w $flags -o prog "$@" -lm) >cc.err 2>&1; then
			fail "$name" "does not build: $(head -n 3 cc.err)"
			return
		fi
	done
	# shellcheck disable=SC2086
	(cd "$name/gcov" && $fixed sh ../../jobs/$name >../want 2>&1; gcov -i -t ./*.gcda >../gcov.json)
	check "$name: the job does what it should" grep -qx "all done" "$name/want"
	for opt in O0 O2; do
		(cd "$name/$opt" && "$hwtrace" coverage -o ../report --module prog --json ../$opt.json \
			-- sh ../../jobs/$name >../got 2>&1)
		check "$name: $opt: nothing was lost" grep -qx "lost: nothing" "$name/got"
		grep -v "^lost: nothing$\|recorded by the software" "$name/got" >"$name/got.out"
		same "$name: $opt: its output" "$name/want" "$name/got.out"
	done
	check "$name: lines agree with gcov's" python3 "$compare" \
		$name/gcov.json $name/O0.json $name/O0/prog --explained jobs/$name.explained --agree 99
	sed 's/^/    /' .check
	check "$name: optimised, most of those that are left" python3 "$compare" \
		$name/gcov.json $name/O2.json $name/O2/prog --optimised 98
	tail -n 1 .check | sed 's/^/    /'
}

# explained NAME KIND FILE TEXT REASON: the line of FILE that is TEXT, blanks in front left out.
explained() {
	printf '%s\t%s:%s\t%s\n' "$2" "${3##*/}" "$(sed 's/^ *//' "$3" | grep -nxF -e "$4" | cut -d: -f1)" "$5" \
		>>"jobs/$1.explained"
}

mkdir jobs zlib bzip2 lua
touch jobs/zlib.explained jobs/bzip2.explained jobs/lua.explained
for p in zlib bzip2 lua5.4; do
	mkdir -p "src/$p" && tar -xf "$kept/$p.orig.tar" -C "src/$p" --strip-components 1
done

cat >jobs/zlib <<'EOF'
./prog && echo all done
EOF
against zlib "-I$tmp/src/zlib -DHAVE_UNISTD_H -D_LARGEFILE64_SOURCE=1" "$tmp"/src/zlib/*.c "$tmp/src/zlib/test/example.c"

cat >jobs/bzip2 <<EOF
s=$tmp/src/bzip2
./prog -1 -c -v <\$s/sample1.ref >a.bz2; cmp a.bz2 \$s/sample1.bz2
./prog -dc <\$s/sample2.bz2 | cmp - \$s/sample2.ref
./prog -ds <\$s/sample3.bz2 >c; cmp c \$s/sample3.ref
./prog -t \$s/sample1.bz2 && head -c 2000 a.bz2 >d.bz2; ./prog -t d.bz2; ./prog --help; ./prog -k -2 c && echo all done
EOF
parts=
for f in blocksort huffman crctable randtable compress decompress bzlib bzip2; do
	parts="$parts $tmp/src/bzip2/$f.c"
done
# shellcheck disable=SC2086
against bzip2 -D_FILE_OFFSET_BITS=64 $parts

cat >job.lua <<'EOF'
local t = {}
for i = 1, 200 do t[i] = (i * 7919) % 211 end
table.sort(t)
print(#t, t[1], t[200])
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(12), pcall(error, "two"))
print(select(2, pcall(function() error("x", 0) end)))
local co = coroutine.wrap(function(a) for i = 1, 3 do a = coroutine.yield(a + i) end return "end" end)
print(co(1), co(2), co(3), co(4))
print(string.format("%5.2f %q %s", 3.14159, "a\nb", tostring(nil)), ("hello world"):gsub("o", "0"))
print(load("return 1 + 2 * 3 // 2 % 5 ^ 2 .. 'x'")(), pcall(load, "x = = 2"))
local mt = setmetatable({}, { __index = function(_, k) return k .. "!" end, __close = function() print "closed" end })
do local c <close> = mt; print(c.foo) end
goto done
do print("never") end
::done::
print(math.floor(3.7), math.tointeger("8"), 7 // 2, 7.5 // 2, 1 << 3, ~5, "10" + 5, 2 ^ 53 | 0)
for k, v in pairs({ a = 1, b = 2 }) do t[k] = v end
collectgarbage()
print(utf8.char(228, 8364), utf8.len("äö"), os.time { year = 2020, month = 1, day = 1 } > 0)
print("all done")
EOF
cat >jobs/lua <<'EOF'
./prog ../../job.lua
EOF
l=$tmp/src/lua5.4/src
explained lua hit $l/lobject.c "*result = (mode == 'x') ? lua_strx2number(s, &endptr)  /* try to convert */" \
	"gcov counts nothing where both arms are equal"
explained lua missing $l/llex.c "case EOZ: goto no_save;  /* will raise an error next loop */" \
	"a NOP that a table alone leads to, and that never ran"
explained lua missing $l/lstrlib.c "case ' ': break;" "a NOP that a table alone leads to, and that never ran"
rm -f $l/luac.c
# Lua's hashes would come from addresses and from the time.
against lua "-DLUA_USE_POSIX -Dluai_makeseed(L)=42u -DSTRCACHE_N=1 -DSTRCACHE_M=2" "$l"/*.c
