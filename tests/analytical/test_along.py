"""Traffic along lengths: one and the same, at once or point by point."""

import numpy as np
import pytest

from analytical import along, launch_order, simfa_python
from dashboard.recipe import Recipe

LENGTHS = np.array([512, 4096, 51_200, 2**20])
ESTIMATORS = (simfa_python, launch_order)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("batch", [1, 1024, 65_536])
def test_every_point_is_that_of_a_launch_of_its_length(estimator, both, batch):
    experiment = Recipe(llm="llama3-8b", seq=1024, batch=batch).experiment()
    found = along.traffic(estimator.sweep, experiment, LENGTHS, both)
    for n, length in enumerate(LENGTHS):
        changes = {"L": int(length), "S": int(length)} if both else {"S": int(length)}
        one = estimator.sweep(experiment, **changes)
        assert found.dram_bytes[n] == one.dram_bytes and found.l2_bytes[n] == one.l2_bytes
        assert found.waves[n] == one.waves and found.fits_l2[n] == one.fits_l2


def test_the_long_end_of_a_large_batch_is_beyond_a_grid():
    experiment = Recipe(llm="llama3-8b", seq=1024, batch=1024).experiment()
    assert simfa_python.overflows(simfa_python.changed(experiment, L=LENGTHS, S=LENGTHS))
    assert not simfa_python.overflows(simfa_python.changed(experiment, L=LENGTHS[:2], S=LENGTHS[:2]))
