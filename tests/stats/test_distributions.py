"""Our distributions against scipy's."""

import math

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from eyechart.stats import cdf_normal, cdf_t, compute_sign_test, compute_z, quantile_normal, quantile_t
from eyechart.stats.distributions import compute_incomplete_beta

DEGREES = (0.5, 1, 1.5, 2, 3, 4.7, 10, 29, 99.3, 1000, 12345.6, 1e6, 1e7)
SHARES = (0.01, 0.025, 0.5, 0.5001, 0.6, 0.8, 0.9, 0.95, 0.975, 0.99, 0.9999)


@pytest.mark.parametrize("df", DEGREES)
def test_quantiles_of_t(df: float) -> None:
    for p in SHARES:
        assert quantile_t(p, df) == pytest.approx(scipy.stats.t.ppf(p, df), rel=2e-8, abs=1e-12)


@given(st.floats(-50, 50), st.floats(0.5, 1e5))
def test_shares_of_t(t: float, df: float) -> None:
    assert cdf_t(t, df) == pytest.approx(scipy.stats.t.cdf(t, df), rel=1e-8, abs=1e-10)


def test_t_with_endless_degrees_is_normal() -> None:
    assert cdf_t(1.5, math.inf) == cdf_normal(1.5)
    assert quantile_t(0.975, math.inf) == quantile_normal(0.975)


@given(st.floats(-8, 8))
def test_shares_of_the_normal(x: float) -> None:
    assert cdf_normal(x) == pytest.approx(scipy.stats.norm.cdf(x), rel=1e-9)


@given(st.floats(1e-9, 1 - 1e-9))
def test_quantiles_of_the_normal(p: float) -> None:
    assert quantile_normal(p) == pytest.approx(scipy.stats.norm.ppf(p), rel=1e-9, abs=1e-9)


@given(st.floats(0.1, 500), st.floats(0.1, 500), st.floats(0, 1))
def test_the_incomplete_beta_function(a: float, b: float, x: float) -> None:
    assert compute_incomplete_beta(a, b, x) == pytest.approx(
        scipy.special.betainc(a, b, x), rel=1e-8, abs=1e-12
    )


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_test_is_the_exact_binomial_test_with_half_of_what_was_seen(wins: int, losses: int) -> None:
    n = wins + losses
    exact = scipy.stats.binomtest(wins, n, 0.5).pvalue if n else 1.0
    seen = scipy.stats.binom.pmf(min(wins, losses), n, 0.5)
    expected = 1.0 if wins == losses else exact - seen
    assert compute_sign_test(wins, losses) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_mid_p_as_published() -> None:
    """Fagerland, Lydersen and Laake (2013), BMC Medical Research Methodology 13:91: 1 against 7 pairs."""
    assert compute_sign_test(1, 7) == pytest.approx(0.039, abs=5e-4)


def test_many_discordant_pairs_are_no_trouble() -> None:
    assert compute_sign_test(5000, 5300) == pytest.approx(0.0031, abs=2e-4)
    assert compute_sign_test(0, 3000) == 0.0


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_that_is_not_a_share_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        compute_z(confidence)


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="degrees of freedom"):
        cdf_t(1.0, 0)
    with pytest.raises(ValueError, match="p lies"):
        quantile_t(1.0, 5)
