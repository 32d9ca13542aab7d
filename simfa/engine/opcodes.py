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
PHASE = 15
LOOP = FIRST_CONTROL = 16
END_LOOP = 17
OPCODES = 18
DECLARATION = -1  # no code: DEF_TMAP

LOADS = (TMA_TENSOR, TMA_BULK)
STORES = (TMA_STORE, TMA_BULK_STORE)
TENSOR_REQUESTS = (TMA_TENSOR, TMA_STORE)

CONTROL = (LOOP, END_LOOP)  # steer the program counter in no time; never issued

RANKS = 5  # dimensions of a tensor map
STEP_AXIS = 2  # the dimension of a box that a counter moves: the rows of K and V
COUNTERS = 2  # per thread: how many tiles of K and of V it has dealt with
LOOPS = 2  # loops of a program, each with its own count of turns per work tile
DYNAMIC = -1  # phase of a load: the filling that its thread has acquired last

INSTRUCTION = np.dtype(
    [
        ("opcode", np.int64),
        ("map", np.int64),  # tensor map of a TMA instruction
        ("sid", np.int64),  # mbarrier / stage
        ("gid", np.int64),  # asynchronous group
        ("bid", np.int64),  # named barrier
        ("count", np.int64),  # N of a wait, k of BAR_WAIT
        ("cycles", np.int64),  # of a bubble, or of a WGMMA on the tensor cores
        ("tag", np.int64),  # what a timeline calls it; no effect on timing
        ("phase", np.int64),  # of a load: which filling of its stage it belongs to
        ("expected", np.int64),  # of a load: how many loads that filling takes
        ("stages", np.int64),  # of the ring that sid begins, walked by a counter; 0: sid is the stage
        ("counter", np.int64),  # which counter walks the ring and moves a box
        ("advance", np.int64),  # added to the counter once the instruction has issued
        ("step", np.int64),  # rows that one count moves a box by, or bytes a bulk copy
        ("target", np.int64),  # of LOOP: distance to what follows the loop; of END_LOOP: back to its LOOP
        ("cost", np.int64),  # cycles after it in which its thread issues no other
        ("fp32", np.int64),  # of a phase: cycles of the FP32 pipe at full rate, likewise MUFU and operands
        ("mufu", np.int64),
        ("operands", np.int64),
        ("address", np.int64),  # first byte of a bulk copy
        ("bytes", np.int64),  # length of a bulk copy
        ("multicast", np.int64),  # of a load: mask of the CTAs of the cluster that it reaches; 0: its own
    ]
)
