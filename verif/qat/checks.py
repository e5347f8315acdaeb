"""Descriptors, registers and network tables, right and wrong, and the bench of their checks.

Each rule has a code and a place; a rule is broken by a value that is too large by one, the largest
of its field, or any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np

from models.qat import noise, validate
from models.qat.descriptor import (
    LAYER_JOBS,
    LINE_JOBS,
    REGIONS,
    SLOT_JOBS,
    Flag,
    Job,
    Opcode,
    aligned,
    reserved,
)
from models.qat.layout import (
    ACTOR,
    HEAD_WORDS,
    LAYER_WORDS,
    Geometry,
    Layer,
    Slots,
    Table,
    layer_word,
    table_words,
)
from models.qat.ops import NONE, RELU, TANH
from models.qat.validate import (
    RATE_MOST,
    SCALAR_MOST,
    SHIFT_MOST,
    TAU_MOST,
    JobError,
    State,
    arrays,
    check_table,
)
from models.registers import qat as registers
from models.registers.qat import Error
from verif.play import Block, Player
from verif.qat.cores import LAYER, LAYERS, LAYERS_BITS, NETS, TENSORS, layer_words, struct

NETWORKS = {
    "valid": 1, "states": 11, "actions": 5, "counts": 6, "layers": LAYERS_BITS, "state_lines": 11,
    "input_lines": 11, "action_line": 11, "action_word": 5, "set_lines": 11,
}  # fmt: skip
NETWORKS_BITS = sum(NETWORKS.values())
ADDRESSES = 1 << 40
WORD, HALFWORD = (1 << 32) - 1, (1 << 16) - 1
JOBS = tuple(int(opcode) for opcode in Opcode)
SCALARS = {"c1": "B1C", "c2": "B2C", "eps": "EPS", "tau": "TAU"}  # ports of registers
ADAM = {registers.B1C.offset: "c1", registers.B2C.offset: "c2", registers.EPS.offset: "eps"}
PLACES: dict[Error, tuple[int, ...]] = {
    Error.E_OPCODE: (0,),
    Error.E_RESERVED: (0, *range(2, 16)),
    Error.E_ALIGN: (2, 4, 6, 10, 13),
    Error.E_BATCH: (9, 10, 11, 14),
    Error.E_STRIDE: (13,),
    Error.E_RANGE: (8, 9, 10),
    Error.E_SLOT: (8, 9, 10, 11),
    Error.E_NO_NET: (0, 8),
    Error.E_VALUE: (
        0, 4, 8, 9, 15, registers.CFG.offset, *ADAM, registers.TAU.offset,
        *map(registers.SHIFT.at, range(TENSORS)),
    ),
    Error.E_ADDR: (2, 4, 10),  # an action lies in one beat
}  # fmt: skip
RULES = [(code, place) for code, places in PLACES.items() for place in places]
REGISTERS = [rule for rule in RULES if rule[1] >= registers.CFG.offset]


def player(g: Geometry, seed: int) -> Player:
    """jd_qat_check_bench, out of reset."""
    block = Block(
        "jackdaw:engine:qat_top",
        "jd_qat_check_bench",
        {
            "start_i": 1, "words_i": 512, "table_i": NETWORKS_BITS, "half_i": 1, "noise_i": 4,
            "paper_i": 1, "shifts_i": 5 * TENSORS, "c1_i": 32, "c2_i": 32, "eps_i": 32,
            "tau_i": 25, "net_forget_i": 1, "net_start_i": 1, "net_words_i": 32 * table_words(g),
            "sweep_clear_i": 1, "sweep_start_i": 1, "sweep_net_i": 1, "sweep_ready_i": 1,
        },
        {
            "done_o": 1, "code_o": 8, "place_o": 32, "net_done_o": 1, "net_code_o": 8,
            "net_place_o": 32, "net_table_o": NETWORKS_BITS, "sweep_idle_o": 1,
            "sweep_valid_o": 1, "sweep_line_o": 17, "sweep_count_o": 17, "sweep_columns_o": 17,
            "sweep_words_o": g.lw.bit_length(),
        },
        sources=("verif/qat/jd_qat_check_bench.sv",),
    )  # fmt: skip
    parameters = {
        "Lw": g.lw, "N": g.n, "Slots": g.vc, "ActLines": g.act_lines, "DelLines": g.del_lines,
        "WLines": g.w_lines, "MaxDim": g.max_dim, "MaxLayers": g.max_layers, "BMax": g.b_max,
        "Paper": g.paper,
    }  # fmt: skip
    return Player(block, parameters, seed)


def any_bits(rng: np.random.Generator, bits: int) -> int:
    return int.from_bytes(rng.bytes(-(-bits // 8)), "little") & (1 << bits) - 1


def edge(rng: np.random.Generator, first: int, last: int) -> int:
    """A value of a range, often one of its ends."""
    draw = rng.random()
    return last if draw < 0.3 else first if draw < 0.5 else int(rng.integers(first, last + 1))


def past(rng: np.random.Generator, first: int, last: int = WORD) -> int:
    """A value that is too large: often the first, or the last."""
    draw = rng.random()
    return first if draw < 0.6 else last if draw < 0.8 else int(rng.integers(first, last + 1))


# ---- Networks
def networks(rng: np.random.Generator, g: Geometry, most: bool = False) -> Table:
    """Networks whose ranges do not overlap; they may need too many lines of a slot.

    Args:
        most: with all layers and all biases; else the critic may have too many inputs.
    """
    while True:
        actions = edge(rng, 1, g.lw - 2)
        states = max(edge(rng, 1, g.max_dim) >> int(rng.integers(0, 3)), 1)
        inputs = g.action_place(states, actions) + actions
        if inputs > g.max_dim and (most or rng.random() < 0.6):
            continue
        nets = [_layers(rng, g, (states, actions), TANH, most),
                _layers(rng, g, (inputs, 1), NONE, most)]  # fmt: skip
        flat = [layer for layers in nets for layer in layers]
        counts = [count for layer in flat for _, count in layer.ranges(g)]
        room = g.w_lines - sum(counts)
        if room < 0:
            continue
        # One after another in any order, with one gap; the last ends with the memory, or near it.
        lines, line, gap = [0] * len(counts), 0, int(rng.integers(0, len(counts) + 1))
        for turn, at in enumerate(rng.permutation(len(counts))):
            line += max(room - int(rng.integers(0, 3)), 0) if turn == gap else 0
            lines[at] = line
            line += counts[at]
        bases = iter(lines)
        actor, critic = (
            tuple(
                Layer(x.p, x.q, x.act, x.bias, next(bases), next(bases) if x.bias else 0)
                for x in layers
            )
            for layers in nets
        )
        return Table(states, actions, (actor, critic))


def _layers(
    rng: np.random.Generator, g: Geometry, ends: tuple[int, int], act: int, most: bool
) -> list[Layer]:
    """A network's layers from its inputs to its outputs, whose function may be `act`."""
    count = g.max_layers if most else int(rng.integers(2, g.max_layers + 1))
    small = int(rng.integers(0, 4))
    hidden = [max(edge(rng, 1, g.max_dim) >> small, 1) for _ in range(count - 1)]
    sizes = [ends[0], *hidden, ends[1]]
    return [
        Layer(p, q, int(rng.choice([NONE, RELU if k < count - 1 else act])),
              most or rng.random() < 0.7, 0, 0)
        for k, (q, p) in enumerate(pairwise(sizes))
    ]  # fmt: skip


def right(rng: np.random.Generator, g: Geometry) -> Table:
    """Networks that pass the checks."""
    while True:
        table = judged(networks(rng, g).encode(g), g)[2]
        if table is not None:
            return table


def judged(words: np.ndarray, g: Geometry) -> tuple[int, int, Table | None]:
    """Code and place of a table's words, 0 and the networks if they are right."""
    try:
        return 0, 0, check_table(words, g)
    except JobError as error:
        return int(error.code), error.info0, None


def number(found: np.ndarray) -> int:
    """The words of a port as an integer."""
    return int.from_bytes(np.ascontiguousarray(found, "<u4").tobytes(), "little")


def derived(table: Table, g: Geometry) -> int:
    """What jobs know of the networks, the struct table_t; absent layers are 0."""
    slots = Slots.of(table, g)
    place = g.action_place(table.states, table.actions)
    actor, critic = table.networks
    return struct(NETWORKS, {
        "valid": 1, "states": table.states, "actions": table.actions,
        "counts": len(actor) | len(critic) << 3, "layers": number(layer_words(table, g)),
        "state_lines": g.lines(table.states), "input_lines": slots.following[0],
        "action_line": place // g.lw, "action_word": place % g.lw, "set_lines": slots.x[1],
    })  # fmt: skip


def absent(table: Table) -> int:
    """The bits of the struct that say nothing: those of absent layers."""
    size, out = sum(LAYER.values()), 0
    for net in range(NETS):
        for index in range(len(table.networks[net]), LAYERS):
            out |= (1 << size) - 1 << size * (net * LAYERS + index)
    return out << sum(list(NETWORKS.values())[5:])


# ---- Descriptors
@dataclass
class Trial:
    """A descriptor and all that it is checked against.

    Attributes:
        words: [16] of the descriptor.
        table: networks, if there are any.
        noise, paper: of CFG. half: the mode.
        scalars: values of c1, c2, eps and tau.
        shifts: of each tensor.
    """

    geometry: Geometry
    words: list[int]
    table: Table | None
    noise: int = 0
    paper: int = 0
    half: bool = False
    scalars: dict[str, int] = field(default_factory=dict)
    shifts: list[int] = field(default_factory=list)

    @property
    def job(self) -> Job:
        return Job(tuple(self.words))

    @property
    def state(self) -> State:
        cfg = registers.CFG.word(paper=self.paper, noise=self.noise)
        words = {"CFG": cfg} | {SCALARS[name]: value for name, value in self.scalars.items()}
        return State(self.geometry, self.table, words, self.shifts, self.half)

    def verdict(self) -> tuple[int, int]:
        """Code and place, 0 if it is right."""
        try:
            validate.check(np.array(self.words, np.uint32), self.state)
        except JobError as error:
            return int(error.code), error.info0
        return 0, 0

    def put(self, word: int, address: int) -> None:
        """An address in two words."""
        self.words[word : word + 2] = address & WORD, address >> 32


def drawn(rng: np.random.Generator, g: Geometry, opcode: Opcode, table: Table) -> Trial:
    """A job that is right but for the end of its records; many values are the least or the most."""
    w = [0] * 16
    trial = Trial(g, w, table, int(rng.integers(0, noise.KINDS)))
    trial.half, trial.paper = bool(rng.integers(0, 2)), int(rng.integers(0, 2)) & g.paper
    trial.scalars = {name: edge(rng, 1, SCALAR_MOST) for name in ADAM.values()}
    trial.scalars["tau"] = edge(rng, 0, TAU_MOST)
    trial.shifts = [edge(rng, 0, SHIFT_MOST) for _ in range(TENSORS)]
    w[0], w[1] = opcode | int(rng.integers(0, 4)) << 30, any_bits(rng, 32)
    if opcode in LINE_JOBS:
        w[8], w[10] = int(rng.integers(0, REGIONS)), edge(rng, 1, g.w_lines)
        w[9] = edge(rng, 0, g.w_lines - w[10])
    elif opcode in SLOT_JOBS:
        deltas = int(rng.integers(0, 2))
        lines = g.del_lines if deltas else g.act_lines
        w[8], w[9] = edge(rng, 0, g.n - 1) | deltas << 4, edge(rng, 0, g.vc - deltas)
        w[11] = edge(rng, 1, lines)
        w[10] = edge(rng, 0, lines - w[11])
    elif opcode in LAYER_JOBS:
        net = int(rng.integers(0, NETS))
        w[8] = net | edge(rng, 0, len(table.networks[net]) - 1) << 4
        w[8] |= int(opcode == Opcode.FW and rng.integers(0, 2)) << 8
        w[9] = edge(rng, 1, g.vectors)
        w[10], w[11] = (edge(rng, 0, last) for last in _room(trial))
    elif opcode == Opcode.ADAM:
        w[0] |= int(rng.choice([0, Flag.TARGETS])) << 8
        w[8], w[9] = int(rng.integers(0, NETS)), edge(rng, 0, RATE_MOST)
    elif opcode == Opcode.INFER:
        w[0] |= int(rng.integers(0, 2)) << 8
    elif opcode == Opcode.SEED:
        w[0] |= int(rng.integers(0, 2)) << 8
        w[4 + int(rng.integers(0, 8))] = 1 << int(rng.integers(0, 32))
    elif opcode == Opcode.TRAIN:
        flags = Flag(int(rng.integers(0, 256)))
        flags &= ~Flag.AFTER if flags & Flag.WITH else ~Flag(0)
        flags &= ~Flag(0) if flags & (Flag.AFTER | Flag.WITH) else ~Flag.NOISE
        flags &= ~Flag(0) if flags & Flag.LIST else ~Flag.WEIGHTS
        w[0] |= int(flags) << 8
        w[8] = edge(rng, 0, RATE_MOST) if flags & Flag.CRITIC else 0
        w[9] = edge(rng, 0, RATE_MOST) if flags & Flag.ACTOR else 0
        stride = g.stride(table.states)
        w[13] = stride if rng.random() < 0.5 else 64 * int(rng.integers(stride // 64, 1 << 26))
        w[12] = edge(rng, 0, min(ADDRESSES // w[13], WORD)) if flags & Flag.LIST else 0
        chunk = 2 * edge(rng, 1, (g.vc if trial.paper else g.vectors) // 2)
        w[14] = edge(rng, 1, g.b_max) | chunk << 16
        w[15] = int(rng.integers(-8, 8)) & 31 | edge(rng, 0, 6) << 8
    for word, nbytes in arrays(trial.job, trial.state):
        last = max(ADDRESSES - nbytes, 0) // 64  # with which it ends within the addresses
        trial.put(word, 64 * edge(rng, 0, last))
    return trial


def _room(trial: Trial) -> tuple[int, int]:
    """The last lines that operands and results of a one-layer job may have."""
    g, job = trial.geometry, trial.job
    assert trial.table is not None
    layer = trial.table.networks[job.network][job.layer]
    inputs, outputs = g.lines(layer.q), g.lines(layer.p)
    if job.opcode == Opcode.FW:
        return g.act_lines - inputs, g.act_lines - outputs
    if job.opcode == Opcode.DX:
        return g.del_lines - outputs, g.del_lines - inputs
    return g.act_lines - inputs, g.del_lines - outputs


def spoil(rng: np.random.Generator, trial: Trial, code: Error, place: int) -> bool:
    """Break a rule at a place. Returns: whether the job has the rule."""
    if trial.words[0] & 0xFF not in JOBS:
        return False
    opcode, flags = trial.job.opcode, trial.job.flags
    networked = opcode in (*LAYER_JOBS, Opcode.INFER, Opcode.TRAIN)
    learns = opcode == Opcode.ADAM or (
        opcode == Opcode.TRAIN and bool(flags & (Flag.CRITIC | Flag.ACTOR))
    )
    if code == Error.E_ADDR:
        nbytes = dict(arrays(trial.job, trial.state)).get(place, 0)
        if nbytes > 64:
            trial.put(place, 64 * (max(ADDRESSES - nbytes, 0) // 64 + 1))
        return nbytes > 64
    if (code, place) == (Error.E_NO_NET, 0):
        trial.table = None
        return networked or opcode == Opcode.ADAM
    if place >= registers.SHIFT.offset:
        index = (place - registers.SHIFT.offset) // registers.SHIFT.stride
        trial.shifts[index] = past(rng, SHIFT_MOST + 1, 31)
        return trial.half and networked
    if place == registers.TAU.offset:
        trial.scalars["tau"] = past(rng, TAU_MOST + 1, (1 << 25) - 1)
        return learns
    if place in ADAM:
        trial.scalars[ADAM[place]] = int(rng.choice([0, past(rng, SCALAR_MOST + 1)]))
        return learns
    if place == registers.CFG.offset:
        mine = opcode == Opcode.TRAIN and not trial.geometry.paper
        if rng.random() < 0.7:
            trial.paper = 1
            if mine:  # the chunk is right
                trial.words[14] = trial.job.batch | min(trial.job.chunk, trial.geometry.vc) << 16
            return mine
        trial.noise = past(rng, noise.KINDS, 15)
        return trial.job.acts and bool(flags & Flag.NOISE)
    value = _broken(rng, trial, code, place)
    if value is not None:
        trial.words[place] = value
    return value is not None


def _broken(rng: np.random.Generator, trial: Trial, code: Error, place: int) -> int | None:
    """A word's value that breaks a rule; None if the job does not have the rule."""
    g, w, job, table = trial.geometry, trial.words, trial.job, trial.table
    opcode, flags = job.opcode, job.flags
    train, lines = opcode == Opcode.TRAIN, opcode in LINE_JOBS
    slots, layers = opcode in SLOT_JOBS, opcode in LAYER_JOBS
    most = g.del_lines if job.deltas else g.act_lines
    count = len(table.networks[job.network]) if table else 0
    match code, place:
        case Error.E_OPCODE, _:
            return w[0] & ~0xFF | int(rng.choice([k for k in range(256) if k not in JOBS]))
        case Error.E_RESERVED, _ if mask := reserved(job)[place]:
            return w[place] | 1 << int(rng.choice([k for k in range(32) if mask >> k & 1]))
        case Error.E_ALIGN, _ if place in aligned(job):
            return w[place] | 1 << int(rng.integers(0, 6))
        case Error.E_BATCH, 14 if train:
            largest = g.vc if trial.paper else g.vectors
            batches = (0, past(rng, min(g.b_max + 1, HALFWORD), HALFWORD))
            chunks = (0, job.chunk - 1, largest + 1, past(rng, largest + 2, HALFWORD))
            if rng.random() < 0.4:
                return int(rng.choice(batches)) | job.chunk << 16
            return job.batch | int(rng.choice(chunks)) << 16
        case Error.E_BATCH, 9 if layers:
            return int(rng.choice([0, past(rng, g.vectors + 1)]))
        case Error.E_BATCH, 10 if lines:
            return 0
        case Error.E_BATCH, 11 if slots:
            return 0
        case Error.E_STRIDE, 13 if train and table:
            return (g.record_bytes(table.states) - 1) // 64 * 64
        case Error.E_RANGE, 8 if lines:
            return int(rng.integers(REGIONS, 8))
        case Error.E_RANGE, 9 if lines:
            return past(rng, g.w_lines)
        case Error.E_RANGE, 10 if lines:
            return past(rng, max(g.w_lines - w[9] + 1, 1))
        case Error.E_SLOT, 8 if slots:
            return w[8] & 0x10 | int(rng.integers(g.n, 16))
        case Error.E_SLOT, 9 if slots:
            return past(rng, g.vc + (not job.deltas))
        case Error.E_SLOT, 10 if slots:
            return past(rng, most)
        case Error.E_SLOT, 11 if slots:
            return past(rng, max(most - w[10] + 1, 1))
        case Error.E_SLOT, 10 | 11 if layers and job.layer < count:
            return past(rng, _room(trial)[place - 10] + 1)
        case Error.E_NO_NET, 8 if layers and table:
            return w[8] & 0x101 | int(rng.integers(count, 16)) << 4
        case Error.E_VALUE, 0 if train:
            both = flags & Flag.LIST or rng.random() < 0.5
            return w[0] | int(Flag.AFTER | Flag.WITH if both else Flag.WEIGHTS) << 8
        case Error.E_VALUE, 4 if opcode == Opcode.SEED:
            w[4:12] = [0] * 8
            return 0
        case Error.E_VALUE, 8 if train and flags & Flag.CRITIC:
            return past(rng, RATE_MOST + 1)
        case Error.E_VALUE, 9 if opcode == Opcode.ADAM or (train and flags & Flag.ACTOR):
            return past(rng, RATE_MOST + 1)
        case Error.E_VALUE, 15 if train:
            return int(rng.choice([w[15] & 0x1F00 | past(rng, 8, 23),
                                   w[15] & 0x1F | past(rng, 7, 31) << 8]))  # fmt: skip
    return None


def trials(rng: np.random.Generator, g: Geometry, count: int) -> list[Trial]:
    """Jobs: a third right, the others with each rule broken in turn, from the second turn more.

    Of every other right one the registers are wrong that it does not need.
    """
    tables = [right(rng, g) for _ in range(12)]
    opcodes = [*Opcode, *[Opcode.TRAIN] * 8]
    out: list[Trial] = []
    while len(out) < count:
        opcode = opcodes[rng.integers(0, len(opcodes))]
        trial = drawn(rng, g, opcode, tables[rng.integers(0, len(tables))])
        turn = len(out) * 2 // 3
        if len(out) % 3:
            if not spoil(rng, trial, *RULES[turn % len(RULES)]):
                continue
            if turn >= len(RULES):
                for _ in range(int(rng.integers(0, 3))):
                    spoil(rng, trial, *RULES[rng.integers(0, len(RULES))])
                if rng.random() < 0.1:
                    trial.words[rng.integers(0, 16)] ^= 1 << int(rng.integers(0, 32))
        elif len(out) % 2:  # registers that it does not need
            for rule in REGISTERS:
                other = replace(trial, scalars=dict(trial.scalars), shifts=list(trial.shifts))
                trial = trial if spoil(rng, other, *rule) else other
        out.append(trial)
    for opcode, region in product(LINE_JOBS, range(REGIONS)):  # those of V are twice as long
        trial = drawn(rng, g, opcode, tables[0])
        trial.words[8] = region
        while not spoil(rng, trial, Error.E_ADDR, 2):
            trial.words[9:11] = 0, int(rng.integers(1, g.w_lines + 1))
        out.append(trial)
    return out


# ---- Network tables
def table_rules(g: Geometry) -> list[tuple[Error, int]]:
    """Each code of a table with each word that it can name."""
    layers = [layer_word(net, k, g) for net in range(NETS) for k in range(g.max_layers)]
    return [
        *((Error.E_RESERVED, word) for word in range(2, table_words(g))),
        *((Error.E_DIM, word) for word in [0] * 8 + [1] * 3),  # from several causes
        *((Error.E_DIM, at + k) for at in layers for k in (0, 1)),
        *((Error.E_RANGE, at + k) for at in layers for k in (2, 3)),
        (Error.E_SLOT, 0),
    ]


def tables(rng: np.random.Generator, g: Geometry, count: int) -> list[np.ndarray]:
    """Words of tables: a third as drawn, the others with each rule broken in turn, then more."""
    rules, out = table_rules(g), list[np.ndarray]()
    while len(out) < count:
        turn, spoils = len(out) * 2 // 3, len(out) % 3 > 0
        code, word = rules[turn % len(rules)]
        words = networks(rng, g, most=spoils).encode(g)
        if spoils and code == Error.E_SLOT:
            if judged(words, g)[0] != code:
                continue
        elif spoils:
            listed = [int(x) for x in words]
            _spoil_table(rng, listed, g, code, word)
            words = np.array(listed, np.uint32)
        if spoils and turn >= len(rules):
            for _ in range(int(rng.integers(0, 3))):
                words[rng.integers(0, words.size)] ^= np.uint32(1 << int(rng.integers(0, 32)))
        out.append(words)
    return out


def _spoil_table(
    rng: np.random.Generator, w: list[int], g: Geometry, code: Error, word: int
) -> None:
    """Break a rule at a word of a table that has all layers and biases."""
    rest, k = divmod(word - HEAD_WORDS, LAYER_WORDS)
    net, index = divmod(rest, g.max_layers)
    last, shape = index == g.max_layers - 1, w[word] if k == 0 else 0
    match code, word if word < HEAD_WORDS else HEAD_WORDS + k:
        case Error.E_RESERVED, _ if word < HEAD_WORDS:
            w[word] = 1 << int(rng.integers(0, 32))
        case Error.E_RESERVED, _:
            if k % 2 == 0 or rng.random() < 0.5:  # of an absent layer
                _count(w, net, index)
                w[word - k : word + 1] = [0] * (k + 1)
            elif k == 3:
                w[word - 2] &= ~0x100
            w[word] |= 1 << int(rng.integers(9 if k == 1 else 0, 32))
        case Error.E_DIM, 0:
            states = w[0] & HALFWORD, int(rng.choice([0, past(rng, g.max_dim + 1, HALFWORD)]))
            actions = w[0] >> 16, int(rng.choice([0, past(rng, g.lw - 1, HALFWORD)]))
            kind = int(rng.integers(0, 2))
            w[0] = states[kind] | actions[1 - kind] << 16
        case Error.E_DIM, 1:
            net, count = int(rng.integers(0, NETS)), int(rng.integers(0, 2))
            if rng.random() < 0.5:
                _count(w, net, past(rng, g.max_layers + 1, HALFWORD))
            else:
                first, end = (layer_word(net, k, g) for k in (count, g.max_layers))
                w[first:end] = [0] * (end - first)
                _count(w, net, count)
        case Error.E_DIM, 16:
            p, q = shape & HALFWORD, shape >> 16
            large = past(rng, g.max_dim + 1, HALFWORD)
            if rng.random() < 0.5:
                p = int(rng.choice([0, large, *[p - 1, p + 1] * last]))
            else:
                q = int(rng.choice([0, large, q - 1, q + 1]))
            w[word] = p | q << 16
        case Error.E_DIM, _:
            allowed = {NONE, RELU if not last else TANH if net == ACTOR else NONE}
            act = rng.choice([x for x in (*range(5), 0x81, 0xFF) if x not in allowed])
            w[word] = w[word] & ~0xFF | int(act)
        case Error.E_RANGE, _:
            at = [layer_word(n, i, g) for n in range(NETS) for i in range(g.max_layers)]
            sizes = [(w[x] & HALFWORD, g.lines(w[x] >> 16)) for x in at]
            ranges = {x + 2 + kind: p * q if kind == 0 else g.lines(p)
                      for x, (p, q) in zip(at, sizes, strict=True) for kind in (0, 1)}  # fmt: skip
            before = [x for x in ranges if x < word]
            if not before or rng.random() < 0.4:
                w[word] = past(rng, g.w_lines - ranges[word] + 1)
            else:
                other = int(rng.choice(before))
                over = (w[other] + ranges[other] - 1, max(w[other] - ranges[word] + 1, 0))
                w[word] = int(rng.choice(over))


def _count(w: list[int], net: int, count: int) -> None:
    """Put a network's number of layers into a table."""
    w[1] = w[1] & HALFWORD << 16 * (1 - net) | count << 16 * net
