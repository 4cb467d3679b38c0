"""The sample of a job in Scala: python tests/support/scala_sample.py makes it anew, by a real Flink 1.20.5."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "sample_savepoints")]

from flink_home import FlinkHome  # noqa: E402  # the path is set above

from support.maven_jars import fetched  # noqa: E402

SAMPLE = ROOT / "sample_savepoints" / "scala-1.20.5"
"""A canonical savepoint of ``ScalaJob.scala``."""

JOB = ROOT / "sample_savepoints" / "scala" / "ScalaJob.scala"
RELEASE, SCALA = "1.20.5", "2.12.20"


def write_sample(folder: Path) -> None:
    """Compiles and runs the job in an empty folder, and puts its savepoint into ``SAMPLE``."""
    home = FlinkHome.cached(RELEASE)
    home.install()
    compiler = fetched(f"scala-{SCALA}", {"scala-compiler": SCALA}, group="org.scala-lang")
    # Flink's jar of its API has an older Scala in it, whose compiler Java 17 does not run.
    scala = os.pathsep.join(map(str, sorted(compiler.glob("*.jar"))))
    class_path = os.pathsep.join([scala, *map(str, home.jars)])
    scalac = ["java", "-cp", class_path, "scala.tools.nsc.Main", "-nowarn", "-cp", class_path]
    subprocess.run([*scalac, "-d", str(folder), str(JOB)], check=True)
    java = [
        *home.java(Path(f"{scala}{os.pathsep}{folder}"), ["-Xmx1g"]),
        "shop.ScalaJob",
        (folder / "out").as_uri(),
    ]
    done = subprocess.run(java, check=True, stdout=subprocess.PIPE, text=True)
    shutil.rmtree(SAMPLE, ignore_errors=True)
    shutil.copytree(done.stdout.splitlines()[-1].removeprefix("file:"), SAMPLE)


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        write_sample(Path(temporary))
