"""A template's tree with its costs in it: values pay where they are compared, cut, printed, put into lists.

What filters, tests, calls and arithmetic cost is known to those who carry them out; here are the places that
Jinja compiles to plain Python.
"""

from __future__ import annotations

from typing import TypeVar

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

TURNS = "counted turns"  # no template can write a name with a blank
WEIGHED = "weighed value"

_NODES_A_STEP = 8  # a long body makes a turn dearer

N = TypeVar("N", bound=nodes.Node)


def with_costs(tree: nodes.Template) -> nodes.Template:
    """The same template; every turn of a loop costs, and so does every value that is not just handed on."""
    for loop in list(tree.find_all(nodes.For)):
        cost = nodes.Const(1 + _n_nodes(loop.body) // _NODES_A_STEP, lineno=loop.lineno)
        loop.iter = nodes.Filter(loop.iter, TURNS, [cost], [], None, None, lineno=loop.lineno)
    _Weighing().visit(tree)
    return tree


def _n_nodes(body: list[nodes.Node]) -> int:
    """The nodes that a turn goes through; loops within pay for their own."""
    number, waiting = 0, list(body)
    while waiting:
        node = waiting.pop()
        number += 1
        waiting.extend([node.iter] if isinstance(node, nodes.For) else node.iter_child_nodes())
    return number


def _weighed(node: nodes.Expr) -> nodes.Expr:
    if isinstance(node, nodes.Const | nodes.TemplateData):
        return node
    return nodes.Filter(node, WEIGHED, [], [], None, None, lineno=node.lineno)


class _Weighing(NodeTransformer):
    # ruff: noqa: N802 - names of methods are Jinja's

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        self.generic_visit(node)
        node.nodes = [_weighed(part) for part in node.nodes]
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        node.expr = _weighed(node.expr)
        for operand in node.ops:
            operand.expr = _weighed(operand.expr)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _weighed(node.node)
        else:
            node.arg = _weighed(node.arg)
        return node

    def visit_List(self, node: nodes.List) -> nodes.Node:
        self.generic_visit(node)
        return _weighed(node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return _weighed(node) if node.ctx == "load" else node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        for pair in node.items:  # a key is looked up by all that lies in it
            pair.key = _weighed(self.visit(pair.key))
            pair.value = self.visit(pair.value)
        return _weighed(node)
