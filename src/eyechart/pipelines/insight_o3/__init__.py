"""InSight-o3: single-image questions in JSONL files, asked and scored as the authors of InSight-o3 do."""
