"""InSight-o3 (https://arxiv.org/abs/2512.18745): seven benchmarks, asked and judged as its authors do.

=============  =============================================================================
score          the verdict: a rule, then a judge for what it leaves open
benchmark      the benchmarks in a table, their prompt, their annotation files and rows
report         the authors' result files: records, rates by group, summary over trials, results table
evaluate       the authors' evaluation command as a function: arguments in, folder out
arguments      its arguments, their checks, their names in hints
cli            ``eyechart insight``
convert        ``eyechart data convert``: from the original data sets to annotation files
=============  =============================================================================
"""
