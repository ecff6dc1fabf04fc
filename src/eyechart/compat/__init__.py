"""Other tools' front doors, thin over our own rooms."""
