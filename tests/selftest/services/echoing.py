"""Services that say back what they were sent, in every place and every encoding."""

import base64
import html
import json
from urllib.parse import quote, unquote

from environments.sandbox import Response
from tests.selftest.services.serving import Raw, as_bytes
from tests.selftest.services.signed import decoded

PERSONAL = {
    "document": "529.982.247-25",
    "name": "Maria Canario da Silva",
    "key": "maria.canario@personal.example",
    "account": "0099887766",
    "branch": "7766",
    "message": "aluguel da rua do canario",
}
"""What a service tells of people; none of it stands in the profile."""


def encodings(text: str) -> dict[str, str]:
    """The text in every way in which it may be written."""
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


class Echoes(Raw):
    """Puts what it was sent, and what it knows of people, wherever a response has room."""

    status = 200

    def answer(self, connection, request):
        sent = request.header("Authorization").partition(" ")[2]
        values = [sent, unquote(request.path.rpartition("/")[2]), request.body.decode("utf-8", "replace")]
        forms = [form for value in values if value for form in encodings(value).values()]
        body = self.body(request, values, forms)
        headers = [(f"X-Echo-{number}", _in_a_header(form)) for number, form in enumerate(forms)]
        half = len(sent) // 2
        headers += [("X-First", sent[:half]), ("X-Second", sent[half:]), ("Set-Cookie", f"session={sent}")]
        headers += [("Location", f"/back?token={quote(sent)}&document={quote(PERSONAL['document'])}")]
        connection.sendall(
            as_bytes(Response(self.status_of(request), body, (("Content-Type", self.media_type), *headers)))
        )

    media_type = "application/json"

    def status_of(self, request):
        return self.status

    def body(self, request, values, forms):
        people = {**PERSONAL, "Nested": [{"NAME": PERSONAL["name"], "Deep": {"Document": PERSONAL["document"]}}]}
        return json.dumps({"code": 0, "data": {**people, "error": " ".join(forms), "echo": values}}).encode()


class EchoesInText(Echoes):
    """The same in a body that is no JSON, with an error."""

    status, media_type = 500, "text/plain"

    def body(self, request, values, forms):
        told = f"Traceback (most recent call last): CPF {PERSONAL['document']}, {PERSONAL['key']}"
        return "\n".join([told, *forms, *(f"name={PERSONAL['name']}" for _ in range(2))]).encode()


class EchoesInHtml(Echoes):
    """The same in a page."""

    status, media_type = 404, "text/html"

    def body(self, request, values, forms):
        rows = "".join(f"<p title='{html.escape(form)}'>{html.escape(form)}</p>" for form in forms)
        return f"<html><name>{PERSONAL['name']}</name>{PERSONAL['document']}{rows}</html>".encode()


class EchoesAsNames(Echoes):
    """The same as names of members, at any depth: an object keyed by accounts, by people and by what it was sent."""

    def body(self, request, values, forms):
        keyed = {name: {"balance": 1} for name in (*forms, *values, *PERSONAL.values())}
        return json.dumps(
            {"code": 0, "data": {"accounts": keyed, **{name: [keyed] for name in keyed}}, **PERSONAL}
        ).encode()


class EchoesInARedirect(Echoes):
    """The same, and somewhere else."""

    status = 302


class EchoesInBrokenJson(Echoes):
    """The same, cut in the middle."""

    def body(self, request, values, forms):
        return super().body(request, values, forms)[:-20]


class EchoesWhatATokenSays(Raw):
    """Says back the token, each part of a signed one, and what it says when it is decoded."""

    def answer(self, connection, request):
        token = request.header("Authorization").split()[-1] if request.header("Authorization") else ""
        parts = [part for part in token.split(".") if part]
        said = [decoded(part).decode("utf-8", "replace") for part in parts[:2]]
        texts = (token, *parts, *said)
        forms = [encodings(text)[name] for text in texts for name in ("plain", "base64", "hex")]
        body = json.dumps({"code": 0, "data": {"error": " ".join(forms)}}).encode()
        connection.sendall(as_bytes(Response(200, body, (("Content-Type", "application/json"),))))


class EchoesAsAMediaType(Raw):
    """Refuses everything, and calls the media type after what it was sent."""

    def answer(self, connection, request):
        sent = (request.header("Authorization").partition(" ")[2], unquote(request.path.rpartition("/")[2]))
        media_type = f"application/{_in_a_header(sent[len(self.seen) % 2] or 'json')}"
        connection.sendall(as_bytes(Response(422, b"{}", (("Content-Type", media_type),))))


def _in_a_header(form: str) -> str:
    return form.replace("\r", " ").replace("\n", " ")[:4000]
