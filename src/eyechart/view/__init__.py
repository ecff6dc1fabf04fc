"""The web page over run folders (``eyechart view``): a local server that reads and never writes.

`library` finds and caches runs, `pages` turns them into HTML, `server` answers requests.
"""
