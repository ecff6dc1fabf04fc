"""Whether somebody has assigned onto a class of ours."""

import pytest

from eyechart.pipelines.vlmevalkit.vlmeval.bridge import (
    is_changed,
    remember_class,
)
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import (
    CustomMCQDataset,
    CustomTextMCQDataset,
    CustomVQADataset,
    ImageBaseDataset,
    ImageMCQDataset,
    ImageVQADataset,
    TextMCQDataset,
)
from support.dataset_classes import restore_classes

OURS = (
    ImageBaseDataset, ImageMCQDataset, ImageVQADataset, TextMCQDataset, CustomMCQDataset,
    CustomTextMCQDataset, CustomVQADataset,
)  # fmt: skip


def mine(self: object, *args: object) -> None: ...


@pytest.mark.parametrize("cls", OURS)
def test_as_written_nothing_is_changed(cls: type) -> None:
    assert not is_changed(cls)


@pytest.mark.parametrize(
    "name", ["load_data", "build_prompt", "evaluate", "post_build", "dump_image", "TYPE"]
)
def test_an_assignment_is_noticed_and_put_back(name: str) -> None:
    with restore_classes():
        setattr(CustomVQADataset, name, mine)
        assert is_changed(CustomVQADataset)
        assert not is_changed(CustomMCQDataset)
    assert not is_changed(CustomVQADataset)
    assert getattr(CustomVQADataset, name) is not mine


def test_a_changed_base_changes_what_inherits_from_it() -> None:
    with restore_classes():
        ImageMCQDataset.evaluate = mine  # type: ignore[assignment,method-assign]
        assert is_changed(CustomMCQDataset)
        assert not is_changed(CustomVQADataset)
        ImageBaseDataset.dump_image = mine  # type: ignore[assignment,method-assign]
        assert is_changed(CustomVQADataset)
        assert is_changed(CustomTextMCQDataset)
    assert not any(map(is_changed, OURS))


def test_a_method_that_is_new_and_one_that_is_gone() -> None:
    @remember_class
    class Some:
        def here(self) -> None: ...

    with restore_classes():
        Some.more = mine  # type: ignore[attr-defined]
        assert is_changed(Some)
        del Some.more  # type: ignore[attr-defined]
        assert not is_changed(Some)
        del Some.here
        assert is_changed(Some)
        Some.more = mine  # type: ignore[attr-defined]
    assert not is_changed(Some)
    assert not hasattr(Some, "more")


def test_a_class_of_ones_own_is_a_change() -> None:
    class Own(CustomVQADataset):
        """Mine."""

    assert is_changed(Own)


def test_what_was_changed_before_the_block_stays_so() -> None:
    with restore_classes():
        CustomVQADataset.evaluate = mine  # type: ignore[assignment,method-assign]
        with restore_classes():
            del CustomVQADataset.evaluate
            assert not is_changed(CustomVQADataset)
        assert is_changed(CustomVQADataset)
