"""Which samples belong together."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eyechart.errors import UsageError
from eyechart.report.clusters import check_column, find_clusters
from eyechart.store.reader import Belonging
from eyechart.types import ImageRef, Sample

RULES = ["image", "circle"]


def sample(position: int, *images: str, **fields: Any) -> Belonging:
    refs = tuple(ImageRef(kind="file", location=place) for place in images)
    return Belonging(position=position, id=f"q{position}", images=refs, **fields)


def groups(samples: list[Belonging], rules: list[str] = RULES) -> set[frozenset[int]]:
    found: dict[str, set[int]] = {}
    for position, name in find_clusters(samples, rules).items():
        found.setdefault(name, set()).add(position)
        assert name == f"q{min(found[name])}"
    return {frozenset(members) for members in found.values()}


def test_the_same_file_or_the_same_content() -> None:
    samples = [
        sample(0, "a.png", sent=("1" * 64,)),
        sample(1, "copy.png", sent=("1" * 64,)),  # another name, the same bytes
        sample(2, "b.png", sent=("2" * 64,)),
        sample(3, "b.png"),  # failed before it was sent
        sample(4, "c.png", sent=("3" * 64,)),
        sample(5),
        sample(6),
    ]
    assert groups(samples) == {frozenset({0, 1}), frozenset({2, 3})}
    assert groups(samples, []) == set()


def test_what_is_linked_by_a_third_sample_is_one_cluster() -> None:
    samples = [sample(0, "a.png"), sample(1, "b.png"), sample(2, "c.png"), sample(3, "b.png", "a.png")]
    assert groups(samples) == {frozenset({0, 1, 3})}


def test_questions_on_several_images_of_a_pool_are_no_chain() -> None:
    """Each shares an image with the next: all would hang together, and nothing would be known."""
    chain = [sample(n, f"{n}.png", f"{n + 1}.png", sent=(f"{n:064}", f"{n + 1:064}")) for n in range(30)]
    assert max(map(len, groups(chain))) == 2
    short = groups([*chain[:15], *(sample(n, f"alone{n}.png") for n in range(15, 30))])
    assert short == {frozenset(range(15))}
    # What else joins samples still does.
    circles = groups([replace(one, circle=str(one.position // 6)) for one in chain])
    assert min(map(len, circles)) >= 6
    # Of several images, the one that most samples share counts, with samples that show it alone.
    page = [sample(n, "page.png", f"{n}.png", f"{(n + 1) % 28}.png") for n in range(28)]
    assert groups([*page, sample(28, "page.png"), sample(29, "other.png")]) == {frozenset(range(29))}


def test_crops_belong_to_their_image() -> None:
    crops = [ImageRef(kind="file", location="a.png", box=(0, 0, size, size)) for size in (1, 2)]
    samples = [Belonging(position=n, id=f"q{n}", images=(crop,)) for n, crop in enumerate(crops)]
    assert groups([*samples, sample(2, "b.png")]) == {frozenset({0, 1})}


def test_cells_of_one_file_are_different_images() -> None:
    cells = [ImageRef(kind="cell", location="q.tsv", offset=offset) for offset in (10, 20, 10)]
    samples = [Belonging(position=n, id=f"q{n}", images=(cell,)) for n, cell in enumerate(cells)]
    assert groups(samples) == {frozenset({0, 2})}


def test_circles_and_columns() -> None:
    samples = [
        sample(0, "a.png", circle="7", meta={"problem": 1}),
        sample(1, "b.png", circle="7", meta={"problem": 2}),
        sample(2, "c.png", circle="8", meta={"problem": "2 "}),
        sample(3, "d.png", meta={"problem": ""}),
        sample(4, "e.png", meta={"problem": float("nan")}),
        sample(5, "f.png", withheld={"problem": 2}),
    ]
    assert groups(samples) == {frozenset({0, 1})}
    assert groups(samples, [*RULES, "problem"]) == {frozenset({0, 1, 2, 5})}
    assert groups(samples, ["problem"]) == {frozenset({1, 2, 5})}


def test_an_image_that_every_sample_has_tells_nothing_apart() -> None:
    shown = ("9" * 64,)  # an example in the prompt
    samples = [sample(n, f"{n % 3}.png", sent=(*shown, str(n % 3) * 64)) for n in range(6)]
    assert groups(samples) == {frozenset({0, 3}), frozenset({1, 4}), frozenset({2, 5})}
    assert groups([sample(n, "page.png") for n in range(4)]) == set()
    # A sample that was not asked yet has not been sent the example.
    assert groups([*samples, sample(6, "0.png")]) == {
        frozenset({0, 3, 6}),
        frozenset({1, 4}),
        frozenset({2, 5}),
    }


@given(st.lists(st.sets(st.integers(0, 12), max_size=3), max_size=14), st.randoms())
def test_clusters_are_the_connected_components(images: list[set[int]], rng: random.Random) -> None:
    samples = [sample(n, f"own{n}", meta={f"k{key}": 1 for key in keys}) for n, keys in enumerate(images)]
    rules = [f"k{key}" for key in range(13)]
    rng.shuffle(rules)
    expected = [{n} for n in range(len(images))]
    for key in range(13):
        linked = [group for group in expected if any(key in images[n] for n in group)]
        expected = [group for group in expected if group not in linked]
        expected += [set().union(*linked)] if linked else []
    assert groups(samples, rules) == {frozenset(group) for group in expected if len(group) > 1}


def test_a_column_that_no_sample_has() -> None:
    samples = [Sample(id="1", question="?", meta={"page": 1, "category": "map"})]
    assert list(check_column(samples, "page")) == samples
    assert list(check_column(samples, None)) == list(check_column(samples, "none")) == samples
    with pytest.raises(UsageError, match="--cluster pages: no sample has a value") as caught:
        list(check_column(samples, "pages"))
    assert "page, category" in caught.value.hint
    with pytest.raises(UsageError, match="--cluster page: the column is empty"):
        list(check_column([Sample(id="1", question="?", meta={"page": " "})], "page"))
