"""Golden model of the learner engine at job level (models/engine.py states the protocol)."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from models.engine import BusError, JobEnd, Link, Memory, RegisterError, beyond
from models.learner import timing
from models.learner.fp import from_bits, to_bits, words
from models.learner.layout import Geometry
from models.learner.learner import Batch, Learner, StepResult
from models.learner.optim import Scalars
from models.learner.program import Program
from models.learner.tree import mean_magnitude
from models.learner.validate import ProgramError, validate
from models.registers import learner as registers
from models.registers.learner import Error

JOB_LOAD, JOB_STORE, JOB_PROGRAM, JOB_TRAIN, JOB_INFER, JOB_GRADS, JOB_APPLY = 1, 2, 3, 4, 5, 7, 8
FLAG_LIST, FLAG_TD_MEMORY, FLAG_TD_STREAM = 1, 2, 4
KIND_WEIGHTS, KIND_MOMENT, KIND_VARIANCE, KIND_TARGET, KIND_SCALARS = range(5)
TDE_ERROR, TDE_FETCH_DONE, TDE_ABORT = 0, 1, 2
SMP_OP_SAMPLE = 1
_COUNTERS = ("TU_BUSY", "STALL_DATA", "STALL_TOKEN", "STALL_WU", "STALL_TDE")


class JobError(Exception):
    """A job ends with an error.

    Attributes:
        code: error code.
        info0, info1: ERR_INFO0, ERR_INFO1.
    """

    def __init__(self, code: Error, info0: int = 0, info1: int = 0) -> None:
        super().__init__(f"{code.name} {info0} {info1}")
        self.code = code
        self.info0 = info0
        self.info1 = info1


@dataclass(frozen=True)
class TrainJob:
    """Fields of a TRAIN or GRADS descriptor.

    Attributes:
        from_list, td_memory, td_stream: the flags.
        steps, batch: gradient steps, samples of each.
        base, stride, records: Data Storage: address, bytes between records, number.
        inverse_batch: 1/B.
        event_period: steps between events, 0 none.
        list_address, td_address: index list, TD errors out.
        networks, out: of GRADS: mask, and where their gradient image goes.
    """

    from_list: bool
    td_memory: bool
    td_stream: bool
    steps: int
    batch: int
    base: int
    stride: int
    records: int
    inverse_batch: np.float32
    event_period: int
    list_address: int
    td_address: int
    networks: int
    out: int

    @classmethod
    def decode(cls, w: list[int]) -> TrainJob:
        """Read a descriptor's words."""
        flags = w[0] >> 8 & 0xFF
        grads = w[0] & 0xFF == JOB_GRADS
        return cls(
            from_list=bool(flags & FLAG_LIST),
            td_memory=bool(flags & FLAG_TD_MEMORY),
            td_stream=bool(flags & FLAG_TD_STREAM),
            steps=1 if grads else w[2],
            batch=w[3],
            base=w[4] | w[5] << 32,
            stride=w[6],
            records=w[7],
            inverse_batch=from_bits(w[8]),
            event_period=w[9],
            list_address=w[10] | w[11] << 32,
            td_address=w[12] | w[13] << 32,
            networks=w[2] & 0xFF if grads else 0,
            out=w[14] | w[15] << 32,
        )


@dataclass(frozen=True)
class InferJob:
    """Fields of an INFER descriptor.

    Attributes:
        network: whose forward pass.
        batch: vectors of a round.
        base, stride: input vectors: address, bytes between them.
        count: vectors.
        out: output vectors, each at a multiple of 64 bytes.
    """

    network: int
    batch: int
    base: int
    stride: int
    count: int
    out: int

    @classmethod
    def decode(cls, w: list[int]) -> InferJob:
        """Read a descriptor's words."""
        return cls(w[2], w[3], w[4] | w[5] << 32, w[6], w[7], w[12] | w[13] << 32)


class LearnerEngine:
    """The learner engine as the host sees it: registers from 0x100, jobs, two streams.

    Attributes:
        smp, tde: links from and to the replay engine.
        events: times that a TRAIN reached its event period (STATUS.event).
        loaded: mask of networks whose weights were loaded since the program was.
        learner: parameters and memories; None without a program.
    """

    rings = 1

    @classmethod
    def from_fields(cls, fields: Mapping[str, int], streams: Mapping[str, Link]) -> LearnerEngine:
        """Make it of a configuration's parameters and streams, by name."""
        latencies = {f.name: fields[f.name] for f in dataclasses.fields(timing.Latencies)}
        geometry = {name: value for name, value in fields.items() if name not in latencies}
        return cls(
            Geometry(**geometry), streams["smp"], streams["tde"], timing.Latencies(**latencies)
        )

    def __init__(
        self,
        geometry: Geometry | None = None,
        smp: Link | None = None,
        tde: Link | None = None,
        latencies: timing.Latencies | None = None,
    ) -> None:
        self.geometry = geometry or Geometry()
        self.latencies = latencies or timing.Latencies()
        self.smp = smp or Link()
        self.tde = tde or Link()
        self.learner: Learner | None = None
        self.loaded = 0
        self.events = 0
        self.steps_done = 0
        self.version = 0
        self.td_mean = self.td_max = 0
        self.not_finite = 0
        self.not_finite_where = 0
        self.busy = 0
        self._high = dict.fromkeys(_COUNTERS, 0)

    # Registers.
    def read_register(self, offset: int) -> int:
        """Read an engine register (offset from 0x100). Raises RegisterError."""
        g = self.geometry

        def log2(x: int) -> int:
            return x.bit_length() - 1

        values = {
            "CAP0": registers.CAP0.word(
                dp_log2=log2(g.dp), p_log2=log2(g.p), ob_log2=log2(g.ob), gi=g.gi,
                lw_log2=log2(g.lw), ntu=g.ntu, actor_critic=g.actor_critic,
            ),
            "CAP1": registers.CAP1.word(b_max=g.b_max, d_max=g.d_max),
            "CAP2": registers.CAP2.word(l_max=g.l_max, net_max=g.net_max, st_max=g.st_max),
            "CAP3": registers.CAP3.word(w_rows=g.w_rows),
            "CAP4": registers.CAP4.word(a_rows=g.a_rows),
            "STEP": self.steps_done,
            "WEIGHT_VERSION": self.version,
            "TD_MEAN": self.td_mean,
            "TD_MAX": self.td_max,
            "NONFINITE": self.not_finite,
            "NF_WHERE": self.not_finite_where,
        }  # fmt: skip
        for name, value in values.items():
            if getattr(registers, name).offset == offset:
                return value & 0xFFFF_FFFF
        for name in _COUNTERS:
            if getattr(registers, f"{name}_LO").offset == offset:
                count = self.busy if name == "TU_BUSY" else 0
                self._high[name] = count >> 32
                return count & 0xFFFF_FFFF
            if getattr(registers, f"{name}_HI").offset == offset:
                return self._high[name]
        raise RegisterError(f"no register at {offset:#x}")

    def write_register(self, offset: int, value: int, idle: bool) -> None:
        """Every register is read-only. Raises RegisterError."""
        raise RegisterError(f"write of {value:#x} to {offset:#x}")

    def soft_reset(self) -> None:
        """Empty the links; program, weights and registers stay."""
        self.link_clear()
        self.tde.clear()

    def link_clear(self) -> None:
        """The other end was reset: drop the words that came."""
        self.smp.clear()

    # Jobs.
    def job(
        self, ring: int, descriptor: np.ndarray, memory: Memory
    ) -> Generator[None, None, JobEnd]:
        """Run one job; see models/engine.py.

        Args:
            ring: 0.
            descriptor: [16] uint32.
            memory: device memory.
        """
        w = [int(x) for x in descriptor]
        opcode = w[0] & 0xFF
        done = [0]
        cycles = 0
        try:
            self._check(w)
            if opcode == JOB_PROGRAM:
                self._program(w, memory)
            elif opcode in (JOB_LOAD, JOB_STORE):
                cycles = self._images(w, memory, store=opcode == JOB_STORE)
            elif opcode == JOB_INFER:
                cycles = self._infer(InferJob.decode(w), memory, done)
            elif opcode == JOB_APPLY:
                cycles = self._apply(w, memory, done)
            else:
                yield from self._train(TrainJob.decode(w), memory, done)
        except JobError as error:
            if opcode in (JOB_TRAIN, JOB_GRADS) and not w[0] >> 8 & FLAG_LIST:
                self.tde.put(TDE_ABORT << 48)
            end = JobEnd(int(error.code), 0, done[0], error.info0, error.info1)
        else:
            end = JobEnd(count=done[0], cycles=cycles)
        if opcode in (JOB_TRAIN, JOB_GRADS) and self.learner is not None and done[0]:
            clocks = timing.step_clocks(self.learner.program, self.geometry, w[3], self.latencies)
            end = JobEnd(end.error, 0, end.count, end.info0, end.info1, 200 + clocks * done[0])
        return end

    def _check(self, w: list[int]) -> None:
        """The check of a descriptor: the first rule that is broken."""
        opcode = w[0] & 0xFF
        if opcode not in (
            JOB_LOAD, JOB_STORE, JOB_PROGRAM, JOB_TRAIN, JOB_INFER, JOB_GRADS, JOB_APPLY,
        ):  # fmt: skip
            raise JobError(Error.E_OPCODE)
        reserved = [0xFFFF_FFFF] * 16
        reserved[0] = 0x3FFF_FF00
        reserved[1] = reserved[2] = reserved[4] = 0
        reserved[5] = 0xFFFF_FF00
        if opcode in (JOB_TRAIN, JOB_GRADS):
            reserved[0] = 0x3FFF_F800
            reserved[3] = reserved[10] = reserved[12] = 0
            reserved[6:10] = [0] * 4
            reserved[11] = reserved[13] = 0xFFFF_FF00
            if opcode == JOB_GRADS:
                reserved[2], reserved[9] = 0xFFFF_FF00, 0xFFFF_FFFF
                reserved[14], reserved[15] = 0, 0xFFFF_FF00
        elif opcode == JOB_APPLY:
            reserved[2] = 0xFFFF_FF00
        elif opcode == JOB_INFER:
            reserved[2] = 0xFFFF_FF00
            reserved[3] = reserved[6] = reserved[7] = reserved[12] = 0
            reserved[13] = 0xFFFF_FF00
        elif opcode != JOB_PROGRAM:
            reserved[2] = 0xFFFF_E000
        for index, (word, mask) in enumerate(zip(w, reserved, strict=True)):
            if word & mask:
                raise JobError(Error.E_RESERVED, index)
        if opcode != JOB_PROGRAM and self.learner is None:
            raise JobError(Error.E_NOPROG)
        if opcode in (JOB_TRAIN, JOB_GRADS, JOB_APPLY):
            self._check_train(w)
        elif opcode == JOB_INFER:
            self._check_infer(w)
        elif opcode != JOB_PROGRAM:
            self._check_images(w, opcode == JOB_STORE)
        aligned = [4]
        if opcode in (JOB_TRAIN, JOB_GRADS):
            job = TrainJob.decode(w)
            aligned += [6] + [10] * job.from_list + [12] * job.td_memory
            aligned += [14] * (opcode == JOB_GRADS)
        elif opcode == JOB_INFER:
            aligned += [6, 12]
        for index in aligned:
            if w[index] % 64:
                raise JobError(Error.E_ALIGN, index)
        for index, nbytes in self.arrays(w):
            if beyond(w[index] | w[index + 1] << 32, nbytes):
                raise JobError(Error.E_ADDR, index)

    def arrays(self, w: list[int]) -> list[tuple[int, int]]:
        """The word of each array's address, and its bytes, to the end of its last beat."""
        opcode = w[0] & 0xFF
        if opcode == JOB_PROGRAM:
            return [(4, w[2])]
        assert self.learner is not None
        program = self.learner.program
        mask, kinds = w[2] & 0xFF, w[2] >> 8 & 31
        if opcode in (JOB_LOAD, JOB_STORE):
            return [(4, self._image_bytes(mask, kinds))]
        if opcode == JOB_APPLY:
            return [(4, self._image_bytes(mask, 1 << KIND_WEIGHTS))]
        last = (w[7] - 1) * w[6]  # of the records
        if opcode == JOB_INFER:
            stages = program.forward_pass(w[2])
            assert stages is not None
            first, result = program.stages[stages.start], program.stages[stages.stop - 1]
            return [(4, last + _beats(first.n_in)), (12, w[7] * _beats(result.n_out))]
        job = TrainJob.decode(w)
        arrays = [(4, last + _beats(program.record_words))]
        if job.from_list:
            arrays.append((10, job.steps * job.batch * 16))
        if job.td_memory:
            arrays.append((12, job.steps * _beats(job.batch)))
        if opcode == JOB_GRADS:
            arrays.append((14, self._image_bytes(mask, 1 << KIND_WEIGHTS)))
        return arrays

    def _image_bytes(self, networks: int, kinds: int) -> int:
        """Of the images of the networks and kinds of two masks."""
        assert self.learner is not None
        size = 0
        for index, net in enumerate(self.learner.networks):
            if networks >> index & 1:
                words = net.map.words * (kinds & ~(1 << KIND_SCALARS)).bit_count()
                size += 4 * words + 64 * (kinds >> KIND_SCALARS & 1)
        return size

    def _check_train(self, w: list[int]) -> None:
        assert self.learner is not None
        program = self.learner.program
        if self.loaded != (1 << len(program.networks)) - 1:
            raise JobError(Error.E_NOWEIGHTS)
        opcode = w[0] & 0xFF
        if opcode == JOB_TRAIN and not 1 <= w[2] < 1 << 31:
            raise JobError(Error.E_DIM, 2)
        if opcode != JOB_TRAIN and (not w[2] or w[2] & ~program.trained or len(program.phases) > 1):
            raise JobError(Error.E_DIM, 2)
        if opcode != JOB_APPLY:
            self._check_batch(w)

    def _check_batch(self, w: list[int]) -> None:
        assert self.learner is not None
        program = self.learner.program
        rows = -(-w[3] // self.geometry.dp) * program.frame_rows
        if not 1 <= w[3] <= self.geometry.b_max or rows > self.geometry.a_rows:
            raise JobError(Error.E_BATCH, 3)

    def _check_infer(self, w: list[int]) -> None:
        assert self.learner is not None
        program, network = self.learner.program, w[2]
        if network >= len(program.networks) or program.forward_pass(network) is None:
            raise JobError(Error.E_DIM, 2)
        if not self.loaded >> network & 1:
            raise JobError(Error.E_NOWEIGHTS, 2)
        if not w[7]:
            raise JobError(Error.E_DIM, 7)
        self._check_batch(w)

    def _check_images(self, w: list[int], store: bool) -> None:
        assert self.learner is not None
        networks = self.learner.program.networks
        mask, kinds = w[2] & 0xFF, w[2] >> 8 & 31
        targets = sum(net.has_target << k for k, net in enumerate(networks))
        if (
            not mask
            or not kinds
            or mask >> len(networks)
            or (kinds >> KIND_TARGET & 1 and mask & ~targets)
        ):
            raise JobError(Error.E_DIM, 2)
        if (store or not kinds & 1) and mask & ~self.loaded:
            raise JobError(Error.E_NOWEIGHTS, 2)

    def _program(self, w: list[int], memory: Memory) -> None:
        self.learner = None
        self.loaded = 0
        size, address = w[2], w[4] | w[5] << 32
        longest = 64 + 128 * self.geometry.net_max + 32 * self.geometry.st_max
        if not 64 <= size <= longest:
            raise JobError(Error.E_DIM, 0, 0)
        try:
            data = memory.read(address, -(-size // 64) * 64)[: size // 4 * 4].view(np.uint32)
            program: Program = validate(data, self.geometry, size)
        except BusError as error:
            raise JobError(Error.E_BUS_RD, 0, error.response) from error
        except ProgramError as error:
            raise JobError(error.code, error.index, error.kind) from error
        self.learner = Learner(self.geometry, program)

    def _images(self, w: list[int], memory: Memory, store: bool) -> int:
        """LOAD or STORE; returns clocks."""
        assert self.learner is not None
        mask, kinds, address = w[2] & 0xFF, w[2] >> 8 & 31, w[4] | w[5] << 32
        start = address
        if not store:
            self.loaded &= ~mask
        try:
            for index in range(len(self.learner.networks)):
                if not mask >> index & 1:
                    continue
                for kind in range(5):
                    if not kinds >> kind & 1:
                        continue
                    if store:
                        image = self._image(index, kind)
                        memory.write(address, image.view(np.uint8))
                    else:
                        net = self.learner.networks[index]
                        size = 16 if kind == KIND_SCALARS else net.map.words
                        image = memory.read(address, 4 * size).view(np.uint32)
                        self._load(index, kind, image)
                    address += 4 * image.size
        except BusError as error:
            code = Error.E_BUS_WR if store else Error.E_BUS_RD
            raise JobError(code, 4, error.response) from error
        if not store:
            self.loaded |= mask
            self.version += 1
        return 200 + (address - start) // 2 // self.geometry.lw

    def _image(self, index: int, kind: int) -> np.ndarray:
        """Return an image, uint32 words."""
        assert self.learner is not None
        net = self.learner.networks[index]
        if kind == KIND_SCALARS:
            return net.scalars.encode()
        return words([net.weights, net.moment, net.variance, net.target][kind])

    def _load(self, index: int, kind: int, image: np.ndarray) -> None:
        """Take an image; one of weights also sets the others to their start."""
        assert self.learner is not None
        net = self.learner.networks[index]
        if kind == KIND_SCALARS:
            scalars = Scalars.decode(image)
            counts = index == 0 and self.learner.program.delay > 0
            net.scalars = scalars if counts else replace(scalars, waited=0)
            return
        values = self.learner.padded(index, image.view(np.float32))
        if kind == KIND_WEIGHTS:
            self.learner.load(index, values)
        elif kind == KIND_MOMENT:
            net.moment = values
        elif kind == KIND_VARIANCE:
            net.variance = values
        else:
            net.target = values
            self.learner.publish(index)

    # GRADS and APPLY.
    def _write_gradients(self, job: TrainJob, memory: Memory) -> None:
        """Write the gradient image of the networks of a mask. Raises JobError."""
        learner = self.learner
        assert learner is not None
        address = job.out
        for index in range(len(learner.networks)):
            if job.networks >> index & 1:
                image = words(learner.gradient(index))
                _write_beats(memory, address, image, 14)
                address += 4 * image.size

    def _apply(self, w: list[int], memory: Memory, done: list[int]) -> int:
        """APPLY; returns clocks. Raises JobError."""
        learner = self.learner
        assert learner is not None
        address = w[4] | w[5] << 32
        gradients: dict[int, np.ndarray] = {}
        for index, net in enumerate(learner.networks):
            if w[2] >> index & 1:
                try:
                    image = memory.read(address, 4 * net.map.words)
                except BusError as error:
                    raise JobError(Error.E_BUS_RD, 4, error.response) from error
                gradients[index] = image.view(np.float32)
                address += image.size
        learner.apply(gradients)
        self._count_step(done)
        words_read = sum(g.size for g in gradients.values())
        updates = timing.updates_behind(
            learner.program.stages, learner.program, self.geometry, self.latencies, copy=False
        )
        return 200 + words_read // 2 // self.geometry.lw + updates.total

    def _count_step(self, done: list[int]) -> None:
        done[0] += 1
        self.steps_done += 1
        self.version += 1

    # INFER.
    def _infer(self, job: InferJob, memory: Memory, done: list[int]) -> int:
        """Run the rounds; done[0] counts vectors. Returns clocks. Raises JobError."""
        learner = self.learner
        assert learner is not None
        program = learner.program
        stages = program.forward_pass(job.network)
        assert stages is not None
        words = program.stages[stages.start].n_in
        size = -(-words // 16) * 64
        for number, start in enumerate(range(0, job.count, job.batch)):
            inputs = np.zeros((min(job.batch, job.count - start), words), np.float32)
            for slot, row in enumerate(inputs):
                address = job.base + (start + slot) * job.stride
                try:
                    vector = memory.read(address, size)
                except BusError as error:
                    raise JobError(Error.E_BUS_RD, slot, error.response) from error
                row[:] = vector.view(np.float32)[:words]
            outputs = learner.pipe.forward(program, stages, inputs, number & 1)
            padded = np.zeros((len(outputs), -(-outputs.shape[1] // 16) * 16), np.float32)
            padded[:, : outputs.shape[1]] = outputs
            _write_beats(memory, job.out + 4 * start * padded.shape[1], padded, 12)
            done[0] += len(inputs)
            self.busy += timing.ideal_pass(program, self.geometry, job.network, len(inputs))
        return timing.infer_clocks(
            program, self.geometry, job.network, job.batch, job.count, self.latencies
        )

    # TRAIN.
    def _train(self, job: TrainJob, memory: Memory, done: list[int]) -> Generator[None, None, None]:
        """Run the steps; done[0] counts them. Raises JobError."""
        learner = self.learner
        assert learner is not None
        for step in range(job.steps):
            batch = yield from self._fetch(job, memory, step)
            if not job.from_list:
                self.tde.put(TDE_FETCH_DONE << 48)
            due = learner.due
            result = learner.compute(batch, job.inverse_batch, step & 1)
            delta, bits = result.delta, words(result.delta)
            if job.td_stream:
                for slot, word in enumerate(bits):
                    self.tde.put(int(word) | slot << 32 | TDE_ERROR << 48)
            self._check_result(result, step)
            if job.td_memory:
                self._write_td(job, memory, step, bits)
            statistics = (
                to_bits(mean_magnitude(delta, job.inverse_batch)),
                to_bits(np.abs(delta).max()),
            )
            if job.networks:
                self.td_mean, self.td_max = statistics
                self._write_gradients(job, memory)
                done[0] += 1
            else:
                learner.commit()
                for phase in range(1, len(learner.program.phases)):
                    result = learner.compute(batch, job.inverse_batch, step & 1, phase)
                    self._check_result(result, step)
                    learner.commit(phase)
                self.td_mean, self.td_max = statistics
                self._count_step(done)
            self.busy += timing.ideal_step(learner.program, self.geometry, job.batch, due)
            if job.event_period and (step + 1) % job.event_period == 0:
                self.events += 1

    def _check_result(self, result: StepResult, step: int) -> None:
        if result.bad_index is not None:
            raise JobError(Error.E_INDEX, result.bad_index, step)
        if result.not_finite is not None:
            stage, sample = result.not_finite
            if not self.not_finite:
                self.not_finite_where = stage | sample << 16
            self.not_finite += 1
            raise JobError(Error.E_NONFINITE, stage, step)

    def _index(
        self, job: TrainJob, memory: Memory, step: int, slot: int
    ) -> Generator[None, None, tuple[int, np.float32]]:
        """Get the record index and the weight of a slot."""
        if job.from_list:
            address = job.list_address + (step * job.batch + slot) * 16
            try:
                beat = memory.read(address & ~63, 64).view(np.uint32)
            except BusError as error:
                raise JobError(Error.E_BUS_RD, slot, error.response) from error
            entry = beat[address % 64 // 4 :]
            index, weight = int(entry[0]), from_bits(int(entry[2]))
        else:
            while not self.smp.words:
                yield
            word, last = self.smp.words.popleft()
            if (
                word >> 96 & 0xFFFF != slot
                or word >> 112 & 0xFF != SMP_OP_SAMPLE
                or word >> 120 & 0xFF
                or last != (slot == job.batch - 1)
            ):
                raise JobError(Error.E_STREAM, slot, step)
            index, weight = word & 0xFFFF_FFFF, from_bits(word >> 64 & 0xFFFF_FFFF)
        if index >= job.records:
            raise JobError(Error.E_INDEX, slot, step)
        return index, weight

    def _fetch(self, job: TrainJob, memory: Memory, step: int) -> Generator[None, None, Batch]:
        """Read a batch's records, [s][a][r][d][s'][noise] each; an error is the first slot's."""
        assert self.learner is not None
        program = self.learner.program
        length = program.record_words
        rows = np.zeros((job.batch, length), np.uint32)
        weights = np.zeros(job.batch, np.float32)
        for slot in range(job.batch):
            index, weights[slot] = yield from self._index(job, memory, step, slot)
            address = job.base + index * job.stride
            try:
                record = memory.read(address, -(-4 * length // 64) * 64)
            except BusError as error:
                raise JobError(Error.E_BUS_RD, slot, error.response) from error
            rows[slot] = record.view(np.uint32)[:length]
        sizes = (program.state_words, program.action_words, 1, 1, program.state_words)
        state, action, reward, discount, following, noise = np.split(
            rows.view(np.float32), np.cumsum(sizes), axis=1
        )
        return Batch(
            state=state,
            next_state=following,
            action=action if program.continuous else rows[:, program.state_words].view(np.int32),
            reward=reward[:, 0],
            discount=discount[:, 0],
            weight=weights,
            noise=noise if program.noise else None,
        )

    def _write_td(self, job: TrainJob, memory: Memory, step: int, bits: np.ndarray) -> None:
        pitch = -(-4 * job.batch // 64) * 64
        address = job.td_address + step * pitch
        try:
            memory.write(address, bits.view(np.uint8))
        except BusError as error:
            raise JobError(Error.E_BUS_WR, 12, error.response) from error


def _beats(words: int) -> int:
    """Bytes of the whole beats that so many words of 32 bits take."""
    return -(-words // 16) * 64


def _write_beats(memory: Memory, address: int, data: np.ndarray, word: int) -> None:
    """Write beats of 64 bytes, all of them, as one command of the write mover.

    Args:
        address: of the first.
        data: words of 32 bits, a multiple of 16.
        word: of the descriptor, for the error.
    Raises: JobError with the worst response, if a beat failed.
    """
    worst = 0
    for k, beat in enumerate(data.reshape(-1, 16).view(np.uint8)):
        try:
            memory.write(address + 64 * k, beat)
        except BusError as error:
            worst = max(worst, error.response)
    if worst:
        raise JobError(Error.E_BUS_WR, word, worst)
