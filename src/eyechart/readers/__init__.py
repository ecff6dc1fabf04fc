"""Our own reading of replies: what a reply answers, by ordered rules that a person can recite.

    reply -> mentions -> clauses -> stance -> decide -> Reading(answer, rule, span)

`mentions` finds the places that name an answer: an option's letter or words, a quantity, a date, a yes or
no. `clauses` cuts the reply. `stance` says of each mention whether it is asserted, denied, or neither.
`decide` takes these in order. `languages` has the words that all of them know, one data file per language.
Official scorers never import this package, so that no official number can move when a reader does.
"""
