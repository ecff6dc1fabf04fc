"""Files as rows: tables, sheets, JSON, Parquet, folders and the hub."""
