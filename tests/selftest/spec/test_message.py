"""Messages: a template and its values, which become text in the last step."""

import pytest

from spec.message import joined, joined_keeping_repeats, message_of, say, say_many, texts_in_values, with_texts_changed


def in_capitals(one: str, many: str, number: int) -> str:
    """A translation that writes each template in capitals, and its placeholders as they are.

    `one` is the template for one thing, and `many` for another number.
    """
    template = many if many and number != 1 else one
    return template.upper().replace("{WHAT}", "{what}").replace("{N}", "{n}")


def test_a_message_is_its_template_with_its_values():
    """A value takes the place of its name in braces. Braces in the value itself stay."""
    assert str(say("{what} is missing", what="{digit}")) == "{digit} is missing"


def test_braces_in_a_template_without_values_stay():
    """A message without values is a plain text, so its braces stay, as in a body of JSON."""
    assert str(say("{}")) == "{}"


def test_a_value_that_is_a_message_is_translated_too():
    """`rendered` translates the templates of both messages. The value "name" is a plain text, so it stays as it is."""
    inner_message = say("an empty {what}", what="name")
    message = say("got {what}", what=inner_message)

    assert message.rendered(in_capitals) == "GOT AN EMPTY name"


@pytest.mark.parametrize(("number", "text"), [(0, "0 keys"), (1, "1 key"), (2, "2 keys")])
def test_a_number_decides_between_singular_and_plural(number, text):
    """The number one takes the singular. Zero and all other numbers take the plural."""
    assert str(say_many("{n} key", "{n} keys").with_values(n=number)) == text


def test_a_translation_gets_the_singular_and_the_plural():
    """The number of the message decides which of them is translated. Without a number it is the plural."""
    assert say_many("{n} key", "{n} keys").with_values(n=2).rendered(in_capitals) == "2 KEYS"
    assert str(say_many("one", "many")) == "many"


@pytest.mark.parametrize(
    ("texts", "text"),
    [(["a", "", say("b"), "a"], "a; b"), (["a", "a"], "a"), ([""], ""), ([], "")],
    ids=["texts and a message", "the same text twice", "an empty text", "nothing"],
)
def test_joined_texts_have_each_text_once(texts, text):
    """Joined texts are separated by a semicolon. A repeated text and an empty one are left out."""
    assert str(joined(texts)) == text


def test_texts_can_be_joined_by_a_word():
    """`joined` separates the texts by its second argument, here " or "."""
    assert str(joined(["a", "b"], " or ")) == "a or b"


def test_of_joined_names_and_messages_only_the_messages_are_translated():
    """A plain text is a name, such as that of a field, so it is not translated. The translation here turns x and y into
    capitals.
    """

    def translate(one: str, many: str, number: int) -> str:
        """The template with x and y in capitals."""
        return one.replace("x", "X").replace("y", "Y")

    name_and_message = joined_keeping_repeats(["x", say("y")], ", ")

    assert name_and_message.rendered(translate) == "x, Y"


@pytest.mark.parametrize(
    ("texts", "text"),
    [(["a", "b", "a"], "a, b, a"), (["a"], "a"), ([], "")],
    ids=["a repeated text", "one text", "nothing"],
)
def test_texts_can_be_joined_with_repeats(texts, text):
    """`joined_keeping_repeats` keeps each text, and separates them by its second argument."""
    assert str(joined_keeping_repeats(texts, ", ")) == text


def test_a_change_of_a_message_reaches_its_values_at_any_depth():
    """`map` changes the texts among the values of a message, also in a message that is a value itself. It changes no
    template.
    """
    message = say("{what} in {place}", what=say("the {name}", name="the key"), place=7)

    assert str(message.map(str.upper)) == "the THE KEY in 7"


def test_a_text_that_is_no_message_is_changed_as_a_whole():
    """`with_texts_changed` applies a function to a value. A number has no text in it, so it stays."""
    assert with_texts_changed("the key", str.upper) == "THE KEY"
    assert with_texts_changed(7, str.upper) == 7


@pytest.mark.parametrize(
    ("name", "texts"),
    [("", ["1", "2", "3"]), ("a", ["1", "2"]), ("b", ["2", "3"])],
    ids=["any name", "the name of two values", "the name of a message"],
)
def test_the_texts_among_the_values_of_a_message_are_found_at_any_depth(name, texts):
    """With the name of a placeholder only the values of that name are given, and all texts of a message with that name."""
    message = say("{a} {b} {n}", a="1", b=say("{a} {c}", a="2", c="3"), n=4)
    arguments = [name] if name else []

    assert list(texts_in_values(message, *arguments)) == texts


def test_a_plain_text_has_no_values():
    """`texts_in_values` gives the texts among the values of a message. A plain text has no values, so it gives none."""
    assert list(texts_in_values("a text")) == []


def test_a_plain_text_becomes_a_message_without_values():
    """`message_of` makes a message of a text. A message stays the same object."""
    message = say("a")

    assert message_of("a") == message
    assert message_of(message) is message
