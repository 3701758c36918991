"""Uploads files with tuspy and aiotus over a line that cuts; started by tus-check.sh: tus-check.py SLUICE CORPUS."""

import asyncio
import collections
import concurrent.futures
import hashlib
import json
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import aiohttp
import aiotus
from tusclient import client as tusclient

# Each cut is a line of its own there.
logging.getLogger("aiotus").setLevel(logging.ERROR)

AT_ONCE = 8
# No client needs as many for nine cuts.
ATTEMPTS = 40

PIPELINE = """\
version: 1
stages:
  - use: store
    options: { path: "{conversationId}/{attachmentId}" }
serve: { public-url: "http://127.0.0.1:%d", max-size: 1GB, max-image-size: 1GB }
"""


class Line:
    """What stands between the clients and the server: it cuts each upload's connection at each tenth of its bytes, once."""

    def __init__(self):
        self.server = None  # where it leads: a port
        self.port = None
        self.cuts = collections.Counter()  # by upload
        self._marks = {}  # by upload: where it is still to be cut
        self._answering = set()  # a loop holds its tasks by weak references alone
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self._run, args=(ready,), daemon=True).start()
        ready.wait()

    def _run(self, ready):
        async def listen():
            listener = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1000)
            self.port = listener.sockets[0].getsockname()[1]
            ready.set()
            await listener.serve_forever()

        self._loop.run_until_complete(listen())

    async def _serve(self, reader, writer):
        lengths = collections.deque()  # of uploads that this connection began
        try:
            below, above = await asyncio.open_connection("127.0.0.1", self.server)
        except OSError:
            return writer.transport.abort()
        answers = asyncio.create_task(self._answers(below, writer, lengths))
        self._answering.add(answers)
        answers.add_done_callback(self._answering.discard)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                above.write(head)
                method, path, fields = parsed(head)
                if method == "POST" and "upload-length" in fields:
                    lengths.append(int(fields["upload-length"]))
                await self._body(reader, above, method, path, fields)
                await above.drain()
        except (asyncio.IncompleteReadError, ConnectionError, Cut) as end:
            if isinstance(end, Cut):
                writer.transport.abort()
        finally:
            above.close()
            if writer.transport.is_closing():
                answers.cancel()

    async def _body(self, reader, above, method, path, fields):
        left = int(fields.get("content-length", 0))
        marks = self._marks.get(path.rsplit("/", 1)[-1]) if method == "PATCH" else None
        place = int(fields.get("upload-offset", 0))
        while left > 0:
            piece = await reader.read(min(left, 64 << 10))
            if not piece:
                raise ConnectionError
            mark = next((mark for mark in marks or [] if mark > place), None)
            if mark is not None and place + len(piece) >= mark:
                marks.remove(mark)
                self.cuts[path.rsplit("/", 1)[-1]] += 1
                above.write(piece[: mark - place])
                await above.drain()
                raise Cut
            above.write(piece)
            await above.drain()
            place += len(piece)
            left -= len(piece)

    async def _answers(self, below, writer, lengths):
        try:
            while piece := await below.read(64 << 10):
                found = re.search(rb"(?i)\r\nlocation: [^\r]*/v1/uploads/([0-9a-f]{32})\r\n", piece)
                if found and lengths:
                    size = lengths.popleft()
                    marks = sorted({size * tenth // 10 for tenth in range(1, 10)} - {0})
                    self._marks[found[1].decode()] = marks
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    def is_spent(self, upload):
        return self._marks.get(upload) == []


class Cut(Exception):
    pass


def parsed(head):
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return method, path, {name.strip().lower(): value.strip() for name, value in pairs}


class Sluice:
    """A server of its own, and what it says of uploads and attachments."""

    def __init__(self, program, folder, line):
        self.program, self.home = program, folder / "home"
        (folder / "pipeline.yaml").write_text(PIPELINE % line.port)
        self.log = folder / "log"
        words = [program, "serve", "--listen", "127.0.0.1:0", "--home", self.home]
        words += ["--config", folder / "pipeline.yaml"]
        self.process = subprocess.Popen(words, stderr=self.log.open("w"), stdout=subprocess.DEVNULL)
        found = None
        for _ in range(300):
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", self.log.read_text())
            if found or self.process.poll() is not None:
                break
            time.sleep(0.1)
        if not found:
            sys.exit(self.log.read_text())
        self.port = line.server = int(found[1])
        made = subprocess.run(
            [program, "tokens", "add", "ann", "--home", self.home], check=True, capture_output=True, text=True)
        self.token = made.stdout.strip()

    @property
    def headers(self):
        return {"Authorization": "Bearer " + self.token}

    def ask(self, path, method="GET", **fields):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method, headers=self.headers | fields)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.headers, answer.read()

    def attachment(self, upload):
        return self.ask(f"/v1/uploads/{upload}", "HEAD", **{"Tus-Resumable": "1.0.0"})[0]["Attachment-Id"]

    def sha256(self, attachment):
        """Of its content, once it is completed."""
        for _ in range(600):
            record = json.loads(self.ask(f"/v1/attachments/{attachment}")[1])
            if record["status"] != "queued":
                break
            time.sleep(0.1)
        if record["status"] != "completed":
            raise ValueError(f"it is {record['status']}: {record['reason']}")
        return hashlib.sha256(self.ask(f"/v1/attachments/{attachment}/content")[1]).hexdigest()

    def attachments(self, conversation):
        ids, after = [], ""
        while True:
            page = json.loads(self.ask(f"/v1/attachments?conversation={conversation}&limit=200{after}")[1])
            ids += [row["id"] for row in page["attachments"]]
            if page["next"] is None:
                return ids
            after = "&after=" + page["next"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


# The clients: each goes on by its own means where its connection is lost. The answer is the place of the upload.


def with_tuspy(sluice, line, file, name):
    server = tusclient.TusClient(f"http://127.0.0.1:{line.port}/v1/uploads", sluice.headers)
    metadata = {"filename": name, "conversationId": "tuspy"}
    upload = server.uploader(str(file), metadata=metadata, retries=ATTEMPTS, retry_delay=0)
    upload.upload()
    return upload.url


def with_aiotus(sluice, line, file, name):
    async def run():
        config = aiotus.RetryConfiguration(retry_attempts=ATTEMPTS, max_retry_period_seconds=0.05)
        metadata = {"filename": name.encode(), "conversationId": b"aiotus"}
        async with aiohttp.ClientSession() as session:
            with file.open("rb") as content:
                return await aiotus.upload(
                    f"http://127.0.0.1:{line.port}/v1/uploads", content, metadata, session, config,
                    headers=sluice.headers)

    place = asyncio.run(run())
    if place is None:
        raise ValueError("the client gave up")
    return str(place)


CLIENTS = {"tuspy": with_tuspy, "aiotus": with_aiotus}


def check(name, sluice, line, files, until):
    """A row of the table: files, cuts, failures; and the files that were not begun in time."""
    failures, attachments, cuts = [], [], 0

    def one(file):
        if time.monotonic() > until:
            return None
        told = os.fsencode(file.name).decode(errors="replace")
        upload = CLIENTS[name](sluice, line, file, told).rsplit("/", 1)[-1]
        attachment = sluice.attachment(upload)
        if not attachment:
            raise ValueError("the upload became no attachment")
        if not line.is_spent(upload):
            raise ValueError("it was not cut at each tenth")
        if sluice.sha256(attachment) != hashlib.sha256(file.read_bytes()).hexdigest():
            raise ValueError("the content is another")
        return attachment, line.cuts[upload]

    left = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for file, task in [(file, pool.submit(one, file)) for file in files]:
            try:
                done = task.result()
                if done is None:
                    left += 1
                else:
                    attachments.append(done[0])
                    cuts += done[1]
            except Exception as fault:  # whatever it is, it is the file's
                failures.append(f"{name}: {file}: {type(fault).__name__}: {fault}")
    there = sluice.attachments(name)
    if not failures and sorted(there) != sorted(set(attachments)) or len(set(attachments)) != len(attachments):
        failures.append(f"{name}: {len(attachments)} uploads became {len(there)} attachments")
    for failure in failures[:20]:
        print(failure, file=sys.stderr)
    print(f"{name:10} {len(files) - left:8} {cuts:8} {len(failures):8}", flush=True)
    return len(failures), left


def main():
    program, corpus = sys.argv[1], pathlib.Path(sys.argv[2])
    files = sorted(file for file in corpus.rglob("*") if file.is_file())
    seconds = float(os.environ.get("SECONDS_OF_UPLOADS", "900"))
    with tempfile.TemporaryDirectory() as folder:
        line = Line()
        sluice = Sluice(program, pathlib.Path(folder), line)
        began = time.monotonic()
        print(f"{'client':10} {'files':>8} {'cuts':>8} {'failures':>8}")
        try:
            # Each client has its share of the time.
            rows = [
                check(name, sluice, line, files, began + seconds * (turn + 1) / len(CLIENTS))
                for turn, name in enumerate(CLIENTS)
            ]
        finally:
            status = sluice.stop()
        if "HTTP server ended" in sluice.log.read_text() or status != 0:
            sys.exit(sluice.log.read_text())
    if left := sum(row[1] for row in rows):
        print(f"{left} files were not begun in {seconds:.0f} s")
    print(f"{time.monotonic() - began:.0f} s")
    # Without a file nothing was shown.
    sys.exit(1 if sum(row[0] for row in rows) or left == len(files) * len(rows) else 0)


main()
