"""What is shown of a turn that was found is where its snippet says."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from slicebase.base import Slicebase


@given(
    before=st.integers(0, 3000).map(lambda count: "reed " * count),
    between=st.integers(0, 900).map(lambda count: "moss " * count),
    found=st.sampled_from(["heron", "Müller", "Mu\u0308ller", "parseHeron"]),
)
def test_the_place_of_a_snippet_is_in_the_whole_text_of_the_turn(before: str, between: str, found: str) -> None:
    said = f"{before}{found} {between}by the water"
    with TemporaryDirectory() as folder, Slicebase.init(Path(folder)) as base:
        source = Path(folder) / "said.json"
        source.write_text(json.dumps({"messages": [{"role": "user", "content": said}]}))
        base.import_([source])
        (view,) = base.search("heron" if found.endswith("eron") else "muller").turns
        assert view.text is not None
        assert view.snippet is not None
        first, last = view.snippet.marks[0]
        assert view.text[view.snippet.place :].startswith(view.snippet.text[first:last])
