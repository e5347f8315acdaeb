"""Instructions: check and decoding against the golden model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flow.effort import scale
from flow.regression import builds, regress
from models.sparse.formats import NOWHERE, USES, Flag, Geometry, Instruction, Layer, Op, Tensor
from models.sparse.validate import Context, check_instruction, in_store
from verif.play import Block, Player
from verif.sparse.tables import ENTRY_BITS, LAYER_BITS, entry_word, layer_word, words

CORE = "jackdaw:engine:sparse_control"
SETTLE = 12  # clocks after new agents and episodes
PERIOD = 6  # clocks of an instruction
SIDES = (1, 8, 9, 32, 64, 96, 128, 512)  # rows and columns
FITS, FITS_NOT, BEYOND = range(3)  # fit_e
SIZES = [
    Geometry(cores=3, d_max=64, x_rows=512, y_rows=256, a_rows=1024),
    regress(Geometry()),
    regress(Geometry(cores=2, d_max=512, x_rows=1000, y_rows=1000, a_rows=3000)),
    regress(Geometry(cores=1, d_max=33, x_rows=16, y_rows=64, a_rows=100)),
]


def bench(g: Geometry, seed: int) -> Player:
    block = Block(
        CORE, "jd_sparse_instruction_bench",
        {
            "start_i": 1, "agents_i": 8, "episodes_i": 16, "clear_i": 1,
            "layers_i": 8 * LAYER_BITS, "layer_count_i": 4, "in_valid_i": 1, "in_words_i": 256,
            "in_at_i": 16, "out_ready_i": 1,
        },
        {
            "ready_o": 1, "vectors_o": 48, "all_o": 16, "in_ready_o": 1, "out_valid_o": 1,
            "out_code_o": 8, "out_entry_o": ENTRY_BITS,
        },
        sources=("verif/sparse/jd_sparse_instruction_bench.sv",),
    )  # fmt: skip
    sizes = {
        "Cores": g.cores, "DMax": g.d_max, "XRows": g.x_rows, "YRows": g.y_rows, "ARows": g.a_rows
    }  # fmt: skip
    return Player(block, sizes, seed)


def network(layers: list[Layer]) -> int:
    """layers_i."""
    return sum(layer_word(layer) << LAYER_BITS * k for k, layer in enumerate(layers))


def any_context(rng: np.random.Generator, g: Geometry) -> Context:
    """Random layers, agents and episodes; their sizes are often multiples of 32 or near limits."""
    layers = []
    for _ in range(int(rng.integers(1, 9))):
        m, n = (
            int(
                rng.choice([x for x in (*SIDES, int(rng.integers(1, g.d_max + 1))) if x <= g.d_max])
            )
            for _ in range(2)
        )
        layers.append(
            Layer(m, n, int(rng.choice([1, 2, 4])), tiles=int(rng.integers(1, 9)),
                  dx_from=int(rng.integers(m)) if rng.random() < 0.5 else 0)
        )  # fmt: skip
    agents = int(rng.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 32, int(rng.integers(256))]))
    episodes = int(rng.choice([0, 1, 3, 5, 32, 96, 20000, int(rng.integers(65536))],
                              p=[0.02, 0.1, 0.1, 0.2, 0.2, 0.18, 0.1, 0.1]))  # fmt: skip
    return Context(g, layers, agents, episodes)


def any_instruction(rng: np.random.Generator, context: Context) -> Instruction:
    """An instruction that is often right: what its op has, with few things out of place."""
    g, op = context.geometry, Op(int(rng.choice([*Op, *[Op.LIN] * 4, Op.LOADA])))
    use = USES[op]
    number = int(rng.integers(len(context.layers))) if use.layer else 0
    layer = context.layers[number]
    flags = Flag(0)
    for flag in use.flags:
        if rng.random() < 0.4:
            flags |= flag
    if Flag.SECOND in flags:
        flags &= ~(Flag.ADDEND | Flag.GATES)
    most = layer.tiles if use.layer and op not in (Op.FX, Op.FY, Op.DW) else 8
    count = most if rng.random() < 0.2 else int(rng.integers(1, most + 1))
    tiles = [count if use.tiles and c < g.cores else 0 for c in range(3)]
    if use.tiles and Flag.ROW not in flags and rng.random() < 0.5:
        tiles[int(rng.integers(g.cores))] = int(rng.integers(count + 1))
    value = neurons = 0
    sizes = [layer.m, layer.n]
    if use.neurons:
        neurons = int(rng.choice(sizes)) if use.layer else int(rng.integers(1, g.d_max + 1))
        if Flag.BSUM in flags:
            neurons = layer.n
    if use.tile:
        value = int(rng.integers(9)) * max(1, context.agents // 4)
        value = min(value, 255)
    if use.lines:
        value = int(rng.integers(1, 130))
    if Flag.SECOND in flags:
        most = neurons if use.neurons else max(layer.n, layer.m - layer.dx_from)
        value = min(8 * int(rng.integers(1, max(2, -(-most // 8)))), 1016)
    room = g.a_rows
    found = dict.fromkeys("abd", NOWHERE)
    for name in "abd":
        has = name.upper() in use.tensors or (
            name == "b" and bool(flags & (Flag.SECOND | Flag.ADDEND))
        )
        if has:
            stride = int(rng.integers(min(1024, room // 8)))
            line = int(rng.integers(room - min(room // 2, 7 * stride)))
            if rng.random() < 0.3:  # near the end
                lines = [-(-layer.m // 8), -(-layer.n // 8), layer.n // 4, int(rng.integers(1, 70))]
                end = int(rng.choice(lines)) + int(rng.integers(-1, 2))
                line = min(max(0, room - (max(tiles) - 1) * stride - end), 65535)
            found[name] = Tensor(line, int(rng.integers(8)), stride)
    address = 0
    if use.address:
        address = 64 * int(rng.integers(1 << 34))
        if rng.random() < 0.3:
            total = (tiles[0] if Flag.ROW in flags else sum(tiles)) * value
            address = (1 << 40) - 64 * (total + int(rng.integers(-2, 3)))
        address = min(max(address, 0), (1 << 40) - 64)
    one = Instruction(
        int(op), int(rng.integers(4)), int(flags), int(rng.integers(65536)),
        int(rng.integers(65536)), number, (tiles[0], tiles[1], tiles[2]), value=value,
        neurons=neurons, address=address, a=found["a"], b=found["b"], d=found["d"],
    )  # fmt: skip
    return Instruction.decode(one.encode())


def spoiled(rng: np.random.Generator, one: Instruction) -> Instruction:
    """One bit or one field of an instruction is changed."""
    raw = one.encode()
    choice = int(rng.integers(6))
    if choice == 0:
        raw[int(rng.integers(8))] ^= 1 << int(rng.integers(32))
    elif choice == 1:
        raw[0] = raw[0] & ~0xFF | int(rng.integers(256))
    elif choice == 2:
        raw[2] ^= 1 << int(rng.integers(20))
    elif choice == 3:
        raw[7] ^= 1 << int(rng.choice([*range(10), *range(16, 26)]))
    elif choice == 4:
        raw[0] ^= 1 << int(rng.integers(16, 25))
    elif one.op in (Op.LOADA, Op.STOREA):
        raw[4] ^= 1 << int(rng.integers(6))
    else:
        raw[int(rng.integers(3, 7))] ^= 1 << int(rng.integers(20))
    return Instruction.decode(raw)


def fits(one: Instruction, context: Context, rows: int) -> int:
    """Where a LIN's results go; mirrors Machine._check_result."""
    second = one.has(Flag.SECOND)
    rest = rows - one.value if second else rows
    if rest < 1:
        return FITS_NOT
    places = [(one.d, one.value if second else rows)]
    if second or one.has(Flag.ADDEND):
        places.append((one.b, rest))
    most, lines = max(one.tiles), context.geometry.a_rows
    return FITS if all(in_store(t, n, most, lines) for t, n in places) else BEYOND


def numbers(rows: np.ndarray) -> list[int]:
    return [int.from_bytes(np.atleast_1d(row).astype(np.uint32).tobytes(), "little")
            for row in rows]  # fmt: skip


@builds(lambda g: bench(g, 1))
@pytest.mark.parametrize("g", SIZES, ids=lambda g: f"{g.cores}-{g.d_max}")
def test_instructions(g: Geometry, seed: int) -> None:
    """Right and wrong ones; with a sink that is always ready each takes six clocks."""
    sim, rng = bench(g, seed), np.random.default_rng(seed)
    seen: dict[str, int] = {}
    for nth in range(scale(60, 16)):
        context = any_context(rng, g)
        if nth < 2:  # nobody hears anything
            context = replace(context, agents=(0, 3)[nth], episodes=(5, 0)[nth])
        many = [any_instruction(rng, context) for _ in range(200)]
        many = [spoiled(rng, one) if rng.random() < 0.4 else one for one in many]
        fixed = {"agents_i": context.agents, "episodes_i": context.episodes}
        settled = sim.run(SETTLE, start_i=np.arange(SETTLE) == 0, clear_i=np.ones(SETTLE),
                          **{k: np.full(SETTLE, v) for k, v in fixed.items()})  # fmt: skip
        assert settled["ready_o"][8:].all() and not settled["ready_o"][1:8].any()
        vectors = numbers(settled["vectors_o"])[-1]
        for core in range(g.cores):
            want = min(65535, context.vectors(core, False))
            assert vectors >> 16 * core & 0xFFFF == want
        assert settled["all_o"][-1] == min(65535, context.vectors(0, True))
        clocks = PERIOD * (len(many) + 1)
        turn = (np.arange(clocks) + PERIOD - 1) // PERIOD  # the next is there when one is taken
        raw = [sum(w << 32 * k for k, w in enumerate(one.words)) for one in many]
        out = sim.run(
            clocks, in_valid_i=turn < len(many),
            in_words_i=words([raw[k] if k < len(raw) else 0 for k in turn], 256),
            in_at_i=turn, out_ready_i=np.ones(clocks),
            layers_i=words([network(list(context.layers))] * clocks, 8 * LAYER_BITS),
            layer_count_i=np.full(clocks, len(context.layers)), start_i=np.zeros(clocks),
            **{k: np.full(clocks, v) for k, v in fixed.items()},
        )  # fmt: skip
        there = np.flatnonzero(out["out_valid_o"])
        assert there.tolist() == [PERIOD * k + 5 for k in range(len(many))]
        entries = numbers(out["out_entry_o"][there])
        for at, one in enumerate(many):
            error = check_instruction(one, context)
            got = int(out["out_code_o"][there[at]])
            assert got == (error or 0), (one, context, error)
            name = error.name if error else Op(one.op).name
            seen[name] = seen.get(name, 0) + 1
            if error is None:
                found, mask = entries[at], 15 << ENTRY_BITS - 54
                word = entry_word(one, at, 0, 0)
                assert found & ~mask == word, one
                if one.op == Op.LIN:
                    layer = context.layers[one.layer]
                    places = [fits(one, context, n) for n in (layer.n, layer.m - layer.dx_from)]
                    assert found >> ENTRY_BITS - 54 & 15 == places[0] << 2 | places[1]
                    for k, fit in enumerate(places):
                        key = f"fit {k} {fit}"
                        seen[key] = seen.get(key, 0) + 1
    codes = ("E_OPCODE", "E_RESERVED", "E_ALIGN", "E_ADDR", "E_DIM", "E_RANGE")
    want_names = [*(op.name for op in Op), *codes]
    if g is SIZES[0]:
        want_names += [f"fit {k} {fit}" for k in range(2) for fit in range(3)]
        assert not [name for name in want_names if seen.get(name, 0) < 2], seen
