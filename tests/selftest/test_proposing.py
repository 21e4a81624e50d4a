"""What was observed is proposed as an overlay: valid, marked, and without a contradiction to what is documented."""

from functools import reduce

import jsonschema_rs
import pytest
import schemathesis
import yaml
from openapi_spec_validator import validate

from reports.observations.behaviour import value_of
from reports.proposing.proposal import as_yaml
from reports.proposing.subjects import SUBJECTS, documented_at
from spec.interface import openapi, operations
from tests.selftest.overlays import (
    INTEGER,
    JSON,
    OBSERVED,
    PROBLEM,
    REFUSED,
    REFUSED_WITH_200,
    SCHEMA_OF_OVERLAYS,
    TEXT,
    an_answer,
    an_array,
    an_envelope,
    an_object,
    applied,
    extended,
    overlay,
)

EXECUTE, KEYS, ACCOUNTS = "/v1/execute/pix/{transactionId}", "/v1/pix/keys/{accountId}", "/v1/accounts"
NOT_NEEDED = {"registerPixKey.body.required": {"without account": [{"text": "not required"}]}}
ENVELOPE = {"$ref": "#/components/schemas/Envelope"}
SAYS = "Observed, not documented (staging, 2026-11-22): "
REPLACED = {
    ("paths", KEYS, "delete", "responses", "200", "content", JSON, "schema"),
    ("paths", KEYS, "get", "security"),
    ("paths", "/v1/pix", "post", "security"),
}
"""The two sorts of places where something else stands than before: the open `data`, and a token that is left open."""


def each(observed):
    """The observations one by one."""
    return [{name: seen} for name, seen in observed.items()]


def schema_of(document, path, method, status, media_type=JSON):
    return document["paths"][path][method]["responses"][status]["content"][media_type]["schema"]


def mark(*ids):
    return {"environment": "staging", "date": "2026-11-22", "requirement": [*ids]}


@pytest.mark.parametrize("observed", [OBSERVED, *each(OBSERVED)], ids=["all", *OBSERVED])
def test_an_overlay_and_what_it_makes_are_valid(observed):
    """By the schema of overlays, by another's validator of OpenAPI, and for Schemathesis."""
    made = overlay(observed)
    document = applied(made)
    validator = jsonschema_rs.Draft202012Validator(yaml.safe_load(SCHEMA_OF_OVERLAYS.read_text("utf-8")))

    assert validator.is_valid(made), list(validator.iter_errors(made))
    validate(document)
    assert len(list(schemathesis.openapi.from_dict(document).get_all_operations())) == 11


def changes(was, now, place=()):
    """The places at which something documented is no longer as it was."""
    if place in REPLACED or was == now:
        return
    if isinstance(was, dict) and isinstance(now, dict):
        for name in was:
            yield from changes(was[name], now.get(name), (*place, name))
    elif place[-1] != "description" or not now.startswith(was):
        yield place


def test_what_is_documented_stands():
    """Schemas, parameters, operations; descriptions begin as they did."""
    document = extended()

    assert list(changes(openapi(), document)) == []
    assert schema_of(document, KEYS, "delete", "200")["allOf"][0] == {"$ref": "#/components/schemas/Envelope"}
    assert list(changes({"a": {"b": 1}}, {"a": {}})) == [("a", "b")]


def test_everything_that_is_added_is_marked():
    """With where and when it was observed, and the requirements; and the description says so."""
    added = [
        action["update"] for action in overlay()["actions"] if "update" in action and "schema" not in action["update"]
    ]
    responses = [one for update in added for one in update.get("responses", {}).values()]
    marked = [one["x-observed"] for one in (*added, *responses) if "x-observed" in one]

    assert all("x-observed" in one and SAYS in one["description"] for one in responses)
    assert all("x-observed" in one and SAYS in one["description"] for one in added if set(one) != {"responses"})
    assert {name for one in marked for name in one["requirement"]} == OBSERVED.keys()
    assert {(one["environment"], one["date"]) for one in marked} == {("staging", "2026-11-22")}


def test_an_overlay_names_its_schema_and_its_origin():
    """The schema by its place in this project, on any machine."""
    made = overlay()

    assert made["overlay"] == "1.0.0"
    assert made["info"] == {"title": "Observed behaviour of staging, 2026-11-22", "version": "2026-11-22"}
    assert made["extends"] == "spec/openapi.yaml"


def test_an_undocumented_answer_is_a_response():
    """With its status, media type, shape and headers; an empty body has no content."""
    responses = extended()["paths"][EXECUTE]["get"]["responses"]

    assert responses["401"] == {
        "description": f"{SAYS}with a wrong token; without a token.",
        "x-observed": mark("executePix.refusal"),
        "headers": {"WWW-Authenticate": {"schema": {"type": "string", "examples": ["Bearer"]}}},
        "content": {PROBLEM: {"schema": REFUSED["shape"]}},
    }
    assert responses["403"]["content"] == {"text/plain": {}}
    assert "content" not in responses["405"]
    assert responses["404"]["description"] == f"{SAYS}an unknown transaction code."


def test_any_name_is_additional_properties():
    """An object keyed by data keeps no key."""
    found = schema_of(extended(), "/v1/accounts/balance/{accountId}", "get", "200")

    assert found["allOf"][1]["properties"]["data"] == {
        "type": "object",
        "additionalProperties": {"type": "number"},
    }


def test_answers_of_one_status_and_media_type_have_one_schema():
    """Refusals are merged; a refusal with the status of a success stands beside it, so that neither is lost."""
    twice = {
        "executePix.refusal": {"": [an_answer(404, JSON, an_object(detail=TEXT)), an_answer(404, "text/plain")]},
        "executePix.unknownCode": {"": [an_answer(404, JSON, an_object(detail=TEXT, id=TEXT))]},
    }
    found = extended(twice)["paths"][EXECUTE]["get"]["responses"]["404"]
    beside = schema_of(extended(), KEYS, "get", "200")

    assert found["content"][JSON]["schema"] == an_object(detail=TEXT, id=TEXT) | {"required": ["detail"]}
    assert found["x-observed"] == mark("executePix.refusal", "executePix.unknownCode")
    assert found["description"] == f"{SAYS}a refused request; an unknown transaction code."
    assert beside["anyOf"] == [
        {"allOf": [ENVELOPE, OBSERVED["listPixKeys.shape"][""][0]["shape"]]},
        REFUSED_WITH_200["shape"],
    ]


def test_a_refusal_with_the_status_of_a_documented_answer_is_words():
    """The schema of the documented answer stays as it is."""
    observed = {"executePix.refusal": {"without a token": [REFUSED_WITH_200]}}
    found = extended(observed)["paths"][EXECUTE]["get"]["responses"]["200"]

    assert found["content"] == openapi()["paths"][EXECUTE]["get"]["responses"]["200"]["content"]
    assert found["description"] == (
        f"The execution result in the envelope. {SAYS}without a token: {value_of(REFUSED_WITH_200)}."
    )


def test_data_of_a_deletion_is_described_within_the_envelope():
    """The envelope, which is documented, stays."""
    found = schema_of(extended(), KEYS, "delete", "200")

    assert found == {"allOf": [ENVELOPE, OBSERVED["deletePixKey.data"][""][0]["shape"]]}
    assert schema_of(openapi(), KEYS, "delete", "200") == ENVELOPE
    assert extended()["paths"][KEYS]["delete"]["responses"]["200"]["description"] == (
        f"The envelope; the fields of data are not shown. {SAYS}"
        f"an unknown account: {value_of(REFUSED_WITH_200)}; a valid request."
    )


def test_a_refusal_of_a_valid_request_is_no_success():
    """It is a response like any other, without an envelope."""
    observed = {"listAccounts.shape": {"": [an_answer(404, JSON, an_object(detail=TEXT))]}}

    assert schema_of(extended(observed), ACCOUNTS, "get", "404") == an_object(detail=TEXT)


@pytest.mark.parametrize(
    "answer",
    [
        an_answer(201, JSON, an_envelope(id=TEXT)),
        an_answer(200, JSON, an_array(TEXT)),
        an_answer(200, JSON, an_object(code=TEXT, data=an_object())),
        an_answer(200, JSON, an_object(code=INTEGER, data=an_array(TEXT))),
        an_answer(200, JSON, an_envelope(id=TEXT) | {"required": ["data"]}),
        an_answer(200, "text/plain"),
    ],
    ids=["201", "no object", "code is text", "data is a list", "code is optional", "no JSON"],
)
@pytest.mark.parametrize("of", ["createPix.shape", "deletePixKey.data"])
def test_a_success_that_contradicts_the_general_rule_is_words(answer, of):
    """A successful response is 200 with the envelope, says the interface document: no schema says otherwise."""
    document, operation = extended({of: {"": [answer]}}), operations()[of.split(".")[0]]
    was, now = (one["paths"][operation.path][operation.method.lower()] for one in (openapi(), document))

    assert list(changes(openapi(), document)) == []
    assert now["responses"] == was["responses"]
    assert now["description"].startswith(f"{SAYS}a valid request: {answer['status']} {answer['media_type']}")


@pytest.mark.parametrize(
    ("values", "required"),
    [(["required"], True), (["not required"], False), (["required", "not required"], False)],
    ids=["required", "not required", "varies"],
)
def test_a_read_that_needs_the_token_says_so(values, required):
    """Where it does not, or not always, nothing is narrowed."""
    observed = {"listAccounts.token": {"": [{"text": value} for value in values]}}
    found = extended(observed)["paths"][ACCOUNTS]["get"]

    assert found["security"] == ([{"bearer": []}] if required else [{}, {"bearer": []}])
    assert found["description"] == f"{SAYS}{'; '.join(f'access token: {value}' for value in sorted(values))}."


def test_a_field_without_which_nothing_is_registered_is_required():
    """One without which something was registered is not."""
    body = extended()["components"]["schemas"]["KeyRegistration"]

    assert body["required"] == ["pixKey"]
    assert body["description"] == (
        f"Which members are required is not shown. {SAYS}without account: answered like a complete registration; "
        "without account: required; without pixKey: required; without pixKeyType: not required."
    )
    assert "required" not in extended(NOT_NEEDED)["components"]["schemas"]["KeyRegistration"]
    assert body["properties"]["pixKeyType"]["enum"] == ["PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF"]


def test_what_has_no_member_of_its_own_is_words():
    """In the description of the field, of the operation, or of the whole."""
    document = extended()
    fields = document["components"]["schemas"]["ExecutionResult"]["properties"]

    assert fields["date"]["description"] == f"timestamp of the transaction. {SAYS}milliseconds since 1970."
    assert fields["date"]["x-observed"] == mark("executePix.date.unit")
    assert document["paths"][EXECUTE]["get"]["description"] == f"{SAYS}the same request again: same result."
    assert document["info"]["description"] == (
        f"The documented part of the interface and nothing else. {SAYS}values of code: 1; values of code: four digits; "
        "size limit, a body of 1 MB: 413 text/html."
    )


@pytest.mark.parametrize("requirement_id", SUBJECTS)
def test_what_is_about_one_place_is_said_there(requirement_id):
    """Its type, its values and the places beside it are as they were."""
    place = SUBJECTS[requirement_id]
    documented = documented_at(place)
    said = documented.get("description", "")
    found = reduce(dict.get, place, extended({requirement_id: {"digit 1": [{"text": "refused"}]}}))

    assert found == documented | {
        "description": f"{said}{'.' * (bool(said) and said[-1] != '.')} {SAYS}digit 1: refused.".lstrip(),
        "x-observed": mark(requirement_id),
    }


def test_what_is_about_a_path_parameter_or_several_operations_is_said_there():
    """The situation begins with its name, and the sentence has it, too."""
    document = extended()
    create, p2p = (document["paths"][path]["post"] for path in ("/v1/pix", "/v1/transfer/p2p"))

    assert document["components"]["parameters"]["accountId"]["description"] == (
        f"Its format is not shown. {SAYS}accountId: digits alone; accountId, made by the service: a UUID."
    )
    assert create["description"] == (
        f"{SAYS}a valid request: {value_of(OBSERVED['createPix.shape'][''][0])}; access token: required; deprecation: none."
    )
    assert create["security"] == [{"bearer": []}]
    assert (p2p["description"], p2p["security"]) == (f"{SAYS}access token: not required.", [{}, {"bearer": []}])


def test_what_no_response_can_hold_is_words():
    """A status of 600 or above; and a requirement that is in no ledger is left out."""
    odd = {"executePix.unknownCode": {"": [an_answer(799, JSON)]}, "executePix.other": {"": [an_answer(404, JSON)]}}
    found = extended(odd)["paths"][EXECUTE]["get"]

    assert found["responses"] == openapi()["paths"][EXECUTE]["get"]["responses"]
    assert found["description"] == f"{SAYS}an unknown transaction code: 799 application/json."


def test_a_shape_without_a_media_type_is_one_of_any_type():
    """So it is where what stands in its place is none."""
    for media_type in ("", "no media type"):
        observed = {"executePix.unknownCode": {"": [an_answer(404, media_type, an_object(detail=TEXT))]}}

        assert schema_of(extended(observed), EXECUTE, "get", "404", "*/*") == an_object(detail=TEXT)


def test_an_overlay_has_no_references_of_yaml():
    """What is the same twice is written twice: not every tool reads anchors."""
    assert "&" not in as_yaml([REFUSED, REFUSED])


HARD = [
    "1e3",
    "0o7",
    "1_000",
    "no",
    "on",
    "~",
    "null",
    "::error::x",
    "##[x]",
    "- x",
    "é",
    "\u202e",
    "a: b",
    "# x",
    ".5",
]


@pytest.mark.parametrize("text", HARD)
def test_every_text_is_read_as_it_was_written(text):
    """By YAML 1.1, and no line begins with a sign that a CI system or YAML 1.2 takes for something else."""
    written = as_yaml({text: {"required": [text, text * 100]}, "a": text})

    assert yaml.safe_load(written) == {text: {"required": [text, text * 100]}, "a": text}
    begins = [line.lstrip(" -")[0] for line in written.splitlines()]
    assert all(sign.isalpha() or sign in "'\"" for sign in begins)
