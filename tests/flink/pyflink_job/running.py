"""How a PyFlink job is set up and ends; what ``job.py`` and ``masked.py`` share outside of their functions."""

import os
import sys
import time

from pyflink.common import Configuration
from pyflink.java_gateway import get_gateway


def configuration(plan):
    """The options of a job: backend, mode, and the savepoint to begin with."""
    config = Configuration()
    config.set_string("state.backend.type", plan["backend"])
    config.set_string("python.execution-mode", plan["mode"])
    config.set_string("python.executable", sys.executable)
    config.set_string("python.client.executable", sys.executable)
    config.set_string("python.fn-execution.bundle.size", "7")
    config.set_string("python.fn-execution.bundle.time", "100")
    config.set_string("taskmanager.memory.managed.size", "256m")
    config.set_string("taskmanager.numberOfTaskSlots", "8")
    config.set_string("rest.bind-port", "0")
    if plan["restored"]:
        config.set_string("execution.savepoint.path", plan["restored"])
        config.set_string("execution.state-recovery.path", plan["restored"])
        config.set_string("execution.savepoint.ignore-unclaimed-state", "true")
        config.set_string("execution.state-recovery.ignore-unclaimed-state", "true")
    return config


def await_reports(plan, uids):
    """Waits until each of these operators has written a line for each event."""
    wanted = len(plan["events"])
    ends = time.time() + 90
    while True:
        lines = dict.fromkeys(uids, 0)
        for name in os.listdir(plan["folder"]):
            uid = name.rsplit(".", 1)[-1]
            if name.startswith("states.") and uid in lines:
                with open(f"{plan['folder']}/{name}") as file:
                    lines[uid] += sum(1 for _ in file)
        if all(count >= wanted for count in lines.values()):
            break
        if time.time() > ends:
            raise SystemExit(f"only {lines} of {wanted}")
        time.sleep(0.1)


def take_savepoints(client, plan):
    """Prints the path of each savepoint behind its format, and cancels the job."""
    formats = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType
    for name in plan["formats"]:
        future = client._j_job_client.triggerSavepoint(plan["folder"], getattr(formats, name))
        print(f"{name} {future.get()}", flush=True)
    client.cancel().result()
