"""The names that scripts import from `vlmeval`: dataset classes, helpers for files.

`eyechart exec` and `import eyechart.compat.activate` provide them if that package is not installed
(activate.py lists the modules). Tables are pandas DataFrames (an extra), as such scripts expect.
"""

# The release of ms-vlmeval, which EvalScope imports by this name.
__version__ = "0.0.20+eyechart"
