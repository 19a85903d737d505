"""The table of endpoints: every address of the API, family by family."""

from typing import Final

from slicebase.web.api import (
    attention,
    bodies,
    contexts,
    files,
    links,
    manifests,
    policies,
    proofs,
    recall,
    run_items,
    run_writes,
    runs,
    search,
    sessions,
    slices,
    snapshots,
    status,
    writes,
)
from slicebase.web.endpoints import Endpoint

ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    *status.ENDPOINTS,
    *attention.ENDPOINTS,
    *search.ENDPOINTS,
    *files.ENDPOINTS,
    *bodies.ENDPOINTS,
    *links.ENDPOINTS,
    *sessions.ENDPOINTS,
    *slices.ENDPOINTS,
    *policies.ENDPOINTS,
    *contexts.ENDPOINTS,
    *manifests.ENDPOINTS,
    *runs.ENDPOINTS,
    *run_items.ENDPOINTS,
    *snapshots.ENDPOINTS,
    *proofs.ENDPOINTS,
    *recall.ENDPOINTS,
    *writes.ENDPOINTS,
    *run_writes.ENDPOINTS,
)
