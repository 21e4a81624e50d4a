"""Unusual texts for path parameters and members of bodies: short, long, and with unusual characters.

Each text has as many characters as possible that a service may stumble over, because one request can show all of these
faults. The search for a smaller case then finds the character that shows a finding.
"""

SPECIAL = "%\\'\" `;:,.?#&=+<>|[]()$~^*!@_"
"""Characters that mean something in SQL, JSON, URLs, shells or templates. Braces are left out, because Schemathesis
draws no path parameter with them."""
_SPECIAL_IN_A_ROW = "%s${{}}{9}@@<!--  ..%%''\"\"&&||"
"""Signs that mean something only in a row, two blanks among them."""
UNUSUAL = "/\0\t\r\n\x1b\x7f\x85\u2028\xa0\u200b\u200dãßİe\u0301א漢٣²жω\u202e\ufeff🏦"
"""Characters that end a text, a line or a path segment, that change length with letter case or encoding, that are a
letter or a digit of another script, or that nobody sees."""
LENGTHS = (129, 255, 256, 5_000)
"""Lengths of long texts: longer than a key of 77 and a column of 128 characters, as long as a column of 255 characters
and one longer, and longer than a buffer of 4 KiB."""
LETTERS = "AB"
"""A short usual text of letters."""
ONE_DIGIT = "7"
"""The shortest usual text of digits."""
ELEVEN_DIGITS = "12345678901"
"""A usual text of as many digits as a CPF. Its last two, the check digits, are wrong."""
DIGITS_BEYOND_64_BITS = "0" + "9" * 19
"""Digits alone, the first of which is 0, and as a number more than 64 bits can hold."""
NAME_WITH_ACCENTS = "ação D'Ávila "
"""A usual text of the language of the service: letters that are not in ASCII, an apostrophe and a blank at the end."""
ALL_SPECIAL = f"{SPECIAL}{_SPECIAL_IN_A_ROW}ã🏦"
"""All signs that mean something in SQL, JSON, URLs, shells or templates, and two characters of several bytes."""
ALL_PRINTABLE = "ãßİe\u0301א漢٣²жω\u200b\u200d\u202e\xa0🏦"
"""Letters and digits of other scripts and directions, and characters that nobody sees, without a control character: a
service that refuses control characters reads this text to its end."""
ALL_UNUSUAL = f" {UNUSUAL}{'漢' * 100} "
"""Also a text of less than 255 characters that takes more than 255 bytes."""
VERY_LONG = "x" * max(LENGTHS)
"""The longest of the long texts, of usual characters."""
LONG_WITH_ALL_UNUSUAL = f"{ALL_SPECIAL}{ALL_UNUSUAL}{VERY_LONG}"
"""A text that is long, and has all special and all unusual characters. In bodies with several unusual members it stands
for most unusual texts, because the number of pairs grows with the square of the number of values."""
HALF_A_PAIR = "\ud83d"
"""Half of a surrogate pair. JSON can write it, and no encoding of texts can."""
OTHER_HALF_OF_A_PAIR = "\udc00"
"""The second half of a surrogate pair, without the first one."""
DIGIT_OF_ANOTHER_SCRIPT = "²"
"""A character that Python calls a digit, and of which it makes no number."""
