"""The fingerprint of the code that trains."""

import shutil
from pathlib import Path

import tacan
from tacan.training.code import code_digest, digest_of


def test_the_fingerprint_follows_the_code_that_trains_alone(tmp_path: Path) -> None:
    """A changed network, simulator or observation changes it; the command line does not."""
    copy = tmp_path / "tacan"
    shutil.copytree(Path(tacan.__file__).parent, copy, ignore=shutil.ignore_patterns("*.onnx"))
    assert digest_of(copy) == code_digest()
    (copy / "cli" / "train.py").write_text("")
    assert digest_of(copy) == code_digest()
    seen = {code_digest()}
    for part in ("networks/mlp.py", "simulator/world.py", "observation.py"):
        with (copy / part).open("a") as file:
            file.write("# changed\n")
        seen.add(digest_of(copy))
    assert len(seen) == 4
