# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Writes the words that zsh offers to complete a typed LINE into FOLDER/offered:  zsh -f completes.zsh FOLDER LINE
# FOLDER has the completion's file. zsh completes only lines typed at a terminal, so this makes one.
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
