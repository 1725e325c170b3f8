# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of PyTorch tensors that autograd differentiates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from dynamics_ros.bindings import check_kernel
from dynamics_ros.kernels import Kernel


def torch_function(kernel: Kernel) -> Callable[..., Any]:
    """A kernel as a function of tensors; its gradient is a kernel, created when first needed.

    Derivatives are of any order and by coordinates: of a quaternion by its four numbers. Tensors on
    another device are copied to the processor and back. Kernels compute in double precision;
    the result is float32 if all tensors are.

    Args:
        kernel: a kernel of a robot or of ``kernels.compile``.

    Raises:
        ImportError: torch is not installed.
        InvalidArgumentError: the argument is not a kernel.
    """
    check_kernel(kernel)
    apply = _autograd_function().apply

    @cache
    def pullback() -> Callable[..., Any]:
        return torch_function(kernel.pullback())

    def function(*tensors: Any) -> Any:
        return apply(kernel, pullback, *_as_tensors(tensors))

    function.__name__ = kernel.name
    return function


def _as_tensors(values: tuple[Any, ...]) -> list[Any]:
    """Convert numbers and arrays to tensors with the dtype and device of the first tensor."""
    import torch

    tensors = [x for x in values if isinstance(x, torch.Tensor)]
    options = {'dtype': tensors[0].dtype, 'device': tensors[0].device} if tensors else {}
    return [x if isinstance(x, torch.Tensor) else torch.as_tensor(x, **options) for x in values]


@cache
def _autograd_function() -> Any:
    """The autograd function that calls a kernel; torch is imported when it is first needed."""
    import torch

    class KernelFunction(torch.autograd.Function):
        """Results of a kernel, with its pullback as the gradient."""

        @staticmethod
        def forward(ctx: Any, kernel: Kernel, pullback: Any, *tensors: Any) -> Any:
            ctx.pullback = pullback
            ctx.save_for_backward(*tensors)
            single = all(x.dtype == torch.float32 for x in tensors)
            dtype, device = torch.float32 if single else torch.float64, tensors[0].device
            results = kernel(*[x.detach().cpu().numpy() for x in tensors])
            several = results if isinstance(results, tuple) else (results,)
            made = tuple(torch.as_tensor(x, dtype=dtype, device=device) for x in several)
            return made if isinstance(results, tuple) else made[0]

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> Any:
            tensors = ctx.saved_tensors
            values = ctx.pullback()(*tensors, *weights)
            gradients = values if isinstance(values, tuple) else (values,)
            # Sum each gradient over the axes along which its input was broadcast.
            summed = (x.sum_to_size(y.shape).to(y.dtype) for x, y in zip(gradients, tensors))
            return None, None, *summed

    return KernelFunction
