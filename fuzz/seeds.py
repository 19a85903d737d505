"""The inputs that are damaged: files of our own, the samples of the package, and real ones beside the project."""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from slicebase.history.inputs import LONG_SAMPLE, SAMPLE
from tests.importers.test_damage import SOUND

HERE: Final = Path(__file__).parent
CORPUS: Final = HERE / "corpus"
CRASHES: Final = HERE / "crashes"
_PROJECT: Final = HERE.parent
_REAL: Final = _PROJECT.parent / "shared" / "data"
_LARGEST: Final = 256 << 10  # bytes of a real file
_MOST: Final = 40  # real files of one kind

_HOOK: Final = {"session_id": "s", "transcript_path": str(SAMPLE), "cwd": ".", "source": "compact", "trigger": "auto"}
_SETTINGS: Final = b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}, "model": "m"}\n'
_TOML: Final = b"[freshness]\nhalf_life_days = 30\n\n[hooks]\ntokens = 900\n[overflow]\nbytes = 65536\n"
_RULES: Final = b"[[rule]]\nname = 'acme-key'\npattern = 'acme_(?P<secret>[a-z0-9]{20,40})'\nmixed = true\n"
_NOTE: Final = (
    b"---\ntitle: Herons\naliases: [a, Grey heron]\n---\n# One\n\nText with [[a|b]], [c](../d%20e.md#f). More.\n\n"
    b"![[g.png]]\n\n"
    b"```\n[[code]]\n```\n\n## Two\n\n- [ ] `x` [r]\n\n[r]: <s t.md>\n"
)
_POLICY: Final = (
    b'{"version":"slice_policy_v1","max_nodes":64,"max_radius":4,"phase_weights":{"planning":0.8},"distance_decay":0.9}'
)
_TURN: Final = "7d9f5b9e-7f0e-4c7e-9d5e-2f6b3a0c1d2e"
_REFS: Final = (
    f"turn:{_TURN}", "row:f/r1", "sec:f@0123456789ab#one/two", "doc:0123456789abcdef:1-9", "file:x", "session:s",
    "run:r", "claim:r/c1",
    "ev_" + "0" * 32, "mf_" + "a" * 32, "sn_" + "f" * 32,
)  # fmt: skip
_EVENTS: Final = b"".join(
    json.dumps({"type": kind, "step": step, "payload": {"text": "did it", "n": [1, 2.5, None]}}).encode() + b"\n"
    for step, kind in enumerate(("PLAN_DONE", "ACT_DONE", "OBSERVE_DONE", "CLAIM", "SOURCE", "note", "QUESTION"), 1)
)
# LOG and DOC stand for the ids of two slice files.
_CALLED: Final[Mapping[str, tuple[dict[str, Any], ...]]] = {
    "search": ({"query": "limit", "page": 1, "any": True, "since": "30d"},),
    "recall": ({"refs": ["turn:2c95cb2b-f886-45d4-96e8-2595a5b1f061", "file:LOG"], "tokens": 500, "rows": "all"},),
    "create": ({"title": "T", "summary": "S", "body": "x", "contract": ["write=append"], "links": []},),
    "remember": ({"id": "LOG", "text": "a fact", "confidence": 0.5}, {"id": "DOC", "text": "x", "section": "One"}),
    "connect": ({"id": "LOG", "rel": "see_also", "to": "DOC", "label": "x"},),
    "explore": ({"id": "LOG", "direction": "both", "depth": 3, "infer": True},),
    "context": ({"question": "which limit?", "tokens": 500, "as_of": "2026-07-01T00:00:00Z", "run": "r"},),
    "lost": ({"session": "5b0c7c1e-3d52-4f0e-9a86-2f7b1d0c64aa", "limit": 5},),
    "why": ({"ref": "run:r", "forward": True},),
    "run": (
        {"action": "log", "run": "r", "events": [{"type": "PLAN_DONE", "step": 1, "payload": {"text": "x"}}]},
        {"action": "claim", "run": "r", "statement": "It is.", "evidence": [{"ref": "file:DOC", "quote": "Text."}]},
        {"action": "start", "objective": "o", "done": "d"},
        {"action": "status", "run": "r"},
    ),
    "verify": ({"seal": "latest"},),
}
_MEMORY: Final = (
    {"command": "create", "path": "/memories/a.md", "file_text": "one\ntwo\n"},
    {"command": "view", "path": "/memories", "view_range": [1, 2]},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "1"},
    {"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "x"},
    {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"},
    {"command": "delete", "path": "/memories/b.md"},
)


def seeds(door: str) -> list[bytes]:
    """Returns the seeds of a door: our own first, then real files, if they are there."""
    own = [path.read_bytes() for path in sorted((CORPUS / door).glob("*"))]
    return [*own, *_made(door), *_real(door)] or [b""]


def _made(door: str) -> Iterator[bytes]:
    kind = door.removeprefix("importer-")
    if kind != door:
        yield SOUND[kind]
    elif door in ("recognised", "transcript", "kept-state"):
        yield from SOUND.values()
        yield SAMPLE.read_bytes()
    elif door in ("slice-file", "yaml", "bodies", "merge"):
        yield from _slices(door)
    elif door in _FEW:
        yield from _FEW[door]
    elif door == "zipped":
        yield _zip()
    elif door == "command":
        from fuzz.stateful import seeds_of_commands

        yield from seeds_of_commands()


_FEW: Final[Mapping[str, tuple[bytes, ...]]] = {
    "graph": tuple(path.read_bytes() for path in sorted((_PROJECT / "tests" / "golden").glob("*_*.json"))[:6]),
    "policy": (_POLICY,),
    "merges": (bytes(range(200)),),  # each input gives other random numbers
    "slices": (bytes(range(200)),),
    "reference": tuple(ref.encode() for ref in _REFS),
    "time": (b"2026-01-31T12:00:00Z", b"2026-01-31T12:00:00.123+01:00", b"2026-01-31 12:00"),
    "toml": (_TOML, _RULES),
    "note": (_NOTE, *(path.read_bytes() for path in sorted((_PROJECT / "docs").glob("*.md"))[:6])),
    "settings": (_TOML,),
    "rules": (_RULES,),
    "redaction": (_EVENTS,
    b"Authorization: Bearer abcdefghijklmnop0123456789\npassword = 'hunter2hunter2'\n", SAMPLE.read_bytes()),
    "events": (_EVENTS,),
    "stream": (_EVENTS,),
    "remember": (b'{"text": "one"}\n{"text": "two"}\n', b"A paragraph.\n\n# Heading\n\nMore.\n", b"plain"),
    "define": (b"title=New\nmeta.author=alice\nmeta.tags=[a, b]\ncontract.write=append", b"meta.x=\nsummary='a: b'"),
    "query": (b'retries "rate limit" retr*', b"foo_bar-baz.py OR a AND (b)", b"what was decided last week?",
    b"h\xc3\xa9ron", *(
        ref.encode() for ref in _REFS)),
    "hook": (json.dumps(_HOOK).encode(), json.dumps({**_HOOK, "source": "startup"}).encode()),
    "mcp": tuple(
        json.dumps({"name": name, "arguments": each}).encode() for name, calls in _CALLED.items() for each in calls
    ),
    "memory-tool": tuple(json.dumps(call).encode() for call in _MEMORY),
    "client-settings": (_SETTINGS, b"{}\n", b'{"hooks":{}}'),
    "agents-md": (b"# Agents\n\nText.\n", b"# A\n\n<!-- slicebase:begin -->\nold\n<!-- slicebase:end -->\n\nmore\n"),
    "seal": (b'["log","01J",3,"00"]\n["chain","turns/s",2,"00"]\n["chain","acts",1,"00"]\n["file","f","v"]\n',),
}  # fmt: skip


def _slices(door: str) -> Iterator[bytes]:
    files = [path.read_bytes() for path in sorted((_PROJECT / "tests" / "files" / "examples").rglob("*.slice"))]
    for data in files:
        header, _, body = data.partition(b"\n---\n")
        match door:
            case "yaml":
                yield header.removeprefix(b"---\n")
            case "bodies":
                yield body
            case "merge":
                changed = data.replace(b"title:", b"title: new", 1)
                yield b"\n=====\n".join((data, data + b'{"id":"r9","text":"x"}\n', changed))
            case _:
                yield data


def _zip() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", SOUND["chatgpt"])
        archive.writestr("a/b.jsonl", SOUND["claude-code"])
    return written.getvalue()


_FOLDERS: Final = {
    "importer-chatgpt": "chatgpt", "importer-claude": "claude-ai", "importer-claude-code": "claude-code",
    "importer-codex": "codex",
    "importer-gemini": "gemini", "importer-oasst": "oasst", "importer-swe-agent": "runs", "transcript": "claude-code",
    "redaction": "claude-code", "stream": "runs",
}  # fmt: skip


def _real(door: str) -> Iterator[bytes]:
    """Yields real files, read where they are, if they are there; of a long file, its beginning."""
    folder = _REAL / _FOLDERS.get(door, "nothing")
    files = (path for path in sorted(folder.rglob("*.json*")) if path.is_file())
    for path in islice(files, _MOST):
        with path.open("rb") as stream:
            yield stream.read(_LARGEST)
    if door in ("transcript", "importer-claude-code"):
        yield LONG_SAMPLE.read_bytes()[:_LARGEST]
