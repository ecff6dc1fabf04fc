"""baseline/majority: frequencies of the other questions, never of its own."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.baselines import Majority
from eyechart.types import Reply, Request, Sample, SeesAllSamples


def ask(model: Majority, sample: Sample) -> Reply:
    return asyncio.run(model.reply(Request(messages=(), sample=sample.without_golds())))


def studied(samples: list[Sample]) -> Majority:
    model = Majority()
    model.prepare(samples)
    return model


def right(samples: list[Sample]) -> float:
    model = studied(samples)
    return sum(ask(model, sample).text in sample.golds for sample in samples) / len(samples)


def open_samples(golds: list[str], question: str = "What colour is shape {n}?") -> list[Sample]:
    return [Sample(id=str(n), question=question.format(n=n), golds=(gold,)) for n, gold in enumerate(golds)]


def test_it_is_studious() -> None:
    assert isinstance(Majority(), SeesAllSamples)


def test_without_study_it_says_so() -> None:
    assert ask(Majority(), Sample(id="1", question="what?")).text == "cannot tell"


def test_the_most_common_gold_of_the_wording() -> None:
    colours = open_samples(["red"] * 6 + ["blue"] * 2)
    numbers = [replace(s, id=f"n{s.id}") for s in open_samples(["4"] * 9, "How many legs has {n}?")]
    model = studied(colours + numbers)
    assert [ask(model, sample).text for sample in colours] == ["red"] * 8
    assert ask(model, numbers[0]).text == "4"
    evidence = ask(model, colours[0]).evidence
    assert evidence["wording"] == "what colour is shape #"
    assert (evidence["count"], evidence["others"]) == (5, 7)


def test_back_off_to_the_first_words() -> None:
    samples = [
        Sample(id="1", question="Is there a cat in the picture?", golds=("no",)),
        Sample(id="2", question="Is there a dog on the table?", golds=("no",)),
        Sample(id="3", question="Is there a bird?", golds=("yes",)),
        Sample(id="4", question="Who is it?", golds=("Ann",)),
    ]
    reply = ask(studied(samples), samples[2])
    assert reply.text == "no"
    assert reply.evidence["wording"] == "is there a…"


def test_unique_answers_score_zero() -> None:
    assert right(open_samples([f"word{n}" for n in range(50)])) == 0


def test_unique_option_texts_score_no_better_than_chance() -> None:
    samples = [
        Sample(
            id=str(n),
            question=f"Which is {n}?",
            golds=("ABCD"[n % 4],),
            choices={letter: f"{letter}{n}" for letter in "ABCD"},
        )
        for n in range(80)
    ]
    assert right(samples) <= 0.25


def test_own_gold_never_counts_even_with_rotated_options() -> None:
    base = Sample(id="q", question="Which?", golds=("A",), choices={"A": "cat", "B": "dog"})
    turned = replace(base, id="q-1", golds=("B",), choices={"A": "dog", "B": "cat"})
    assert ask(studied([base, turned]), base).text == "cannot tell"


def test_option_text_before_letter() -> None:
    samples = [
        Sample(id=str(n), question="What colour?", golds=("A",), choices={"A": "red", "B": "blue"}, row=n)
        for n in range(4)
    ]
    samples = [replace(s, question=f"What colour is {s.id}?") for s in samples]
    other = Sample(id="x", question="What colour is 9?", choices={"A": "blue", "B": "red"})
    reply = ask(studied(samples), other)
    assert reply.text == "B"
    assert reply.evidence["option"] == "red"
    unseen = Sample(id="y", question="What colour is 8?", choices={"A": "pink", "B": "grey"})
    assert ask(studied(samples), unseen).text == "A"


def test_what_was_studied_is_part_of_the_identity() -> None:
    one, two = studied(open_samples(["a", "b"])), studied(open_samples(["a", "c"]))
    assert one.identity != two.identity
    two.prepare(open_samples(["a", "b"]))
    assert one.identity == two.identity


GOLD = st.sampled_from(["red", "blue", "two", "yes"])


@pytest.mark.slow
@given(golds=st.lists(GOLD, min_size=2, max_size=12), new=st.text(min_size=1, max_size=5), data=st.data())
def test_an_answer_does_not_move_with_its_own_gold(golds: list[str], new: str, data: st.DataObject) -> None:
    samples = open_samples(golds)
    n = data.draw(st.integers(0, len(samples) - 1))
    changed = [replace(s, golds=(new,)) if s is samples[n] else s for s in samples]
    assert ask(studied(samples), samples[n]).text == ask(studied(changed), samples[n]).text


@pytest.mark.slow
@given(golds=st.lists(GOLD, min_size=2, max_size=12))
def test_order_of_study_does_not_matter(golds: list[str]) -> None:
    samples = open_samples(golds)
    forward, backward = studied(samples), studied(samples[::-1])
    assert [ask(forward, s).text for s in samples] == [ask(backward, s).text for s in samples]
