"""The state of one key may be larger than the memory of a task: on disk, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MEMORY, SIZE, COUNT = 192 << 20, 64 << 10, 4096
"""The map has 4,096 texts of 64 KB."""

COUNTED = f"""
import resource, sys

import pyarrow as pa

from savepoint_functions.functions.execution_options import ExecutionOptions
from savepoint_functions.functions.function_task import FunctionTask
from savepoint_functions.functions.rows_by_key import RowTypes
from savepoint_functions.functions.sorted_inputs import KeyEncoding
from state_processor import KeyedProcessFunction, MapStateDescriptor, Types

LONG = Types.LONG()


class Distinct(KeyedProcessFunction):
    def open(self, runtime_context):
        state = MapStateDescriptor("texts", LONG, Types.STRING())
        self.texts = runtime_context.get_map_state(state)

    def process_element(self, value, context):
        for number in range(value.count):
            self.texts.put(number, f"{{number:0{SIZE}}}")
        yield context.current_key, sum(map(self.texts.contains, range(value.count)))


columns = {{"key": pa.array([1]), "row 0 0": pa.array([{COUNT}])}}
encoding = KeyEncoding(LONG.layout, 128, None)
batches = list(encoding.ordered([pa.RecordBatch.from_pydict(columns)]))
rows = RowTypes(LONG.layout, (("count",),), False)
options = ExecutionOptions.of({{"state.backend.type": sys.argv[1]}})
task = FunctionTask(Distinct(), rows, options, keeps_state=False)
with open("/proc/self/status") as status:
    (taken,) = (int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (taken + {MEMORY},) * 2)
print([row for _, row in task.outputs(batches)])
"""


@pytest.mark.usefixtures("slow")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize("backend", ["single_key", "rocksdb"])
def test_a_key_may_have_more_state_than_there_is_memory(backend: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, backend], capture_output=True, text=True, check=False
    )
    if backend == "rocksdb":
        assert done.stdout == f"[(1, {COUNT})]\n", done.stderr
    else:
        assert "MemoryError" in done.stderr
