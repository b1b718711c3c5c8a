#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# debian_source.sh DIR PACKAGE...: the original tarballs of Debian source packages,
# DIR/PACKAGE.orig.tar, fetched by apt from where this machine's own lists point, with
# lists and caches in DIR: nothing of the system is changed.  What is there is kept.
set -eu
dir=$1
shift
need=
for p; do
	[ -s "$dir/$p.orig.tar" ] || need="$need $p"
done
[ -n "$need" ] || exit 0
mkdir -p "$dir/apt/sources" "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/new"
dir=$(cd "$dir" && pwd)
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
	case $list in
	*.list) sed -n 's/^deb[[:blank:]]/deb-src /p' "$list" ;;
	*.sources) sed 's/^Types:.*/Types: deb-src/' "$list" ;;
	*) continue ;;
	esac >"$dir/apt/sources/${list##*/}" 2>/dev/null || :
done
apt() {
	timeout 240 apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/apt/sources" \
		-o Dir::State::Lists="$dir/apt/lists" -o Dir::Cache="$dir/apt/cache" -o APT::Sandbox::User= \
		-o Acquire::Languages=none -o Acquire::Retries=3 -o Acquire::http::Timeout=20 "$@" </dev/null
}
apt update || : # one of several lists may have no sources
cd "$dir/new"
for p in $need; do
	rm -f ./*
	apt source --only-source --download-only "$p"
	mv ./*.orig.tar.* "$dir/$p.orig.tar"
done
cd ..
rm -rf new apt
