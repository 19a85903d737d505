#!/bin/sh
# Shows what a compaction forgot, and how Slicebase proves it. Runs real commands in a temporary folder.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
git init --quiet .

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1;36m') dim=$(printf '\033[2m') plain=$(printf '\033[0m')
else bold='' dim='' plain=''; fi
say() { printf '\n%s# %s%s\n' "$dim" "$*" "$plain"; }
run() { printf '%s$ %s%s\n' "$bold" "$*" "$plain"; eval "$*"; }

say "A coding agent's context was compacted after 380 turns. What did the summary keep?"
run 'tt import --sample long'
run 'tt lost --limit 6'

say 'tt recall opens what the summary lost.'
run 'tt recall turn:73904ddc-46f3-4fe6-8d48-8a59d5f25da7'

say "How it works: the transcript is a graph of turns. A slice of it has the same bytes and hashes on every machine."
run 'tt slice 0961d9aa-a012-46c7-b376-16f70598151d --policy focused --set max_nodes=5'

say "A question finds its turns: fenced pieces with source, date and reference, under a budget."
run 'tt context "how are discount codes compared?" --tokens 200 | tee before.md'

say "Every context has a manifest. Replay never searches: the same bytes, forever."
run 'tt replay > after.md && cmp before.md after.md && echo identical'

say "A run of an agent cannot claim something as verified without evidence: the gate refuses it."
run 'tt run start --id codes --objective "How are discount codes compared?" --done "The answer is cited."'
run 'tt run claim codes "Codes are compared as typed." --status verified || echo "exit status $?"'
run 'evidence=$(tt cite turn:0961d9aa-a012-46c7-b376-16f70598151d --quote "compared without regard to case")'
run 'tt run claim codes "Codes are compared without regard to case." --status verified -e $evidence'
run 'tt why claim:codes/c1'

say "tt verify derives everything stored again from its bytes."
run 'tt verify'

say "Now one byte of the database is changed without Slicebase."
run "python3 -c \"
import pathlib
database = pathlib.Path('.git/slicebase/slicebase.db')
data = database.read_bytes()
database.write_bytes(data.replace(b'We will keep codes in a table', b'We will keep codes in a fable'))\""
run 'tt verify || echo "exit status $?"'

say "To look at the same session in a browser: pip install 'slicebase[serve]', and in a new folder:"
printf '%s$ tt import --sample long && tt serve%s\n' "$bold" "$plain"
