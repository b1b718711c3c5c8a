# SPDX-License-Identifier: BSD-2-Clause
# Fill the folder $1 with small descriptions to start from.
set -eu
head='{"type":"intel-pt","cpuInfo":{"vendor":"GenuineIntel","family":6,"model":85,"stepping":4}'
printf '%s,"processes":[{"pid":7,"threads":[],"modules":[{"systemPath":"/no","file":"no","loadAddress":"0x7000","uuid":"0AB1-C2"}]}]}' \
	"$head" >"$1/thread"
printf '%s,"tscPerfZeroConversion":{"timeMult":1000,"timeShift":10,"timeZero":16},"cpus":[{"id":3,"iptTrace":"no","contextSwitchTrace":"no"}],"processes":[],"kernel":{"file":"no","loadAddress":0}}' \
	"$head" >"$1/cpu"
