"""Services that say back what they were sent, in every place and every encoding."""

import base64
import html
import json
from urllib.parse import quote, unquote

from environments.sandbox import Response
from tests.selftest.services.serving import SocketService, response_bytes
from tests.selftest.services.signed import base64url_decoded

PERSONAL = {
    "document": "529.982.247-25",
    "name": "Maria Canario da Silva",
    "key": "maria.canario@personal.example",
    "account": "0099887766",
    "branch": "7766",
    "message": "aluguel da rua do canario",
}
"""Facts about a person, which the service tells in its answers. The profile of the run has none of them."""
JSON = "application/json"


def encodings(text: str) -> dict[str, str]:
    """The text in every usual encoding, by the name of the encoding."""
    raw = text.encode()
    return {
        "plain": text,
        "quoted": quote(text, safe=""),
        "base64": base64.b64encode(raw).decode(),
        "base64url": base64.urlsafe_b64encode(raw).decode().rstrip("="),
        "hex": raw.hex(),
        "json": "".join(f"\\u{ord(letter):04x}" for letter in text),
        "html": "".join(f"&#{ord(letter)};" for letter in text),
        "upper": text.upper(),
    }


def claims_of(credential: str) -> list[str]:
    """The header and the claims of a signed token, decoded: '{"sub": "…"}'. Empty if the credential is no such token."""
    if not credential.startswith("eyJ"):
        return []
    return [base64url_decoded(part).decode("utf-8", "replace") for part in credential.split(".")[:2]]


class Echoes(SocketService):
    """Repeats the values of a request, and tells facts about a person (PERSONAL), wherever a response has room.

    It repeats the credential, the claims of a signed token, the path parameter and the body, in each usual encoding.
    """

    def answer(self, connection, request):
        """Send an answer that has the values of the request in its headers and body, as they are and in each usual encoding.

        The values are the credential, the path parameter, the body, and the claims if the credential is a signed token.
        """
        credential = request.header("Authorization").rpartition(" ")[2]
        path_parameter = unquote(request.path.rpartition("/")[2])
        body_of_request = request.body.decode("utf-8", "replace")
        values = [credential, path_parameter, body_of_request, *claims_of(credential)]
        encoded_values = []
        for value in values:
            if value:
                encoded_values += encodings(value).values()
        status, media_type, body = self.status_type_and_body(values, encoded_values)
        half = len(credential) // 2
        headers = [("Content-Type", media_type), ("X-First", credential[:half]), ("X-Second", credential[half:])]
        headers += [(f"X-Echo-{number}", _as_header_value(text)) for number, text in enumerate(encoded_values)]
        headers += [("Location", f"/back?token={quote(credential)}&document={quote(PERSONAL['document'])}")]
        headers += [("Set-Cookie", f"session={credential}")]
        connection.sendall(response_bytes(Response(status, body.encode(), tuple(headers))))

    def status_type_and_body(self, values, encoded_values):
        """The status 200, the media type of JSON, and a body with all values and all facts about the person.

        `values` are texts of the request, and `encoded_values` are the same texts in each usual encoding.
        """
        person = {**PERSONAL, "Nested": [{"NAME": PERSONAL["name"], "Deep": {"Document": PERSONAL["document"]}}]}
        data = {**person, "error": " ".join(encoded_values), "echo": values}
        return 200, JSON, json.dumps({"code": 0, "data": data})


class EchoesInTurn(Echoes):
    """Repeats the values of a request, and tells facts about a person, in six ways, each time in the next one.

    The values are in plain text, in an HTML page, in names of members, in a redirect, in broken JSON and in a media
    type.
    """

    def status_type_and_body(self, values, encoded_values):
        """The status, the media type and the body of an answer: each time the next of six ways.

        `values` are texts of the request, and `encoded_values` are the same texts in each usual encoding.
        """
        _, _, json_with_everything = super().status_type_and_body(values, encoded_values)
        name, document = PERSONAL["name"], PERSONAL["document"]
        trace = f"Traceback (most recent call last): CPF {document}, name={name}"
        html_texts = [html.escape(text) for text in encoded_values]
        paragraphs = "".join(f"<p title='{text}'>{text}</p>" for text in html_texts)
        values_as_names = {text: {"balance": 1} for text in (*encoded_values, *values, *PERSONAL.values())}
        members = {"accounts": values_as_names, **{value: [values_as_names] for value in values}}
        value_of_this_turn = values[len(self.received) % 2] or "json"
        ways = (
            (500, "text/plain", "\n".join([trace, *encoded_values])),
            (404, "text/html", f"<html><name>{name}</name>{document}{paragraphs}</html>"),
            (200, JSON, json.dumps({"code": 0, "data": members, **PERSONAL})),
            (302, JSON, json_with_everything),
            (200, JSON, json_with_everything[:-20]),
            (422, f"application/{_as_header_value(value_of_this_turn)}", "{}"),
        )
        return ways[len(self.received) % len(ways)]


def _as_header_value(text: str) -> str:
    """The text as a header can have it: on one line, and at most 4,000 characters."""
    return text.replace("\r", " ").replace("\n", " ")[:4000]
