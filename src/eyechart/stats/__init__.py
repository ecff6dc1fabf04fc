"""The arithmetic of evaluation: intervals, comparisons, ranks, trials, agreement. Pure functions of numbers.

    import eyechart as ec

    ec.stats.interval([1, 0, 1, 1], clusters=["image-1", "image-1", "image-2", "image-3"])
    ec.stats.paired(scores_of_a, scores_of_b)

Standard library only. docs/intervals.md says by which formulas, from which papers, and how often the
intervals contain the true value in simulation.
"""

from eyechart.stats.agreement import (
    Agreement,
    compute_agreement,
    compute_krippendorff_alpha,
    correct_by_person,
)
from eyechart.stats.curves import Curve, Gain, compare_checkpoints
from eyechart.stats.distributions import (
    cdf_normal,
    cdf_t,
    compute_sign_test,
    compute_z,
    quantile_normal,
    quantile_t,
)
from eyechart.stats.intervals import (
    Interval,
    Moments,
    combine_means,
    compute_union_interval,
    compute_wilson,
    interval,
)
from eyechart.stats.paired import (
    Paired,
    adjust_benjamini_hochberg,
    adjust_holm,
    compute_bonett_price,
    compute_power,
    compute_sample_size,
    compute_smallest_difference,
    find_smallest_difference,
    paired,
)
from eyechart.stats.ranks import rank_intervals, shrink_groups
from eyechart.stats.trials import (
    TrialStatistics,
    compute_pass_at_k,
    compute_pass_hat_k,
    compute_spread,
    summarise_trials,
)

__all__ = [
    "Agreement",
    "Curve",
    "Gain",
    "Interval",
    "Moments",
    "Paired",
    "TrialStatistics",
    "adjust_benjamini_hochberg",
    "adjust_holm",
    "cdf_normal",
    "cdf_t",
    "combine_means",
    "compare_checkpoints",
    "compute_agreement",
    "compute_bonett_price",
    "compute_krippendorff_alpha",
    "compute_pass_at_k",
    "compute_pass_hat_k",
    "compute_power",
    "compute_sample_size",
    "compute_sign_test",
    "compute_smallest_difference",
    "compute_spread",
    "compute_union_interval",
    "compute_wilson",
    "compute_z",
    "correct_by_person",
    "find_smallest_difference",
    "interval",
    "paired",
    "quantile_normal",
    "quantile_t",
    "rank_intervals",
    "shrink_groups",
    "summarise_trials",
]

correct_by_audit = correct_by_person  # its former name
