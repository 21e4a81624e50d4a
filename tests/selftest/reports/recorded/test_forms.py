"""Forms of recorded answers: what is remembered of one is what each answer shows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from reports.recorded.entry import exchange_of
from reports.recorded.forms import Forms
from spec.rules import RULES, judge
from tests.selftest.exchanges import EXECUTION_RESULT
from tests.selftest.reports.recorded.test_reading import BASE, BODY, entry

ANSWERS = [
    *(
        {"data": EXECUTION_RESULT | change}
        for change in ({}, {"status": "PENDING"}, {"type": "EMAIL"}, {"error": "x"}, {"id": 7})
    ),
    {"data": EXECUTION_RESULT | {"document": "123.456.789-09"}},
    {"text": BODY.decode().replace('"digit"', '"digit": "1", "digit"')},
    *({"status": status} for status in (201, 204, 404, 405, 500, 501)),
    *(
        {"text": text}
        for text in ("[]", "1", "1.5", "NaN", "Traceback (most recent call last):", '{"code": 5, "data": {}}')
    ),
]


@given(st.permutations(ANSWERS * 2))
@settings(deadline=None, max_examples=5)
def test_equal_answers_have_equal_deviations_in_any_order(answers):
    """A recorded answer has the same deviations if it is judged alone and if it is judged after other answers.

    The form of an answer is its status, and the names and types of its members. Most rules judge only one answer of
    each form. `Forms` remembers the result for later answers of the same form.
    """
    forms = Forms()
    exchanges = [exchange_of(entry(**answer), 1, BASE) for answer in answers]
    ids_judged_alone = [{id for id in RULES if judge(id, exchange).deviates} for exchange in exchanges]

    ids_judged_together = [{id for id, _ in forms.deviations(exchange, exchange.response)} for exchange in exchanges]
    ids_with_a_rule = [ids - {"executePix.exists"} for ids in ids_judged_together]  # exists is judged without a rule

    assert ids_with_a_rule == ids_judged_alone


@given(st.permutations(ANSWERS * 2))
@settings(deadline=None, max_examples=5)
def test_each_answer_is_counted_once_for_its_form_and_once_for_its_values(answers):
    """`Forms.held` counts each answer twice: for the requirements that its form meets, and for those of its values.

    Each key of `held` is a tuple of the requirements that an answer meets, and its value is the number of answers.
    """
    forms = Forms()
    for answer in answers:
        exchange = exchange_of(entry(**answer), 1, BASE)
        list(forms.deviations(exchange, exchange.response))  # it judges the answer while it yields
    number_of_counts = sum(forms.held.values())

    counts_of_an_answer = 2  # one for its form, one for its values
    assert number_of_counts == counts_of_an_answer * len(answers)
