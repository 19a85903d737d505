"""The document of the API: well-formed, complete, and true of what the server sends."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from slicebase.web.api.table import ENDPOINTS
from slicebase.web.endpoints import LONGEST_URL
from slicebase.web.openapi import OTHERS, document
from tests.amounts import MORE
from tests.web.test_server import TOKEN, served

# A text can fit its type and still name nothing, or not follow the grammar of a reference. So what fits may be refused.
CHECKED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
DESCRIBED = msgspec.json.decode(msgspec.json.encode(document(ENDPOINTS, needs_token=False)))
OPERATIONS = [
    (path, method)
    for path, methods in DESCRIBED["paths"].items()
    for method, operation in methods.items()
    if "application/json" in operation["responses"]["200"]["content"]  # a stream may have no end
]


def test_the_document_is_well_formed() -> None:
    OpenAPIV31SpecValidator(DESCRIBED).validate()


def test_every_endpoint_is_described(writer: TestClient) -> None:
    served = writer.get("/api/v1/openapi.json").json()
    assert served["paths"].keys() == DESCRIBED["paths"].keys()
    names = [operation["operationId"] for path in served["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names)) == len(ENDPOINTS) + len(OTHERS)
    for path in served["paths"].values():
        for operation in path.values():
            assert operation["summary"].endswith(".")
            assert {"200", "default"} <= operation["responses"].keys() <= {"200", "304", "default"}


def test_no_text_in_an_address_may_be_longer_than_an_address(client: TestClient) -> None:
    for path, methods in client.get("/api/v1/openapi.json").json()["paths"].items():
        for each in methods["get"].get("parameters", ()):
            assert each["schema"].get("maxLength", 0) <= LONGEST_URL, path
    for path, name in (("context", "q"), ("sessions", "query")):
        assert client.get(f"/api/v1/{path}", params={name: "x" * 16_000}).status_code != 413


def test_a_server_that_only_reads_describes_only_that(client: TestClient) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    assert all(path.keys() == {"get"} for path in paths.values())


@pytest.fixture(scope="module")
def server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = Path(shutil.copytree(template, tmp_path_factory.mktemp("openapi") / "workspace"))
    with served(root, "--write") as (_, client):
        yield f"http://{client.host}:{client.port}"


@pytest.fixture(scope="module")
def schema() -> Any:
    return schemathesis.openapi.from_dict(DESCRIBED)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_answers_are_as_described(server: str, schema: Any, path: str, method: str, mode: GenerationMode) -> None:
    operation = schema[path][method.upper()]
    session = requests.Session()

    @settings(max_examples=MORE, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        answer = case.call(base_url=server, session=session, headers={"authorization": f"Bearer {TOKEN}"}, timeout=60)
        case.validate_response(answer, checks=CHECKED)

    with closing(session):
        try:
            check()
        except Unsatisfiable:  # without parameters, nothing can be wrong
            assert mode is GenerationMode.NEGATIVE


def test_what_is_no_endpoint_is_described_too(client: TestClient) -> None:
    for path in OTHERS:
        described = DESCRIBED["paths"][path]["get"]["responses"]["200"]["content"]
        assert client.head(path).headers["content-type"].partition(";")[0] in described


def test_every_header_of_a_failure_is_described(writer: TestClient) -> None:
    common = {name.lower() for name in writer.get("/").headers} | {"connection"}
    described = DESCRIBED["paths"]["/health"]["get"]["responses"]["default"]["headers"]
    refused = writer.post("/api/v1/seal", json={}, headers={"authorization": "Bearer wrong"})
    for answer in (writer.get("/api/v1/seal"), writer.get("/api/v1/nothing"), refused):
        assert {name for name in answer.headers if name not in common} <= {name.lower() for name in described}
