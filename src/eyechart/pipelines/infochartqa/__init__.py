"""InfoChartQA: questions on infographics and charts, asked and scored as its authors do."""
