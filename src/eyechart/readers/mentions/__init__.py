"""The places in a reply that name an answer, one module per kind of answer."""
