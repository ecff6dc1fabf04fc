"""Contractions that VQA accuracy gives their apostrophe back.

The set is that of the public VQA evaluation script (GT-Vision-Lab/VQA). Each spelling that lacks exactly
one apostrophe is mapped to the full one. The script's entries with capitals (``Im``) are left out: they
are looked up after lower-casing, so they never match.
"""

from __future__ import annotations

from collections.abc import Iterator

_SPELLED = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't
he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't
must've needn't not've o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've
somebody'd've somebody'll somebody's someone'd someone'd've someone'll someone's something'd something'd've
something'll that's there'd there'd've there're there's they'd they'd've they'll they're they've 'twas
wasn't we'd've we've weren't what'll what're what's what've when's where'd where's where've who'd who'd've
who'll who's who've why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've
you'd you'd've you'll you're you've
"""


def _slips(word: str) -> Iterator[str]:
    return (word[:i] + word[i + 1 :] for i, char in enumerate(word) if char == "'")


CONTRACTIONS: dict[str, str] = {slip: word for word in _SPELLED.split() for slip in _slips(word)}
CONTRACTIONS["somebody'd"] = "somebodyd"  # as published: this one goes the other way
