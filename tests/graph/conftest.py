import pytest

from slicebase.graph.selection import KernelName
from tests.graph.slicers import KERNELS, Fast, Plain, Slicer


@pytest.fixture(params=[Plain(), *map(Fast, KERNELS)], ids=["plain", *(f"{kernel}-arrays" for kernel in KERNELS)])
def slicer(request: pytest.FixtureRequest) -> Slicer:
    version: Slicer = request.param
    return version


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> KernelName:
    version: KernelName = request.param
    return version
