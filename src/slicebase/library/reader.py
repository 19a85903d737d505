"""The verbs that read the content of slice files, and what else a reference leads to."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from slicebase.core.times import Moment, milliseconds
from slicebase.errors import SlicebaseError, Where, refuse_unknown
from slicebase.files.body.routine import RoutineStep, compile_routine, contract_as_json, read_routine
from slicebase.files.body.write import refuse_broken
from slicebase.index.schema import ReadProgress
from slicebase.library.finder import Finder
from slicebase.library.folder import SliceFolder
from slicebase.library.links import Linker
from slicebase.library.logs import Logs
from slicebase.library.names import Names
from slicebase.workspace.surroundings import Surroundings, at_once, one_thread_at_a_time
from slicebase.workspace.workspace import Workspace

if TYPE_CHECKING:  # start-up time matters: a verb imports what it needs when it is called
    from slicebase.context.recall import Page
    from slicebase.library.recall import Recall, Which
    from slicebase.truth.names import StoredNames
    from slicebase.truth.truth import Truth


@one_thread_at_a_time
class Reader(Finder):
    """Reads the slice files of a workspace."""

    def __init__(
        self,
        workspace: Workspace,
        truth: "Callable[[], Truth]",
        surroundings: Surroundings | None = None,
        progress: ReadProgress = lambda done, total: None,
    ) -> None:
        super().__init__(workspace, surroundings, progress)
        self.folder = SliceFolder(workspace)
        self._logs = Logs(self.folder, self.part_links)
        self._truth = truth
        self._names = Names(workspace, self.surroundings, self.folder, self._stored_names)
        self._linker = Linker(self.folder, self._logs, self._names, lambda turn: turn in truth().turns.find([turn]))

    def _stored_names(self) -> "StoredNames":
        from slicebase.truth.names import StoredNames  # imported here to keep start-up fast

        return StoredNames(self._truth().database, self.surroundings)

    def recall(
        self, refs: str | Iterable[str], *, rows: "Which" = "active", tokens: int | None = None, page: int = 1
    ) -> "Page":
        """Returns what references lead to, fenced and labelled for a model; with `tokens`, one page of it."""
        from slicebase.context.recall import pages

        named = [refs] if isinstance(refs, str) else refs
        found = pages(self.reader(rows).pieces(named), tokens)
        if not 1 <= page <= len(found):
            raise SlicebaseError("no-page", f"there is no page {page}", hint=f"the pages are 1 to {len(found)}")
        return found[page - 1]

    @at_once
    def reader(self, rows: "Which" = "active", *, as_of: Moment | None = None) -> "Recall":
        """Returns a reader that finds what references lead to, piece by piece, as of a time.

        It reads each file once: what is written later is not seen.
        """
        from slicebase.library.recall import WHICH, Recall
        from slicebase.library.views import FolderView

        refuse_unknown("rows", rows, WHICH)
        now = self.surroundings.now() if as_of is None else milliseconds(as_of)
        half_life = self.surroundings.settings.freshness_half_life_days
        view = FolderView(self.folder)
        logs = Logs(view, self.part_links)
        names = Names(self.workspace, self.surroundings, view, self._stored_names)
        return Recall(self.surroundings, view, logs, names, self._truth, now, half_life, rows)

    def routine(self, file_id: str) -> str:
        """Returns a routine as Markdown to follow. Nothing is executed (ruling 30)."""
        file = self.folder.find(file_id)
        if file.body_type != "routine":
            raise SlicebaseError("write-mode", f"a {file.body_type} body is not a routine", where=Where(file.name))
        for absent in self._logs.absent(file):
            message = f"a part of the routine is {absent.how}: {absent.id}"
            raise SlicebaseError("no-file", message, hint=absent.hint, where=Where(file.name))
        steps: list[RoutineStep] = []
        for part in self._logs.read(file):
            found, findings = read_routine(part.body, part.body_line, part.name)
            refuse_broken(part, findings)
            steps += found
        return compile_routine(file.title or "", file.summary or "", steps, self._linker.title_of)

    def contract(self, file_id: str) -> dict[str, Any]:
        """Returns what belongs in a file, what does not, and where the latter goes."""
        return contract_as_json(self.folder.find(file_id), self._linker.title_of)
