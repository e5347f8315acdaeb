"""Golden model of the a3c engine at job level (models/engine.py states the protocol).

Tasks run one at a time, in the order of the doorbells. The hardware runs several at once; a task's
results do not depend on that as long as the host keeps to the rules of the rings, because updates
are made in the order of tickets.

A task whose descriptor is wrong reads and writes nothing. On a bus error nothing is written either
(all reads come first); the hardware may by then have written some of what the task writes.

Source: a3c 4, 5, 7.9, 10; FA3C 4.3.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

import numpy as np

from models.a3c import descriptor, timing, traffic
from models.a3c.descriptor import (
    ALT2,
    DESCRIPTOR_BYTES,
    FA3C,
    FLAG_BOOTSTRAP,
    FLAG_ORDERED,
    FLAG_SAVE_MAPS,
    FROM_NETWORK,
    INF,
    MAPS_WORD,
    NET_LOAD,
    NO_LAYOUT,
    RECORDS_OFFSET,
    ROLE_INFERENCE,
    ROLE_TRAINING,
    TRAIN,
    Task,
    TaskError,
    Window,
)
from models.a3c.layout import ParameterMap, pack_map, parameter_slot_bytes, unpack_map
from models.a3c.network import BEAT_BYTES, CONV, ROW_WORDS, Geometry, Region
from models.a3c.rmsprop import HyperParameters, rmsprop
from models.a3c.task import forward, gradients
from models.a3c.validate import NetworkError, validate
from models.engine import BusError, JobEnd, Link, Memory, RegisterError
from models.registers import a3c as registers
from models.registers.a3c import Error

_THETA, _SOURCE, _TARGET, _G_SOURCE, _G_TARGET, _OBJECTIVE = 2, 4, 6, 8, 10, 12
_SEQUENCE = 1 << 32  # tickets are counted modulo this


class A3cEngine:
    """The a3c engine as the host sees it: registers from 0x100, jobs of three rings.

    Attributes:
        networks: parameter map of each slot, None of an empty one.
        tickets: updates begun, the number of the last ticket; the first one is 1.
        clocks: of the unit that ran the last task: by the cycle model.
    """

    rings = 3

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], streams: Mapping[str, Link]) -> A3cEngine:
        """Make it of a configuration's parameters, by name; it has no streams."""
        return cls(Geometry(**fields))  # type: ignore[arg-type]

    def __init__(self, geometry: Geometry | None = None) -> None:
        self.geometry = geometry or Geometry()
        self.networks: list[ParameterMap | None] = [None] * self.geometry.n_net
        self.tickets = 0
        self.clocks = timing.Clocks()
        self._values = {reg.name: reg.reset for reg in registers.REGISTERS if reg.access == "RW"}
        self._values["CU_ROLE"] = sum(role << 2 * cu for cu, role in enumerate(self._capable()))
        self._offsets = dict(self._counter_offsets())
        self._counters = dict.fromkeys(self._offsets.values(), 0)
        self._high = dict.fromkeys(self._counters, 0)

    # Registers.
    def read_register(self, offset: int) -> int:
        """Read an engine register (offset from 0x100). Raises RegisterError."""
        if offset in self._counters:  # reading the low word latches the high one
            count = self._counters[offset]
            self._high[offset] = count >> 32
            return count & 0xFFFF_FFFF
        if offset - 4 in self._counters:
            return self._high[offset - 4]
        values = self._values | self._capabilities()
        for reg in registers.REGISTERS:
            if reg.offset == offset:
                return self._net_data() if reg is registers.NET_DATA else values[reg.name]
        raise RegisterError(f"no register at {offset:#x}")

    def write_register(self, offset: int, value: int, idle: bool) -> None:
        """Write an engine register. Raises RegisterError."""
        for reg in registers.REGISTERS:
            if reg.offset == offset and reg.access == "RW" and (idle or not reg.idle_only):
                break
        else:
            raise RegisterError(f"write of {value:#x} to {offset:#x}")
        value &= reg.write_mask
        if reg is registers.CU_ROLE:
            value &= sum(role << 2 * cu for cu, role in enumerate(self._capable()))
        self._values[reg.name] = value

    def _capable(self) -> list[int]:
        """The roles that each unit has the hardware for: pairs of inference and training."""
        if self.geometry.single_cu:
            return [ROLE_INFERENCE | ROLE_TRAINING] * self.geometry.cus
        return [ROLE_INFERENCE, ROLE_TRAINING] * self.geometry.n_pair

    def _capabilities(self) -> dict[str, int]:
        g = self.geometry

        def word(reg: registers.Register, **values: int) -> int:
            return sum(reg.field(name).put(value) for name, value in values.items())

        return {
            "CAP_CU": word(
                registers.CAP_CU,
                n_pe=g.n_pe,
                n_pair=g.n_pair,
                single_cu=g.single_cu,
                port_per_cu=g.port_per_cu,
                alt_en=g.alt_en,
            ),
            "CAP_UNIT": word(
                registers.CAP_UNIT, lm=g.lm, la=g.la, n_ru=g.n_ru, nb_max=g.nb_max, n_net=g.n_net
            ),
            "CAP_FM": g.fm_rows,
            "CAP_PB_I": g.pb_inference,
            "CAP_PB_T": g.pb_training,
            "CAP_GB": g.gb_rows,
            "CAP_LB": word(registers.CAP_LB, lbw=g.line_words, nctx=g.contexts, dl=g.lane_entries),
        }

    def _net_data(self) -> int:
        """The constant that NET_SEL names; 0 if there is none."""
        reg, value = registers.NET_SEL, self._values["NET_SEL"]
        slot, layer, constant = (reg.field(n).get(value) for n in ("net", "layer", "constant"))
        held = self.networks[slot] if slot < len(self.networks) else None
        if held is None or layer >= len(held.network.layers):
            return 0
        constants = list(held.network.constants(layer, self.geometry).values())
        return constants[constant] if constant < len(constants) else 0

    @staticmethod
    def _counter_offsets() -> list[tuple[str, int]]:
        """Names and offsets of the low words; an array's name has the index after its first word.

        Counters of units and ports that the build does not have stay 0.
        """
        out = []
        for reg in registers.REGISTERS:
            if reg.access != "RO" or not reg.name.endswith("_LO"):
                continue
            first, *rest = reg.name.removesuffix("_LO").split("_")
            for index in range(reg.count):
                number = str(index) if reg.count > 1 else ""
                out.append(("_".join([first + number, *rest]), reg.at(index)))
        return out

    def counter(self, name: str) -> int:
        """Return a counter: CU0_ISSUE, PORT0_READ_BEATS, INF, ... Raises KeyError."""
        return self._counters[self._offsets[name]]

    def _count(self, name: str, amount: int = 1) -> None:
        self._counters[self._offsets[name]] += amount

    def soft_reset(self) -> None:
        """Networks, registers and the number of tickets stay."""

    def link_clear(self) -> None:
        """The engine has no stream."""

    # Jobs.
    def job(
        self, ring: int, descriptor: np.ndarray, memory: Memory
    ) -> Generator[None, None, JobEnd]:
        """Run one task; see models/engine.py.

        Args:
            ring: 0 inference, 1 training, 2 copies and networks.
            descriptor: [32] uint32.
            memory: device memory.
        """
        yield from ()  # it never waits for a stream
        samples = int(descriptor[0]) >> 20 & 15
        try:
            return self._run(ring, descriptor, memory)
        except TaskError as error:
            detail = samples << 4 if error.ticket else 0
            return JobEnd(int(error.code), detail, error.ticket, error.info0, error.info1)

    def _run(self, ring: int, words: np.ndarray, memory: Memory) -> JobEnd:
        values = self._values
        window = Window(
            values["MEM_BASE_LO"] | values["MEM_BASE_HI"] << 32,
            values["MEM_LIMIT_LO"] | values["MEM_LIMIT_HI"] << 32,
        )
        roles = [values["CU_ROLE"] >> 2 * cu & 3 for cu in range(self.geometry.cus)]
        roles_held = int(np.bitwise_or.reduce(roles))
        task = descriptor.check(
            words,
            ring,
            self.geometry,
            lambda slot: held.network if (held := self.networks[slot]) else None,
            window,
            roles_held,
            self.layout,
        )
        if task.opcode == NET_LOAD:
            self._load(task, memory)
            return JobEnd(cycles=timing.START)
        held = self.networks[task.network]
        assert held is not None
        needed = {INF: ROLE_INFERENCE, TRAIN: ROLE_TRAINING}.get(task.opcode, 0)
        cu = next(k for k, role in enumerate(roles) if role & needed == needed)
        ticket = 0
        if task.opcode == INF:
            clocks, parts = self._infer(task, held, memory)
        else:
            if task.opcode == TRAIN or task.flags & FLAG_ORDERED:
                self.tickets = ticket = (self.tickets + 1) % _SEQUENCE
            if task.opcode == TRAIN:
                clocks, parts = self._train(task, held, memory, ticket)
            else:
                clocks, parts = self._copy(task, held, memory, ticket)
                cu = 0 if self.geometry.single_cu else 1
        beats = traffic.total(parts)
        self._account(cu, clocks, beats)
        waits = max(clocks.stepped, beats.reads, beats.writes)
        self.clocks = clocks
        detail = cu | len(task.maps) << 4
        return JobEnd(0, detail, ticket, cycles=timing.START + waits)

    @property
    def layout(self) -> int:
        """The layout of the parameters, NO_LAYOUT if the build does not have it."""
        chosen = registers.CFG.field("layout_mode").get(self._values["CFG"])
        return chosen if chosen == FA3C or self.geometry.alt_en else NO_LAYOUT

    def _account(self, cu: int, clocks: timing.Clocks, beats: traffic.Traffic) -> None:
        self._count(f"CU{cu}_ISSUE", clocks.issued)
        self._count(f"CU{cu}_ST_CTX", clocks.stepped - clocks.issued)
        self._count(f"CU{cu}_BUSY", clocks.stepped)
        self._count(f"CU{cu}_TASKS")
        single = self.geometry.port_per_cu or self.geometry.single_cu
        port = cu if single else cu // 2
        self._count(f"PORT{port}_READ_BEATS", beats.reads)
        self._count(f"PORT{port}_WRITE_BEATS", beats.writes)

    def _load(self, task: Task, memory: Memory) -> None:
        """NET_LOAD: a descriptor that is wrong leaves the slot as it was."""
        words = _read(memory, task.theta, DESCRIPTOR_BYTES, _THETA).view(np.uint32)
        try:
            network = validate(words, self.geometry)
        except NetworkError as error:
            raise TaskError(error.code, error.layer, FROM_NETWORK) from error
        self.networks[task.network] = ParameterMap(network)

    def _infer(
        self, task: Task, held: ParameterMap, memory: Memory
    ) -> tuple[timing.Clocks, dict[str, traffic.Traffic]]:
        network = held.network
        image = _read(memory, task.theta, 4 * held.words, _THETA).view(np.float32)
        first = network.regions[0]
        observed = []
        for n, address in enumerate(task.maps):
            rows = _read(memory, address, BEAT_BYTES * first.rows, MAPS_WORD + 2 * n)
            observed.append(unpack_map(rows.view(np.float32), first))
        maps = forward(network, held.unpack(image), np.stack(observed).reshape(_shape(held, 0)))
        save = bool(task.flags & FLAG_SAVE_MAPS)
        for n, address in enumerate(task.maps):
            for index, region in enumerate(network.regions):
                if index and (save or index == len(network.layers)):
                    rows = pack_map(maps[index][n], region)
                    _write(memory, address + BEAT_BYTES * region.offset, rows, MAPS_WORD + 2 * n)
        self._count("BOOT" if task.flags & FLAG_BOOTSTRAP else "INF", len(task.maps))
        clocks = timing.inference_clocks(network, len(task.maps), self.geometry)
        return clocks, traffic.inference(network, len(task.maps), save)

    def _train(
        self, task: Task, held: ParameterMap, memory: Memory, ticket: int
    ) -> tuple[timing.Clocks, dict[str, traffic.Traffic]]:
        network = held.network

        def read(address: int, nbytes: int, word: int) -> np.ndarray:
            return _read(memory, address, nbytes, word, ticket).view(np.float32)

        head = read(task.objective, BEAT_BYTES, _OBJECTIVE).view(np.uint32)
        settings = HyperParameters.decode(head)
        if not settings.legal:
            raise TaskError(Error.E_HPARAM, _OBJECTIVE, 0, ticket)
        last = network.regions[-1]
        size = BEAT_BYTES * last.rows
        records = read(task.objective + RECORDS_OFFSET, size * len(task.maps), _OBJECTIVE)
        d = records.reshape(len(task.maps), -1)[:, : last.width]
        inputs = network.regions[:-1]
        sets = [
            read(address, BEAT_BYTES * last.offset, MAPS_WORD + 2 * n)
            for n, address in enumerate(task.maps)
        ]
        maps = [
            np.stack([unpack_map(one[_words(region)], region) for one in sets]).reshape(
                _shape(held, index)
            )
            for index, region in enumerate(inputs)
        ]
        second = parameter_slot_bytes(network) if self.layout == ALT2 else 0
        # Of the local parameters, BW needs the weights of all layers but the first.
        image = np.zeros(held.words, np.float32)
        for index, layer in enumerate(network.layers[1:], 1):
            first = network.parameter_offsets[index] + layer.output_blocks
            beats = network.parameter_offsets[index + 1] - first
            part = read(task.theta + second + BEAT_BYTES * first, BEAT_BYTES * beats, _THETA)
            image[ROW_WORDS * first : ROW_WORDS * (first + beats)] = part
        theta = read(task.source, 4 * held.words, _SOURCE)
        g = read(task.g_source, 4 * held.words, _G_SOURCE)
        gradient = held.pack(gradients(network, held.unpack(image), maps, d))
        theta, g = rmsprop(theta, g, gradient, settings)
        _write(memory, task.target, theta, _TARGET, ticket)
        _write(memory, task.g_target, g, _G_TARGET, ticket)
        if second:
            _write(memory, task.target + second, theta, _TARGET, ticket)
        self._count("TRAIN")
        clocks = timing.training_clocks(network, len(task.maps), self.geometry)
        return clocks, traffic.training(network, len(task.maps), bool(second))

    def _copy(
        self, task: Task, held: ParameterMap, memory: Memory, ticket: int
    ) -> tuple[timing.Clocks, dict[str, traffic.Traffic]]:
        second = self.layout == ALT2
        size = 4 * held.words + (parameter_slot_bytes(held.network) if second else 0)
        image = _read(memory, task.source, size, _SOURCE, ticket)
        _write(memory, task.target, image, _TARGET, ticket)
        self._count("SYNC")
        return timing.Clocks(), traffic.sync(held.network, second)


def _shape(held: ParameterMap, index: int) -> tuple[int, ...]:
    """The shape of a batch of a layer's inputs; a fully connected layer's are flat."""
    layer = held.network.layers[index]
    if layer.kind == CONV:
        return (-1, layer.inputs, layer.height, layer.width)
    return (-1, layer.inputs)


def _words(region: Region) -> slice:
    """The words of a region in a set of feature maps."""
    return slice(ROW_WORDS * region.offset, ROW_WORDS * (region.offset + region.rows))


def _read(memory: Memory, address: int, nbytes: int, word: int, ticket: int = 0) -> np.ndarray:
    """Read bytes for the address in a word of the descriptor. Raises TaskError."""
    try:
        return memory.read(address, nbytes)
    except BusError as error:
        raise TaskError(Error.E_BUS_RD, word, error.response, ticket) from error


def _write(memory: Memory, address: int, data: np.ndarray, word: int, ticket: int = 0) -> None:
    """Write an array for the address in a word of the descriptor. Raises TaskError."""
    try:
        memory.write(address, np.ascontiguousarray(data).reshape(-1).view(np.uint8))
    except BusError as error:
        raise TaskError(Error.E_BUS_WR, word, error.response, ticket) from error
