"""cpprb's options on the replay buffer: the same calls on both, where cpprb's result is determined.

The options are the host's, so the device is `model`; test_replay_buffer.py has the RTL.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import cpprb
import numpy as np
import pytest

from jackdaw import errors
from jackdaw.device import open_device
from jackdaw.replay_buffer import PrioritizedReplayBuffer

Fields = dict[str, dict[str, Any]]
OBS: Fields = {"obs": {"shape": 3}, "act": {"dtype": np.int32}, "rew": {}, "done": {}}
STEP: Fields = {**OBS, "next_obs": {"shape": 3}}
NSTEP: dict[str, Any] = {"size": 3, "gamma": 0.9, "rew": "rew", "next": "next_obs"}


@pytest.fixture
def device() -> Iterator[Any]:
    with open_device("model", "small") as opened:
        yield opened


def both(device: Any, size: int, fields: Fields, **options: Any) -> list[Any]:
    """A buffer here and one of cpprb, which writes into its arguments."""
    return [
        PrioritizedReplayBuffer(size, fields, device=device, **options),
        cpprb.PrioritizedReplayBuffer(size, deepcopy(fields), **deepcopy(options)),
    ]


def episode(rng: np.random.Generator, length: int) -> list[dict[str, Any]]:
    """The steps of an episode: each observation is the one after the step before."""
    path = rng.normal(size=(length + 1, 3)).astype(np.float32)
    return [
        {
            "obs": path[t],
            "act": int(rng.integers(4)),
            "rew": rng.normal(),
            "done": float(t == length - 1),
            "next_obs": path[t + 1],
        }
        for t in range(length)
    ]


def same(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    assert mine.keys() == theirs.keys()
    for name in mine:
        assert mine[name].shape == theirs[name].shape and mine[name].dtype == theirs[name].dtype
        np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-6, atol=1e-6, err_msg=name)


def same_state(buffers: list[Any], fields: list[str] | None = None) -> None:
    """Rows and every count."""
    for call in ("stored_size", "next_index", "current_episode_len", "buffer_size", "max_priority"):
        mine, theirs = [getattr(buffer, f"get_{call}")() for buffer in buffers]
        assert mine == pytest.approx(theirs), call
    assert buffers[0].is_Nstep() == buffers[1].is_Nstep()
    every = [buffer.get_all_transitions() for buffer in buffers]
    same(*[{n: v for n, v in e.items() if fields is None or n in fields} for e in every])


def same_priorities(buffers: list[Any]) -> None:
    """Every row's share: the weights of a large batch at beta 1 are its inverse."""
    shares = []
    for buffer in buffers:
        batch = buffer.sample(4096, 1.0)
        share = np.zeros(buffer.get_stored_size())
        share[batch["indexes"].astype(int)] = 1 / batch["weights"]
        assert (share > 0).all()  # all rows are drawn
        shares.append(share / share.max())
    np.testing.assert_allclose(shares[0], shares[1], rtol=2e-4)


SUMMED = ["obs", "act", "rew"]  # what cpprb 11.0.0 gets right of rows of several steps


def check_ends(held: dict[str, np.ndarray], steps: dict[str, np.ndarray], places: list[int],
               size: int) -> None:  # fmt: skip
    """`done` and the next observation of rows, by the definition.

    Args:
        steps: those of one stretch without an end, every field [n, *shape].
        places: where the row of each of them is stored.
        size: N.

    cpprb leaves the last step's done out, adds what others have to more than 1, and fills the next
    observation of an episode's last rows with ones.
    """
    for t, place in enumerate(places):
        window = slice(t, t + size)
        done = 1 - np.prod(1 - steps["done"][window])
        assert held["done"][place, 0] == pytest.approx(done)
        assert (held["next_obs"][place] == steps["next_obs"][window][-1]).all()


@pytest.mark.parametrize("size", [5, 32])
def test_steps_of_several_steps_are_those_of_cpprb(device: Any, size: int, seed: int) -> None:
    """Rewards, counts and priorities; an episode that ends gives its last steps."""
    rng = np.random.default_rng(seed)
    buffers = both(device, size, STEP, Nstep=NSTEP, alpha=1.0, eps=0.0)
    for length in (7, 1, 4, 3, 9):
        steps = episode(rng, length)
        first = buffers[0].get_next_index()
        for t, step in enumerate(steps):
            given = {} if rng.random() < 0.3 else {"priorities": float(rng.integers(1, 9))}
            mine, theirs = [buffer.add(**step, **given) for buffer in buffers]
            assert mine == theirs and (mine is None) == (t < 2)
            same_state(buffers, SUMMED)
        for buffer in buffers:
            buffer.on_episode_end()
        same_state(buffers, SUMMED)
        part = {n: np.array([s[n] for s in steps]) for n in steps[0]}
        held, kept = buffers[0].get_all_transitions(), min(length, size)
        part = {n: v[-kept:] for n, v in part.items()}
        check_ends(held, part, [(first + length - kept + k) % size for k in range(kept)], 3)
    same_priorities(buffers)
    buffers[0].on_episode_end()  # nothing waits; cpprb raises an IndexError
    assert buffers[0].get_stored_size() == min(24, size)


def test_batches_and_partly_done_steps_of_several_steps(device: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    buffers = both(device, 40, STEP, Nstep={**NSTEP, "size": 4})
    parts = []
    for count in (2, 5, 1, 9):
        rows: dict[str, Any] = {
            n: rng.normal(size=(count, 3)).astype(np.float32) for n in ("obs", "next_obs")
        }
        rows |= {"act": rng.integers(0, 9, count), "rew": rng.normal(size=count)}
        rows["done"] = rng.choice([0, 0.5, 1], count)
        parts.append(rows)
        assert len({buffer.add(**rows) for buffer in buffers}) == 1
        same_state(buffers, SUMMED)
    buffers[0].on_episode_end()
    steps = {n: np.concatenate([rows[n] for rows in parts]) for n in parts[0]}
    check_ends(buffers[0].get_all_transitions(), steps, list(range(17)), 4)
    for buffer in buffers:
        buffer.clear()
    same_state(buffers, SUMMED)
    buffers[0].close()
    # N = 1 is an ordinary buffer; cpprb raises.
    one = PrioritizedReplayBuffer(8, STEP, device=device, Nstep={**NSTEP, "size": 1})
    assert one.add(**episode(rng, 1)[0]) == 0


@pytest.mark.parametrize("count", [1, 3])
def test_next_values_take_no_memory_of_their_own(device: Any, count: int, seed: int) -> None:
    """Two episodes and a half through a buffer of 6 rows: what went in comes out, as of cpprb."""
    rng = np.random.default_rng(seed)
    mine, theirs = both(device, 6, OBS, next_of="obs")
    for length in (4, 6, 9):
        steps = episode(rng, length)
        for t in range(0, length, count):
            part = {n: np.array([s[n] for s in steps[t : t + count]]) for n in steps[0]}
            assert mine.add(**part) == theirs.add(**part)
            same_state([mine, theirs])
            batch = mine.sample(8)
            held = mine.get_all_transitions()
            assert all((batch[n] == held[n][batch["indexes"]]).all() for n in held)
        mine.on_episode_end()
        theirs.on_episode_end()
    assert mine.storage.stride == 64 and len(mine._chain.ends) <= 2
    assert mine._row.names == ("obs", "act", "rew", "done")


@pytest.mark.parametrize("options", [{}, {"next_of": "obs"}])
def test_stacks_of_frames_keep_one_frame_a_row(
    device: Any, options: dict[str, Any], seed: int
) -> None:
    """Stacks of four frames that move on by one, with episodes and around the buffer's end."""
    rng = np.random.default_rng(seed)
    fields: Fields = {"obs": {"shape": (2, 3, 4), "dtype": np.uint8}, "rew": {}}
    mine, theirs = both(device, 9, fields, stack_compress="obs", **options)
    for length in (5, 3, 1, 30):
        frames = rng.integers(0, 256, (2, 3, length + 4), np.uint8)
        for t in range(length):
            step = {"obs": frames[..., t : t + 4], "rew": t, "next_obs": frames[..., t + 1 : t + 5]}
            if not options:
                del step["next_obs"]
            assert mine.add(**step) == theirs.add(**step)
            same_state([mine, theirs])
        mine.on_episode_end()
        theirs.on_episode_end()
    assert mine._row["obs"].shape == (2, 3) and len(mine._chain.ends) == 1


def test_rows_that_do_not_follow_each_other_are_kept_whole(device: Any, seed: int) -> None:
    """Random rows, NaN and zeros of both signs under every option: the bits that went in.

    cpprb returns the next row's values there; it is right only where rows follow each other.
    """
    rng = np.random.default_rng(seed)
    fields: Fields = {"obs": {"shape": (2, 2)}, "rew": {}}
    for options in ({"next_of": ["obs", "rew"]}, {"stack_compress": "obs"},
                    {"next_of": "obs", "stack_compress": ["obs"]}):  # fmt: skip
        with closing(PrioritizedReplayBuffer(7, fields, device=device, **options)) as buffer:
            names = buffer.get_all_transitions().keys()
            kept: list[dict[str, np.ndarray]] = []
            values = np.array([0.0, -0.0, np.nan, 1.0], np.float32)
            for _ in range(60):
                count = int(rng.integers(1, 10))
                rows = {n: rng.choice(values, (count, 2, 2) if "obs" in n else (count, 1))
                        for n in names}  # fmt: skip
                first = buffer.add(**rows)
                kept += [{n: v[k] for n, v in rows.items()} for k in range(count)]
                held, newest = buffer.get_all_transitions(), buffer.get_next_index() - 1
                assert first is not None
                for age, row in enumerate(kept[: -len(buffer) - 1 : -1]):
                    for n in names:
                        got = np.ascontiguousarray(held[n][newest - age])
                        assert got.tobytes() == row[n].tobytes(), (options, age, n)
                if rng.random() < 0.2:
                    buffer.on_episode_end()


def test_updates_of_rows_stored_since_the_sample_are_left_out(device: Any) -> None:
    buffers = both(device, 5, {"rew": {}}, check_for_update=True, alpha=1.0, eps=0.0)
    for buffer in buffers:
        buffer.add(rew=np.arange(5), priorities=np.ones(5))
        buffer.sample(8)
        buffer.add(rew=9, priorities=2.0)  # row 0 is another one now
        buffer.update_priorities([0, 1], [8.0, 4.0])
        assert buffer.get_max_priority() == 4
    same_priorities(buffers)
    for buffer in buffers:
        buffer.sample(2)
        buffer.update_priorities([0], [8.0])
        buffer.update_priorities([], [])
    same_priorities(buffers)
    buffers[0].close()
    plain = both(device, 5, {"rew": {}}, alpha=1.0, eps=0.0)
    for buffer in plain:
        buffer.add(rew=np.arange(5), priorities=np.ones(5))
        buffer.sample(8)
        buffer.add(rew=9, priorities=2.0)
        buffer.update_priorities([0, 1], [8.0, 4.0])
        assert buffer.get_max_priority() == 8
    same_priorities(plain)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint64, np.int8, list])
def test_whole_numbers_of_any_type_are_indexes(device: Any, kind: Any) -> None:
    buffers = both(device, 8, {"rew": {}}, alpha=1.0, eps=0.0)
    for buffer in buffers:
        buffer.add(rew=np.arange(8), priorities=np.ones(8))
        chosen = [7.0, 2.0, 2.0] if kind is list else np.array([7, 2, 2], kind)
        buffer.update_priorities(chosen, np.array([3, 5, 2]))
        buffer.update_priorities(0, 4.0)
    same_priorities(buffers)
    for bad in ([0.5], [np.nan], [8.0], [-1.0], [True], ["a"], [1 + 0j], [2**64 + 1], [1e30]):
        before = buffers[0].replay.total
        with pytest.raises(errors.BufferIndexError):
            buffers[0].update_priorities(bad, [1.0])
        assert buffers[0].replay.total == before


def test_arrays_that_cannot_be_written_are_taken(device: Any) -> None:
    """All arguments read-only, and of any memory order."""
    buffer = PrioritizedReplayBuffer(8, STEP, device=device, next_of=())

    def locked(values: Any) -> np.ndarray:
        array = np.asfortranarray(values)
        array.setflags(write=False)
        return array

    rows = {"obs": np.ones((8, 3)), "next_obs": np.ones((8, 3)), "act": np.arange(8),
            "rew": np.ones((8, 1)), "done": np.zeros(8)}  # fmt: skip
    buffer.add(**{n: locked(v) for n, v in rows.items()}, priorities=locked(np.arange(8.0)))
    batch = buffer.sample(8)
    assert all(v.flags.writeable and v.flags.c_contiguous for v in batch.values())
    buffer.update_priorities(locked(batch["indexes"]), locked(np.arange(16.0))[::2])
    buffer.update_priorities(locked(np.arange(8))[::-1], locked(np.arange(8, dtype=np.float32)))
    assert buffer.replay.retrieve(np.arange(8)).argsort().tolist() == list(range(7, -1, -1))


def test_types_sizes_and_order_are_those_of_cpprb(device: Any) -> None:
    fields: Fields = {"obs": {"shape": (2, 2)}, "act": {"dtype": np.int8}, "rew": {}}
    buffers = both(device, 6, fields, default_dtype=np.float64)
    for buffer in buffers:
        for k in range(8):
            buffer.add(obs=np.full((2, 2), k / 3), act=k, rew=k)
    same_state(buffers)
    mixed = buffers[0].get_all_transitions(shuffle=True)
    assert sorted(mixed["act"][:, 0].tolist()) == [2, 3, 4, 5, 6, 7]
    assert mixed["act"][:, 0].tolist() != buffers[0].get_all_transitions()["act"][:, 0].tolist()
    assert (mixed["rew"] == mixed["act"]).all()
    buffers[0].close()
    assert PrioritizedReplayBuffer(6.0, fields, device=device).get_buffer_size() == 6  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"Nstep": NSTEP},
        {"next_of": "act", "check_for_update": True},
        {"stack_compress": ["obs", "next_obs"], "Nstep": {**NSTEP, "size": 2}, "next_of": "rew"},
    ],
)
def test_a_file_has_all_of_a_buffer(device: Any, tmp_path: Path, options: dict[str, Any]) -> None:
    """What is loaded goes on as the one that was saved: rows that wait, links, new rows."""
    rng = np.random.default_rng(1)
    steps = [s for length in (9, 5, 8) for s in episode(rng, length)]
    target = options.get("next_of")
    extra = {f"next_{target}": 3} if target else {}
    one = PrioritizedReplayBuffer(11, STEP, device=device, **options)
    with open_device("model", "small") as other:
        two = PrioritizedReplayBuffer(11, STEP, device=other, seed=5, **options)
        for k, step in enumerate(steps[:15]):
            one.add(**step, **extra, priorities=float(k))
            if k == 8:
                one.on_episode_end()
                one.sample(4)
        one.save_transitions(str(tmp_path / "one.npz"), safe=False)
        with (tmp_path / "two.npz").open("wb") as handle:
            one.save_transitions(handle)
        two.load_transitions(tmp_path / "one.npz")
        with (tmp_path / "two.npz").open("rb") as handle:
            two.load_transitions(handle)
        for step in steps[15:]:
            for buffer in (one, two):
                buffer.update_priorities(np.arange(5), np.arange(5))
                buffer.add(**step, **extra)
            same_state([one, two])
            mine, theirs = one.sample(8), two.sample(8)
            assert all(np.array_equal(mine[n], theirs[n]) for n in mine)
        two.close()
        plain = PrioritizedReplayBuffer(11, STEP, device=other)
        with pytest.raises(errors.BufferStateError):
            plain.load_transitions(tmp_path / "one.npz")


def test_what_is_refused_on_purpose_is_told_by_name(device: Any) -> None:
    def make(fields: Any = STEP, size: Any = 4, **options: Any) -> Any:
        return lambda: PrioritizedReplayBuffer(size, fields, device=device, **options)

    cases: list[tuple[type[Exception], str, Any]] = [
        (errors.ConfigError, "mmap_prefix", make(mmap_prefix="rows")),
        (errors.ConfigError, "size: got 2.5", make(size=2.5)),
        (errors.ConfigError, "size: got '4'", make(size="4")),
        (errors.ConfigError, "size: got nan", make(size=float("nan"))),
        (errors.ConfigError, "size: got 0", make(size=0)),
        (errors.BufferFieldError, "no field", make(fields={})),
        (errors.BufferFieldError, "numbers", make(fields={"obs": {"dtype": object}})),
        (errors.BufferFieldError, "want a field", make(next_of="nothing")),
        (errors.BufferFieldError, "want a field", make(stack_compress=["obs", "nothing"])),
        (errors.BufferFieldError, "next_of makes it", make(next_of="obs")),
        (errors.BufferFieldError, "size of 1", make(Nstep={"rew": "rew"})),
        (errors.BufferFieldError, "size of 1", make(Nstep={"size": 2, "gama": 1})),
        (errors.BufferFieldError, "gamma", make(Nstep={"size": 2, "gamma": float("nan")})),
        (errors.BufferFieldError, "'done'", make(fields={"rew": {}}, Nstep={"size": 2})),
        (errors.BufferFieldError, "want float", make(Nstep={"size": 2, "rew": "act"})),
        (errors.BufferFieldError, "want a field", make(Nstep={"size": 2, "next": "obs2"})),
    ]
    for kind, text, call in cases:
        with pytest.raises(kind, match=text):
            call()
    buffer = make()()  # none of them took the engine
    assert buffer.add(**episode(np.random.default_rng(1), 1)[0]) == 0
