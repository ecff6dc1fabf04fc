"""Reply and sample to score: pure functions, usable on their own."""
