"""MULTI (Zhu et al., 2024): questions of Chinese exams, asked and scored as its authors do."""
