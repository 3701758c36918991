"""The same work with a queue for Python: Huey on SQLite, python-magic, pypdfium2, hashlib; two worker processes.

    huey_queue.py INPUT OUTPUT

OUTPUT gets queue.db, documents/NAME/document.pdf and catalogue.db. A task that is killed is lost: Huey takes it off the
queue before it runs. Synced once, at the end. Prints files and seconds, from the start of this program to that sync.
"""

import time

started = time.monotonic()

import hashlib
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import magic
import pypdfium2
from huey import SqliteHuey

source, output = sys.argv[1:]
os.makedirs(f"{output}/documents", exist_ok=True)
catalogue = f"{output}/catalogue.db"
# The result of a task is its row in the catalogue, so Huey need not keep one too.
huey = SqliteHuey("attachments", filename=f"{output}/queue.db", results=False)
connections = {}


def connection():
    """One for each process; a commit survives the end of that, if not of the machine."""
    if os.getpid() not in connections:
        made = sqlite3.connect(catalogue, timeout=60, isolation_level=None)
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("PRAGMA synchronous = NORMAL")
        connections[os.getpid()] = made
    return connections[os.getpid()]


def inspect(content):
    """The number of pages; None for what asks for a password, which is stored all the same."""
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError:
        return None
    pages = len(document)
    document[0].get_size()
    document.get_metadata_dict()
    document.close()
    return pages


@huey.task(retries=3)
def take_in(path):
    with open(path, "rb") as file:
        content = file.read()
    digest = hashlib.sha256(content).hexdigest()
    kind = magic.from_buffer(content, mime=True)
    pages = None
    if kind == "application/pdf":
        pages = inspect(content)
    name = os.path.basename(path)
    os.mkdir(f"{output}/documents/{name}")
    shutil.copyfile(path, f"{output}/documents/{name}/document.pdf")
    connection().execute("INSERT INTO attachments VALUES (?, ?, ?, ?)", (name, kind, digest, pages))


def finish(count, consumer):
    """Ends the consumer once every row is there."""
    own = sqlite3.connect(catalogue, timeout=60)
    deadline = time.monotonic() + 600
    done = 0
    while done < count and time.monotonic() < deadline:
        time.sleep(0.02)
        done = own.execute("SELECT count(*) FROM attachments").fetchone()[0]
    subprocess.run(["sync", "-f", output], check=True)
    print(f'{{"files":{done},"seconds":{time.monotonic() - started:.6f}}}', flush=True)
    os.kill(consumer, signal.SIGINT)


def main():
    connection().execute("CREATE TABLE attachments (name TEXT, type TEXT, sha256 TEXT, pages INTEGER)")
    connections.pop(os.getpid()).close()
    paths = [os.path.join(source, name) for name in sorted(os.listdir(source))]
    for path in paths:
        take_in(path)
    # Not a thread: the workers are forked, and what a thread has locked at that moment stays locked in them.
    multiprocessing.Process(target=finish, args=(len(paths), os.getpid())).start()
    huey.create_consumer(workers=2, worker_type="process", periodic=False, initial_delay=0.01).run()


if __name__ == "__main__":
    main()
