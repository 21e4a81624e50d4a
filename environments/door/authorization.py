"""The Authorization headers that the suite sends: the valid one, and those that must not be granted anything."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product

from environments.door.wrong_tokens import ANOTHER, NAMES, wrong_tokens

VALID = "valid"
MOST_WRONG_TOKENS = 40
"""Wrong tokens that a run sends to the two operations whose token is documented, half of them to each."""
SPELLINGS: Mapping[str, str] = {
    "": "Bearer ",
    " under bearer": "bearer ",
    " under BEARER": "BEARER ",
    " behind two spaces": "Bearer  ",
}
"""The scheme as a client may write it, by what reports say of it: letter case does not count, and there is one space or
more behind it (RFC 9110 sections 11.1 and 11.4). The document shows the first."""
_OTHERWISE = tuple(SPELLINGS)[1:]
_FOR_BOTH = 10


def _basic(_: str) -> str:
    return "Basic " + base64.b64encode(b"pixconf:pixconf").decode()


WITHOUT_A_TOKEN: Mapping[str, Callable[[str], str | None]] = {
    "no header": lambda token: None,
    "an empty bearer": lambda token: "Bearer",
    "Basic credentials": _basic,
}
"""What is sent in place of a token, by the name that reports give it."""

OTHER_SCHEMES: Mapping[str, Callable[[str], str | None]] = {
    "the bare token": lambda token: token,
    "the token under the scheme Token": lambda token: "Token " + token,
}
"""The access token itself, but not as the document shows it."""

INVALID_CREDENTIALS: Mapping[str, Callable[[str], str | None]] = {
    "an empty header": lambda token: "",
    "an unknown scheme": lambda token: "Pixconf a=b,c",
    "a bearer of two words": lambda token: "Bearer pixconf pixconf",
    "a bearer outside ASCII": lambda token: "Bearer pixconf-ação",
    "an over-long bearer": lambda token: "Bearer " + "x" * 4_000,
    "a signed token cut short": lambda token: "Bearer eyJhbGciOiJSUzI1NiJ9.e30",
    "a signed token that is no JSON": lambda token: "Bearer cGl4.cGl4.cGl4",
    "Basic credentials that are no base64": lambda token: "Basic %pixconf%",
}
"""Headers that are not well formed. A service that reads them carelessly breaks on them."""


def authorization(credential: str, token: str) -> str | None:
    """The value of the Authorization header; None for no header. KeyError for an unknown name.

    A token that was fetched again may be of another sort than the one that the names were chosen for: where a form does
    not apply to it, ANOTHER stands for it.
    """
    if credential == VALID:
        return f"Bearer {token}"
    if credential in _WRONG:
        form, spelling = _WRONG[credential]
        wrong = wrong_tokens(token)
        return SPELLINGS[spelling] + wrong.get(form, wrong[ANOTHER])
    return {**WITHOUT_A_TOKEN, **OTHER_SCHEMES, **INVALID_CREDENTIALS}[credential](token)


_WRONG = {form + spelling: (form, spelling) for form, spelling in product(NAMES, SPELLINGS)}


@cache
def wrong_credentials(token: str, operation: str) -> Sequence[str]:
    """The wrong tokens for one operation, by name, what is most often let in first; at most half of MOST_WRONG_TOKENS.

    Each of the two operations gets each form as documented, and one form in each spelling; the forms behind the tenth,
    which a signed token alone has, go to one of the two in turn. So does, as far as there is room, each other form in
    each other spelling.
    """
    forms, turn = [name for name in NAMES if name in wrong_tokens(token)], int(operation != "executePix")
    alone = forms[:_FOR_BOTH] + forms[_FOR_BOTH:][turn::2]
    pairs = [form + spelling for spelling, form in product(_OTHERWISE, forms) if form != ANOTHER]
    return (*alone, *(ANOTHER + spelling for spelling in _OTHERWISE), *pairs[turn::2])[: MOST_WRONG_TOKENS // 2]
