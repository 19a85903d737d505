"""The order of joined files: the plain way agrees with the one that looks each part up once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.body.overflow import ARCHIVED, CONTINUED, whole_of
from slicebase.files.body.part_order import each_ordered, ordered
from slicebase.files.body.whole import in_reading_order
from slicebase.files.create import new_file
from slicebase.files.model import Link
from slicebase.files.slice_file import SliceFile
from tests.amounts import MORE

NAMES = [f"F{number}" for number in range(7)]
LINKS = st.builds(
    Link, st.sampled_from(["part_of", "has_part"]), st.sampled_from(NAMES), st.sampled_from([CONTINUED, ARCHIVED, None])
)


def file_of(name: str, *links: Link) -> SliceFile:
    return new_file(
        id=name, title="T", summary="S.", body_type="jsonl", body=b"", links=links, name=f".slices/{name}.slice"
    )


def one_after_the_other(files: list[SliceFile]) -> list[SliceFile]:
    """Returns files in the order of their content, each with the parts that are found among all that are left."""
    left = {file.id: file for file in sorted(files, key=lambda file: (file.id or "", file.name))}
    found: list[SliceFile] = []
    for tops in ([file for file in left.values() if whole_of(file) not in left], [*left.values()]):
        for file in tops:
            if file.id in left:
                found += ordered(file, [*left.values()])
                left = {each: part for each, part in left.items() if part not in found}
    return found


@settings(max_examples=MORE * 10)
@given(st.lists(st.lists(LINKS, max_size=3), max_size=len(NAMES)))
def test_joined_files_are_in_the_order_of_their_content_and_each_is_there_once(links: list[list[Link]]) -> None:
    files = [file_of(name, *each) for name, each in zip(NAMES, links, strict=False)]
    assert in_reading_order(files) == one_after_the_other(files)
    assert sorted(file.name for file in in_reading_order(files)) == [file.name for file in files]


def test_thousands_of_files_that_people_joined_are_ordered_without_looking_for_parts_in_all_of_them() -> None:
    files = [file_of(f"F{number:05}", Link("part_of", "F00000")) for number in range(10_000)]
    assert in_reading_order(reversed(files)) == files
    assert [len(each) for each in each_ordered({file.id: file for file in files}, files)] == [1] * len(files)
