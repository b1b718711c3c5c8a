# SPDX-License-Identifier: BSD-2-Clause
# Fill the folder $1 with small files to start from.
exec build-fuzz/seeds_perfdata "$1"
