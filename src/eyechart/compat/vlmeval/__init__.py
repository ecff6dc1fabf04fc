"""The names that scripts import from `vlmeval`: data set classes to be changed, helpers around files.

`eyechart exec` and `import eyechart.compat.activate` offer them under their own names where that package is
not installed. Tables are pandas' (an extra), because that is what such scripts take and give.
"""

# The release of ms-vlmeval, which EvalScope imports by this name.
__version__ = "0.0.20+eyechart"
