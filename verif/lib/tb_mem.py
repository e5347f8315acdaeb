"""Tests of memory, delay, product, reduction, random numbers against models, clock by clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import reduce
from operator import add, and_, or_
from typing import Any

import cocotb
import pyuvm
from cocotb.triggers import RisingEdge
from pyuvm import uvm_component, uvm_test

from verif.bench import parameters, reset, rng, start
from verif.coverage import Coverage
from verif.lib.xoshiro import Xoshiro
from verif.scoreboard import Scoreboard

CLOCKS = 3000
OPERATIONS = (add, max, and_, or_)  # of jd_reduce, by their numbers


@dataclass(frozen=True)
class Access:
    """What the memory was asked in one clock."""

    read: bool
    write: bool
    same_word: bool
    whole: bool


class AccessCoverage(Coverage):
    """Reads and writes alone, together, and of one word in one clock."""

    def __init__(self, name: str, parent: uvm_component) -> None:
        super().__init__(
            name,
            parent,
            "lib.mem",
            {
                "access": {
                    "read": lambda a: a.read and not a.write,
                    "write": lambda a: a.write and not a.read,
                    "both": lambda a: a.read and a.write,
                    "same_word": lambda a: a.read and a.write and a.same_word,
                    "mask_all": lambda a: a.write and a.whole,
                    "mask_some": lambda a: a.write and not a.whole,
                },
            },
            goal=5,
        )


class ClockedTest(uvm_test):
    """Base of the tests: a scoreboard that compares every clock's outputs."""

    def build_phase(self) -> None:
        """Make the scoreboard."""
        self.dut: Any = cocotb.top
        self.random = rng("test")
        self.scoreboard = Scoreboard("scoreboard", self, least=100)

    async def run_phase(self) -> None:
        """Run the body between the objections."""
        self.raise_objection()
        await self.body()
        self.drop_objection()

    async def body(self) -> None:
        """The test."""

    def compare(self, want: Any, got: Any) -> None:
        """Compare one output."""
        self.scoreboard.expect(want)
        self.scoreboard.observe(got)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Memory(ClockedTest):
    """Random reads and masked writes, often of the same word; a reset keeps the contents.

    With Ultra, a word that is read while it is written shows the complement of what is written.
    """

    def build_phase(self) -> None:
        """Make the coverage too."""
        super().build_phase()
        self.coverage = AccessCoverage("coverage", self)

    async def body(self) -> None:
        """Write all words, then random accesses; reset in the middle."""
        dut, p = self.dut, parameters()
        depth, lanes, lane_bits, latency = (
            p["Depth"], p["Lanes"], p["LaneW"], p["ReadLatency"],
        )  # fmt: skip
        words = [[0] * lanes for _ in range(depth)]
        dut.write_en_i.value = dut.read_en_i.value = 0
        await start(dut)

        def packed(values: list[int]) -> int:
            return sum(value << (lane * lane_bits) for lane, value in enumerate(values))

        shown: int | None = None
        pipe: deque[int | None] = deque([None] * latency, latency)
        for clock in range(depth + CLOCKS):
            fill = clock < depth
            write = fill or self.random.random() < 0.6
            read = not fill and self.random.random() < 0.6
            near = self.random.randrange(min(depth, 4))
            write_address = (
                clock if fill else self.random.choice((near, self.random.randrange(depth)))
            )
            read_address = self.random.choice((write_address, self.random.randrange(depth)))
            mask = (1 << lanes) - 1
            if not fill and self.random.random() < 0.5:
                mask = self.random.getrandbits(lanes)
            data = [self.random.getrandbits(lane_bits) for _ in range(lanes)]
            dut.write_en_i.value, dut.write_addr_i.value = int(write), write_address
            dut.write_mask_i.value, dut.write_data_i.value = mask, packed(data)
            dut.read_en_i.value, dut.read_addr_i.value = int(read), read_address
            await RisingEdge(dut.clk_i)
            # These are the outputs before this edge: of the reads up to `latency` clocks ago.
            if shown is not None:
                self.compare(shown, int(dut.read_data_o.value))
            seen = list(words[read_address])
            if p["Ultra"] and write and read_address == write_address:
                for lane in range(lanes):
                    if mask >> lane & 1:
                        seen[lane] = data[lane] ^ (1 << lane_bits) - 1
            pipe.append(packed(seen) if read else None)
            if pipe[0] is not None:
                shown = pipe[0]
            if write:
                for lane in range(lanes):
                    if mask >> lane & 1:
                        words[write_address][lane] = data[lane]
            self.coverage.sample(
                Access(read, write, read_address == write_address, mask + 1 == 1 << lanes)
            )
            if clock == depth + CLOCKS // 2:
                dut.write_en_i.value = dut.read_en_i.value = 0
                await reset(dut, latency + 1)
                pipe = deque([None] * latency, latency)
                shown = None


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Lut(ClockedTest):
    """Random reads and writes, often of the same word: the old one in the clock of the write."""

    async def body(self) -> None:
        """Write all words, then random accesses; reset in the middle keeps the contents."""
        dut, p = self.dut, parameters()
        depth, width, reads = p["Depth"], p["Width"], p["Reads"]
        bits = (depth - 1).bit_length()
        words = [0] * depth
        same = 0
        dut.write_en_i.value = 0
        await start(dut)
        for clock in range(depth + CLOCKS):
            fill = clock < depth
            write = fill or self.random.random() < 0.6
            target = clock if fill else self.random.randrange(depth)
            word = self.random.getrandbits(width)
            places = [self.random.choice((target, self.random.randrange(depth)))
                      for _ in range(reads)]  # fmt: skip
            dut.write_en_i.value, dut.write_addr_i.value = int(write), target
            dut.write_data_i.value = word
            dut.read_addr_i.value = sum(a << port * bits for port, a in enumerate(places))
            await RisingEdge(dut.clk_i)
            if not fill:
                same += write and target in places
                want = sum(words[a] << port * width for port, a in enumerate(places))
                self.compare(want, int(dut.read_data_o.value))
            if write:
                words[target] = word
            if clock == depth + CLOCKS // 2:
                dut.write_en_i.value = 0
                await reset(dut, 2)
        assert same, "no word was read and written in one clock"


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Hold(ClockedTest):
    """Pushes and pops at random: a pop shows the oldest word one clock later; reset empties it."""

    async def body(self) -> None:
        """Fill and drain in turn; reset in the middle."""
        dut, depth, width = self.dut, parameters()["Depth"], parameters()["Width"]
        dut.push_i.value = dut.pop_i.value = 0
        await start(dut)
        held: deque[int] = deque()
        shown: int | None = None
        both_full = 0
        for clock in range(CLOCKS):
            often, seldom = (0.8, 0.3) if clock // (4 * depth) % 2 == 0 else (0.3, 0.8)
            pop = bool(held) and self.random.random() < seldom
            push = (len(held) < depth or pop) and self.random.random() < often
            both_full += push and len(held) == depth
            word = self.random.getrandbits(width)
            dut.push_i.value, dut.data_i.value, dut.pop_i.value = int(push), word, int(pop)
            await RisingEdge(dut.clk_i)
            if shown is not None:
                self.compare(shown, int(dut.data_o.value))
            if pop:
                shown = held.popleft()
            if push:
                held.append(word)
            if clock == CLOCKS // 2:
                dut.push_i.value = dut.pop_i.value = 0
                await reset(dut, 2)
                held.clear()
                shown = None
        assert both_full, "never pushed while full"


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Multiply(ClockedTest):
    """Products of factors of all lengths, and the clocks that each takes."""

    async def body(self) -> None:
        """One product after another."""
        dut, p = self.dut, parameters()
        dut.start_i.value = 0
        await start(dut)
        for _ in range(CLOCKS // 10):
            first = self.random.getrandbits(self.random.randint(1, p["FirstW"]))
            second = self.random.getrandbits(self.random.randint(1, p["SecondW"]))
            if self.random.random() < 0.1:
                first, second = (1 << p["FirstW"]) - 1, (1 << p["SecondW"]) - 1
            dut.first_i.value, dut.second_i.value, dut.start_i.value = first, second, 1
            await RisingEdge(dut.clk_i)
            dut.start_i.value = 0
            await RisingEdge(dut.clk_i)
            clocks = 0
            while dut.busy_o.value:
                clocks += 1
                assert clocks <= p["SecondW"], f"{first} * {second} takes {clocks} clocks"
                await RisingEdge(dut.clk_i)
            want = first * second % (1 << p["ProductW"]), max(1, second.bit_length())
            self.compare(want, (int(dut.product_o.value), clocks))


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Reduce(ClockedTest):
    """Random groups, with pauses and without; a reset drops what is on its way."""

    async def body(self) -> None:
        """Many alike items, so that equal ones, zeros and ones meet; two resets."""
        dut, p = self.dut, parameters()
        groups, items, width, latency = p["Groups"], p["Items"], p["Width"], p["Latency"]
        operation = OPERATIONS[p["Operation"]]
        mask = (1 << width) - 1
        dut.valid_i.value = 0
        await start(dut)
        pipe: deque[int | None] = deque([None] * latency)
        for clock in range(CLOCKS // 3):
            base = self.random.choice((0, mask, self.random.getrandbits(width)))
            words = [
                [self.random.choice((base, self.random.getrandbits(width))) for _ in range(items)]
                for _ in range(groups)
            ]
            valid = clock % 200 < 100 or self.random.random() < 0.5
            flat = [word for group in words for word in group]
            dut.items_i.value = sum(word << width * k for k, word in enumerate(flat))
            dut.valid_i.value = int(valid)
            await RisingEdge(dut.clk_i)
            results = [reduce(operation, group) & mask for group in words]
            pipe.append(sum(word << width * k for k, word in enumerate(results)) if valid else None)
            want = pipe.popleft()
            got = int(dut.result_o.value) if dut.valid_o.value else None
            self.compare(want, got)
            if clock % 500 == 250:
                dut.valid_i.value = 0
                await reset(dut, 1)
                pipe = deque([None] * latency)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Delay(ClockedTest):
    """The output is the input of so many clocks ago, and zero after a reset."""

    async def body(self) -> None:
        """Random words; two resets."""
        dut, cycles, width = self.dut, parameters()["Cycles"], parameters()["Width"]
        dut.in_i.value = 0
        await start(dut)
        past: deque[int] = deque([0] * cycles)
        for clock in range(CLOCKS):
            word = self.random.getrandbits(width)
            dut.in_i.value = word
            await RisingEdge(dut.clk_i)
            past.append(word)
            self.compare(past.popleft(), int(dut.out_o.value))
            if clock % 1000 == 500:
                await reset(dut, 1)
                past = deque([0] * cycles)


@pyuvm.test(timeout_time=1, timeout_unit="ms")
class Xoshiro256(ClockedTest):
    """Against the published generator: values, states, loads in mid-stream, the zero seed."""

    async def body(self) -> None:
        """Random requests and loads."""
        dut = self.dut
        dut.load_i.value = dut.next_i.value = 0
        await start(dut)
        model = Xoshiro([1, 0, 0, 0])
        pipe: deque[int | None] = deque([None, None], 2)
        shown: int | None = None
        for clock in range(CLOCKS):
            ask = clock < 100 or self.random.random() < 0.7
            load = self.random.random() < 0.02
            seed = self.random.choice((0, self.random.getrandbits(256)))
            dut.next_i.value, dut.load_i.value, dut.seed_i.value = int(ask), int(load), seed
            await RisingEdge(dut.clk_i)
            self.compare(model.packed(), int(dut.state_o.value))
            if shown is not None:
                self.compare(shown, int(dut.value_o.value))
            pipe.append(model.next() if ask else None)
            if pipe[0] is not None:
                shown = pipe[0]
            if load:
                model = Xoshiro.unpacked(seed)
            if clock == CLOCKS // 2:
                dut.next_i.value = dut.load_i.value = 0
                await reset(dut, 3)
                model, shown = Xoshiro([1, 0, 0, 0]), None
                pipe = deque([None, None], 2)
