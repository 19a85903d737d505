#!/bin/sh
# The path, from a transcript to a context that is replayed and proven, each command as one would type it.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
git init --quiet .

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1m') dim=$(printf '\033[2m') plain=$(printf '\033[0m')
else bold='' dim='' plain=''; fi
say() { printf '\n%s# %s%s\n' "$dim" "$*" "$plain"; }
run() { printf '%s$ %s%s\n' "$bold" "$*" "$plain"; eval "$*"; }

say "A coding agent's context was compacted. What did the summary keep?"
run 'tt lost --sample --limit 6'

say "Everything it forgot is one recall away."
run 'tt recall turn:73904ddc-46f3-4fe6-8d48-8a59d5f25da7'

say "How that is possible: a transcript becomes a graph of turns, and every record is accounted for."
run 'tt import --sample'

say "A question finds its turns. Each piece is fenced and labelled with source, date and reference."
run 'tt context "which time limit did we decide on?" --tokens 420 > before.md'
run 'cat before.md'

say "Why these, and not others?"
run 'tt context "which time limit did we decide on?" --tokens 420 --no-record --explain | head -12'

say "The graph around one turn: the same graph and policy give the same bytes and hashes, on every machine."
run 'tt slice 2c95cb2b-f886-45d4-96e8-2595a5b1f061 --policy focused'

say "Replay never searches: the pinned pieces give the same bytes."
run 'tt replay > after.md'
run 'cmp before.md after.md && echo identical'

say "Everything stored is derived again from bytes."
run 'tt verify'

say "Now one byte of the database is changed, behind Slicebase's back."
run "python3 -c \"
import pathlib
database = pathlib.Path('.git/slicebase/slicebase.db')
data = database.read_bytes()
database.write_bytes(data.replace(b'600 seconds after the order is the hard', b'900 seconds after the order is the hard'))\""
run 'tt verify || echo "exit status $?"'

say "What an agent knows is kept in slice files. Their format is checked, with place and hint."
cat > .slices/01JDEC00000000000000000001.slice <<'FILE'
---
slice:
  v: "1"
  id: 01JDEC00000000000000000001
  title: Decisions
  body:
    type: markdwn
---
Use UTC everywhere.
FILE
run 'cat .slices/01JDEC00000000000000000001.slice'
run 'tt validate || echo "exit status $?"'
