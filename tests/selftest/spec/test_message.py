"""Messages: a template and its values, which become text in the last step."""

from spec.message import Message, changed, joined, joined_with_repeats, message_of, say, say_many, texts_in_values


def shouted(one: str, many: str, number: int) -> str:
    """A language in which each template is in capitals, and its placeholders are not."""
    template = many if many and number != 1 else one
    return template.upper().replace("{WHAT}", "{what}").replace("{N}", "{n}")


def test_a_message_is_its_template_with_its_values():
    """Braces in a value stay. Braces in a template without values stay, too."""
    assert str(say("{what} is missing", what="{digit}")) == "{digit} is missing"
    assert str(say("{}")) == "{}"


def test_a_value_that_is_a_message_is_translated_too():
    """Any other value stands as it is."""
    inner = say("an empty {what}", what="name")

    assert say("got {what}", what=inner).rendered(shouted) == "GOT AN EMPTY name"


def test_a_number_decides_between_singular_and_plural():
    """The number one takes the singular. Zero and all other numbers take the plural."""
    message = say_many("{n} key", "{n} keys")

    assert [str(message.of(n=number)) for number in (0, 1, 2)] == ["0 keys", "1 key", "2 keys"]
    assert str(say_many("one", "many")) == "many"
    assert message.of(n=2).rendered(shouted) == "2 KEYS"


def test_texts_are_joined_once_each():
    """A repeated text and an empty one are left out."""
    assert str(joined(["a", "", say("b"), "a"])) == "a; b"
    assert (joined([]), joined([""]), joined(["a", "a"])) == ("", "", "a")
    assert str(joined(["a", "b"], " or ")) == "a or b"


def test_texts_in_a_row_are_not_translated():
    """They are names. A message in a row is translated."""
    row = joined_with_repeats(["a", say("b")], ", ")

    assert isinstance(row, Message)
    assert row.rendered(lambda one, many, number: one.replace("b", "B")) == "a, B"
    assert str(joined_with_repeats(["a", "b", "c"], ", ")) == "a, b, c"
    assert (joined_with_repeats([], ", "), joined_with_repeats(["a"], ", ")) == ("", "a")


def test_values_are_changed_and_words_are_not():
    """A change reaches values at any depth, and no template. A plain text changes as a whole."""
    message = say("{what} in {place}", what=say("the {name}", name="the key"), place=7)

    assert str(message.map(str.upper)) == "the THE KEY in 7"
    assert changed("the key", str.upper) == "THE KEY"
    assert changed(7, str.upper) == 7


def test_texts_in_values_are_found_at_any_depth():
    """With the name of a placeholder, only the texts at that name are given, or in a message at that name."""
    message = say("{a} {b} {n}", a="1", b=say("{a} {c}", a="2", c="3"), n=4)

    assert list(texts_in_values(message)) == ["1", "2", "3"]
    assert list(texts_in_values(message, "a")) == ["1", "2"]
    assert list(texts_in_values(message, "b")) == ["2", "3"]
    assert list(texts_in_values("a text")) == []


def test_a_text_is_a_message_without_values():
    """A message stays the same object."""
    message = say("a")

    assert message_of("a") == message
    assert message_of(message) is message
