"""What a run folder holds of samples that are read anew: the same tasks as the journal's own."""

from pathlib import Path

from eyechart.store.folder import EarlierRuns
from eyechart.store.journal import Ask, Journal
from eyechart.store.reader import list_tasks
from eyechart.types import Reply
from support.parts import samples


def test_tasks_are_those_of_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    journal = Journal.create(path)
    asked = samples(4)
    journal.replace_samples(asked)
    for trial, key in ((0, "old"), (0, "new"), (1, "new")):
        ask = Ask(key=key, recipe=f"recipe of {key}", messages=[])
        journal.append_reply(asked[1].id, trial, ask, Reply(text="A"))
    journal.append_reply(asked[2].id, 5, Ask(key="later", recipe="r", messages=[]), Reply(text="A"))
    journal.flush()
    kept = EarlierRuns([path])
    found = [task for k, one in enumerate(asked) for task in list_tasks(k, one, kept.replied(one.id, 2), 2)]
    kept.close()
    assert found == list(journal.tasks(2))
    assert found[2].keys == {"old", "new"}
    assert found[2].recipe == "recipe of new"
    journal.close()


def test_without_a_journal_nothing_is_answered(tmp_path: Path) -> None:
    kept = EarlierRuns([tmp_path / "run.sqlite"])
    assert kept.replied("q0", 2) == []
    kept.close()
    assert not list(tmp_path.iterdir())
