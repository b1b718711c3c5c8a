#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Say which packages of the list $1 are missing, and install them: as root
# directly, with YES=1 through sudo, otherwise print the line to run.
set -eu
list=$(sed 's/#.*//' "$1" | tr -s ' \t\n' ' ')
missing=
for p in $list; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
echo "packages needed: $list"
echo "missing:$missing"
install="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $install >/dev/null
elif [ "${YES:-}" = 1 ]; then
	sudo apt-get update -qq
	sudo DEBIAN_FRONTEND=noninteractive $install >/dev/null
else
	echo "to install them, run:  sudo $install" >&2
	echo "or again with YES=1 to do so through sudo" >&2
	exit 1
fi
