"""Instances, matching and regions: sets of cells, without gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import Delaunay, QhullError

from physplan.guidance.paper.grid import mask_on_grid
from physplan.guidance.paper.instances import averages, find_instances
from physplan.guidance.paper.matching import match
from physplan.guidance.paper.regions import enlarge, fill_hull, keyframe_shape, pool, region, row_extremes
from physplan.guidance.paper.update import normalised, region_weights


def grid(*boxes: tuple[int, int, int, int], size: tuple[int, int] = (20, 30)) -> np.ndarray:
    mask = np.zeros(size, dtype=bool)
    for left, top, right, bottom in boxes:
        mask[top:bottom, left:right] = True
    return mask


def test_instances_are_connected_components_with_normalised_centroids():
    found = find_instances(grid((0, 0, 4, 2), (10, 10, 20, 20)))
    assert len(found) == 2
    assert found.areas.tolist() == [8, 100]
    np.testing.assert_allclose(found.centroids, [[2 / 30, 1 / 20], [15 / 30, 15 / 20]])


def test_diagonal_neighbours_are_one_instance():
    mask = np.eye(6, dtype=bool)
    assert len(find_instances(mask)) == 1


def test_many_components_keep_their_labels():
    mask = np.zeros((80, 80), dtype=bool)
    mask[::2, ::2] = True  # 1600 of them, more than bfloat16 could count
    found = find_instances(mask)
    assert len(found) == 1600
    assert averages(torch.from_numpy(found.labels).double(), found).tolist() == list(range(1, 1601))


def test_no_instance_is_fine():
    empty = find_instances(grid())
    pair = match(empty, find_instances(grid((0, 0, 2, 2))))
    assert (pair.pairs, pair.extra, pair.missing) == ((), (), (0,))
    assert averages(torch.ones(20, 30), empty).shape == (0,)


def test_matching_has_the_lowest_total_distance_not_the_nearest_first():
    preview = find_instances(grid((8, 0, 10, 2), (14, 0, 16, 2)))
    keyframe = find_instances(grid((12, 0, 14, 2), (2, 0, 4, 2)))
    order = {tuple(np.round(c * [30, 20])) for c in keyframe.centroids}
    assert order == {(3.0, 1.0), (13.0, 1.0)}
    matched = match(preview, keyframe)
    distance = sum(np.linalg.norm(preview.centroids[j] - keyframe.centroids[l]) for j, l in matched.pairs)
    assert distance == pytest.approx((6 + 2) / 30)


def test_left_over_instances_on_either_side_are_reported():
    three, one = (
        find_instances(grid((0, 0, 2, 2), (9, 0, 11, 2), (20, 0, 22, 2))),
        find_instances(grid((9, 4, 11, 6))),
    )
    assert match(three, one).pairs == ((1, 0),)
    assert match(three, one).extra == (0, 2)
    assert match(one, three).missing == (0, 2)


CELL = 16  # pixels


def pixels(cells: np.ndarray) -> np.ndarray:
    return enlarge(cells, (cells.shape[0] * CELL, cells.shape[1] * CELL))


def hull(mask: np.ndarray) -> np.ndarray:
    drawn = np.zeros_like(mask)
    fill_hull(drawn, *row_extremes(mask))
    return drawn


def region_of(preview: np.ndarray, keyframe: np.ndarray) -> np.ndarray:
    """Of two grids of cells, the keyframe's mask being those cells at image resolution."""
    now, wanted = find_instances(preview), find_instances(keyframe)
    return region(now, keyframe_shape(pixels(keyframe), wanted), match(now, wanted))


def test_the_region_is_the_hull_of_a_pair_and_unmatched_instances_as_they_are():
    covered = region_of(grid((2, 2, 4, 4), (26, 14, 30, 20)), grid((12, 2, 14, 4)))
    np.testing.assert_array_equal(covered, pixels(grid((2, 2, 14, 4), (26, 14, 30, 20))))
    missing = region_of(grid((2, 2, 4, 4)), grid((2, 2, 4, 4), (26, 14, 30, 20)))
    np.testing.assert_array_equal(missing, pixels(grid((2, 2, 4, 4), (26, 14, 30, 20))))


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_an_object_of_a_few_cells_that_stays_has_all_of_itself_as_its_region(cells):
    place = grid((5, 5, 5 + cells, 5 + cells))
    np.testing.assert_array_equal(region_of(place, place), pixels(place))


def test_the_space_between_two_single_cells_is_part_of_their_region():
    covered = region_of(grid((2, 2, 3, 3)), grid((10, 2, 11, 3)))
    np.testing.assert_array_equal(covered, pixels(grid((2, 2, 11, 3))))


def test_the_region_follows_the_keyframes_own_mask_not_its_cells():
    mask = np.zeros((320, 480), dtype=bool)
    mask[41:79, 85:139] = True  # not on the borders of cells
    instances = find_instances(mask_on_grid(torch.from_numpy(mask), (20, 30)).numpy())
    found = region(instances, keyframe_shape(mask, instances), match(instances, find_instances(grid())))
    np.testing.assert_array_equal(found, pixels(instances.labels > 0))  # nothing to match: cells as they are
    alone = match(find_instances(grid()), instances)
    np.testing.assert_array_equal(
        region(find_instances(grid()), keyframe_shape(mask, instances), alone), mask
    )
    paired = region(instances, keyframe_shape(mask, instances), match(instances, instances))
    np.testing.assert_array_equal(paired, hull(mask | pixels(instances.labels > 0)))


def test_cells_that_do_not_divide_the_picture_are_drawn_where_they_are():
    cells = grid((0, 0, 51, 34), size=(34, 51))
    assert enlarge(cells, (480, 720)).all()
    now = find_instances(cells)
    empty = keyframe_shape(np.zeros((480, 720), dtype=bool), find_instances(grid(size=(34, 51))))
    assert region(now, empty, match(now, find_instances(grid(size=(34, 51))))).all()


def test_a_small_instance_beside_a_large_one_is_not_lost():
    mask = torch.zeros(320, 480, dtype=torch.bool)
    mask[32:96, 32:96] = True
    mask[210:220, 306:314] = True  # 80 of a cell's 256 pixels
    mask[20, 400] = True  # a speck
    found = find_instances(mask_on_grid(mask, (20, 30)).numpy())
    assert found.areas.tolist() == [16, 1]
    shape = keyframe_shape(mask.numpy(), found)
    assert int((shape.labels == 2).sum()) == 80 + 1  # every pixel of the mask belongs to the nearest instance


def test_pixels_between_two_instances_belong_to_their_own_connected_component():
    mask = grid((51, 3, 56, 17), (37, 5, 48, 17), size=(48, 72))
    instances = find_instances(mask_on_grid(torch.from_numpy(mask), (12, 18)).numpy())
    shape = keyframe_shape(mask, instances)
    assert len(np.unique(shape.labels[:, 51:])) == len(np.unique(shape.labels[:, :48])) == 2  # and background
    drawn = region(instances, shape, match(instances, instances))
    assert not drawn[:, 48].any()  # no hull bridges the gap


@given(st.lists(st.tuples(*[st.integers(0, 60)] * 2, *[st.integers(4, 12)] * 2), min_size=2, max_size=2))
@settings(max_examples=60, deadline=None)
def test_a_connected_component_is_never_shared_by_instances_that_have_others(boxes):
    mask = grid(*((x, y, x + w, y + h) for x, y, w, h in boxes), size=(72, 72))
    instances = find_instances(mask_on_grid(torch.from_numpy(mask), (18, 18)).numpy())
    parts = find_instances(mask)
    labels = keyframe_shape(mask, instances).labels
    assert ((labels > 0) == mask).all()
    if len(instances) == len(parts):
        for part in range(len(parts)):
            assert len(np.unique(labels[parts.mask(part)])) == 1


@settings(max_examples=60, deadline=None)
@given(arrays(bool, (9, 11), elements=st.booleans(), fill=st.just(False)))
def test_the_hull_is_the_convex_hull_of_the_pixels(mask):
    drawn = hull(mask)
    assert (drawn | ~mask).all()
    points = np.argwhere(mask)
    cells = np.argwhere(np.ones_like(mask))
    try:
        inside = Delaunay(points).find_simplex(cells, tol=1e-9) >= 0
    except (QhullError, ValueError):
        return  # a line or less
    np.testing.assert_array_equal(drawn, inside.reshape(mask.shape))


@pytest.mark.parametrize("size", [(5, 6), (40, 60), (20, 30), (7, 11)])
def test_pooling_equals_drawing_at_high_resolution_first(size):
    cells = torch.from_numpy(grid((3, 4, 17, 11), (25, 15, 30, 20)))
    fine = cells.float().repeat_interleave(77, 0).repeat_interleave(77, 1)  # 1540 x 2310
    if fine.shape[0] % size[0] == 0 and fine.shape[1] % size[1] == 0:
        expected = torch.nn.functional.adaptive_avg_pool2d(fine[None], size)[0]
        torch.testing.assert_close(pool(cells, size), expected, atol=1e-5, rtol=0)
    assert pool(cells, size).mean().item() == pytest.approx(cells.float().mean().item(), abs=1e-6)


def test_normalised_gradients_have_norm_one_whatever_their_scale():
    for scale in (1e-9, 1.0, 1e12):
        assert normalised(scale * torch.randn(1, 4, 5, 6, 8)).norm().item() == pytest.approx(1, abs=1e-5)
    assert not normalised(torch.zeros(3)).any()


def test_a_gradient_with_nan_or_infinity_becomes_zero():
    for broken in (float("nan"), float("inf")):
        assert not normalised(torch.tensor([1.0, broken])).any()


def test_outside_the_region_the_weight_is_exactly_lambda():
    weights = region_weights(pool(torch.from_numpy(grid((0, 0, 15, 20))), (4, 6)), 0.2)
    assert weights[:, :3].eq(1).all()
    assert weights[:, 3:].eq(0.2).all()
