# SPDX-License-Identifier: BSD-2-Clause
# What `make install` lays down works from there: the tool finds its plugin, a
# program of one's own builds with pkg-config and decodes, uninstall removes all.
. tests/lib.sh

check install ${MAKE:-make} -s install DESTDIR="$tmp/root" PREFIX=/usr
root=$tmp/root/usr
for f in bin/hwtrace lib/hwtrace/hwtrace-qemu.so lib/libhwtrace.a include/hwtrace/decoder.h share/man/man1/hwtrace.1 \
	share/bash-completion/completions/hwtrace share/zsh/site-functions/_hwtrace lib/pkgconfig/hwtrace.pc; do
	[ -s "$root/$f" ] || fail "installed $f" "missing or empty"
done
check "the installed tool records" "$root/bin/hwtrace" record -o "$tmp/t.data" -- /bin/true
PKG_CONFIG_PATH=$root/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$tmp/root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
check "the example builds against the installed library" \
	sh -c "${CC:-gcc} -Wall -Werror -o '$tmp/count' samples/api/count.c \$(pkg-config --cflags --libs hwtrace)"
"$tmp/count" "$tmp/t.data" >"$tmp/count.out" 2>&1
if grep -Eq '^thread [0-9]+: [1-9][0-9]{3,} instructions, [1-9][0-9]* branches, 0 gaps$' "$tmp/count.out"; then
	pass "the example decodes"
else
	fail "the example decodes" "$(head -n 3 "$tmp/count.out")"
fi
check uninstall ${MAKE:-make} -s uninstall DESTDIR="$tmp/root" PREFIX=/usr
left=$(find "$tmp/root" -type f | head -n 3)
[ -z "$left" ] && pass "uninstall leaves no file" || fail "uninstall leaves no file" "$left"
