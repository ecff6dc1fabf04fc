"""Reports: from results to numbers, tables and files."""
