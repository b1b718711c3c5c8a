#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a stranger gets: a fresh Debian 12 in a chroot, with only git and make,
# a clone of HEAD in it, and the two commands of README.md.  As root.
#	sh tests/tools/clean.sh FOLDER
# The base system is kept in FOLDER/base.tar for the next time.
set -eu
folder=${1:?folder to work in}
top=$PWD
[ "$(id -u)" = 0 ] || { echo "make check-clean makes a chroot: run it as root" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap >/dev/null
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/root

umount_all() {
	for m in proc sys dev/pts dev/shm dev; do
		mountpoint -q "$root/$m" && umount -l "$root/$m" || :
	done
}
trap umount_all EXIT
trap 'exit 1' HUP INT TERM

# The mirror is the one that this machine uses.
mirror=${MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
	sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' | grep -m 1 'debian/*$')}
[ -n "$mirror" ] || { echo "no Debian mirror found in /etc/apt; name one: MIRROR=... make check-clean" >&2; exit 1; }

umount_all
rm -rf "$root"
if [ ! -f "$folder/base.tar" ]; then
	debootstrap --variant=minbase --include=ca-certificates,git,make bookworm "$folder/new" "$mirror" >"$folder/debootstrap.log" 2>&1 ||
		{ tail -n 20 "$folder/debootstrap.log" >&2; exit 1; }
	tar -C "$folder/new" -cf "$folder/base.tar.part" .
	rm -rf "$folder/new"
	mv "$folder/base.tar.part" "$folder/base.tar"
fi
mkdir "$root"
tar -C "$root" -xf "$folder/base.tar"
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || :
cp -r /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/" 2>/dev/null && rm -f "$root/etc/apt/sources.list" || :
for f in /etc/apt/apt.conf.d/99*; do
	[ -f "$f" ] && cp "$f" "$root/etc/apt/apt.conf.d/"
done
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t devtmpfs dev "$root/dev" 2>/dev/null || mount --bind /dev "$root/dev"
mkdir -p "$root/dev/pts" "$root/dev/shm"
mountpoint -q "$root/dev/pts" || mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mountpoint -q "$root/dev/shm" || mount -t tmpfs shm "$root/dev/shm"

git clone -q "$top" "$root/root/hwtrace"
in_root() {
	chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 ${CI:+CI=$CI} \
		sh -c "cd /root/hwtrace && $1"
}
echo "== make demo"
in_root 'make demo'
echo "== make check"
in_root 'make check'
