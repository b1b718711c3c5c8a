# SPDX-License-Identifier: BSD-2-Clause
# Fill the folder $1 with a small sideband to start from.
set -eu
printf 'meta family 6\nmeta tsc_ratio 2 216\n1.5 8 2000 7f00 8192 3000\t/a:/b\n0.0 7 1000 5555 0 /a\n' >"$1/whole"
