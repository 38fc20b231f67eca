"""The process that fuzzes: `python -m tests.fuzz.child FOLDER SECONDS RUNS SEED READER...`.

Instrumenting the package takes some seconds, so it forks for each reader. Half of the inputs are
changed as outputs get damaged (`tests.mutations.kinds`), the others as libFuzzer changes bytes.
"""

import hashlib
import json
import os
import random
import sys
import traceback
from pathlib import Path

import atheris

FOLDER, (SECONDS, RUNS, SEED), NAMES = Path(sys.argv[1]), sys.argv[2:5], sys.argv[5:]
_PACKAGES = sorted({f"acceptance.{name.split('.')[0]}" for name in (*NAMES, "core")})
with atheris.instrument_imports(include=_PACKAGES, enable_loader_override=False):
    from tests.foreign import READERS

from tests.fuzz import LOG, LONGEST, MEMORY, SLOW  # noqa: E402
from tests.mutations.kinds import KINDS  # noqa: E402


def main():
    """Fuzz each reader in a process of its own, which libFuzzer ends."""
    for name in NAMES:
        folder = FOLDER / name
        (folder / "corpus").mkdir(parents=True, exist_ok=True)
        child = os.fork()
        if child == 0:
            log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            _fuzz(name, folder)
            os._exit(0)
        os.waitpid(child, 0)


def _fuzz(name, folder):
    reader, corpus, shortest = READERS[name], folder / "corpus", {}
    for text in reader.examples():
        data = text.encode("utf-8", "surrogateescape")
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)

    def read(data):
        try:
            reader.read(data)
        except reader.raises:
            pass
        except Exception as error:
            _tell(shortest, folder, data, error)

    limits = [f"-max_total_time={SECONDS}", f"-runs={RUNS}", f"-seed={SEED}", f"-timeout={SLOW}"]
    limits += [f"-max_len={LONGEST}", f"-rss_limit_mb={MEMORY}", "-print_final_stats=1"]
    limits += [f"-artifact_prefix={folder}/", "-verbosity=1", str(corpus)]
    atheris.Setup([sys.argv[0], *limits], read, custom_mutator=_changed)
    atheris.Fuzz()


def _changed(data, size, seed):
    chance = random.Random(seed)
    if chance.random() < 0.5:
        return atheris.Mutate(data, size)
    text = data.decode("latin-1")
    for _ in range(chance.choice((1, 1, 2, 4))):
        try:
            text = chance.choice([*KINDS.values()])(chance, text) or text
        except (ValueError, IndexError):  # of too few lines
            break
    return text.encode("latin-1", "replace")[:size]


def _tell(shortest, folder, data, error):
    """Keep the shortest input of each fault; where it was raised tells one from another."""
    frames = [each for each in traceback.extract_tb(error.__traceback__)
              if "/acceptance/" in each.filename]  # fmt: skip
    place = "{0.filename}:{0.lineno}".format(frames[-1]) if frames else "?"
    key = hashlib.sha256(f"{type(error).__name__} {place}".encode()).hexdigest()[:8]
    if len(data) >= shortest.get(key, LONGEST + 1):
        return
    shortest[key] = len(data)
    said = {"error": f"{type(error).__name__}: {error}"[:500], "place": place}
    told = json.dumps({**said, "input": data.decode("utf-8", "backslashreplace")})
    (folder / f"fault-{key}.json").write_text(told)


if __name__ == "__main__":
    main()
