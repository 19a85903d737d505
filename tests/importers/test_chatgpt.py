"""ChatGPT's export. The expected numbers were counted by hand."""

import json
from typing import Any

from slicebase.core.ids import turn_id
from slicebase.graph.turn import Part
from slicebase.importers.chatgpt import sniff
from slicebase.importers.heads import head_of
from tests.importers.reading import take, texts


def message(role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    return {
        "author": {"role": role, "name": more.pop("name", None)},
        "content": content,
        "create_time": 1700000000.5,
        **more,
    }


def node(parent: str | None, said: Any, *children: str) -> dict[str, Any]:
    return {"parent": parent, "message": said, "children": list(children)}


def conversation(**mapping: Any) -> dict[str, Any]:
    return {
        "conversation_id": "c",
        "title": "Bread",
        "create_time": 1699999999.0,
        "current_node": "b2",
        "mapping": mapping,
    }


def export(*conversations: Any, indent: int | None = None) -> bytes:
    return json.dumps(list(conversations), indent=indent).encode()


TREE = conversation(
    root=node(None, None, "a"),
    # The order of siblings is that of the parent's list, not that of the mapping.
    b2=node("a", message("assistant", "Second answer")),
    a=node("root", message("user", "How long?"), "b1", "b2"),
    b1=node("a", message("assistant", "First answer"), "c"),
    c=node("b1", message("user", "Thanks")),
)


def test_the_complete_tree_is_kept_with_every_branch() -> None:
    taken = take(("conversations.json", export(TREE)))
    named = {turn_id("chatgpt", "c", name): name for name in ("a", "b1", "b2", "c")}
    assert [named[turn.id] for turn in taken.turns] == ["a", "b1", "c", "b2"]
    assert [(named[parent], named[child], kind) for parent, child, kind in taken.edges] == [
        ("a", "b1", "reply"), ("b1", "c", "reply"), ("a", "b2", "branch"),
    ]  # fmt: skip
    assert taken.report.others == {"empty node": 1}
    session = taken.sessions["c"]
    assert (session.title, named[session.facts["shown_last"]]) == ("Bread", "b2")


def test_later_exports_give_the_same_turns() -> None:
    """Ruling 15: child lists grow, metadata appear and disappear."""
    later = json.loads(json.dumps(TREE))
    later["mapping"]["c"]["children"] = ["d"]
    later["mapping"]["d"] = node("c", message("assistant", "Welcome"))
    later["mapping"]["a"]["message"]["metadata"] = {"request_id": "x"}
    before, after = (take(("conversations.json", export(each))).by_id for each in (TREE, later))
    assert {key: turn.source_hash for key, turn in before.items()}.items() <= {
        key: turn.source_hash for key, turn in after.items()
    }.items()
    assert len(after) == len(before) + 1


def only_turn(said: dict[str, Any]) -> Any:
    return take(("conversations.json", export(conversation(a=node(None, said)))))


def test_a_message_to_a_tool_is_a_call_and_a_message_from_it_is_a_result() -> None:
    code = {"content_type": "code", "language": "python", "text": "1 + 1"}
    call = only_turn({**message("assistant", recipient="python"), "content": code}).turns[0]
    assert call.parts == (Part("tool_call", name="python", arguments="1 + 1", language="python"),)
    search = only_turn(message("assistant", '{"query": "rye"}', recipient="browser")).turns[0]
    assert search.parts == (Part("tool_call", name="browser", arguments={"query": "rye"}),)
    output = {"content_type": "execution_output", "text": "2"}
    answer = only_turn({**message("tool", name="python"), "content": output}).turns[0]
    assert (answer.role, answer.parts) == ("tool", (Part("tool_result", text="2", name="python"),))


def test_quoted_pages_keep_their_text_and_address() -> None:
    quote = {
        "content_type": "tether_quote",
        "title": "Rye",
        "text": "Rye is a grass.",
        "url": "https://example.org/rye",
    }
    parts = only_turn({**message("tool", name="browser"), "content": quote}).turns[0].parts
    assert [(part.type, part.text, part.uri) for part in parts] == [
        ("tool_result", "Rye\n\nRye is a grass.", None), ("pointer", None, "https://example.org/rye"),
    ]  # fmt: skip


def test_thoughts_are_thinking() -> None:
    content = {"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "Check the oven"}]}
    assert only_turn({**message("assistant"), "content": content}).turns[0].parts == (
        Part("thinking", text="Plan\n\nCheck the oven"),
    )


def test_multimodal_parts_are_text_and_a_pointer_and_an_attachment_is_not_repeated() -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}
    attachments = [
        {"id": "file_1", "name": "loaf.png"},
        {"id": "file_2", "name": "notes.txt", "mime_type": "text/plain"},
    ]
    said = message("user", "Look", image, metadata={"attachments": attachments})
    said["content"]["content_type"] = "multimodal_text"
    taken = only_turn(said)
    assert [(part.type, part.uri) for part in taken.turns[0].parts] == [
        ("text", None), ("pointer", "sediment://file_1"), ("pointer", "file_2"),
    ]  # fmt: skip
    assert taken.reasons() == {"media": 2}


def test_messages_that_are_not_shown_are_hidden() -> None:
    metadata = {"is_visually_hidden_from_conversation": True}
    assert only_turn(message("system", "", metadata=metadata)).turns[0].parts == (Part("text", text="", hidden=True),)


def test_an_unknown_content_type_keeps_its_text() -> None:
    content = {"content_type": "smell", "text": "fresh bread"}
    taken = only_turn({**message("assistant"), "content": content})
    assert texts(taken.turns[0]) == ["fresh bread"]
    assert taken.reasons() == {"unknown-content": 1}


def test_what_is_no_conversation_beside_named_ones_costs_only_itself() -> None:
    conversation = json.loads(export(TREE))[0]
    named = {"first": conversation, "nothing": None, "odd": "some words", "empty": {}}
    taken = take(("conversations.json", json.dumps(named).encode()))
    assert len(taken.turns) == len(take(("conversations.json", export(TREE))).turns)
    skipped = [(note.where.rpartition(".")[2], note.lost) for note in taken.report.notes if note.action == "skipped"]
    assert skipped == [("nothing", False), ("odd", True), ("empty", False)]


def test_a_null_title_and_missing_times_do_not_prevent_the_import() -> None:
    value = {**TREE, "title": None}
    value["mapping"] = {"a": node(None, {**message("user", "hi"), "create_time": None})}
    taken = take(("conversations.json", export(value)))
    assert taken.sessions["c"].title is None
    assert taken.turns[0].time == 1699999999000
    assert taken.reasons() == {"no-time": 1}


def test_a_child_that_only_its_parent_names_is_linked_and_a_cycle_is_cut() -> None:
    loose = conversation(a=node(None, message("user", "x"), "b"), b=node(None, message("assistant", "y")))
    assert len(take(("conversations.json", export(loose))).edges) == 1
    circle = conversation(a=node("b", message("user", "x"), "b"), b=node("a", message("assistant", "y"), "a"))
    taken = take(("conversations.json", export(circle)))
    assert (len(taken.turns), len(taken.edges), taken.reasons()) == (2, 1, {"cycle": 1})


def test_a_damaged_conversation_does_not_affect_the_others() -> None:
    whole = json.dumps(TREE)
    other = json.dumps({**TREE, "conversation_id": "d"})
    taken = take(("conversations.json", f"[{whole}, {whole[:200]}, {other}]".encode()), chunk=100)
    assert set(taken.sessions) == {"c", "d"}
    assert taken.reasons() == {"not-json": 1, "glued": 1}


def test_conversations_by_name_or_in_a_list_are_found() -> None:
    named = json.dumps({"first": {"mapping": TREE["mapping"]}, "second": {"mapping": TREE["mapping"]}}).encode()
    assert set(take(("x.json", named)).sessions) == {"first", "second"}
    listed = json.dumps({"conversations": [TREE]}).encode()
    assert set(take(("x.json", listed)).sessions) == {"c"}


def test_any_chunks_and_any_indentation_give_the_same_turns() -> None:
    plain = take(("conversations.json", export(TREE))).turns
    for indent in (None, 1):
        for chunk in (1, 7, 4096):
            assert take(("conversations.json", export(TREE, indent=indent)), chunk=chunk).turns == plain


def test_sniffing_needs_a_mapping() -> None:
    assert sniff(head_of(export(TREE), "conversations.json"))
    assert not sniff(head_of(b'[{"uuid": "x", "chat_messages": []}]', "conversations.json"))
