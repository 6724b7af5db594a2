"""Eqs. 4 to 7: gradients against finite differences, and the closed forms of appendix A.6."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from physplan.guidance.extensions import counting
from physplan.guidance.paper import terms
from physplan.guidance.paper.grid import mask_on_grid
from physplan.guidance.paper.instances import Instances, find_instances
from physplan.guidance.paper.occupancy import average, occupancy, reference_feature, similarity

GRID = (6, 7)
B, TAU = 0.3, 0.2


@pytest.fixture
def features() -> Tensor:
    return _random(5, *GRID)


@pytest.fixture
def target() -> Tensor:
    return _random(5, *GRID, seed=1)


@pytest.fixture
def references() -> Tensor:
    return _random(2, 5, seed=2)


@pytest.fixture
def pieces() -> Instances:
    grid = np.zeros(GRID, dtype=bool)
    grid[0:2, 0:3] = grid[4:6, 4:7] = True
    return find_instances(grid)


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _phi(features: Tensor, references: Tensor) -> Tensor:
    return occupancy(similarity(features, references), threshold=B, temperature=TAU)


def _logits(features: Tensor, references: Tensor) -> Tensor:
    return (similarity(features, references) - B) / TAU


def _region() -> Tensor:
    region = torch.zeros(GRID, dtype=torch.float64)
    region[1:5, 1:6] = 1
    return region


def _check(function, *inputs: Tensor) -> None:
    leaves = [entry.clone().requires_grad_() for entry in inputs]
    assert torch.autograd.gradcheck(function, leaves, eps=1e-6, atol=1e-6)


def test_count_gradients_match_finite_differences(features, target, references, pieces):
    wanted = _phi(target, references)[0]
    _check(lambda f: terms.suppress(_phi(f, references)[0], pieces, [0, 1]), features)
    _check(lambda f: counting.suppress_log(_logits(f, references)[0], pieces, [1]), features)
    # Twice the target's occupancy keeps the hinge open.
    _check(lambda f: terms.fill(_phi(f, references)[0], wanted + 1, pieces, [0, 1]), features)
    _check(lambda f: counting.fill_log(_logits(f, references)[0], wanted + 9, pieces, [0, 1]), features)


def test_appearance_gradient_matches_finite_differences(features, target):
    _check(lambda f: terms.appearance(f, target, _region(), _region().flip(0)), features)


def test_extent_and_position_gradients_match_finite_differences(features, target, references):
    wanted = _phi(target, references)[0]
    _check(lambda f: terms.extent(_phi(f, references)[0], wanted, _region()), features)
    _check(lambda f: terms.position(_phi(f, references)[0], wanted, _region()), features)


def test_depth_gradient_matches_finite_differences_in_features_and_depth(features, target, references):
    wanted, nearness = _phi(target, references), _random(*GRID, seed=3)

    def depth(f: Tensor, z: Tensor) -> Tensor:
        now = _phi(f, references)
        return terms.depth((now[0], now[1]), z, (wanted[0], wanted[1]), nearness)

    _check(depth, features, _random(*GRID, seed=4))


def test_every_term_is_zero_when_the_preview_equals_the_keyframe(features, references, pieces):
    phi, z = _phi(features, references), _random(*GRID, seed=3)
    values = [
        terms.suppress(phi[0], pieces, []),
        terms.fill(phi[0], phi[0], pieces, [0, 1]),
        counting.fill_log(_logits(features, references)[0], _logits(features, references)[0], pieces, [0, 1]),
        terms.appearance(features, features, _region(), _region()),
        terms.extent(phi[0], phi[0], _region()),
        terms.position(phi[0], phi[0], _region()),
        terms.depth((phi[0], phi[1]), z, (phi[0], phi[1]), z),
    ]
    assert max(float(value.abs()) for value in values) <= 1e-6


def test_occupancy_slope_is_phi_times_one_minus_phi_over_tau():
    s = torch.linspace(-1, 1, 41, dtype=torch.float64, requires_grad=True)
    phi = occupancy(s, threshold=B, temperature=TAU)
    (slope,) = torch.autograd.grad(phi.sum(), s)
    assert torch.allclose(slope, phi * (1 - phi) / TAU)
    assert slope.max() <= 1 / (4 * TAU) + 1e-12
    assert s[slope.argmax()].item() == pytest.approx(B)


def test_count_slopes_are_uniform_within_an_instance(pieces):
    phi = torch.rand(GRID, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(terms.suppress(phi, pieces, [1]), phi)
    inside = torch.from_numpy(pieces.mask(1))
    assert torch.allclose(slope[inside], torch.tensor(1 / 6, dtype=torch.float64))
    assert not slope[~inside].any()
    wanted = torch.full(GRID, 0.9, dtype=torch.float64)
    (slope,) = torch.autograd.grad(terms.fill(phi * 0.5, wanted, pieces, [0]), phi)
    inside = torch.from_numpy(pieces.mask(0))
    assert torch.allclose(slope[inside], torch.tensor(-0.5 / (6 * 0.9), dtype=torch.float64))
    assert not slope[~inside].any()


def test_filling_stops_at_the_keyframes_own_occupancy(pieces):
    phi = torch.full(GRID, 0.8, dtype=torch.float64, requires_grad=True)
    value = terms.fill(phi, torch.full(GRID, 0.7, dtype=torch.float64), pieces, [0, 1])
    (slope,) = torch.autograd.grad(value, phi)
    assert value == 0
    assert not slope.any()


def test_the_logarithmic_fill_gives_every_empty_cell_the_same_share(pieces):
    s = (
        torch.linspace(-1, 0, 42, dtype=torch.float64).view(GRID).requires_grad_()
    )  # from unlike to less unlike
    full = torch.full(GRID, 10.0, dtype=torch.float64)
    shares = []
    for value in (
        terms.fill(torch.sigmoid(s / 0.1), torch.sigmoid(full), pieces, [0]),
        counting.fill_log(s / 0.1, full, pieces, [0]),
    ):
        (slope,) = torch.autograd.grad(value, s)
        inside = slope[torch.from_numpy(pieces.mask(0))].abs()
        shares.append(float(inside.max() / inside.min()))
    assert shares[0] > 5
    assert shares[1] < 1.01


def test_appearance_gradient_is_the_closed_form_orthogonal_to_p(features, target):
    leaf = features.clone().requires_grad_()
    here, there = _region(), _region().flip(1)
    (slope,) = torch.autograd.grad(terms.appearance(leaf, target, here, there), leaf)
    p, q = average(features, here), average(target, there)
    p_hat, q_hat = p / p.norm(), q / q.norm()
    expected = -(q_hat - (p_hat @ q_hat) * p_hat) / (here.sum() * p.norm())
    inside = slope[:, here.bool()]
    assert torch.allclose(inside, expected[:, None].expand_as(inside), atol=1e-12)
    assert not slope[:, ~here.bool()].any()
    assert float((p_hat @ inside).abs().max()) < 1e-12


def test_extent_is_symmetric_in_growth_and_shrinkage_and_free_of_scale():
    wanted = torch.full(GRID, 0.4, dtype=torch.float64)

    def at(factor: float, scale: float = 1.0) -> Tensor:
        return terms.extent(scale * factor * wanted, scale * wanted, _region())

    assert at(1.7).item() == pytest.approx(at(1 / 1.7).item(), rel=1e-6)
    assert at(1.7).item() == pytest.approx(at(1.7, scale=0.01).item(), rel=1e-6)
    phi = (0.3 * wanted).requires_grad_()
    (slope,) = torch.autograd.grad(terms.extent(phi, wanted, _region()), phi)
    area = (phi * _region()).sum()
    expected = 2 / area * torch.log(area / (wanted * _region()).sum()) * _region()
    assert torch.allclose(slope, expected, atol=1e-7)
    assert slope[_region().bool()].max() < 0  # too small: descent grows it


def test_position_gradient_is_the_closed_form_and_points_at_the_target():
    phi = torch.zeros(GRID, dtype=torch.float64)
    phi[2:4, 1:3] = 0.9
    wanted = phi.roll(3, dims=1)
    region = _region()
    leaf = phi.clone().requires_grad_()
    (slope,) = torch.autograd.grad(terms.position(leaf, wanted, region), leaf)
    x = (torch.arange(GRID[1], dtype=torch.float64) + 0.5) / GRID[1]
    y = (torch.arange(GRID[0], dtype=torch.float64) + 0.5) / GRID[0]
    c, c_star, area = terms.centroid(phi * region), terms.centroid(wanted * region), (phi * region).sum()
    expected = (
        2 / area * ((c - c_star)[0] * (x[None] - c[0]) + (c - c_star)[1] * (y[:, None] - c[1])) * region
    )
    assert torch.allclose(slope, expected, atol=1e-7)
    assert slope[2, 4] < 0 < slope[2, 1]  # appears on the target's side, goes on the other


def test_depth_ignores_the_offset_and_scales_with_the_depth():
    a, b = torch.rand(GRID, dtype=torch.float64), torch.rand(GRID, dtype=torch.float64)
    z = torch.rand(GRID, dtype=torch.float64)
    gap = terms.depth_gap((a, b), z)
    assert terms.depth_gap((a, b), 2.5 * z + 4).item() == pytest.approx(2.5 * gap.item(), abs=1e-7)


def test_the_reference_is_the_mean_feature_over_the_mask(features):
    mask = _region().bool()
    assert torch.allclose(reference_feature(features, mask), features[:, mask].mean(1))


def test_a_mask_smaller_than_half_a_cell_is_not_lost():
    mask = torch.zeros(32, 32, dtype=torch.bool)
    mask[9:11, 9:11] = True
    assert mask_on_grid(mask, (4, 4)).nonzero().tolist() == [[1, 1]]
    assert not mask_on_grid(torch.zeros(32, 32, dtype=torch.bool), (4, 4)).any()


def test_an_unknown_term_is_answered_with_the_nearest():
    from physplan.errors import PhysPlanError
    from physplan.guidance.measurement import term_named

    with pytest.raises(PhysPlanError, match=r"no term 'postion'. Did you mean 'position'"):
        term_named("postion")


def test_cells_alike_is_one_at_the_keyframe_and_moves_every_cell(features, target):
    def value(seen: Tensor) -> Tensor:
        return (1 - counting.cells_alike(seen, target)).mean()

    _check(value, features)
    assert float(value(target)) == pytest.approx(0, abs=1e-12)
    (gradient,) = torch.autograd.grad(value(features.requires_grad_()), features)
    assert (gradient.norm(dim=0) > 0).all()
