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

long_options() { # COMMAND
	{
		"$hwtrace" "$1" --help | sed -n 's/^  \(-[A-Za-z0-9], \|    \)\(--[a-z0-9-]*\).*/\2/p'
		echo --help
	} | sort
}
for c in $(grep -v '^-' "$tmp/commands"); do
	long_options "$c" >"$tmp/want"
	complete hwtrace "$c" -- | grep -v '^-[a-zA-Z]$' >"$tmp/got"
	same "bash completes the options of $c" "$tmp/want" "$tmp/got"
done
[ "$(complete hwtrace completion z)" = zsh ] && pass "bash completes a word" || fail "bash completes a word" "$(complete hwtrace completion z)"

"$hwtrace" completion zsh >"$tmp/_hwtrace" || fail "completion for zsh" "exit status $?"

# -- as they are typed: an interactive shell of each kind, the Tab key and what it makes of the line
terminal=$PWD/tests/tools/terminal.py
mkdir "$tmp/site" "$tmp/place" "$tmp/place/folder" "$tmp/bin"
cp "$tmp/_hwtrace" "$tmp/site/"
: >"$tmp/place/capture.data"
printf '#!/bin/sh\n' >"$tmp/bin/hwtprogram" && chmod +x "$tmp/bin/hwtprogram"
ln -s "$hwtrace" "$tmp/bin/hwtrace"
cat >"$tmp/bashrc" <<'E'
PS1='% '
. "$HT_TEST/bash"
show() { printf '%s|\n' "$READLINE_LINE" >>"$HT_TEST/typed"; READLINE_LINE= READLINE_POINT=0; }
bind -x '"\C-xs": show'
E
# What zsh offers goes into a file as well: its completion functions call compadd.
cat >"$tmp/.zshrc" <<'E'
PS1='% '
fpath=($HT_TEST/site $fpath)
autoload -Uz compinit && compinit -u -D
show() { print -r -- "$BUFFER|" >>$HT_TEST/typed; BUFFER= }
zle -N show
bindkey '^Xs' show
compadd() {
	if [[ "$*" != *-(O|A|D)* ]]; then
		local -a offered
		builtin compadd -A offered "$@"
		print -rl -- $offered >>$HT_TEST/offered
	fi
	builtin compadd "$@"
}
E
# typed SHELL <LINES: each is typed, then Tab; what the lines are then goes to $tmp/typed
typed() {
	: >"$tmp/typed"
	: >"$tmp/offered"
	# A line editor that is ready says so by the code for pasting.
	{
		while IFS= read -r _line; do
			printf '%s\n' "expect [?2004h" "send $_line\\t\\x18s" \
				"send echo '= $_line' >>\$HT_TEST/offered; echo do''ne\\r" "expect done"
		done
		printf '%s\n' 'expect [?2004h' 'send exit\r'
	} >"$tmp/talk"
	case $1 in
	bash) set -- bash --noprofile --rcfile "$tmp/bashrc" -i ;;
	zsh) set -- zsh -i ;;
	esac
	(cd "$tmp/place" && HT_TEST=$tmp ZDOTDIR=$tmp HOME=$tmp INPUTRC=/dev/null TERM=xterm \
		PATH=$tmp/bin:$PATH python3 "$terminal" "$@" <"$tmp/talk") >"$tmp/screen" 2>&1 ||
		{ fail "a terminal of $1" "$(tail -n 3 "$tmp/screen")"; return 1; }
}
# What is typed, and behind the bar what becomes of it.
cat >"$tmp/cases" <<'E'
hwtrace ver|hwtrace verify |
hwtrace record --no-inh|hwtrace record --no-inherit |
hwtrace record hwtp|hwtrace record hwtprogram |
hwtrace record -q -o x -- hwtp|hwtrace record -q -o x -- hwtprogram |
hwtrace record -- hwtprogram cap|hwtrace record -- hwtprogram capture.data |
hwtrace record hwtprogram cap|hwtrace record hwtprogram capture.data |
hwtrace coverage cap|hwtrace coverage capture.data |
hwtrace coverage hwtp|hwtrace coverage hwtp|
hwtrace coverage -- hwtp|hwtrace coverage -- hwtprogram |
hwtrace script -i cap|hwtrace script -i capture.data |
hwtrace script --symfs fol|hwtrace script --symfs folder/|
hwtrace completion z|hwtrace completion zsh |
hwtrace list cap|hwtrace list cap|
E
cut -d'|' -f1 "$tmp/cases" >"$tmp/lines"
cut -d'|' -f2- "$tmp/cases" >"$tmp/want"
typed bash <"$tmp/lines" &&
	same "bash completes what is typed" "$tmp/want" "$tmp/typed"

# offered LINE: the words that zsh offered for it
offered() {
	sed '/^$/d' "$tmp/offered" | awk -v of="= $1" '
		/^= / { if ($0 == of) exit; n = 0; next }
		{ a[n++] = $0 }
		END { for (i = 0; i < n; i++) print a[i] }' | sort
}
if ! command -v zsh >/dev/null; then
	skip "zsh completes" "zsh is not installed"
else
	check "zsh accepts its completion" zsh -n "$tmp/_hwtrace"
	typed zsh <"$tmp/lines" &&
		same "zsh completes what is typed" "$tmp/want" "$tmp/typed"
	grep -v '^-' "$tmp/commands" >"$tmp/want"
	{ echo "hwtrace "; sed 's/.*/hwtrace & --/' "$tmp/want"; } >"$tmp/lines"
	typed zsh <"$tmp/lines" || exit 0
offered "hwtrace " >"$tmp/got"
	same "zsh offers the commands" "$tmp/want" "$tmp/got"
	for c in $(cat "$tmp/want"); do
		long_options "$c" >"$tmp/options"
		offered "hwtrace $c --" >"$tmp/got"
		same "zsh offers the options of $c" "$tmp/options" "$tmp/got"
	done
fi
"$hwtrace" completion fish >/dev/null 2>"$tmp/err" && fail "unknown shell" "exit 0" || same "unknown shell" - "$tmp/err" <<E
hwtrace completion: name the shell, bash or zsh
E
