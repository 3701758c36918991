"""Compares the stages `mail`, `archive` and `text` with Python's email, libarchive's bsdtar and Python's codecs, and prints a table.

    Tests/Differ/contents.py FOLDER_OF_SLUICE CORPUS [MUTATIONS]        or, from the project root: make differ

Takes the mails, archives and texts of the corpus, those that the tests make, and MUTATIONS changed ones, the same each time. For
each that the stage does not refuse it compares

- of mails the subject, and the names and contents of attachments, with those of Python's email,
- of archives the contents of files with those that bsdtar extracts,
- of texts that say no encoding the text with that of the decoder that is named.

Another answer is neither right nor wrong where the other program says nothing. Ends with 1 if a file that was not changed differs and
is no exception, or if more than two in a hundred of the changed ones do.
"""
import collections, email, email.policy, hashlib, json, os, random, shutil, subprocess, sys, tempfile

BIN, CORPUS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MUTATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
HERE = os.path.dirname(os.path.abspath(__file__))
ENOUGH = 0.98
PATIENCE = 20  # seconds for one file

# Files that differ, and why.
EXCEPTIONS = {
    "whole/archives-pax.tar.zst.zst": "what is compressed twice is taken apart in two turns",
    "whole/archives-modes.zip": "entries that say that they are links are files where they have content, as on Windows",
}

PIPELINE = """version: 1
stages:
  - use: mime
    options: { allow: ["*/*"] }
  - { use: mail, memory: 1GB, timeout: 60s, options: { all: true } }
  - { use: archive, memory: 1GB, timeout: 60s, options: { documents: all, no-archive: pass } }
  - use: store
    options: { path: "{attachmentId}" }
expand: { depth: 1 }
"""

WORDS = [
    b"=?utf-8?q?x?=", b"=?utf-8?b?eA==?=", b"\r\n", b"\r\n ", b"\r\n\r\n", b"--", b"; name=x", b"; filename=y", b"\"", b"=", b"=\r\n",
    b"Content-Type: text/plain\r\n", b"\x00", b"\xff", b"PK\x01\x02", b"PK\x03\x04",
]


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def mutated(bases, count, folder, ending, chance):
    os.makedirs(folder, exist_ok=True)
    for number in range(count if bases else 0):
        content = bytearray(chance.choice(bases))
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(content))
            length = chance.randint(1, 40)
            kind = chance.randrange(5)
            if kind == 0:
                content[place] = chance.randrange(256)
            elif kind == 1:
                del content[place : place + length]
            elif kind == 2:
                content[place:place] = content[place : place + length]
            else:
                content[place:place] = chance.choice(WORDS)
        with open(os.path.join(folder, f"{number:05}.{ending}"), "wb") as file:
            file.write(bytes(content) or b" ")


def ingest(folder):
    """The records of what was taken in and of what came out of it, by the path and by the parent."""
    with open(os.path.join(folder, "pipeline.yaml"), "w") as file:
        file.write(PIPELINE)
    done = subprocess.run(
        [os.path.join(BIN, "sluice"), "ingest", "--quiet", "--home", "home", "in"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1):
        sys.exit(f"sluice ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
    listed = subprocess.run(
        [os.path.join(BIN, "sluice"), "list", "--home", "home", "--format", "json"], cwd=folder, stdout=subprocess.PIPE)
    roots, children = {}, collections.defaultdict(list)
    for line in listed.stdout.splitlines():
        record = json.loads(line)
        if record.get("parentId"):
            children[record["parentId"]].append(record)
        elif "source" in record:
            roots[os.path.realpath(record["source"])] = record
    return roots, children


def of_mail(path):
    """The subject, and the contents of attachments, as Python reads them; None: it finds a defect."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        message = email.message_from_bytes(content, policy=email.policy.default)
        parts = list(message.walk())
        if any(part.defects for part in parts):
            return None
        subject = " ".join(str(message.get("Subject", "")).split())
        found, bodies = [], set()
        for part in parts:
            kind = part.get_content_type()
            if part.is_multipart():
                if kind == "message/rfc822":
                    return None  # taken out as it lies there, which Python writes anew
                continue
            is_body = kind in ("text/plain", "text/html") and not part.get_filename() and kind not in bodies
            if is_body and part.get_content_disposition() != "attachment":
                bodies.add(kind)
                continue
            found.append(sha256(part.get_payload(decode=True) or b""))
        return subject, sorted(found)
    except Exception:
        return None


def of_archive(path, folder):
    """The contents of the files that bsdtar extracts; None: it finds a fault, or nothing."""
    target = os.path.join(folder, "extracted")
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    try:
        done = subprocess.run(
            ["bsdtar", "-xf", path, "-C", target], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0 or done.stderr:
        return None
    found = []
    for top, _, names in os.walk(target):
        for name in names:
            file = os.path.join(top, name)
            if os.path.isfile(file) and not os.path.islink(file):
                with open(file, "rb") as opened:
                    found.append(sha256(opened.read()))
    # It reads from the beginning, and finds nothing where only the end says what there is, or in a single file.
    return sorted(found) or None


class Row:
    def __init__(self):
        self.same, self.other, self.silent = 0, [], 0

    def add(self, name, agrees, detail=""):
        if agrees is None:
            self.silent += 1
        elif agrees:
            self.same += 1
        else:
            self.other.append((name, detail))


def compare(name, path, record, children, rows, folder):
    group = "changed" if name.startswith("changed") else "whole"
    if record.get("status") != "completed":
        return
    mine = sorted(child["sha256"] for child in children if child.get("sha256"))
    if any(not child.get("sha256") for child in children):
        return
    metadata = record.get("metadata", {})
    if "mail.parts" in metadata:
        other = of_mail(path)
        subject = " ".join(metadata.get("mail.subject", "").split())
        # Sluice leaves control characters out, and cuts what is long.
        is_plain = other is not None and other[0].isprintable() and len(other[0]) < 1000
        rows[group, "subject"].add(name, None if not is_plain else subject == other[0], f"{subject!r}, {other and other[0]!r}")
        # With `all` the texts come out as well.
        missing = None if other is None else collections.Counter(other[1]) - collections.Counter(mine)
        rows[group, "attachments"].add(
            name, None if missing is None else not missing, f"{len(mine)}, {other and len(other[1])}")
    elif "archive.files" in metadata:
        other = of_archive(path, folder)
        # Of two files with one name bsdtar leaves the last, and a link becomes a file: what it extracts is to be among what comes out.
        missing = None if other is None else set(other) - set(mine)
        rows[group, "files"].add(name, None if missing is None else not missing, f"{len(mine)}, {other and len(other)}")


def texts(folder, rows, chance):
    """Texts of the tests, whole and in pieces, that say no encoding."""
    made = os.path.join(folder, "texts")
    os.makedirs(made)
    subprocess.run([sys.executable, os.path.join(HERE, "../Fixtures/Contents/texts.py"), made], check=True)
    os.makedirs(os.path.join(folder, "in/texts"))
    meant = {}
    for name in sorted(os.listdir(made)):
        if not name.endswith(".txt"):
            continue
        with open(os.path.join(made, name), "rb") as file:
            content = file.read()
        with open(os.path.join(made, name[:-4] + ".utf8"), encoding="utf-8") as file:
            meant[name] = (content, file.read())
    for name, (content, _) in meant.items():
        with open(os.path.join(folder, "in/texts", name), "wb") as file:
            file.write(content)
    for name, (content, text) in meant.items():
        path = os.path.join(folder, "in/texts", name)
        done = subprocess.run(
            [os.path.join(BIN, "sluice"), "stages", "run", "mime", path, "--format", "json"], stdout=subprocess.PIPE)
        charset = json.loads(done.stdout.splitlines()[0]).get("metadata", {}).get("mime.charset")
        if charset in (None, "unknown"):
            rows["whole", "charset"].add(name, None)
            continue
        codec = {"windows-874": "cp874", "x-mac-cyrillic": "mac-cyrillic", "shift_jis": "cp932", "euc-kr": "cp949"}.get(charset, charset)
        read = content.decode(codec, "replace").lstrip("\ufeff")
        rows["whole", "charset"].add(name, read == text, f"{charset}")


def main():
    chance = random.Random(20261128)
    folder = tempfile.mkdtemp(prefix="sluice-differ-contents-")
    rows = collections.defaultdict(Row)
    try:
        whole = os.path.join(folder, "in/whole")
        os.makedirs(whole)
        for part in sorted(os.listdir(CORPUS)) if os.path.isdir(CORPUS) else []:
            top = os.path.join(CORPUS, part)
            for name in sorted(os.listdir(top)) if os.path.isdir(top) else []:
                if name.rsplit(".", 1)[-1] in ("eml", "zip", "tar", "gz", "docx", "xlsx", "odt", "epub"):
                    shutil.copyfile(os.path.join(top, name), os.path.join(whole, name))
        for script in ("mails.py", "archives.py"):
            made = os.path.join(folder, script)
            os.makedirs(made)
            done = subprocess.run(
                [sys.executable, os.path.join(HERE, "../Fixtures/Contents", script)], cwd=made, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            for name in sorted(os.listdir(made)) if done.returncode == 0 else []:
                path = os.path.join(made, name)
                if os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                    shutil.copyfile(path, os.path.join(whole, f"{script[:-3]}-{name}"))
        for ending, few in (("eml", 20_000), ("zip", 20_000), ("tar", 60_000)):
            bases = []
            for name in sorted(os.listdir(whole)):
                path = os.path.join(whole, name)
                if name.endswith("." + ending) and 0 < os.path.getsize(path) < few:
                    with open(path, "rb") as file:
                        bases.append(file.read())
            mutated(bases, MUTATIONS // 3, os.path.join(folder, "in/changed"), ending, chance)
        roots, children = ingest(folder)
        for path, record in sorted(roots.items()):
            name = os.path.relpath(path, os.path.realpath(os.path.join(folder, "in")))
            compare(name, path, record, children[record["id"]], rows, folder)
        texts(folder, rows, chance)
        return report(rows)
    finally:
        shutil.rmtree(folder)


def report(rows):
    print(f"{'contents':<10} {'compared with':<28} {'same':>7} {'other':>7} {'named':>7} {'silent':>7}")
    peers = {"subject": "Python's email", "attachments": "Python's email", "files": "bsdtar", "charset": "Python's codecs"}
    is_well = True
    unnamed = []
    for (group, kind), row in sorted(rows.items()):
        named = [name for name, _ in row.other if name in EXCEPTIONS]
        others = [(name, detail) for name, detail in row.other if name not in EXCEPTIONS]
        print(
            f"{group:<10} {kind + ': ' + peers[kind]:<28} {row.same:>7} {len(others):>7} {len(named):>7} {row.silent:>7}")
        total = row.same + len(row.other)
        if group == "whole":
            is_well = is_well and not others
        else:
            is_well = is_well and (total == 0 or (row.same + len(named)) / total >= ENOUGH)
        unnamed += [f"{group} {kind}: {name}: {detail}" for name, detail in others]
    for line in unnamed[:40]:
        print(line)
    return 0 if is_well else 1


sys.exit(main())
