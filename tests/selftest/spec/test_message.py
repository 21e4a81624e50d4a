"""Messages: a template and its values, which become text in the last step."""

from spec.message import Message, changed, in_a_row, joined, message_of, say, say_many, texts_in_values


def shouted(one: str, many: str, number: int) -> str:
    """A language in which each template is in capitals, and its placeholders are not."""
    template = many if many and number != 1 else one
    return template.upper().replace("{WHAT}", "{what}").replace("{N}", "{n}")


def test_a_message_is_its_template_with_its_values():
    """Braces in a value stay; a template without values is no format."""
    assert str(say("{what} is missing", what="{digit}")) == "{digit} is missing"
    assert str(say("{}")) == "{}"


def test_a_value_that_is_a_message_is_translated_too():
    """Any other value stands as it is."""
    inner = say("an empty {what}", what="name")

    assert say("got {what}", what=inner).rendered(shouted) == "GOT AN EMPTY name"


def test_a_number_decides_between_singular_and_plural():
    """One is singular; none and several are plural."""
    told = say_many("{n} key", "{n} keys")

    assert [str(told.of(n=number)) for number in (0, 1, 2)] == ["0 keys", "1 key", "2 keys"]
    assert str(say_many("one", "many")) == "many"
    assert told.of(n=2).rendered(shouted) == "2 KEYS"


def test_texts_are_joined_once_each():
    """Empty texts say nothing."""
    assert str(joined(["a", "", say("b"), "a"])) == "a; b"
    assert (joined([]), joined([""]), joined(["a", "a"])) == ("", "", "a")
    assert str(joined(["a", "b"], " or ")) == "a or b"


def test_texts_in_a_row_are_names_that_stand_as_they_are():
    """They are not translated, unless they are messages."""
    row = in_a_row(["a", say("b")], ", ")

    assert isinstance(row, Message)
    assert row.rendered(lambda one, many, number: one.replace("b", "B")) == "a, B"
    assert str(in_a_row(["a", "b", "c"], ", ")) == "a, b, c"
    assert (in_a_row([], ", "), in_a_row(["a"], ", ")) == ("", "a")


def test_values_are_changed_and_words_are_not():
    """At any depth; of a text that is no message, the whole."""
    told = say("{what} in {place}", what=say("the {name}", name="the key"), place=7)

    assert str(told.map(str.upper)) == "the THE KEY in 7"
    assert changed("the key", str.upper) == "THE KEY"
    assert changed(7, str.upper) == 7


def test_leaves_are_the_texts_among_the_values():
    """Those of one name alone, if it is given: also those inside of a message of that name."""
    told = say("{a} {b} {n}", a="1", b=say("{a} {c}", a="2", c="3"), n=4)

    assert list(texts_in_values(told)) == ["1", "2", "3"]
    assert list(texts_in_values(told, "a")) == ["1", "2"]
    assert list(texts_in_values(told, "b")) == ["2", "3"]
    assert list(texts_in_values("a text")) == []


def test_a_text_is_a_message_without_values():
    """A message is itself."""
    told = say("a")

    assert message_of("a") == told
    assert message_of(told) is told
