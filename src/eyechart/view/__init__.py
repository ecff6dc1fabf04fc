"""The web page with runs (``eyechart view``): a local server that reads and never writes.

`library` finds and caches runs, `pages` turns them into HTML, `server` answers requests.
"""
