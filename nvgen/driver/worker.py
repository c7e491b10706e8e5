"""A process that runs launches on the GPU for another one, which may end it at any time.

    python -m nvgen.driver.worker IN OUT

Layer: nvgen.driver.  IN and OUT are pipes that `client` made.  For each job come the job, how long
the kernel may take, and the memories; back go "running", then what it gave and the memories, or the
findings.  After an error the process ends: the GPU's context is then of no use any more.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection

from intrinsics.findings import Finding, NvgenError, Severity
from nvgen.driver.host import run
from nvgen.driver.jobs import Job


def main() -> None:
    """Answer jobs until there are no more."""
    receive, send = Connection(int(sys.argv[1])), Connection(int(sys.argv[2]))
    parent = os.getppid()
    while True:
        try:
            job, seconds, count = receive.recv()
            contents = [bytearray(receive.recv_bytes()) for _ in range(count)]
        except EOFError:
            return
        if not _answer(send, job, seconds, contents, parent):
            send.close()
            os._exit(0)  # without tidying up: a kernel that runs on would keep us here


def _answer(
    send: Connection, job: Job, seconds: float, contents: list[bytearray], parent: int
) -> bool:
    """Whether all went well."""
    try:
        ran = run(
            job,
            contents,
            seconds,
            begun=lambda: send.send("running"),
            still_wanted=lambda: os.getppid() == parent,
        )
    except NvgenError as error:
        send.send(list(error.findings))
        return False
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        send.send([Finding("cuda/failed", Severity.ERROR, "the launch failed", got=text)])
        return False
    send.send(ran)
    for data in contents:
        send.send_bytes(data)
    return True


if __name__ == "__main__":
    main()
