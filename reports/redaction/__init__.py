"""The one pen: everything that leaves the process passes a `Redactor` (design, "One pen").

The threat model: what never appears in output, in which forms, and what is out of scope. A self-test proves each row.

| value | forms that never appear | out of scope, and why |
|---|---|---|
| token, its claims and signature, wrong tokens, header secrets, passphrase | the forms of a listed value; another letter case; its start or end (half of it, six characters or more); pieces of eight characters with a digit, or of twelve | shorter pieces, and a secret that is one word of the vocabulary within a text: they cannot be told from ordinary text |
| account, key, code of the profile, identifiers in its bodies; prepared and possible codes; accounts that listAccounts names, by the place of a known one or by their names | plain, percent, JSON and HTML escapes up to three times, UTF-8 bytes one by one, UTF-16 pairs, either Unicode normal form, `+` for a space, without punctuation in numbers, hexadecimal, base64 at each alignment, letter case | values of under four characters within a text (they are hidden where they are the whole of a member, header or path segment); compression, encryption, hashes: no output of the suite decodes them |
| credentials and cookies in headers, user information in addresses | all: the value is replaced whole, its scheme stays | none |
| personal members of bodies, by their names in openapi.yaml | the value in any letter case or style of the name, at any depth, in JSON, broken JSON, forms, XML and lines: letters and digits become `A`, `a`, `9` | what a shape tells: length, punctuation and capitals; they show how a value is malformed |
| personal members of refusals | all words beyond the vocabulary, and all digits | words of the vocabulary: they name nobody, and say why the service refused |
| values of personal members, and made keys that a list shows, elsewhere in the run | escapes and spellings of a listed value | base64 and hexadecimal of them, texts of under four characters, numbers of under five digits, texts made of words of the vocabulary, what follows the first 64 KB of an answer: ordinary text would be hidden, and time is bounded |
| CPF, CNPJ, e-mail addresses, phone numbers of anybody | as they are usually written, with valid check digits where there is no punctuation | names of people that no personal member held: nothing tells them from other words |
| control characters, bidi overrides, lone surrogates | all: they show as escapes | new lines and tabs |

A value hides what is printed and written from then on. Before the files of a run are written, all that was redacted
when less was known is redacted once more (`second_pass`), by what any process of the run has learned.

Pure: no I/O, no clock. Read `redactor` first, then `engine`; the other modules answer one question each: `encodings`
(how a value may be written), `spellings` (where it stands), `masks` (what looks personal, and what
is shown instead), `bodies` (which member a text belongs to), `http_parts` (addresses and headers).
"""

from reports.redaction.redactor import Redactor, redactor_of

__all__ = ["Redactor", "redactor_of"]
