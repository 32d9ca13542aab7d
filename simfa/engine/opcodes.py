"""Opcodes and the encoding of one instruction as the front end reads it (Table 3).

`simfa.isa` names the operands of each instruction; here are only the numbers that compiled code compares.
"""

import numpy as np

TMA_TENSOR = 0
MB_WAIT = 1
ACQUIRE_STAGE = 2
RELEASE_STAGE = 3
TMA_STORE = 4
TMA_COMMIT = 5
TMA_WAIT = 6
WGMMA = 7
WGMMA_COMMIT = 8
WGMMA_WAIT = 9
BAR_ARRIVE = 10
BAR_WAIT = 11
BUBBLES = 12
TMA_BULK = 13
TMA_BULK_STORE = 14
OPCODES = 15
DECLARATION = -1  # no code: DEF_TMAP

LOADS = (TMA_TENSOR, TMA_BULK)
STORES = (TMA_STORE, TMA_BULK_STORE)
TENSOR_REQUESTS = (TMA_TENSOR, TMA_STORE)

RANKS = 5  # dimensions of a tensor map

INSTRUCTION = np.dtype(
    [
        ("opcode", np.int32),
        ("map", np.int32),  # tensor map of a TMA instruction
        ("sid", np.int32),  # mbarrier / stage
        ("gid", np.int32),  # asynchronous group
        ("bid", np.int32),  # named barrier
        ("count", np.int32),  # N of a wait, k of BAR_WAIT
        ("cycles", np.int32),  # of a bubble, or of a WGMMA on the tensor cores
        ("tag", np.int32),  # what a timeline calls it; no effect on timing
        ("phase", np.int32),  # of a load: which filling of its stage it belongs to
        ("expected", np.int32),  # of a load: how many loads that filling takes
        ("address", np.int64),  # first byte of a bulk copy
        ("bytes", np.int64),  # length of a bulk copy
        ("multicast", np.int64),  # of a load: mask of the CTAs of the cluster that it reaches; 0: its own
    ]
)
