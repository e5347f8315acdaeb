#!/usr/bin/env python3
"""Write the device of a configuration: its top and its core file, for FuseSoC.

    scripts/device.py all [--set a3c.NPe=32] [--out FOLDER]
    fusesoc --cores-root FOLDER run --target=lint jackdaw:device:all

It is FuseSoC's generator `device`, too: then its argument is the generator's input, a YAML file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from flow.configuration import ConfigError, load_config, numbers  # noqa: E402
from flow.device import FOLDER, TOP, top, write  # noqa: E402


def generate(path: Path) -> None:
    """What FuseSoC asks for: the top alone, in this folder; its core knows what it depends on."""
    asked = yaml.safe_load(path.read_text())
    given = asked.get("parameters") or {}
    if set(given) - {"set"} != {"config"}:
        raise ConfigError(f"{path}: parameters are {sorted(given)}, want config, perhaps set")
    config = load_config(given["config"]).changed(numbers(map(str, given.get("set") or [])))
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build/FUSESOC_IGNORE").touch()  # another run is not to find this one's cores
    Path(f"{TOP}.sv").write_text(top(config))
    content = {
        "name": asked["vlnv"],
        "filesets": {"rtl": {"files": [f"{TOP}.sv"], "file_type": "systemVerilogSource"}},
        "targets": {"default": {"filesets": ["rtl"]}},
    }
    Path("device.core").write_text("CAPI=2:\n" + yaml.safe_dump(content))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", help="name in configs/, or a JSON file")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path, help="folder; default: build/devices/NAME")
    options = parser.parse_args()
    try:
        if options.config.endswith((".yml", ".yaml")):
            generate(Path(options.config))
            return 0
        config = load_config(options.config).changed(numbers(options.set))
    except ConfigError as error:
        parser.error(str(error))
    folder = options.out or FOLDER / config.name
    name = f"jackdaw:device:{config.name.replace('-', '_')}"
    write(config, top(config), name, folder)
    print(f"{name} is in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
