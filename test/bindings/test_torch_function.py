# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""PyTorch differentiates kernels: checked by its own differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from documents import blocks
from random_robots import random_robot

from dynamics_ros.bindings.torch_function import torch_function
from dynamics_ros.kernels import compile

# Not among the tests' requirements: its wheel is larger than all the others together.
torch = pytest.importorskip('torch', reason='no torch here: pip install torch to run these')

ROBOT = random_robot(3, joints=4)


def tensors(count, *leading):
    torch.manual_seed(0)
    return [
        torch.randn(*leading, ROBOT.nv, dtype=torch.float64, requires_grad=True)
        for _ in range(count)
    ]


@pytest.mark.parametrize('name', ['inverse_dynamics', 'forward_dynamics'])
def test_values_gradients_and_second_gradients(name):
    function, arrays = torch_function(ROBOT.kernel(name)), tensors(3)
    wanted = getattr(ROBOT, name)(*[x.detach().numpy() for x in arrays])
    np.testing.assert_allclose(function(*arrays).detach().numpy(), wanted, rtol=1e-12)
    assert torch.autograd.gradcheck(function, arrays)
    assert torch.autograd.gradgradcheck(function, arrays)


def test_several_outputs_and_numbers():
    kernel = compile(lambda x, s: {'y': s * x @ x, 'z': x * x}, {'x': 3, 's': ()}, 'function')
    x = torch.tensor([0.3, -0.2, 0.7], dtype=torch.float64, requires_grad=True)
    y, z = torch_function(kernel)(x, 2.0)
    (y + 3.0 * z[1]).backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.2, -0.8 - 1.2, 2.8])


def test_single_precision_stays():
    function = torch_function(ROBOT.kernel('gravity'))
    q = torch.zeros(40, ROBOT.nv, requires_grad=True)
    tau = function(q)
    assert tau.dtype == torch.float32
    tau.sum().backward()
    assert q.grad.dtype == torch.float32 and q.grad.shape == q.shape


def test_the_lines_of_the_documentation_give_a_gradient():
    page = Path(__file__).parents[2] / 'docs' / 'kernels.md'
    (lines,) = (block.text for block in blocks(page, 'py') if 'import torch' in block.text)
    names = {'robot': ROBOT}
    exec(lines, names)
    assert names['tau'].grad.shape == (8, ROBOT.nv)
    assert torch.isfinite(names['tau'].grad).all()
