"""Registers and error codes of the a3c engine, as its register page shows them from 0x100.

The engine has no RTL yet; its register description will generate this map and take its place.
Source: a3c 10.2, 10.4.
"""

from __future__ import annotations

from enum import IntEnum

from models.registers.map import Field, Register

ENGINE_ID = int.from_bytes(b"A3C ", "little")
ENGINE_VERSION = 0x0001_0000


class Error(IntEnum):
    """Codes of a completion record."""

    E_NET = 1
    E_ZERO = 2
    E_MAX = 3
    E_STRIDE = 4
    E_SHAPE = 5
    E_ORDER = 6
    E_LANES = 7
    E_CAP_FM = 8
    E_CAP_PB = 9
    E_CAP_GB = 10
    E_CAP_LB = 11
    E_NB = 12
    E_ADDR = 13
    E_OVERLAP = 14
    E_HPARAM = 15
    E_ROLE = 16
    E_BUS_RD = 64
    E_BUS_WR = 65
    E_ALIGN = 66
    E_TIMEOUT = 67
    E_RING = 68
    E_OPCODE = 69
    E_RESERVED = 70


ERROR_TEXT: dict[int, str] = {
    1: "the network slot is out of range or empty",
    2: "a dimension or the number of layers is zero",
    3: "a dimension, the number of layers or the parameters are above the maximum",
    4: "a stride is not 1, 2 or 4, or a kernel is larger than its map",
    5: "a layer's input is not the output of the layer before it",
    6: "a convolution behind a fully connected layer, or no fully connected layer",
    7: "lanes that the build does not have or that do not divide the layer",
    8: "the feature maps do not fit the feature-map buffer",
    9: "a layer's parameters do not fit the parameter buffer",
    10: "the gradients do not fit the gradient buffer",
    11: "a row of a map does not fit the line buffers",
    12: "the batch is 0 or above NB_MAX",
    13: "an address range wraps or leaves MEM_BASE..MEM_LIMIT",
    14: "what the task writes overlaps something else that it names",
    15: "a hyper-parameter is not finite, or epsilon is not positive",
    16: "no compute unit has the role that the task needs",
    64: "a read was answered with SLVERR or DECERR (ERR_INFO1 1:0)",
    65: "a write was answered with SLVERR or DECERR (ERR_INFO1 1:0)",
    66: "an address or a length is not aligned",
    67: "a running job made no progress for WATCHDOG clocks",
    68: "a ring register was written against the rules; nothing changed",
    69: "the opcode is unknown or not of this ring",
    70: "a reserved field or an address bit above 39 is not zero",
}


def _register(
    name: str,
    offset: int,
    access: str,
    fields: list[tuple[str, int, int]],
    description: str,
    *,
    reset: int = 0,
    count: int = 1,
    stride: int = 4,
) -> Register:
    """Make a register of (name, lsb, width) fields; every writable one is for an idle engine."""
    mask = (1 << 32) - 1
    made = tuple(
        Field(field, lsb, width, access, (reset & mask) >> lsb & ((1 << width) - 1), "")
        for field, lsb, width in fields
    )
    idle = access == "RW" and name != "NET_SEL"
    return Register(name, offset, access, reset, idle, count, stride, made, description)


_VALUE = [("value", 0, 32)]
CAP_CU = _register(
    "CAP_CU",
    0x100,
    "RO",
    [
        ("n_pe", 0, 8),
        ("n_pair", 8, 4),
        ("single_cu", 12, 1),
        ("port_per_cu", 13, 1),
        ("alt_en", 14, 1),
    ],
    "compute units",
)
CAP_UNIT = _register(
    "CAP_UNIT",
    0x104,
    "RO",
    [("lm", 0, 4), ("la", 4, 4), ("n_ru", 8, 8), ("nb_max", 16, 4), ("n_net", 20, 4)],
    "latency of multiplier and adder, RMSProp units of a training CU, largest batch, networks",
)
CAP_FM = _register("CAP_FM", 0x108, "RO", _VALUE, "rows of the feature-map buffer")
CAP_PB_I = _register("CAP_PB_I", 0x10C, "RO", _VALUE, "rows of an inference CU's parameters")
CAP_PB_T = _register("CAP_PB_T", 0x110, "RO", _VALUE, "rows of a training CU's parameters")
CAP_GB = _register("CAP_GB", 0x114, "RO", _VALUE, "rows of the gradient buffer")
CAP_LB = _register(
    "CAP_LB",
    0x118,
    "RO",
    [("lbw", 0, 16), ("nctx", 16, 8), ("dl", 24, 8)],
    "words of a line buffer's half, accumulation contexts of a half, lane buffer entries",
)
CFG = _register(
    "CFG",
    0x120,
    "RW",
    [("layout_mode", 0, 2), ("order_en", 2, 1), ("interleave", 3, 1)],
    "layout (0 FA3C), updates in order of tickets, GC and BW of FC layers interleaved",
    reset=0b1100,
)
CU_ROLE = _register(
    "CU_ROLE", 0x124, "RW", [("roles", 0, 32)], "2 bits a CU: 0 inference, 1 training"
)
MEM_BASE_LO = _register("MEM_BASE_LO", 0x128, "RW", _VALUE, "first byte of the window")
MEM_BASE_HI = _register("MEM_BASE_HI", 0x12C, "RW", [("value", 0, 8)], "first byte of the window")
MEM_LIMIT_LO = _register("MEM_LIMIT_LO", 0x130, "RW", _VALUE, "first byte behind the window")
MEM_LIMIT_HI = _register(
    "MEM_LIMIT_HI", 0x134, "RW", [("value", 0, 16)], "first byte behind the window"
)
ALT2_OFS = _register("ALT2_OFS", 0x138, "RW", _VALUE, "bytes to the parameters' BW copy")
CU_COUNTERS = ("BUSY", "ISSUE", "ST_PARAM", "ST_FM", "ST_DRAIN", "ST_GB", "ST_CTX", "TASKS")
CU_COUNTER_BASE, CU_COUNTER_STRIDE, CU_MAX = 0x180, 0x40, 8
PORT_COUNTERS = ("READ_BEATS", "WRITE_BEATS")
PORT_COUNTER_BASE, PORT_COUNTER_STRIDE, PORT_MAX = 0x380, 0x10, 4
TASK_COUNTERS = ("INF", "BOOT", "TRAIN", "SYNC")
TASK_COUNTER_BASE = 0x3D0
NET_SEL = _register(
    "NET_SEL",
    0x400,
    "RW",
    [("net", 0, 4), ("layer", 4, 4), ("constant", 8, 5)],
    "which derived constant NET_DATA shows",
)
NET_DATA = _register("NET_DATA", 0x404, "RO", _VALUE, "a derived constant; 0 of an empty slot")

REGISTERS: tuple[Register, ...] = (
    CAP_CU,
    CAP_UNIT,
    CAP_FM,
    CAP_PB_I,
    CAP_PB_T,
    CAP_GB,
    CAP_LB,
    CFG,
    CU_ROLE,
    MEM_BASE_LO,
    MEM_BASE_HI,
    MEM_LIMIT_LO,
    MEM_LIMIT_HI,
    ALT2_OFS,
    NET_SEL,
    NET_DATA,
)
