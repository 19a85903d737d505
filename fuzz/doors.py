"""The doors without state: each takes any bytes, and returns or raises SlicebaseError. Anything else is a crash.

A door also checks what must hold for what it accepted: written again it is the same, counts add up, twins agree.
"""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Final

from fuzz.merge_checks import check
from fuzz.merges import Versions, versions
from fuzz.slices import check_slices
from slicebase.context.manifest import manifest_bytes, read_manifest
from slicebase.core.parsers import decode, read_json, read_toml
from slicebase.core.refs import parse
from slicebase.core.times import from_text, to_text
from slicebase.errors import SlicebaseError
from slicebase.files.body.conversation import read_conversation
from slicebase.files.body.routine import compile_routine, read_routine
from slicebase.files.body.rows import read_rows
from slicebase.files.body.sections import sections
from slicebase.files.body.supersession import active, supersession_findings
from slicebase.files.check.between import FileLocation
from slicebase.files.check.file import check_file
from slicebase.files.note import note_sections, note_text, read_note
from slicebase.files.note_links import NamedNote, NoteNames
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.load import load, load_plainly
from slicebase.files.yaml.stream import check_stream
from slicebase.graph.export import read_export
from slicebase.graph.graph_file import read_graph
from slicebase.graph.policy import policy_from_bytes
from slicebase.graph.proof import examine
from slicebase.importers.formats import FORMATS, Import, recognise
from slicebase.importers.heads import head_of
from slicebase.importers.values import Format, ImportReport, ImportSource, Options
from slicebase.runs.event import read_lines
from slicebase.secrets.redact import Redactor, redact_value
from slicebase.secrets.rule_file import read_rules

Door = Callable[[bytes], object]

_FAILED: Final = {"importer-failed", "partly-read"}


def slice_file(data: bytes) -> None:
    check_file(data, FileLocation("x.slice", ".slices/x.slice"))
    file = SliceFile.parse(data, "x.slice")
    assert file.to_bytes() == data, "written again, the file differs"


def yaml(data: bytes) -> None:
    text = decode(data)
    plain: object
    try:
        plain = load_plainly(text)
    except SlicebaseError as error:
        plain = error.code
    try:
        quick: object = load(text)
    except SlicebaseError as error:
        quick = error.code
    assert repr(plain) == repr(quick), "the quick reader and the plain one differ"
    check_stream(text)


def bodies(data: bytes) -> None:
    rows = read_rows(data)
    active(rows.rows)
    list(supersession_findings(rows.rows))
    read_conversation(data)
    routine = read_routine(data)
    compile_routine("title", "summary", routine.steps, lambda name: None)
    text = data.decode(errors="replace")
    ends = [each.end for each in sections(text)]
    assert not ends or max(ends) == len(text), "the sections leave a part out"


def note(data: bytes) -> None:
    text = note_text(data)
    read = read_note(text, "x.md")
    assert read.title.strip(), "a note has no title"
    assert read.summary.strip(), "a note has no summary"
    assert "".join(text[each.start : each.end] for each in note_sections(text)) == text, "the sections are not the text"
    names = NoteNames([NamedNote("docs/x.md", "docs", read.targets.aliases), NamedNote("docs/a.md", "docs")])
    assert "docs/x.md" not in names.resolved("docs/x.md", read.targets.links).paths, "a note links to itself"


def importer(known: Format) -> Door:
    def read(data: bytes) -> None:
        for name in ("x.jsonl", "x.json"):
            known.sniff(head_of(data, name))
            report = ImportReport()
            for batch in Import(Options(session="s")).read(ImportSource(name, [data]), known):
                report.add(batch)
            assert report.adds_up, "a record is neither a turn, nor another record, nor skipped"
            failed = [note for note in report.notes if note.reason in _FAILED]
            assert not failed, failed[0]

    return read


def recognised(data: bytes) -> None:
    for name in ("x.json", "x.jsonl"):
        recognise(ImportSource(name, [data]))


def policy(data: bytes) -> None:
    policy_from_bytes(data)


def manifest(data: bytes) -> None:
    found = read_manifest(data)
    assert read_manifest(manifest_bytes(found)) == found, "written again, the manifest differs"


def reference(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    ref = parse(text)
    assert parse(str(ref)) == ref, "written again, the reference differs"


def time(data: bytes) -> None:
    moment = from_text(decode(data))
    assert from_text(to_text(moment)) == moment, "written again, the time differs"


def toml(data: bytes) -> None:
    read_toml(decode(data), "bad-setting", "it")


def rules(data: bytes) -> None:
    redactor = Redactor(read_rules(decode(data)))
    redact_value(data.decode(errors="replace"), redactor)


def redaction(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    once = redact_value(text).value
    assert redact_value(once).value == once, "redacted twice, the text differs"
    redact_value(read_json(data))


def merge(data: bytes) -> None:
    base, _, rest = data.partition(b"\n=====\n")
    ours, _, theirs = rest.partition(b"\n=====\n")
    check(Versions(base, ours, theirs))


def merges(data: bytes) -> None:
    check(versions(Random(data)))


def bundle(data: bytes) -> None:
    examine(data, key=b"a key of twenty bytes").proof()


def slices(data: bytes) -> None:
    check_slices(Random(data))


def events(data: bytes) -> None:
    list(read_lines(data.splitlines(keepends=True), "x.jsonl"))


def pure_doors() -> Iterator[tuple[str, Door]]:
    """Yields every door by its name."""
    for known in FORMATS:
        yield f"importer-{known.name}", importer(known)
    others: Mapping[str, Door] = {
        "slice-file": slice_file, "yaml": yaml, "bodies": bodies, "recognised": recognised, "graph": read_graph,
        "export": read_export, "policy": policy, "manifest": manifest, "reference": reference, "time": time,
        "toml": toml, "note": note, "bundle": bundle,
        "rules": rules, "redaction": redaction, "merge": merge, "merges": merges, "slices": slices,
        "events": events,
    }  # fmt: skip
    yield from others.items()
