"""Driver of the a3c engine: networks, parameters and feature maps in device memory, tasks.

    a3c = A3C(device)                                     # any backend
    net = a3c.load_net(NET_S.layers, slots=24, sets=96)
    a3c.write_theta(net, 0, parameters)                   # (weight, bias) a layer
    outputs = a3c.infer(net, 0, 5, observed).result()     # parameters 0, feature maps 5
    a3c.train(net, 0, 0, 1, [5], gradients, HyperParameters.make(7e-4)).result()

Tasks are queued at once and run side by side; their results come through futures. A task must not
read what one that is still open writes, except the parameters and mean squares of trainings: those
are updated in the order in which the trainings were queued.
Source: a3c 13.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from jackdaw.device.base import Device
from jackdaw.drivers.base import EngineDriver
from jackdaw.drivers.rings import Job
from jackdaw.errors import ConfigError, DeviceMemoryError
from jackdaw.ranges import reals, refused, whole, wholes
from models.a3c.descriptor import (
    ALT1,
    ALT2,
    FA3C,
    FLAG_BOOTSTRAP,
    FLAG_ORDERED,
    FLAG_SAVE_MAPS,
    INF,
    NET_LOAD,
    RING_ADM,
    RING_INF,
    RING_TRN,
    SYNC,
    TRAIN,
    Task,
)
from models.a3c.layout import ParameterMap, Parameters, feature_slot_bytes, pack_map, unpack_map
from models.a3c.network import BEAT_BYTES, SLOT_BYTES, Geometry, Layer, Network
from models.a3c.planner import plan
from models.a3c.rmsprop import HyperParameters
from models.registers import a3c as registers
from models.registers.map import Register

RING_OF = {INF: RING_INF, TRAIN: RING_TRN, SYNC: RING_ADM, NET_LOAD: RING_ADM}
LAYOUTS = {"fa3c": FA3C, "alt1": ALT1, "alt2": ALT2}
STALLS = (
    registers.CU_ST_PARAM_LO, registers.CU_ST_FM_LO, registers.CU_ST_DRAIN_LO,
    registers.CU_ST_GB_LO,
)  # fmt: skip
MOST = (1 << 20) - 1  # slots, sets and trainings of a network
T = TypeVar("T")


@dataclass(eq=False)
class Net:
    """A network that is loaded, and its places in device memory.

    Attributes:
        slot: of the engine.
        network: its layers, with their lanes.
        theta: slots of parameters, device addresses.
        g: mean squares of the gradients.
        sets: sets of feature maps.
        objectives: where a training's gradients go, those that no open one has.
        trainings: that may be open.
    """

    slot: int
    network: Network
    map: ParameterMap
    theta: list[int]
    g: int
    sets: list[int]
    objectives: list[int]
    trainings: list[Future[int]] = field(default_factory=list)


class Future(Generic[T]):
    """A queued task, and its result once it has ended.

    Attributes:
        job: in its ring.
    """

    def __init__(self, job: Job, finish: Callable[[Job], T], release: Callable[[], None]) -> None:
        self.job = job
        self._finish, self._release = finish, release
        self._released = False
        self._value: list[T] = []

    def done(self) -> bool:
        """Ask the device whether the task has ended."""
        if ended := self.job.poll():
            self._free()
        return ended

    def result(self, timeout_s: float = 60.0, max_cycles: int | None = None) -> T:
        """Wait for the task's end.

        Args:
            timeout_s: seconds to wait for the task, as in `Job.wait`.
            max_cycles: device clocks to wait for the task; None: no limit.
        Raises: the engine's named JobError, JobDropped, DeviceTimeout.
        """
        if not self._value:
            try:
                self.job.wait(timeout_s, max_cycles)
                self._value.append(self._finish(self.job))
            finally:
                if self.job.ended:
                    self._free()
        return self._value[0]

    def _free(self) -> None:
        if not self._released:
            self._released = True
            self._release()


class A3C(EngineDriver):
    """The a3c engine of a device.

    Attributes:
        geometry: the build, from the capability words.
        layout: of the parameters, see LAYOUTS.
        cycles: clocks of all tasks whose results were read, from their records.
    """

    def __init__(
        self,
        device: Device,
        page: int | str | None = None,
        slots_log2: int = 6,
        layout: str = "fa3c",
    ) -> None:
        """Find the engine, read its capabilities, switch its rings on.

        Args:
            device: an open device.
            page: the engine's page or instance; default the first one that is free.
            slots_log2: of each ring.
            layout: how parameters lie in memory: fa3c, or for comparison one of the published
                alternatives, alt1 and alt2, if the build has them.
        Raises: DeviceMismatchError, EngineOwnedError, DeviceMemoryError, ConfigError.
        """
        super().__init__(device, "a3c", page)
        self.layout = layout
        self.cycles = 0
        with self.opening():
            self.geometry = self._geometry()
            if layout not in LAYOUTS:
                raise ConfigError(f"a3c: layout {layout!r}, want one of {', '.join(LAYOUTS)}")
            if LAYOUTS[layout] and not self.geometry.alt_en:
                raise ConfigError(f"a3c: layout {layout!r}, but the build has fa3c alone (AltEn=0)")
            self._nets: list[Net | None] = [None] * self.geometry.n_net
            for ring in (RING_INF, RING_TRN, RING_ADM):
                self.open_ring(ring, slots_log2)
            limit = device.memory_bytes
            for register, value in (
                (registers.CFG, registers.CFG.field("layout_mode").put(LAYOUTS[layout])),
                (registers.MEM_BASE_LO, SLOT_BYTES),
                (registers.MEM_BASE_HI, 0),
                (registers.MEM_LIMIT_LO, limit & 0xFFFF_FFFF),
                (registers.MEM_LIMIT_HI, limit >> 32),
            ):
                self.write(register.offset, value)

    def _geometry(self) -> Geometry:
        def field(register: Register, name: str) -> int:
            return register.field(name).get(self.read(register.offset))

        return Geometry(
            n_pe=field(registers.CAP_CU, "n_pe"),
            n_pair=field(registers.CAP_CU, "n_pair"),
            single_cu=bool(field(registers.CAP_CU, "single_cu")),
            port_per_cu=bool(field(registers.CAP_CU, "port_per_cu")),
            alt_en=bool(field(registers.CAP_CU, "alt_en")),
            lm=field(registers.CAP_UNIT, "lm"),
            la=field(registers.CAP_UNIT, "la"),
            n_ru=field(registers.CAP_UNIT, "n_ru"),
            nb_max=field(registers.CAP_UNIT, "nb_max"),
            n_net=field(registers.CAP_UNIT, "n_net"),
            fm_rows=self.read(registers.CAP_FM.offset),
            pb_inference=self.read(registers.CAP_PB_I.offset),
            pb_training=self.read(registers.CAP_PB_T.offset),
            gb_rows=self.read(registers.CAP_GB.offset),
            line_words=field(registers.CAP_LB, "lbw"),
            contexts=field(registers.CAP_LB, "nctx"),
            lane_entries=field(registers.CAP_LB, "dl"),
        )

    # ---- Networks and memory
    def load_net(
        self,
        network: Network | Sequence[Layer],
        slots: int,
        sets: int,
        *,
        trainings: int = 16,
        samples: int = 5,
        timeout_s: float = 60.0,
    ) -> Net:
        """Load a network into the next free slot of the engine, and reserve its memory.

        Args:
            network: as it is, or layers whose lanes the planner chooses.
            slots: of parameters; all begin as zeros.
            sets: of feature maps.
            trainings: that may be open at once.
            samples: of a training, for the planner.
            timeout_s: of the load.
        Raises: the engine's named JobError if it does not fit, ConfigError if no slot is free,
            DeviceMemoryError.
        """
        slots, sets = whole("a3c slots", slots, 1, MOST), whole("a3c sets", sets, 1, MOST)
        trainings = whole("a3c trainings", trainings, 0, MOST)
        samples = whole("a3c samples", samples, 1, MOST)
        chosen = network if isinstance(network, Network) else self._planned(network, samples)
        if None not in self._nets:
            raise ConfigError(f"a3c: {len(self._nets)} networks are loaded, there is no slot left")
        slot = self._nets.index(None)
        words = np.zeros(-(-chosen.encode().nbytes // BEAT_BYTES) * BEAT_BYTES // 4, np.uint32)
        words[: chosen.encode().size] = chosen.encode()
        descriptor = self.device.alloc(SLOT_BYTES)
        try:
            self.device.write(descriptor, words)
            self._submit(Task(NET_LOAD, network=slot, theta=descriptor)).wait(timeout_s)
        finally:
            self.device.free(descriptor)
        parameters = ParameterMap(chosen)
        records = BEAT_BYTES * (1 + self.geometry.nb_max * chosen.regions[-1].rows)
        kept = len(self._memory)
        try:
            net = Net(
                slot, chosen, parameters,
                theta=[self._zeros(self._images * parameters.slot_bytes) for _ in range(slots)],
                g=self._zeros(parameters.slot_bytes),
                sets=[self._zeros(feature_slot_bytes(chosen)) for _ in range(sets)],
                objectives=[self.alloc(records) for _ in range(trainings)],
            )  # fmt: skip
        except DeviceMemoryError:
            self.free_from(kept)
            raise
        self._nets[slot] = net
        return net

    @property
    def _images(self) -> int:
        """Images of a slot of parameters."""
        return 2 if self.layout == "alt2" else 1

    def _planned(self, layers: Sequence[Layer], samples: int) -> Network:
        if not isinstance(layers, Sequence) or not all(isinstance(x, Layer) for x in layers):
            raise refused("a3c network", layers, "layers")
        try:
            return plan(tuple(layers), self.geometry, samples)
        except ValueError as error:
            raise ConfigError(f"a3c network: {error}") from error

    def _zeros(self, nbytes: int) -> int:
        address = self.alloc(nbytes)
        self.device.write(address, np.zeros(nbytes, np.uint8))
        return address

    def write_theta(self, net: Net, slot: int, parameters: Parameters) -> None:
        """Write (weight, bias) of every layer, PyTorch's layout, float32. Raises: ConfigError."""
        address, words = self._theta(net, slot), self._pack(net, parameters)
        for image in range(self._images):
            self.device.write(address + image * net.map.slot_bytes, words)

    def _theta(self, net: Net, slot: int) -> int:
        """Address of a slot of parameters."""
        return net.theta[whole("a3c slot", slot, 0, len(net.theta) - 1)]

    def _sets(self, net: Net, sets: Any) -> tuple[int, ...]:
        """Addresses of sets of feature maps."""
        chosen = wholes("a3c sets", sets, 0, len(net.sets) - 1).reshape(-1)
        return tuple(net.sets[one] for one in chosen.tolist())

    def _pack(self, net: Net, parameters: Parameters) -> np.ndarray:
        """The image of parameters that have the network's shapes."""
        try:
            return net.map.pack([(reals("w", w, None), reals("b", b, None)) for w, b in parameters])
        except (TypeError, ValueError) as error:
            raise ConfigError(f"a3c parameters: {error}") from error

    def read_theta(self, net: Net, slot: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Inverse of write_theta."""
        return net.map.unpack(self._image(self._theta(net, slot), net))

    def write_g(self, net: Net, squares: Parameters) -> None:
        """Write the mean squares, laid out as parameters."""
        self.device.write(net.g, self._pack(net, squares))

    def read_g(self, net: Net) -> list[tuple[np.ndarray, np.ndarray]]:
        """Inverse of write_g."""
        return net.map.unpack(self._image(net.g, net))

    def _image(self, address: int, net: Net) -> np.ndarray:
        return self.device.read(address, 4 * net.map.words).view(np.float32)

    # ---- Tasks
    def infer(
        self,
        net: Net,
        theta: int,
        sets: int | Sequence[int],
        observed: np.ndarray | None,
        *,
        save: bool = True,
        bootstrap: bool = False,
    ) -> Future[np.ndarray]:
        """Run the network on an observation, or on several.

        Args:
            net: the network.
            theta: slot of its parameters.
            sets: the set of feature maps that takes the observation and the outputs; or several.
            observed: [I, H, W] or [Q] float32, of several sets [N, ...]; None: it is there already.
            save: keep all feature maps, for a training.
            bootstrap: count the task apart, and keep only the outputs.
        Returns: a future of [O] or [N, O] float32.
        """
        several = not isinstance(sets, (int, np.integer))
        addresses, parameters = self._sets(net, sets), self._theta(net, theta)
        first, last = net.network.regions[0], net.network.regions[-1]
        if observed is not None:
            maps = reals("a3c observed", observed, None)
            if maps.size != len(addresses) * first.words:
                raise ConfigError(
                    f"a3c observed: got shape {maps.shape}, want {first.words} numbers of each of "
                    f"{len(addresses)} sets"
                )
            maps = maps.reshape(len(addresses), first.words)
            for address, values in zip(addresses, maps, strict=True):
                self.device.write(address, pack_map(values, first))
        flags = FLAG_BOOTSTRAP if bootstrap else FLAG_SAVE_MAPS if save else 0
        task = Task(INF, flags=flags, network=net.slot, theta=parameters, maps=addresses)

        def outputs(_: Job) -> np.ndarray:
            out = []
            for address in addresses:
                at = address + BEAT_BYTES * last.offset
                rows = self.device.read(at, BEAT_BYTES * last.rows).view(np.float32)
                out.append(unpack_map(rows, last).reshape(-1))
            return np.stack(out) if several else out[0]

        return self._future(task, outputs)

    def train(
        self,
        net: Net,
        local: int,
        source: int,
        target: int,
        sets: Sequence[int],
        gradients: np.ndarray,
        settings: HyperParameters,
    ) -> Future[int]:
        """Compute the gradients of a batch and update parameters and mean squares.

        Args:
            net: the network.
            local: slot of the parameters with which the maps were made.
            source: slot of the parameters before the update.
            target: slot of the parameters after the update; may be `source`.
            sets: sets of feature maps, in the order of time.
            gradients: [N, O] float32, of the objective by the network's outputs.
            settings: RMSProp's.
        Returns: a future of the update's ticket.
        Raises: ConfigError if as many trainings are open as the network has room for, or for an
            argument outside its range; RingFullError.
        """
        last = net.network.regions[-1]
        net.trainings = [other for other in net.trainings if not other.done()]
        if not net.objectives:
            raise ConfigError("a3c: no room for another open training; wait for one")
        addresses = self._sets(net, sets)
        thetas = [self._theta(net, slot) for slot in (local, source, target)]
        rows = reals("a3c gradients", gradients, None, (len(addresses), last.width))
        most = self.geometry.nb_max
        if len(addresses) > most:
            raise ConfigError(f"a3c sets: got {len(addresses)}, this build trains on {most}")
        objective = net.objectives.pop()
        self.device.write(objective, settings.encode())
        records = [pack_map(d, last) for d in rows]
        if records:
            self.device.write(objective + BEAT_BYTES, np.stack(records))
        task = Task(
            TRAIN,
            network=net.slot,
            theta=thetas[0],
            source=thetas[1],
            target=thetas[2],
            g_source=net.g,
            g_target=net.g,
            objective=objective,
            maps=addresses,
        )
        future = self._future(task, _ticket, lambda: net.objectives.append(objective))
        net.trainings.append(future)
        return future

    def sync(self, net: Net, source: int, target: int, *, ordered: bool = False) -> Future[int]:
        """Copy parameters from slot to slot.

        Args:
            ordered: after all trainings that were queued before.
        Returns: a future of the ticket, 0 of a copy without an order.
        """
        task = Task(
            SYNC,
            flags=FLAG_ORDERED if ordered else 0,
            network=net.slot,
            source=self._theta(net, source),
            target=self._theta(net, target),
        )
        return self._future(task, _ticket)

    def _submit(self, task: Task) -> Job:
        return self.rings[RING_OF[task.opcode]].submit(task.encode())

    def _future(
        self, task: Task, finish: Callable[[Job], T], release: Callable[[], None] = lambda: None
    ) -> Future[T]:
        def finished(job: Job) -> T:
            assert job.record is not None
            self.cycles += job.record.cycles
            return finish(job)

        return Future(self._submit(task), finished, release)

    # ---- Counters
    def counters(self) -> dict[str, int]:
        """The header's counters and the engine's: CU0_ISSUE, PORT0_READ_BEATS, INF, ...

        A device that does not measure has no stalls but ST_CTX, which is a sum of the network.
        """
        out = super().counters()
        present = {"CU": self.geometry.cus, "PORT": self.ports}
        for register in registers.REGISTERS:
            if register.access != "RO" or not register.name.endswith("_LO"):
                continue
            if not self.device.measured and register in STALLS:
                continue
            first, *rest = register.name.removesuffix("_LO").split("_")
            for index in range(present.get(first, 1)):
                number = str(index) if register.count > 1 else ""
                name = "_".join([first + number, *rest])
                out[name] = self.read64(register.at(index))
        return out

    @property
    def ports(self) -> int:
        """Memory ports of the engine."""
        return self.geometry.cus if self.geometry.port_per_cu else self.geometry.n_pair

    def derived(self, net: Net, layer: int) -> dict[str, int]:
        """The constants that the engine derived of a layer, by the names of the golden model."""
        names: dict[str, Any] = net.network.constants(layer, self.geometry)
        reg = registers.NET_SEL
        out = {}
        for number, name in enumerate(names):
            fields = {"net": net.slot, "layer": layer, "constant": number}
            value = sum(reg.field(key).put(word) for key, word in fields.items())
            self.write(reg.offset, value)
            out[name] = self.read(registers.NET_DATA.offset)
        return out


def _ticket(job: Job) -> int:
    assert job.record is not None
    return job.record.count
