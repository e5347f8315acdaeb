"""Tests of jd_learner_update and jd_learner_target: optimizers and target copy, to the bit."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from models.learner import optim
from models.learner.fp import to_bits, words
from models.learner.layout import Geometry, ImageMap, Network, allocate
from verif.bench import parameters, reset, rng, start

SPECIALS = (0, 0x8000_0000, 1, 0x8000_0001, 0x0080_0000, 0x7F7F_FFFF, 0xFF7F_FFFF)
LIMIT = 4000  # clocks of one update
GRADIENT_LATENCY = 2


def geometry() -> Geometry:
    """The build's geometry."""
    p = parameters()
    return Geometry(p=p["P"], ob=p["OB"], lw=p["LW"], w_rows=1 << 10)


def draw(generator: random.Random, count: int, special: float = 0.05) -> np.ndarray:
    """[count] float32: mostly near 1, some special values, some of any exponent but the last."""
    out = np.empty(count, np.uint32)
    for index in range(count):
        kind = generator.random()
        if kind < special:
            out[index] = generator.choice(SPECIALS)
        elif kind < 2 * special:
            out[index] = generator.getrandbits(31) % 0x7F80_0000 | generator.getrandbits(1) << 31
        else:
            out[index] = to_bits(np.float32(generator.gauss(0, 1)))
    return out.view(np.float32)


def pack(array: np.ndarray) -> int:
    """float32 words to a vector, word 0 in the low bits."""
    return int.from_bytes(np.ascontiguousarray(array, np.float32).tobytes(), "little")


def unpack(value: int, count: int) -> np.ndarray:
    """Inverse of pack."""
    return np.frombuffer(value.to_bytes(4 * count, "little"), np.float32)


class Bench:
    """Memories around the unit, each read in two clocks; weights collected."""

    def __init__(self, dut: Any, net: Network, image_map: ImageMap, base: int) -> None:
        self.dut = dut
        self.geometry = geometry()
        self.net = net
        self.map = image_map
        self.base = base
        size = base * self.geometry.lw + image_map.words
        self.masters = [np.zeros(size, np.float32) for _ in range(4)]
        self.gradients = np.full(self.geometry.w_rows * self.geometry.p, 7, np.float32)
        self.bias_gradients = np.full(self.geometry.w_rows * self.geometry.ob, 7, np.float32)
        self.weights = np.full_like(self.gradients, 9)
        self.biases = np.full_like(self.bias_gradients, 9)

    def words(self, memory: np.ndarray, index: int) -> np.ndarray:
        """A group of LW words."""
        return memory[index * self.geometry.lw : (index + 1) * self.geometry.lw]

    def describe(self, row_base: int, bias_base: int) -> None:
        """Drive the network's layout."""
        dut = self.dut
        sizes = [x.n_in | x.n_out << 16 for x in self.net.layers]
        dut.layers_i.value = sum(size << 32 * k for k, size in enumerate(sizes))
        dut.layer_count_i.value = len(sizes)
        dut.row_base_i.value = row_base
        dut.bias_base_i.value = bias_base
        dut.master_base_i.value = self.base

    def take_weight(self) -> None:
        """Store the word group on the weight port."""
        dut, lw = self.dut, self.geometry.lw
        if not dut.weight_valid_o.value:
            return
        if dut.weight_bias_o.value:
            memory, first = self.biases, int(dut.weight_bias_index_o.value)
        else:
            memory = self.weights
            first = int(dut.weight_row_o.value) * self.geometry.p + int(dut.weight_sub_o.value) * lw
        data, mask = unpack(int(dut.weight_data_o.value), lw), int(dut.weight_mask_o.value)
        for lane in range(lw):
            if mask >> lane & 1:
                memory[first + lane] = data[lane]

    def gradient(self) -> np.ndarray | None:
        """The gradients that are asked for in this clock."""
        dut, lw = self.dut, self.geometry.lw
        if not dut.grad_read_o.value:
            return None
        if dut.grad_bias_o.value:
            first, memory = int(dut.grad_bias_index_o.value), self.bias_gradients
        else:
            first = int(dut.grad_row_o.value) * self.geometry.p + int(dut.grad_sub_o.value) * lw
            memory = self.gradients
        return np.pad(memory[first : first + lw], (0, max(0, lw - memory[first:].size)))

    async def pulse_start(self) -> None:
        """Start the unit."""
        self.dut.start_i.value = 1
        await RisingEdge(self.dut.clk_i)
        self.dut.start_i.value = 0

    async def update(self) -> int:
        """Run one WU; returns its clocks."""
        dut, lw = self.dut, self.geometry.lw
        width = len(dut.master_read_addr_o) // 3
        pending: deque[np.ndarray | None] = deque([None] * (GRADIENT_LATENCY - 1))
        await self.pulse_start()
        data = [np.zeros(lw, np.float32)] * 3
        late = np.concatenate(data)  # data, one clock later
        for clock in range(LIMIT):
            await RisingEdge(dut.clk_i)
            if dut.done_o.value:
                return clock
            self.take_weight()
            pending.append(self.gradient())
            got = pending.popleft()
            dut.grad_valid_i.value = int(got is not None)
            if got is not None:
                dut.grad_data_i.value = pack(got)
            dut.master_data_i.value = pack(late)
            read, write = int(dut.master_read_o.value), int(dut.master_write_o.value)
            mask = (1 << width) - 1
            for k in range(3):
                if read >> k & 1:
                    address = int(dut.master_read_addr_o.value) >> k * width & mask
                    data[k] = self.words(self.masters[k], address).copy()
            for k in range(3):
                if write >> k & 1:
                    address = int(dut.master_write_addr_o.value) >> k * width & mask
                    word = int(dut.master_write_data_o.value) >> k * 32 * lw
                    self.words(self.masters[k], address)[:] = unpack(
                        word & ((1 << 32 * lw) - 1), lw
                    )
            late = np.concatenate(data)
        raise TimeoutError(f"no done_o within {LIMIT} clocks")

    async def copy(self) -> int:
        """Run one TSM; returns its clocks."""
        dut, lw = self.dut, self.geometry.lw
        await self.pulse_start()
        late: tuple[int, int] | None = None  # w and t that were read in the clock before
        for clock in range(LIMIT):
            await RisingEdge(dut.clk_i)
            if dut.done_o.value:
                return clock
            self.take_weight()
            if late is not None:
                dut.master_weight_i.value, dut.master_target_i.value = late
                late = None
            if dut.master_write_o.value:
                address = int(dut.master_write_addr_o.value)
                self.words(self.masters[3], address)[:] = unpack(int(dut.weight_data_o.value), lw)
            if dut.master_read_o.value:
                address = int(dut.master_read_addr_o.value)
                late = (
                    pack(self.words(self.masters[0], address)),
                    pack(self.words(self.masters[3], address)),
                )
        raise TimeoutError(f"no done_o within {LIMIT} clocks")

    async def cut_short(self, job: Coroutine[Any, Any, int], clocks: int) -> None:
        """Reset while a job runs."""
        task = cocotb.start_soon(job)
        await ClockCycles(self.dut.clk_i, clocks)
        task.cancel()
        for pin in ("start_i", "grad_valid_i"):
            if hasattr(self.dut, pin):
                getattr(self.dut, pin).value = 0
        await reset(self.dut)
        await RisingEdge(self.dut.clk_i)

    def master(self, kind: int) -> np.ndarray:
        """The network's image in a master memory."""
        return self.masters[kind][self.base * self.geometry.lw :]

    def check(self, what: str, got: np.ndarray, want: np.ndarray) -> None:
        """Compare images to the bit."""
        wrong = np.flatnonzero(words(got) != words(want))
        assert not wrong.size, (
            f"{what}: {wrong.size} of {want.size} words differ, first {wrong[0]}: "
            f"got {words(got)[wrong[0]]:#x}, want {words(want)[wrong[0]]:#x}"
        )


def random_network(generator: random.Random) -> Network:
    """A network of 1..3 small layers somewhere in the memories."""
    nodes = (1, 2, 3, 4, 5, 8, 11, 16, 17, 24)
    sizes = [generator.choice(nodes) for _ in range(generator.randint(2, 4))]
    g = geometry()
    return allocate(g, sizes, True, generator.randint(0, 9), g.ob * generator.randint(0, 9))


def random_slot(generator: random.Random, kind: int) -> optim.Slot:
    """An optimizer slot."""
    lr = generator.choice((1e-3, 0.02, 0.5))
    decrement, floor = generator.choice(((0.0, 0.0), (1e-4, 0.0), (0.2, 5e-4)))
    if kind == optim.SGD:
        return optim.sgd(lr, decrement, floor)
    if kind == optim.MOMENTUM:
        return optim.momentum(lr, generator.choice((0.0, 0.9)), decrement, floor)
    eps = generator.choice((1e-8, 1e-3, 0.0))
    return replace(optim.adam(lr, 0.9, 0.99, eps, decrement, floor))


@cocotb.test()
async def update(dut: Any) -> None:
    """Random networks, optimizers and gradients, several steps each."""
    generator = rng("update")
    await start(dut)
    dut.start_i.value = 0
    dut.grad_valid_i.value = 0
    g, p = geometry(), parameters()
    latency = 8 * (p["MulLatency"] + p["AddLatency"]) + 3 * p["DivLatency"] + 2 * p["SqrtLatency"]
    latency += 30
    for trial in range(6):
        net = random_network(generator)
        image_map = ImageMap(g, net)
        bench = Bench(dut, net, image_map, generator.randint(0, 5))
        bench.describe(net.row_base, net.bias_base)
        slot = random_slot(generator, trial % 3)
        dut.slot_i.value = sum(int(w) << 32 * k for k, w in enumerate(slot.encode()[:9]))
        valid = image_map.valid
        for kind in range(3):
            values = draw(generator, image_map.words)
            bench.master(kind)[:] = np.where(valid, np.abs(values) if kind == 2 else values, 0)
        state = optim.Scalars(lr=slot.lr)
        for step in range(3):
            image = np.where(valid, draw(generator, image_map.words), np.float32(0))
            image_map.scatter(image, bench.gradients, bench.bias_gradients)
            if step == 1:
                # A reset at any clock: nothing of what ran stays in the pipes.
                before = [m.copy() for m in (*bench.masters, bench.weights, bench.biases)]
                await bench.cut_short(bench.update(), generator.randint(1, 60))
                memories = (*bench.masters, bench.weights, bench.biases)
                for memory, kept in zip(memories, before, strict=True):
                    memory[:] = kept
            # Words beside the network's own keep what they hold.
            dut.c1_i.value, dut.c2_i.value = to_bits(state.c1), to_bits(state.c2)
            dut.lr_i.value = to_bits(state.lr)
            w, m, v = (bench.master(k).copy() for k in range(3))
            want = optim.update(slot, state, w, m, v, image)
            clocks = await bench.update()
            state = want[0]
            where = f"trial {trial} step {step} {slot}"
            new = np.where(valid, want[1], np.float32(0))
            bench.check(f"{where} w", bench.master(0), new)
            bench.check(f"{where} m", bench.master(1), want[2])
            bench.check(f"{where} v", bench.master(2), want[3])
            bench.check(f"{where} port", image_map.gather(bench.weights, bench.biases), new)
            got = [int(x.value) for x in (dut.c1_o, dut.c2_o, dut.lr_o)]
            assert got == [to_bits(x) for x in (state.c1, state.c2, state.lr)], where
            groups = image_map.words // g.lw
            dut._log.info(f"{where}: {groups} groups in {clocks} clocks")
            assert clocks <= groups + latency, f"{where}: {clocks} clocks for {groups} groups"
        touched = np.zeros_like(bench.weights)
        touched_biases = np.zeros_like(bench.biases)
        image_map.scatter(np.ones(image_map.words, np.float32), touched, touched_biases)
        assert np.all(bench.weights[touched == 0] == 9), "a weight beside the network was written"
        assert np.all(bench.biases[touched_biases == 0] == 9), "a bias beside it was written"


@cocotb.test()
async def target(dut: Any) -> None:
    """Hard and Polyak copies of random networks."""
    generator = rng("target")
    await start(dut)
    dut.start_i.value = 0
    for trial in range(8):
        net = random_network(generator)
        image_map = ImageMap(geometry(), net)
        bench = Bench(dut, net, image_map, generator.randint(0, 5))
        bench.describe(net.row_base + 7, net.bias_base + geometry().ob)
        tau = np.float32(generator.choice((0.005, 0.05, 1.0)))
        polyak = trial % 2
        dut.polyak_i.value = polyak
        dut.tau_i.value = to_bits(tau)
        for kind in (0, 3):
            values = draw(generator, image_map.words)
            bench.master(kind)[:] = np.where(image_map.valid, values, np.float32(0))
        w, t = bench.master(0).copy(), bench.master(3).copy()
        if trial >= 4:
            before = bench.masters[3].copy()
            await bench.cut_short(bench.copy(), generator.randint(1, 20))
            bench.masters[3][:] = before
        want = optim.polyak(t, w, tau) if polyak else w
        want = np.where(image_map.valid, want, np.float32(0))
        clocks = await bench.copy()
        bench.check(f"trial {trial} t", bench.master(3), want)
        shifted = replace(net, row_base=net.row_base + 7, bias_base=net.bias_base + geometry().ob)
        got = ImageMap(geometry(), shifted).gather(bench.weights, bench.biases)
        bench.check(f"trial {trial} port", got, want)
        assert clocks <= image_map.words // geometry().lw + 30
