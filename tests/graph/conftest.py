import pytest

from tests.graph.slicers import Fast, Plain, Slicer


@pytest.fixture(params=[Plain(), Fast()], ids=["plain", "fast"])
def slicer(request: pytest.FixtureRequest) -> Slicer:
    version: Slicer = request.param
    return version
