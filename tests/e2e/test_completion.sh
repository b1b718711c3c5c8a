# SPDX-License-Identifier: BSD-2-Clause
# Completion code is valid, and offers what the tables hold.
. tests/lib.sh

"$hwtrace" completion bash >"$tmp/bash" || fail "completion for bash" "exit status $?"
check "bash accepts its completion" bash -n "$tmp/bash"

# complete WORD... : what bash offers for the last word.
complete() {
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hwtrace; printf "%s\n" "${COMPREPLY[@]}"' \
	    bash "$tmp/bash" "$@" | sort
}
complete hwtrace '' >"$tmp/offered"
"$hwtrace" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$tmp/commands"
printf '%s\n' --help --version >>"$tmp/commands"
sort -o "$tmp/commands" "$tmp/commands"
same "bash completes commands" "$tmp/commands" "$tmp/offered"

for c in $(grep -v '^-' "$tmp/commands"); do
	"$hwtrace" "$c" --help | sed -n 's/^  \(-[A-Za-z0-9], \|    \)\(--[a-z0-9-]*\).*/\2/p' >"$tmp/want"
	echo --help >>"$tmp/want"
	sort -o "$tmp/want" "$tmp/want"
	complete hwtrace "$c" -- | grep -v '^-[a-zA-Z]$' >"$tmp/got"
	same "bash completes the options of $c" "$tmp/want" "$tmp/got"
done
[ "$(complete hwtrace completion z)" = zsh ] && pass "bash completes a word" || fail "bash completes a word" "$(complete hwtrace completion z)"

"$hwtrace" completion zsh >"$tmp/zsh" || fail "completion for zsh" "exit status $?"
if command -v zsh >/dev/null; then
	check "zsh accepts its completion" zsh -n "$tmp/zsh"
else
	for c in $(grep -v '^-' "$tmp/commands"); do
		grep -q "^		'$c:" "$tmp/zsh" || fail "zsh completion lists $c" "it does not"
	done
	pass "zsh completion lists every command"
fi
"$hwtrace" completion fish >/dev/null 2>"$tmp/err" && fail "unknown shell" "exit 0" || same "unknown shell" - "$tmp/err" <<E
hwtrace completion: name the shell, bash or zsh
E
