"""The same work with Python's own pool of processes: multiprocessing, python-magic, pypdfium2, hashlib, SQLite.

    pool.py INPUT OUTPUT

OUTPUT gets documents/NAME/document.pdf and catalogue.db, written in one transaction. If it is interrupted, it has to start
again. Synced once, at the end. Prints files and seconds, from the start of this program to that sync.
"""

import time

started = time.monotonic()

import hashlib
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys

import magic
import pypdfium2

source, output = sys.argv[1:]


def inspect(content):
    """The number of pages; None for what pdfium does not open, which is stored all the same."""
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError:
        return None
    pages = len(document)
    document[0].get_size()
    document.get_metadata_dict()
    document.close()
    return pages


def take_in(name):
    with open(f"{source}/{name}", "rb") as file:
        content = file.read()
    kind = magic.from_buffer(content, mime=True)
    pages = inspect(content) if kind == "application/pdf" else None
    os.makedirs(f"{output}/documents/{name}")
    shutil.copyfile(f"{source}/{name}", f"{output}/documents/{name}/document.pdf")
    return name, kind, hashlib.sha256(content).hexdigest(), pages


if __name__ == "__main__":
    os.makedirs(f"{output}/documents")
    catalogue = sqlite3.connect(f"{output}/catalogue.db")
    catalogue.execute("CREATE TABLE attachments (name TEXT, type TEXT, sha256 TEXT, pages INTEGER)")
    with multiprocessing.Pool(2) as pool:
        rows = pool.imap_unordered(take_in, sorted(os.listdir(source)), chunksize=16)
        catalogue.executemany("INSERT INTO attachments VALUES (?, ?, ?, ?)", rows)
        pool.close()
        pool.join()
    catalogue.commit()
    files = catalogue.execute("SELECT count(*) FROM attachments").fetchone()[0]
    subprocess.run(["sync", "-f", output], check=True)
    print(f'{{"files":{files},"seconds":{time.monotonic() - started:.6f}}}')
