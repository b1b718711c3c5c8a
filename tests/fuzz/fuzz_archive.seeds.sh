# SPDX-License-Identifier: BSD-2-Clause
# Fill the folder $1 with tar files to start from: a small capture, its file, the list of both.
set -eu
sh tests/fuzz/fuzz_perfdata.seeds.sh "$1"
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
n=0
for f in "$1"/*; do
	[ "$(wc -c <"$f")" -lt 4000 ] || continue
	head -c 8 "$f" | grep -q PERFILE2 || continue
	cp "$f" "$t/capture"
	echo content >"$t/thing"
	{
		printf 'hwtrace-archive\t1\n'
		printf 'capture\t%s\t%s\tcapture\n' "$(sha256sum <"$t/capture" | cut -c 1-64)" "$(wc -c <"$t/capture")"
		printf 'file\t%s\t8\tthing\t-\t/bin/thing\n' "$(sha256sum <"$t/thing" | cut -c 1-64)"
		printf 'missing\t0a\t/bin/none\n'
	} >"$t/manifest"
	tar -C "$t" --format=ustar -cf "$t/tar" manifest capture thing
	rm "$f"
	n=$((n + 1))
	mv "$t/tar" "$1/tar$n"
done
