"""A stored session as a conversation slice file that imports to the same ids and branches."""

from slicebase.errors import SlicebaseError
from slicebase.files.create import new_file
from slicebase.files.model import Conversation
from slicebase.files.slice_file import SliceFile
from slicebase.graph.turn import Edge, Turn
from slicebase.importers.conversation import export_conversation
from slicebase.store.truth import Truth


def export_session(truth: Truth, session: str, file_id: str) -> SliceFile:
    """Refuses a session of which texts were purged: what is not there cannot be exported."""
    turns: list[Turn] = []
    for stored in truth.turns.of_session(session):
        text = truth.texts.get(f"session:{session}", stored.record.content_hash)
        turn = truth.turn(stored.record.id)
        if turn is None or text is None or text.data is None:
            raise SlicebaseError("purged", f"the text of turn:{stored.record.id} was purged")
        turns.append(turn)
    links = [Edge(link.parent, link.child, link.type) for link in truth.turns.links_of(session)]
    header, lines = export_conversation(truth.turns.session(session), turns, links)
    return new_file(
        id=file_id,
        title=header["title"],
        summary=header["summary"],
        body_type="conversation",
        conversation=Conversation(**header["body"]["conversation"]),
        meta=header["meta"],
        body=b"".join(lines),
    )
