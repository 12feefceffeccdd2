"""GELU, in every way in which exporters write it, found in a graph and written as an accelerator can run it.

Literal numbers in a pattern match constants without dimensions only, and one of shape [1] is passed over in silence; so
the patterns leave numbers open, and their values are looked at afterwards.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from onnxscript import ir
from onnxscript.rewriter import pattern

if TYPE_CHECKING:
    from collections.abc import Callable

MICROSOFT = "com.microsoft"
_LINEAR, _CUBIC = 1.60031, 0.06940
"""Of x*sigmoid(ax + bx^3): the least greatest error (0.00027), found by linear programming over [-8, 8]."""
_CLOSE = 1e-3  # relative: what half precision makes of a root of two


class _Inner(NamedTuple):
    """What Erf is taken of, and the number in it."""

    spelt: Callable[..., Any]
    scale: float


class _Outer(NamedTuple):
    """What is made of x and Erf, and the two numbers in it."""

    spelt: Callable[..., Any]
    one: float
    half: float


_INNER = (
    _Inner(lambda op, x, scale: op.Div(x, scale), 2**0.5),
    _Inner(lambda op, x, scale: op.Mul(x, scale), 0.5**0.5),
)
_OUTER = (
    _Outer(lambda op, x, erf, one, half: op.Mul(op.Mul(x, op.Add(erf, one)), half), 1.0, 0.5),
    _Outer(lambda op, x, erf, one, half: op.Mul(op.Mul(x, half), op.Add(erf, one)), 1.0, 0.5),
    _Outer(lambda op, x, erf, one, half: op.Mul(x, op.Mul(op.Add(erf, one), half)), 1.0, 0.5),
    _Outer(lambda op, x, erf, one, half: op.Mul(x, op.Add(op.Mul(erf, half), one)), 0.5, 0.5),
    _Outer(lambda op, x, erf, one, half: op.Mul(op.Div(x, half), op.Add(erf, one)), 1.0, 2.0),
)


def to_sigmoid(model: ir.Model) -> int:
    """Write every GELU as x*sigmoid(1.60031x + 0.0694x^3), in place. Returns how many there were."""

    def replacement(op: Any, x: ir.Value, **_: object) -> Any:
        cubic = op.Add(op.Mul(op.Mul(x, x), _make_constant(op, x, _CUBIC)), _make_constant(op, x, _LINEAR))
        return op.Mul(x, op.Sigmoid(op.Mul(x, cubic)))

    return _rewrite(model, [*_erf_rules(replacement), *_operation_rules(replacement)])


def to_operation(model: ir.Model) -> int:
    """Write every GELU that is spelt out with Erf as one operation, in place. Returns how many there were."""

    def replacement(op: Any, x: ir.Value, **_: object) -> Any:
        return op.Gelu(x, _domain=MICROSOFT, _version=1)

    return _rewrite(model, _erf_rules(replacement))


def to_erf(model: ir.Model) -> int:
    """Spell every operation Gelu out with Erf, in place. Returns how many there were."""

    def replacement(op: Any, x: ir.Value, **_: object) -> Any:
        erf = op.Erf(op.Div(x, _make_constant(op, x, 2**0.5)))
        return op.Mul(op.Mul(x, op.Add(erf, _make_constant(op, x, 1.0))), _make_constant(op, x, 0.5))

    return _rewrite(model, _operation_rules(replacement))


def _rewrite(model: ir.Model, rules: list[pattern.RewriteRule]) -> int:
    return int(pattern.RewriteRuleSet(rules, commute=True).apply_to_model(model))


def _erf_rules(replacement: Callable[..., Any]) -> list[pattern.RewriteRule]:
    """Rules that find GELU by its Erf: 10 spellings, and their factors and terms in any order."""
    return [_make_rule(inner, outer, replacement) for inner, outer in itertools.product(_INNER, _OUTER)]


def _make_rule(inner: _Inner, outer: _Outer, replacement: Callable[..., Any]) -> pattern.RewriteRule:
    def spelt(op: Any, x: Any, scale: Any, one: Any, half: Any) -> Any:
        return outer.spelt(op, x, op.Erf(inner.spelt(op, x, scale)), one, half)

    def fits(_: Any, scale: ir.Value, one: ir.Value, half: ir.Value, **__: object) -> bool:
        return _is_constant(scale, inner.scale) and _is_constant(one, outer.one) and _is_constant(half, outer.half)

    return pattern.RewriteRule(spelt, replacement, fits)


def _operation_rules(replacement: Callable[..., Any]) -> list[pattern.RewriteRule]:
    """Rules that find the operation, ONNX's own and onnxruntime's."""
    return [
        pattern.RewriteRule(lambda op, x: op.Gelu(x), replacement),
        pattern.RewriteRule(lambda op, x: op.Gelu(x, _domain=MICROSOFT), replacement),
    ]


def _is_constant(value: ir.Value, number: float) -> bool:
    """Whether a value is a constant of one number, whatever its shape."""
    found = ir.convenience.get_const_tensor(value)
    return found is not None and found.size == 1 and bool(np.isclose(found.numpy().item(), number, rtol=_CLOSE))


def _make_constant(op: Any, like: ir.Value, number: float) -> Any:
    """A constant of the type of another value, as a tensor: rknn-toolkit2 falls over other kinds of constants."""
    kind = like.dtype.numpy() if like.dtype is not None else np.dtype(np.float32)
    return op.Constant(value=ir.tensor(np.array(number, kind)))
