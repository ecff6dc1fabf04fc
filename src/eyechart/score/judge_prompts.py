"""The prompts for judges of published benchmarks; --judge-prompts FILE replaces them.

Most are worded for eyechart. Each keeps the form of reply that its benchmark's reader expects: a number, two
numbers, JSON, letters. The official wording is the benchmark authors' and differs; a number for a paper names
the prompts (docs/metrics.md). Those of VLMEvalKit's multiple choice are VLMEvalKit's, so that a judge is
asked the same there and here: vlmevalkit_prompts.json, under the licence beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

# The nearest option, Z for none of them; with two worked examples, and for Chinese questions in Chinese.
VLMEVALKIT_PROMPTS: Mapping[str, str] = json.loads(
    Path(__file__).with_name("vlmevalkit_prompts.json").read_text(encoding="utf-8")
)
BENCHMARK_PROMPTS: Mapping[str, str] = {
    # MULTI: the answer in a long reply, in the form of its type.
    "multi-extract": """\
下面是一道{type}题和一个模型的回答。请找出回答最后确定的答案，照抄下来。

- 单选：只写一个大写字母。
- 多选：把选定的大写字母连着写，如 BD。
- 填空：按题中 [MASK] 的先后每空一行，只写填入的内容。
- 不解题，不改正，不写任何别的内容。
- 如果回答没有给出答案，只写：没有给出答案

题目：{question}
回答：{answer}

答案：""",
    # MathVista, MathVision: the answer in a reply.
    "math-extract": """\
Read a question and a model's reply, and copy the final answer out of the reply.

- A question with options: write the letter of the option, and nothing else.
- A number: write the number alone, without its unit.
- A list: write it as [first, second].
- If the reply gives no answer, write nothing.

Example
Question: Which number is missing?
Reply: Each term is two more than the last, so it is 14.
Answer: 14

Question: {question}
Reply: {answer}
Answer:""",
    # MathVerse, first step: the answer in a reply.
    "mathverse-extract": """\
Copy the final answer out of a model's reply to a question of mathematics. Write the answer alone: an option's
letter, a number with its unit, an equation. If the reply gives none, write None.

Question: {question}
Reply: {answer}
Answer:""",
    # MathVerse, second step: whether it is right.
    "mathverse-score": """\
Are these two answers to the question the same? For an option, the letter must be the same. For other
answers it is enough that they mean the same: 0.5 m is 50 cm. Write 1 if they are the same and 0 if they are
not, and nothing else.

Question: {question}
Standard answer: {gold}
Model answer: {answer}
Judgement:""",
    # DynaMath: a short answer in the form that the question asks for.
    "short-answer": """\
Write the answer that this reply gives, as {form}, on a single line and with nothing else.

Question: {question}
Reply: {answer}
Answer:""",
    # MM-Vet: a grade from 0 to 1.
    "mmvet": """\
Grade a model's answer against the truth with a number: 0.0 (wrong), 0.1, 0.2, … 1.0 (right). In the truth,
<AND> means that all parts must be there for 1.0, and <OR> that any one is enough. Write the number and
nothing else.

Question | Truth | Answer | Grade
--- | --- | --- | ---
Which two values solve it? | 2 <AND> 7 | x = 2 | 0.5
Which two values solve it? | 2 <AND> 7 | x is 7 or 2 | 1.0
Which two values solve it? | 2 <AND> 7 | x = 3 | 0.0
{question} | {gold} | {answer} | """,
    # LLaVABench: two grades on the first line, the reference's and the model's.
    "llavabench": """\
[Context]
{caption}

[Question]
{question}

[Assistant 1]
{reference}

[End of Assistant 1]

[Assistant 2]
{answer}

[End of Assistant 2]

[System] Two assistants answered a question about a picture, which the context describes. Grade each answer
from 1 to 10 for how helpful, relevant, accurate and detailed it is. Write the two grades on the first line,
that of assistant 1 first, separated by one space and with nothing else. Explain them on the lines below.
The order of the answers must not matter. """,
    # SimpleVQA: right, wrong or not attempted, as JSON.
    "simplevqa": """\
请根据标准答案判断模型对问题的回答，结论只能是“正确”、“错误”或“未尝试”之一：
正确：包含标准答案的全部要点，且没有与其矛盾的内容；语言、译名、大小写和语序不同没有关系；数字须与标准答案一致。
错误：有与标准答案矛盾的内容，即使说得不肯定。
未尝试：没有给出标准答案的要点，也没有与其矛盾的内容，例如“我不知道”。

问题：{question}
标准答案：{gold}
回答：{answer}

只返回如下 JSON，不要添加其他内容：
{"预测答案0": "正确、错误或未尝试"}""",
    # CharXiv, where a row does not bring its own grading query.
    "charxiv": """\
Grade the answer to a question about a chart. The score is 1 if it means the same as the truth, otherwise 0; a
number must have the same value, and a text may be worded differently. Write only this JSON object:
{"extract_answer": "the answer in the reply", "score": 1}

Question: {question}
Truth: {gold}
Reply: {answer}""",
    # MMLongBench-Doc: the answer in a reply, with its form.
    "mmlongbench": """\
Extract the answer to a question from an analysis of a document, in exactly these two lines:
Extracted answer: [the answer]
Answer format: [Integer, Float, String or List]

If the analysis says that the document does not answer the question, the answer is: Not answerable
If the analysis says only that it could not read the images, the answer is: Fail to answer

Question: {question}
Analysis: {answer}""",
    # HallusionBench in lmms-eval: whether the reply agrees with the reference.
    "hallusion": """\
Compare a prediction with the reference answer to a question. Write "correct" if they do not conflict,
"incorrect" if they do, and "unclear" if the prediction does not commit itself. Write that word alone.

Question: {question}
Reference answer: {gold}
Prediction: {answer}
Output:""",
    # LogicVista: the letters of the chosen options.
    "logicvista": """\
Which options does this reply choose? Write their capital letters next to each other and nothing else, such
as B or ACD. If the reply chooses none, and none can be inferred from the options, write Z.

Question: {question}
Reply: {answer}
Letters:""",
    # Yes-no sets in VLMEvalKit: what a reply without a clear yes or no means.
    "yes-no": """\
Does this answer to a question say yes or no? Write one word: Yes, No, or Unknown if it says neither.

Question: Is the word on the sign 'Stop'?
Answer: The sign says 'Stop'.
Output: Yes

Question: {question}
Answer: {answer}
Output:""",
}
