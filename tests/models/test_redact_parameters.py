"""Keys among parameters are hidden; what only looks like one is not."""

import pytest

from eyechart.models.redact import HIDDEN, redact_parameters


@pytest.mark.parametrize(
    "name",
    ["api_key", "API_KEY", "apikey", "openai_api_key", "x-api-key", "key", "secret", "client_secret",
     "password", "Authorization", "access_token", "hf_token", "db_password", "secret_key", "token",
     "HF_TOKEN", "hub_token", "accessToken", "apiKey", "clientSecret", "openai_key", "judge_key",
     "private-key", "Ocp-Apim-Subscription-Key", "Proxy-Authorization", "secrets", "passwords", "passphrase",
     "aws_access_key_id", "google_credentials"],
)  # fmt: skip
def test_keys_are_hidden(name: str) -> None:
    assert redact_parameters({name: "s", "inside": [{name: "s"}]}) == {
        name: HIDDEN,
        "inside": [{name: HIDDEN}],
    }


@pytest.mark.parametrize(
    "name",
    ["max_tokens", "stop_token_ids", "image_token", "tokens", "judge_tokens", "keyword", "key_frames",
     "monkey", "top_k", "answer_key", "model_key", "author"],
)  # fmt: skip
def test_what_may_change_an_answer_is_not(name: str) -> None:
    assert redact_parameters({name: "x"}) == {name: "x"}


def test_a_key_that_was_not_given_is_not_said_to_be_there() -> None:
    assert redact_parameters({"api_key": None}) == {"api_key": None}
