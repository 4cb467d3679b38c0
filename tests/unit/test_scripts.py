"""What the scripts of CI name is there: a test that has moved is not passed over, nor ends a stage."""

from __future__ import annotations

import re
from pathlib import Path

from support.each import each

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    *(path for path in sorted((ROOT / ".ci").iterdir()) if path.is_file()),
    *sorted((ROOT / ".github" / "workflows").glob("*.yml")),
]
_NAMED = re.compile(r"(?<![\w/.-])(?:tests|docs|benchmarks|\.ci)(?:/[\w.-]+)+(?<!\.)")
_VARIABLE = re.compile(r"^(\w+)=([\w/.]+)$", re.MULTILINE)


def named_in(script: str) -> set[str]:
    """Paths of the project that a script names, with its variables put in."""
    for name, value in _VARIABLE.findall(script):
        script = script.replace(f"${name}/", f"{value}/").replace(f"${{{name}}}/", f"{value}/")
    return set(_NAMED.findall(script))


def test_paths_are_told_from_other_words() -> None:
    script = 'tests=tests/spark\npytest "$tests/a/test_b.py" --out=/x/tests/c tests/unit/d.\n'
    assert named_in(script) == {"tests/spark", "tests/spark/a/test_b.py", "tests/unit/d"}


@each("script", SCRIPTS)
def test_each_path_of_a_script_exists(script: Path) -> None:
    names = named_in(script.read_text(encoding="utf-8"))
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []
