"""InfoChartQA (https://arxiv.org/abs/2505.19028): charts and infographics, scored as its authors do.

=============  =============================================================================
score          one rule per question type, with the verdicts of the authors' checker
benchmark      the benchmark and its prompt
data           rows of both releases, the images they name, files of replies
report         the authors' result files and functions (`evaluate`, `build_question`)
=============  =============================================================================
"""
