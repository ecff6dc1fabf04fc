"""Where other programs call eyechart: `transformers`, a callback of its Trainer."""
