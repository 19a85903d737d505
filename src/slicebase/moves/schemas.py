"""What an export says about its own form: a page for people, and JSON Schemas of its lines and of its manifest."""

import json
from typing import Any, Final

import msgspec

from slicebase.moves.lines import ROW_LINE, FileHead, PurgeLine, TextLine
from slicebase.moves.manifest import ExportManifest

README: Final = """\
# A memory, exported by Slicebase

Everything here is text in open formats. `tt import THIS_FOLDER` takes it into a workspace; nothing else is needed to
read it or to check it.

| path | what it has |
|---|---|
| `manifest.json` | every file with its SHA-256 and size; the head of every chain; one digest of all heads |
| `sessions/*.jsonl` | a conversation: facts (`sessions`), turns, links and annotations, each a chain |
| `runs/*.jsonl` | a run of an agent: its events and snapshots, each a chain |
| `evidence.jsonl`, `manifests.jsonl`, `policies.jsonl`, `policy_names.jsonl`, `blobs.jsonl` | what all share |
| `texts/*/*.jsonl` | the texts that records name, by owner: contents of turns, payloads of events, quotes, contexts |
| `purges.jsonl` | what was purged, when and why; a purged text has only its digest |
| `slices/` | the slice files and payloads, as they are; `before` in the manifest names the versions they came from |
| `schemas/` | JSON Schemas of the lines and of the manifest |

The first line of a `.jsonl` file says what it has (`lines`) and whose it is (`owner`). A `record` is the text of the
bytes that were hashed. Ids of turns and all hashes are hex digits.

## Check it

Every file is the one that the manifest lists:

    jq -r '.files[] | .sha256 + "  " + .path' manifest.json | sha256sum --check --quiet

Every text of a file is the one that its digest names:

    tail -n +2 texts/session/NAME.jsonl | jq -c 'select(.purged == null and .base64 == null)' | while read -r line; do
      found=$(printf %s "$line" | jq -j .text | sha256sum | cut -c1-64)
      test "$found" = "$(printf %s "$line" | jq -r .hash)" || echo "$line"
    done

A row's `hash` is the SHA-256 of the 32 bytes of the hash before it (none for the first row of a chain), followed by
the SHA-256 of each of its values in the order of the line, from the one after `seq` to the one before `hash`: of a
number its decimal digits, of a text its UTF-8 bytes, of hex digits the bytes they stand for. The `hash` of an event is
the SHA-256 of its `record` alone, which has the hash before it.

The `digest` in the manifest is the SHA-256 of the canonical JSON (RFC 8785) of `[[name, count, digest], …]`, the heads
in the order of their names. Two memories with the same digest have the same content.

## Share it

Keep this folder in git or on a shared disk: import, then export, on each machine. What grew is added, what is here is
never removed, and what two machines changed differently is reported. If git reports a conflict here, take this folder
whole from one side (`git checkout MERGE_HEAD -- FOLDER`), import it, export again, and commit: nothing here is the
only copy.
"""


def export_schemas() -> dict[str, bytes]:
    """Returns the JSON Schemas of an export by the names of their files."""
    lines = {"row": ROW_LINE.type, "text": TextLine, "purge": PurgeLine, "head": FileHead, "manifest": ExportManifest}
    return {f"{name}.json": _schema(each, name) for name, each in lines.items()}


def _schema(of: Any, name: str) -> bytes:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"export {name}",
        **msgspec.json.schema(of),
    }
    text = json.dumps(schema, indent=2, ensure_ascii=False).replace("#/$defs/_", "#/$defs/")
    return (text.replace('    "_', '    "').replace('"title": "_', '"title": "') + "\n").encode()
