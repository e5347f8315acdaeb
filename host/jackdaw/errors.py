"""Named errors of devices and engines.

Every error code of an engine becomes a class: E_FOO_BAR of engine `replay` is `ReplayFooBarError`.
The codes come from the register descriptions (`models/registers`); nothing is typed here twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from flow.configuration import ConfigError as ConfigError
from flow.manifest import known
from models.registers import engine_header

ENGINES = {name: manifest.module().Error for name, manifest in known().items()}
TEXTS = {name: manifest.module().ERROR_TEXT for name, manifest in known().items()}


class BufferFieldError(ValueError):
    """Rows for a replay buffer that do not fit its fields; says which, what was got and wanted."""


class BufferPriorityError(ValueError):
    """A priority that is no finite number of 0 or more, or another number of them than of rows."""


class BufferIndexError(IndexError):
    """An index of a row that a replay buffer does not hold."""


class BufferEmptyError(LookupError):
    """A sample of a replay buffer that holds no row."""


class BufferStateError(ValueError):
    """A saved state of another replay buffer; names the first setting that differs."""


class CheckpointError(ValueError):
    """A file that is no checkpoint, or a damaged one."""


class CheckpointMismatch(CheckpointError):
    """A checkpoint of another format or run; says what was got and what was wanted."""


class RunFolderError(Exception):
    """A run's folder is in use, or cannot be written; names the path and the reason."""


class NonfiniteError(ValueError):
    """An environment or a network gave a NaN or an infinity; says where and in which step."""


class SearchError(Exception):
    """Anything that goes wrong in a tree search on the host."""


class EvaluatorError(SearchError):
    """A network or another evaluator failed, or gave what is no prior or no value."""


class SearchTimeout(SearchError):
    """A search waited too long; says for what."""


class EnvNotClonable(SearchError):
    """An environment whose state cannot be copied exactly; says how that was seen."""


class EnvError(SearchError):
    """An environment raised an error in a simulation; names the node by its actions."""


class WorkerDied(SearchError):
    """A process of the search's workers ended in a simulation, and a second one, too."""


class WorkerTimeout(WorkerDied):
    """A simulation did not end in time, nor did its second attempt."""


class ValueRange(SearchError):
    """A value of a simulation that is NaN or outside -8..8; says how to scale it."""


class StateTableTooLarge(SearchError):
    """The states of a search's nodes do not fit into memory; says how many bytes they are."""


class ReplayMismatch(SearchError):
    """A recorded search whose responses differ when it is run again; names the first."""


class DeviceError(Exception):
    """Anything that goes wrong on a device or between it and the host."""


class DeviceTimeout(DeviceError):
    """A wait ended without its interrupt.

    Attributes:
        reason: what was awaited and which limit passed.
        counters: page -> {name: value} of the common header of every engine.
    """

    def __init__(self, message: str, counters: Mapping[int, Mapping[str, int]]) -> None:
        lines = [
            f"  page {page}: " + " ".join(f"{name}={value:#x}" for name, value in words.items())
            for page, words in counters.items()
        ]
        super().__init__("\n".join([message, *lines]))
        self.reason = message
        self.counters = counters


class DeviceMemoryError(DeviceError):
    """Device memory is exhausted, or an address is not one that `alloc` gave."""


class DeviceAccessError(DeviceError):
    """A register access was answered with an error, or a copy leaves the device's memory."""


class DeviceClosedError(DeviceError):
    """The device was used after `close`."""


class DeviceMismatchError(DeviceError):
    """The device is not one this host knows: magic, layout version or configuration hash."""


class EngineOwnedError(DeviceError):
    """The engine belongs to another driver, which must be closed first."""


class SimulationError(DeviceError):
    """An assertion of the RTL or a protocol check of the simulator failed.

    Attributes:
        file: source file of the check, empty if the simulator itself found the fault.
        line: line in that file.
        clock: the clock (since reset) in which it failed.
    """

    def __init__(self, message: str, file: str = "", line: int = 0, clock: int = 0) -> None:
        where = f" at {file}:{line}" if file else ""
        super().__init__(f"{message}{where} in clock {clock}")
        self.message, self.file, self.line, self.clock = message, file, line, clock


class RingFullError(DeviceError):
    """A job was submitted to a ring whose slots are all in use."""


class JobError(DeviceError):
    """A job, or a ring outside any job, ended with an error code.

    Attributes:
        engine: name of the engine (`replay`).
        code, code_name, text: the error code, its name (`E_INDEX`) and what it means.
        page, ring: where the job was queued.
        number, tag, opcode: the job (number -1: an error outside any job).
        detail, count: engine detail and operations done, from the completion record.
        info: ERR_INFO0 and ERR_INFO1 (of the first failed job since STATUS was cleared).
    """

    engine = ""
    code = 0
    code_name = ""
    text = ""

    def __init__(
        self,
        page: int,
        ring: int,
        number: int = -1,
        tag: int = 0,
        opcode: int = 0,
        detail: int = 0,
        count: int = 0,
        info: tuple[int, int] = (0, 0),
    ) -> None:
        job = f"job {number} (opcode {opcode}, tag {tag:#x})" if number >= 0 else "no job"
        super().__init__(
            f"{self.engine} {self.code_name} (code {self.code}): {job} of ring {ring} on page "
            f"{page}; {count} done, detail {detail:#x}, info {info[0]:#x} {info[1]:#x}: {self.text}"
        )
        self.page, self.ring, self.number, self.tag = page, ring, number, tag
        self.opcode, self.detail, self.count, self.info = opcode, detail, count, info


class JobDropped(DeviceError):
    """The job was dropped by a soft reset."""


class RingHaltedError(DeviceError):
    """The ring halted before the job: one with the STOP flag failed."""


EXPECTED = (
    ConfigError, CheckpointError, RunFolderError, NonfiniteError, SearchError, DeviceError,
)  # fmt: skip
"""What a command tells in one line, without a traceback."""


def class_name(engine: str, code_name: str) -> str:
    """`replay`, `E_FOO_BAR` -> `ReplayFooBarError`."""
    words = code_name.removeprefix("E_").split("_")
    return engine.capitalize() + "".join(word.capitalize() for word in words) + "Error"


@cache
def error_class(engine: str, code: int) -> type[JobError]:
    """The class of an error code of an engine, own or common; unknown codes get one too."""
    codes = {int(error): error.name for error in ENGINES.get(engine, engine_header.Error)}
    name = codes.get(code, f"E_CODE{code}")
    text = TEXTS.get(engine, engine_header.ERROR_TEXT).get(code, "unknown")
    fields = {"engine": engine, "code": code, "code_name": name, "text": text,
              "__module__": __name__}  # fmt: skip
    return type(class_name(engine, name), (JobError,), fields)


for _engine, _codes in ENGINES.items():
    for _code in _codes:
        _error = error_class(_engine, int(_code))
        globals()[_error.__name__] = _error


def __getattr__(name: str) -> type[JobError]:
    """Tell type checkers that the generated classes exist; a name that is not one is an error."""
    raise AttributeError(f"module {__name__!r} has no error {name!r}")
