"""`tt slice` with `--bundle`, `--verify` and `--admits`: slices that are checked elsewhere, or without a workspace."""

import os
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from slicebase.cli.options import named_root, open_base
from slicebase.cli.output import counted, note, print_json, print_json_text, print_text, printable, read_input
from slicebase.core.parsers import read_all
from slicebase.errors import Exit, SlicebaseError, Where

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.graph.policy import SlicePolicyV1
    from slicebase.graph.proof import SliceProof
    from slicebase.verbs.shown import ShownTurns

KEY_VARIABLE = "SLICEBASE_BUNDLE_KEY"
_MOST_READ = 256 << 20  # bytes of a bundle or an export
_LARGEST_KEY = 1 << 16
_SHOWN = 8  # references of what has grown

key_option = click.option(
    "--key", metavar="FILE", help=f"The file with the key of a signature, which only you may read (or {KEY_VARIABLE})."
)


_Command = TypeVar("_Command", bound=Callable[..., Any])


def within_options(command: _Command) -> _Command:
    """Adds options that limit a command to what a bundle or a SliceExport shows, which it gets as `within`."""

    @wraps(command)
    def call(*args: Any, within: str | None, key: str | None, **options: Any) -> Any:
        if key is not None and within is None:
            raise click.UsageError("--key goes with --within.")
        return command(*args, within=None if within is None else shown_in(within, key), **options)

    text = "Accept only what this bundle or SliceExport shows."
    return click.option("--within", metavar="FILE", help=text)(key_option(call))  # type: ignore[return-value]


def print_bundle(
    base: "Slicebase", turn: str, policy: "SlicePolicyV1", file: str, key: str | None, as_json: bool
) -> int:
    """Writes the bundle of a slice to a file, or to stdout."""
    found = base.graph.bundle(turn, policy, key=given_key(key), to=None if file == "-" else file)
    if file == "-":
        print_json_text(found.to_bytes().decode(), exact=True)
    elif as_json:
        signed = found.signature is not None
        print_json({"file": file, "graph_snapshot_hash": found.graph_snapshot_hash, "signed": signed})
    else:
        note(f"Wrote {file}{'' if found.signature is None else ', signed'}: {found.graph_snapshot_hash}")
    return Exit.DONE


def verify(
    ctx: click.Context, file: str, policy: str | None, assignments: tuple[str, ...], key: str | None, as_json: bool
) -> int:
    """Checks a bundle or a SliceExport, against the workspace if there is one."""
    from slicebase.verbs.slice_proof import policy_elsewhere, prove_elsewhere

    data, secret, base = stored_slice(file), given_key(key), nearest(ctx)
    try:
        if base is None:
            proof = prove_elsewhere(data, policy_elsewhere(policy, assignments), key=secret)
        else:
            chosen = base.graph.policy(policy, assignments) if policy or assignments else None
            proof = base.graph.verify(data, chosen, key=secret)
    except SlicebaseError as error:
        raise error.at(Where(file)) from None
    if as_json:
        print_json({"file": file, **proof.as_json()}, default=str)
    else:
        _print_proof(proof)
    return proof.exit


def admits(ctx: click.Context, file: str, references: tuple[str, ...], key: str | None, as_json: bool) -> int:
    """Says which references are in what a bundle or a SliceExport shows."""
    shown, base = shown_in(file, key), nearest(ctx)
    found = {each: shown.has(each, base) for each in references}
    if as_json:
        print_json({"file": file, "slice_id": shown.slice_id, "admits": all(found.values()), "refs": found})
    else:
        for reference, is_in in found.items():
            print_text(f"{'shown    ' if is_in else 'not shown'}  {reference}")
    return Exit.DONE if all(found.values()) else Exit.FINDINGS


def shown_in(file: str, key: str | None) -> "ShownTurns":
    """Returns what a bundle or a SliceExport shows, as a boundary."""
    from slicebase.verbs.shown import ShownTurns

    try:
        return ShownTurns.in_bundle(stored_slice(file), given_key(key))
    except SlicebaseError as error:
        raise error.at(Where(file)) from None


def stored_slice(file: str) -> bytes:
    """Returns the bytes of a bundle or of a SliceExport."""
    with read_input(file) as stream:
        return read_all(stream, file, _MOST_READ)


def nearest(ctx: click.Context) -> "Slicebase | None":
    """Opens the workspace of this call if there is one that has a database: nothing is created."""
    try:
        base = open_base(ctx)
    except SlicebaseError as error:
        if error.code != "no-workspace" or named_root(ctx) is not None:
            raise
        return None
    return base if base.workspace.has_memory else None


def given_key(file: str | None) -> bytes | None:
    """Returns the key of a file or of the environment, without a line end after it; None if neither is given."""
    if file is None:
        text = os.environ.get(KEY_VARIABLE)
        return None if text is None else _strong(os.fsencode(text))
    from slicebase.workspace.atomic import read_bytes

    try:
        if os.stat(file).st_mode & 0o077:
            raise SlicebaseError("weak-key", "others may read the key", hint=f"chmod 600 {file}", where=Where(file))
        return _strong(read_bytes(Path(file), follow=True, most=_LARGEST_KEY), file)
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(file)) from None


def _strong(key: bytes, file: str | None = None) -> bytes:
    from slicebase.graph.bundle import checked_key

    try:
        return checked_key(key.removesuffix(b"\n").removesuffix(b"\r"))
    except SlicebaseError as error:
        raise error.at(Where(file or KEY_VARIABLE)) from None


def _print_proof(proof: "SliceProof") -> None:
    """Prints a proof. Ids and values are those of the file: none of them can begin a line."""
    for line in _proof_lines(proof):
        print_text(printable(line))


def _proof_lines(proof: "SliceProof") -> Iterator[str]:
    yield f"{proof.status}  {proof.kind} of slice {proof.export.slice_id}, {counted(len(proof.export.turns), 'turn')}"
    for finding in proof.findings:
        values = f": {finding.expected} expected, {finding.found} found" if finding.expected or finding.found else ""
        yield f"  broken     {finding.check}: {finding.message}{values}"
    for drift in proof.drift:
        more = f", and {len(drift.refs) - _SHOWN} more" if len(drift.refs) > _SHOWN else ""
        yield f"  drifted    {drift.what}: {', '.join(drift.refs[:_SHOWN]) or 'not selected'}{more}"
    for check, why, _ in proof.unchecked:
        yield f"  unchecked  {check}: {why}"
    for reason in proof.explained:
        yield f"  explained  {_EXPLAINED[reason]}"


_EXPLAINED = {
    "spelling": "the slice_id is made with capital letters, as the published kernel does",
    "ties": "of equal candidates, the published kernel took those with the higher ids",
}
