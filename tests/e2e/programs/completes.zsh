# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Writes into FOLDER/offered what zsh offers when a line is completed that was typed:  zsh -f completes.zsh FOLDER LINE
# The completion's file is in the folder. zsh completes only what is typed at a terminal, so there is one.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT= fpath=(${(q)1} \$fpath); autoload -U compinit; compinit -D -u; bindkey '^I' complete-word
finish() { exit }
comppostfuncs=(finish)
compadd() {
	local -a offered
	[[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]] || { builtin compadd -A offered \"\$@\"; print -rl -- \$offered >>${(q)1}/offered }
	builtin compadd \"\$@\"
}
print read''y"
zpty -r shell line '*ready*'
zpty -w -n shell "$2"$'\t'
while zpty -r shell line; do :; done
