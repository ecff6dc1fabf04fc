"""Our own reading of a choice: a long table of replies, then what must hold for any reply."""

# ruff: noqa: E501  (a row of replies is one line, however long)

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.score.choice import infer, read_choice
from support.cases import for_each

ANIMALS = {"A": "cat", "B": "dog", "C": "bird", "D": "fish"}
COLOURS = {"A": "red", "B": "dark red", "C": "blue", "D": "light blue"}
SIGNS = {"A": "=", "B": ">=", "C": "<", "D": "<>"}
MANY = {letter: f"item {number}" for number, letter in enumerate("ABCDEFGHIJ", start=1)}
COUNTS = {"A": "1", "B": "2", "C": "12", "D": "2.5"}
REPEATED = {"A": "red", "B": "white", "C": "pink", "D": "red."}  # as some published questions are
CHINESE = {"A": "猫", "B": "狗", "C": "红色", "D": "深红色"}
YES = {"A": "Yes", "B": "No"}
UNCERTAIN = {"A": "left", "B": "right", "C": "Cannot be determined"}

BARE = [
    "B",
    "b",
    " B ",
    "B.",
    "B)",
    "(B)",
    "(b)",
    "[B]",
    "{B}",
    "<B>",
    "B:",
    "B,",
    "B!",
    "B。",
    "B、",
    "B）",
    "（B）",
    "【B】",
]
BARE += [
    "$B$",
    '"B"',
    "'B'",
    "`B`",
    "“B”",
    "‘B’",
    "**B**",
    "*b*",
    "__B__",
    "_B_",
    "**(B)**",
    "**B.**",
    "Ｂ",
    "ｂ",
    "Ｂ．",
]
BARE += [
    "𝐁",
    "Option B",
    "option (B)",
    "Choice B.",
    "Answer: B",
    "ANSWER: B",
    "answer B",
    "选B",
    "选项B",
    "B选项",
    "答案B",
]
BARE += [
    "\n\nB\n",
    "> B",
    "# B",
    r"\text{B}",
    r"$\mathrm{B}$",
    r"\(B\)",
    "```\nB\n```",
    "Letter B",
    "The answer: B",
]

EXPLICIT = [
    r"\boxed{B}", r"\boxed{\text{B}}", r"$\boxed{B}$", r"\[ \boxed{\mathbf{B}} \]", r"\boxed{(B)}", r"\boxed{b}",
    r"\boxed{B. dog}", r"\boxed{dog}", r"\boxed{\text{(B) dog}}", r"First \boxed{A}, no: \boxed{B}",
    "<answer>B</answer>", "<answer> (B) </answer>", "<ANSWER>B. dog</ANSWER>", "<answer>dog</answer>",
    "<answer>\nThe answer is B\n</answer>", "<think>A or C?</think><answer>B</answer>", "<think>So A.</think>\nB",
    '{"answer": "B"}', '{"answer":"b"}', "{'answer': 'B'}", '```json\n{"answer": "B"}\n```', '{"choice": "B"}',
    '{"option": "B. dog"}', '{"final_answer": "(B)"}', '{"answer": "dog"}', '{"答案": "B"}', '{"Answer": ["B"]}',
    '{"reason": "At first the answer is A", "answer": "B"}', '{"answer": "B", "reason": "because the answer is A?"}',
    'Here it is: {"answer": "B"} as asked.', '```\n{"thought": "A?", "selected_option": "B"}\n```',
    "The answer is B", "The answer is B.", "the answer is b", "The answer is: B", "The answer is: (B)",
    "The answer is (B) dog.", "The answer is **B**.", "The correct answer is B. dog", "Final answer: B",
    "Final Answer: **B**", "**Final Answer:** B", "**Answer**: B", "Answer - the dog. Answer: B", "Answer:\n\nB",
    "The correct option is B because A is a cat", "The correct choice is (B), since it barks.", "My choice: B",
    "I choose option B", "I choose B.", "I would pick B, as it barks.", "I'd go with (B)", "I'll select B", "We select B.",
    "B is correct.", "B is the correct answer.", "Option B is correct", "(B) is the right answer", "So B is the answer.",
    "Therefore, option B is the best choice.", "The answer would be B", "The answer should be option B",
    "The answer to this question is B.", "The answer is therefore B", "The solution is B", "The answer is dog.",
    "The answer is a dog.", "The answer is the dog, not the cat.", "The answer is option B: dog",
    "The answer is B, A is wrong.", "The answer is B (dog).", "The answer is B rather than A", "The answer is B, not A.",
    "The answer is not A but B", "It is not A but B.", "not A but B", "Not (A) but (B)", "It is not A, but rather B",
    "At first A looks right, but on closer look it barks, so the answer is B",
    "The answer is A. Wait, no, it's B.", "The answer is A... actually, B.", "A... no, B", "I choose A. Correction: B",
    "Answer: A\nOn second thought, B.", "The answer is C. Hmm, wait: the answer is B.", "Is the answer A? No, the answer is B.",
    "If the answer were A there would be a cat. The answer is B.", "Option A is wrong. Option B is right.",
    "A is incorrect, C is incorrect, so B is correct.", "It barks.\n\nB", "It barks.\n**B**", "It barks.\n(b)",
    "A cat would purr.\n\nFinal answer:\n\n**B**", "Step 1: look.\nStep 2: it barks.\nB. dog", "Let me think.\ndog",
    "答案是B", "答案：B", "答案: B", "答案是：B", "答案为B。", "答案是（B）", "正确答案是B", "正确答案为：Ｂ", "最终答案：**B**", "答案选B",
    "故选B", "故选：B。", "因此选B", "所以应该选择B", "应选B", "我选B。", "选择B", "我选择B选项", "正确选项是B", "正确选项为（B）",
    "B选项正确", "B是正确的", "B项正确。", "选项B是正确的", "不是A，而是B", "A是错误的，所以选B", "答案应该是B", "答案就是 B 。",
    "Based on the image, the correct answer is:\n\n**B. dog**\n\nA. is a cat.", "The answer is likely to be B.", "Ans: B",
    "**Answer: B. dog**\n\nExplanation: Option A is a cat.", "Among the options, B is the most appropriate.", "The option is B",
    "I don't think the answer is A. I think the answer is B.",
    "The answer is dog (B).", "I'd answer B.", "The answer seems to be B", "【答案】B", "【答案】（B）", "根据图片，答案 B",
    "因为它会叫，所以答案是B，不是A。", "综上所述，本题选B", "正确的是B", "结论：B", "由此可知B为正确答案", "只有B选项正确", "所以是B",
    "<|begin_of_box|>B<|end_of_box|>", "The answer is <|begin_of_box|>B<|end_of_box|>", "B<|im_end|>", "B</s>", "__Answer__: B",
    "Answer - B", "Answer – (B)", "Assistant: B", "Prediction: B", "Final choice → B", "=> B", "- B", "✅ B", "B ✅", "Definitely B",
    "B seems right.", "Given the snout, B fits best.", "B best describes the picture.", "There is only one answer: B",
    "Option A: false\nAnswer: B", "You might think the answer is A, but the answer is B.", "Incorrect answer: A. Correct answer: B.",
    "The answer is A.\n\nLet me check. I made an error: it should be B.",
]  # fmt: skip

LED = [
    "B. dog", "B) dog", "(B) dog", "B: dog", "B - dog", "B, dog", "B.dog", "**B. dog**", "**B.** dog", "B dog", "b. Dog", "B、狗",
    "B. It has floppy ears and barks.", "B, because it barks", "B because it barks", "B\n\nThe animal barks.",
    "(B)\nThe animal has floppy ears.", "B. The dog is next to the cat.", "B, not A", "Option B: dog", "B. The dog.",
    "**B**\n\nA. The cat is absent.\nC. No bird.", "B. dog\n\nWhy not the others:\nA. cat is wrong\nC. bird is wrong",
]  # fmt: skip

IMPLIED = [
    "I think B",
    "I believe B.",
    "It's B",
    "It is B.",
    "It must be B",
    "I'd say B",
    "So, B.",
    "Therefore B",
    "Hence: B",
]
IMPLIED += [
    "It's option B.",
    "This matches option B.",
    "I think it's option (B).",
    "That would be B.",
    "我认为是B",
    "我觉得应该是B",
]

NAMED = [
    "dog",
    "Dog",
    "DOG.",
    "a dog",
    "The dog.",
    "**dog**",
    '"dog"',
    "It is a dog.",
    "This is a dog!",
    "I see a dog here",
]
NAMED += [
    "It shows a dog, not a cat.",
    "It isn't a cat; it is a dog",
    "There is no cat, just a dog",
    "ｄｏｇ",
]

READ = [(reply, ANIMALS, "B") for reply in [*BARE, *EXPLICIT, *LED, *IMPLIED, *NAMED]] + [
    ("dark red", COLOURS, "B"), ("It is dark red.", COLOURS, "B"), ("The car is red.", COLOURS, "A"),
    ("The answer is light  blue", COLOURS, "D"), ("not blue but light blue", COLOURS, "D"), ("B. dark red", COLOURS, "B"),
    ("not dark red, but red", COLOURS, "A"), ("A. red", COLOURS, "A"), ("Blue, definitely.", COLOURS, "C"),
    ("=", SIGNS, "A"), (">=", SIGNS, "B"), ("**>=**", SIGNS, "B"), ("(<)", SIGNS, "C"), ("$<$", SIGNS, "C"), ("\\(>=\\).", SIGNS, "B"),
    ("J", MANY, "J"), ("The answer is I.", MANY, "I"), ("I", MANY, "I"), ("I. item 9", MANY, "I"), ("(i)", MANY, "I"),
    ("I think the answer is H", MANY, "H"), ("I choose E", MANY, "E"), ("I believe item 10", MANY, "J"),
    ("item 1", MANY, "A"), ("It is item 10.", MANY, "J"), ("Z", {"A": "x", "Z": "none of these"}, "Z"),
    ("none of these", {"A": "x", "Z": "none of these"}, "Z"), ("There are 2 dogs.", COUNTS, "B"), ("12", COUNTS, "C"),
    ("2.5", COUNTS, "D"), ("The answer is 2.5", COUNTS, "D"), (r"\boxed{12}", COUNTS, "C"), ('{"answer": 2}', COUNTS, "B"),
    ("狗", CHINESE, "B"), ("这是狗。", CHINESE, "B"), ("这是一只狗，不是猫。", CHINESE, "B"), ("深红色", CHINESE, "D"),
    ("答案是深红色。", CHINESE, "D"), ("颜色是红色", CHINESE, "C"), ("D. 深红色", CHINESE, "D"), ("Ｄ：深红色", CHINESE, "D"),
    ("Yes", YES, "A"), ("No.", YES, "B"), ("The answer is no.", YES, "B"), ("No, there is none.", YES, "B"),
    ("Cannot be determined", UNCERTAIN, "C"), ("It cannot be determined from the image.", UNCERTAIN, "C"),
    ("A", {"A": "B", "B": "A"}, "A"), ("The answer is C major", {"A": "C major", "C": "D minor"}, "A"),
    ("a cat", {"A": "dog", "B": "cat"}, "B"), ("A cat", {"A": "dog", "B": "cat"}, "B"), ("x", {"A": "x", "B": "y"}, "A"),
    ("The answer is a cat", {"A": "dog", "B": "cat"}, "B"), ("C++", {"A": "Java", "B": "C++", "C": "Rust"}, "B"),
    ("+", {"A": "+", "B": "-"}, "A"), ("b", {"a": "x", "b": "y"}, "b"), ("2", {"1": "x", "2": "y"}, "2"),
    ("New York", {"A": "York", "B": "New York"}, "B"), ("Us", {"A": "US", "B": "Us"}, "B"),
    ("A: no\nB: yes\nC: no\nD: no", ANIMALS, "B"), ("The answer is A because it purrs", ANIMALS, "A"), ("A. cat", ANIMALS, "A"), ("A", ANIMALS, "A"), ("a", ANIMALS, "A"),
    ("The answer is A", ANIMALS, "A"), ("Answer: a", ANIMALS, "A"), ("A, since it purrs", ANIMALS, "A"),
    ("The cat is not visible here, while the dog is.\n\nB. dog", ANIMALS, "B"), ("I see a cat and a dog.\n**(B) dog.**", ANIMALS, "B"),
    ("Option A is a cat. Option C is a bird.\n\nB: dog", ANIMALS, "B"), ("A cat? A dog!\n\n- **B. dog**", ANIMALS, "B"), ("A cat? A dog!\n→ B. dog", ANIMALS, "B"), ("It is red.\n\nD. red", REPEATED, "D"),
    ("It is small, so I cannot be sure that it is no cat.\n\nB. dog", ANIMALS, "B"), ("A cat or a dog\n\nB. dog", ANIMALS, "B"), ("A cat or a dog.\n### Answer\nB. dog", ANIMALS, "B"),
    ("(C) -$10'000", {"A": "-$11'000", "B": "$10'000", "C": "-$10'000"}, "C"), ("C) -$5", {"B": "$5", "C": "-$5"}, "C"),
    ("D. red", REPEATED, "D"), ("(A) Red", REPEATED, "A"), ("D red", REPEATED, "D"), ("**D: Red.**", REPEATED, "D"),
    ("The answer is red (D).", REPEATED, "D"), ("B. white", REPEATED, "B"), ("D. red\nIt glows.", REPEATED, "D"),
]  # fmt: skip

UNREAD = [
    ("", ANIMALS, "empty"), ("   \n", ANIMALS, "empty"), ("...", ANIMALS, "empty"), ("<think>The answer is B", ANIMALS, "empty"),
    ("A and B", ANIMALS, "ambiguous"), ("A or B", ANIMALS, "ambiguous"), ("A, B", ANIMALS, "ambiguous"),
    ("A/B", ANIMALS, "ambiguous"), ("A & B", ANIMALS, "ambiguous"), ("(A) or (B)", ANIMALS, "ambiguous"),
    ("A和B", ANIMALS, "ambiguous"), ("A或B", ANIMALS, "ambiguous"), ("答案是A或B", ANIMALS, "ambiguous"), ("A、C", ANIMALS, "ambiguous"),
    ("The answer is A or B", ANIMALS, "ambiguous"), ("The answer is either A or B.", ANIMALS, "ambiguous"),
    ("Both A and B are correct", ANIMALS, None), ("Neither A nor B is correct", ANIMALS, None),
    (r"\boxed{A, C}", ANIMALS, "ambiguous"), ('{"answer": ["A", "C"]}', ANIMALS, "ambiguous"),
    ("A. cat\nB. dog\nC. bird\nD. fish", ANIMALS, "ambiguous"), ("A. cat B. dog", ANIMALS, "contradiction"),
    ("cat or dog", ANIMALS, "ambiguous"), ("A cat and a dog", ANIMALS, "ambiguous"), ("The answer is cat or dog", ANIMALS, "ambiguous"),
    ("It is not B", ANIMALS, "denied"), ("The answer is not B.", ANIMALS, "denied"), ("not a dog", ANIMALS, "denied"),
    ("答案不是B", ANIMALS, "denied"), ("不选B", ANIMALS, "denied"), ("不是狗", CHINESE, "denied"), ("Not B.", ANIMALS, "denied"),
    ("I don't think it is B", ANIMALS, "considered"), ("B is wrong", ANIMALS, "denied"), ("I think B is wrong", ANIMALS, "denied"),
    ("A lion is on the mat", ANIMALS, "unread"), ("A", {"B": "x", "C": "y"}, "not-an-option"), ("E", ANIMALS, "not-an-option"),
    ("The answer is E", ANIMALS, "not-an-option"), ("The answer is E.", ANIMALS, "not-an-option"), (r"\boxed{F}", ANIMALS, "not-an-option"),
    ("答案是E", ANIMALS, "not-an-option"), ("Z", ANIMALS, "not-an-option"), ("E. horse", ANIMALS, "not-an-option"),
    ("The answer is B. cat", ANIMALS, "contradiction"), ("B. cat", ANIMALS, "contradiction"), ("(A) dog", ANIMALS, "contradiction"), ("B cat", ANIMALS, "contradiction"),
    ("B - cat", ANIMALS, "contradiction"), ("A. dark red", COLOURS, "contradiction"),
    ("I think so", MANY, "unread"), ("I am not sure.", MANY, "unread"), ("I see several things", MANY, "unread"),
    ("I cannot tell whether it is a dog", ANIMALS, "considered"), ("I can't tell if it is B", ANIMALS, "considered"),
    ("If the answer is B, then it barks.", ANIMALS, "conditional"), ("Is the answer B?", ANIMALS, "considered"),
    ("concatenate", ANIMALS, "unread"), ("dogma", ANIMALS, "unread"), ("1.2", COUNTS, "unread"), ("20 of them", COUNTS, "unread"),
    ("horse", ANIMALS, "unread"), ("The answer is clear from the picture.", ANIMALS, "unread"), ("Vitamin B12", ANIMALS, "unread"),
    ("same", {"A": "same", "B": "same"}, None), ("Plan B-side", ANIMALS, "unread"), ("看不清", CHINESE, "unread"),
    ("It might be A. It might be B.", ANIMALS, "considered"), ("I think A. I think B.", ANIMALS, "ambiguous"),
    (r"\boxed{A} or \boxed{B}", ANIMALS, "ambiguous"), ("I don't think the answer is B.", ANIMALS, "considered"), ("选项A：左边。选项C：右边。", ANIMALS, "ambiguous"),
    ("Options:\nA. cat\nB. dog", ANIMALS, "ambiguous"), ("I see:\n- A. cat\n- B. dog", ANIMALS, "ambiguous"),
    ("A cat, a dog.\nB. cat", ANIMALS, "contradiction"),
    ("C. $5", {"B": "$5", "C": "-$5"}, "contradiction"),
    ("red", REPEATED, "ambiguous"), ("The answer is red.", REPEATED, "ambiguous"), ("B. red", REPEATED, "contradiction"),
    ("B red", REPEATED, "contradiction"), ("The answer is red (B)", REPEATED, "contradiction"), ("D. white", REPEATED, "contradiction"),
    ("AB", ANIMALS, "unread"), ("BAD", ANIMALS, "unread"), ("The answer is fish (B)", ANIMALS, "contradiction"),
    ("The blood type is A.", {"A": "O", "B": "A"}, None), ("不应该选B", ANIMALS, "denied"), ("不能选B", ANIMALS, "denied"),
    ("Incorrect answer: A", ANIMALS, None), ("A wrong answer would be A.", ANIMALS, "denied"), ("The least likely answer is A.", ANIMALS, "denied"),
    ("The only incorrect option is A.", ANIMALS, "denied"), ("It would be a mistake to choose A.", ANIMALS, "considered"),
    ("Someone might say the answer is A.", ANIMALS, "reported"), ("Many would answer A. But it barks.", ANIMALS, "withdrawn"),
    ("At first glance, the answer seems to be A, but the ears tell otherwise.", ANIMALS, "withdrawn"), ("不正确的是A", ANIMALS, "denied"),
    ('{"A": 0.1, "B": 0.8, "C": 0.1}', ANIMALS, "unread"),
    ("A; B", ANIMALS, "ambiguous"), ("(A)(B)", ANIMALS, "ambiguous"), ("可能选A，也可能选B", ANIMALS, None), ("如果是晴天选A，否则选B", ANIMALS, "conditional"),
    ("It is a quiet day with a dog. " * 40, ANIMALS, "unread"),  # long, and merely speaks of one
]  # fmt: skip


@pytest.mark.slow
@for_each(READ)
def test_a_clear_reply_is_read(reply: str, choices: dict[str, str], letter: str) -> None:
    reading = read_choice(reply, choices)
    assert reading.letter == letter, reading
    assert reading.rule.startswith("choice:")
    assert infer(reply, choices, rules="eyechart") == letter


@for_each(UNREAD)
def test_an_unclear_reply_is_not_guessed(reply: str, choices: dict[str, str], rule: str | None) -> None:
    reading = read_choice(reply, choices)
    assert reading.letter is None, reading
    assert rule is None or reading.rule == f"choice:{rule}"


@pytest.mark.parametrize(
    ("reply", "rule", "evidence"),
    [
        ("**B**", "bare-letter", "B"),
        (r"So \boxed{B}.", "boxed", "B"),
        ("<answer>dog</answer>", "tag", "dog"),
        ("Look: {'choice': 'B'} done", "json", "B"),
        ("The answer is (B).", "stated", "B"),
        ("Woof.\nB", "last-line", "B"),
        ("B. dog!", "lettered", "B. dog"),
        ("I think B", "implied", "B"),
        ("It is a dog", "implied", "dog"),
        ("答案是Ｂ。", "stated", "Ｂ"),
    ],
)
def test_a_reading_names_its_rule_and_its_evidence(reply: str, rule: str, evidence: str) -> None:
    reading = read_choice(reply, ANIMALS)
    assert reading.rule == f"choice:{rule}"
    assert reading.evidence(reply) == evidence


PIECES = st.sampled_from(
    ["A", "B", "C", " ", "\n", ".", ",", "(", ")", "**", "$", "\\boxed{", "}", "<answer>", "</answer>", '{"answer": "', '"}', "the answer is ", "not ", "but ", "I choose ", " is correct", " or ", "答案是", "选", "不", "cat", "dog", "Ｂ", "a ", "?"]
)  # fmt: skip
REPLIES = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=20).map("".join))
CHOICES = st.dictionaries(st.sampled_from("ABCDEFIZ"), st.text(max_size=12), max_size=6)


@pytest.mark.slow
@given(REPLIES, CHOICES)
def test_any_reply_gives_an_option_or_nothing(reply: str, choices: dict[str, str]) -> None:
    reading = read_choice(reply, choices)
    assert reading.letter is None or reading.letter in choices
    assert 0 <= reading.span[0] <= reading.span[1] <= len(reply)
    assert read_choice(reply, choices) == reading


@given(REPLIES, st.text(" \n\t", max_size=5), st.text(" \n\t", max_size=5))
def test_padding_changes_nothing(reply: str, before: str, after: str) -> None:
    padded, plain = read_choice(before + reply + after, ANIMALS), read_choice(reply, ANIMALS)
    assert (padded.letter, padded.rule) == (plain.letter, plain.rule)


@given(
    st.sampled_from(["{}", "It is {}.", "The answer is {}.", "**{}**", "\\boxed{{{}}}"]),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_rotating_the_options_keeps_the_text_that_is_read(frame: str, chosen: int, turn: int) -> None:
    texts = list(COLOURS.values())
    rotated = dict(zip(COLOURS, texts[turn:] + texts[:turn], strict=True))
    letter = read_choice(frame.format(texts[chosen]), rotated).letter
    assert letter is not None
    assert rotated[letter] == texts[chosen]


@settings(max_examples=30)
@given(REPLIES)
def test_the_choices_of_the_caller_stay_as_they_are(reply: str) -> None:
    choices = {"A": "Cat", "B": "DOG"}
    for rules in ("vlmevalkit", "vlmevalkit-2025-08", "eyechart"):
        infer(reply, choices, rules=rules)
    assert choices == {"A": "Cat", "B": "DOG"}


@pytest.mark.parametrize(
    ("reply", "options", "letter"),
    [
        ("When it barks, B; with whiskers, C.", "cat dog rabbit horse", None),
        ("When it barks, it's B; when it purrs, A", "cat dog rabbit horse", None),
        ("With long ears it would be C, with hooves D.", "cat dog rabbit horse", None),
        ("When I zoom in, it's B.", "cat dog rabbit horse", "B"),
        ("\\boxed{A}\n\nSo the animal is a dog.", "cat dog rabbit horse", None),
        ("\\boxed{B}\n\nSo the animal is a dog.", "cat dog rabbit horse", "B"),
        ("[ ] A\n[x] B\n[ ] C\n[ ] D", "cat dog rabbit horse", "B"),
        ("- [x] cat\n- [ ] dog\n- [x] rabbit\n- [ ] horse", "cat dog rabbit horse", None),
        ("Option 3", "3 4 5 6", None),
        ("I'd say yes, but I'm not sure.", "Yes No", None),
        ("三十一个", "20 21 30 31", "D"),
        ("B. The animal is a rabbit.", "cat dog rabbit horse", None),
        ("B. The dog is next to a horse.", "cat dog rabbit horse", "B"),
        ("It must be either a dog or a wolf.", "cat dog rabbit horse", None),
        ("It is a wolf or a dog.", "cat dog rabbit horse", None),
        ("B, or so it seems; the shadow suggests otherwise.", "cat dog rabbit horse", None),
        ("B was the answer in the previous question.", "cat dog rabbit horse", None),
        ("The annotator labelled this image as B.", "cat dog rabbit horse", None),
        ("Unless I'm mistaken, the answer is B.", "cat dog rabbit horse", "B"),
        ("The letter shown is B.", "B C A D", None),
        ("Let me count: one, two, three,", "1 2 3 4", None),
    ],
)
def test_cases_boxes_and_numbers(reply: str, options: str, letter: str | None) -> None:
    assert read_choice(reply, dict(zip("ABCD", options.split(), strict=False))).letter == letter


def test_labels_that_are_numbers() -> None:
    sides = {"1": "north", "2": "south", "3": "east", "4": "west"}
    assert read_choice("The answer is 4.", sides).letter == "4"
    assert read_choice("2. south", sides).letter == read_choice("Option 2", sides).letter == "2"
    assert read_choice("2. north", sides).letter is None
    assert read_choice("There are 4 of them.", sides).letter is None
