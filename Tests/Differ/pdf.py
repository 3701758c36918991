"""Compares the stages `pdf` and `text` with qpdf and poppler's programs, and prints a table.

    Tests/Differ/pdf.py FOLDER_OF_SLUICE CORPUS [MUTATIONS]        or, from the project root: make differ

Takes the PDFs of the corpus and MUTATIONS changed ones, the same each time, and compares

- whether the first page opens with what pdfinfo says,
- the number of pages with that of qpdf's page tree (by pikepdf),
- whether scripts run with what pdfinfo prints of them, and with whether qpdf reaches a script at all,
- the words of each text with those of pdftotext: at least 0.98 of them on 98 percent of the files.

Ends with 1 if a file of the corpus that is not an exception differs, or if too many of the changed files do.
"""
import collections, concurrent.futures, json, os, random, re, shutil, signal, subprocess, sys, tempfile

import pikepdf

BIN, CORPUS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MUTATIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
PATIENCE = 20  # seconds for one file and one program
ENOUGH = 0.98  # of the words of a text, and of the files

# Files of the corpus that differ, and why.
EXCEPTIONS = {
    "pages": {
        "pdf-valid/opf-T02-02_003_page-tree-different-kids.pdf": "qpdf counts an object that is missing",
    },
    "script": {},
    "text": {},
}

PIPELINE = """version: 1
stages:
  - use: mime
    options: { allow: ["*/*"] }
  - use: pdf
    timeout: 20s
    memory: 1GB
    on-timeout: reject
    options: { encrypted: allow }
  - use: text
    timeout: 20s
    memory: 1GB
    on-timeout: reject
    when: application/pdf
    options: { max-pages: 100000, max-bytes: 64MB }
  - use: store
    options: { path: "{attachmentId}.{extension}" }
"""

WORDS = [
    b"/Count 7", b"/Count -1", b"/Kids[3 0 R 3 0 R]", b"/Type/Page", b"/Type/Pages", b"/JS(x)", b"/S/JavaScript",
    b"/OpenAction<</S/JavaScript/JS(x)>>", b"/Next 1 0 R", b"/AA<</O<</S/JavaScript/JS(x)>>>>", b"(", b")", b"<<", b">>",
    b"endobj\n", b"null", b"/Rotate 90", b"/Annots[1 0 R]", b"/Contents 1 0 R", b"stream\n", b"%", b"0 ", b"9",
]


def mutated(bases, count, folder):
    chance = random.Random(20261127)
    for number in range(count):
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
        path = os.path.join(folder, "mutations", f"{number:05}.pdf")
        with open(path, "wb") as file:
            file.write(content or b" ")


def output(*words):
    """What a program prints; None if it takes too long."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE)
        return done.stdout
    except subprocess.TimeoutExpired:
        return None


def expire(*_):
    raise TimeoutError


def reaches_script(pdf):
    """Whether any path of objects leads from the catalog to a script."""
    seen, rest = set(), [pdf.Root]
    while rest:
        value = rest.pop()
        if isinstance(value, pikepdf.Object) and value.is_indirect:
            if value.objgen in seen:
                continue
            seen.add(value.objgen)
        if isinstance(value, pikepdf.Array):
            rest.extend(value)
        elif isinstance(value, (pikepdf.Dictionary, pikepdf.Stream)):
            if "/JS" in value or "/OnInstantiate" in value or "/Scripts" in value:
                return True
            rest.extend(value[key] for key in value.keys())
    return False


def others(path):
    """What the other programs say: pages, scripts, whether a script is reached, words, whether the first page opens, and
    whether qpdf repaired the file.

    None: they say nothing."""
    pages = reached = None
    is_repaired = False
    signal.signal(signal.SIGALRM, expire)
    signal.alarm(PATIENCE)
    try:
        with pikepdf.open(path) as pdf:
            pages = len(pdf.pages) or None
            reached = reaches_script(pdf)
            is_repaired = bool(pdf.get_warnings())
    except Exception:
        pass  # it does not open, or not in time
    finally:
        signal.alarm(0)
    with open(path, "rb") as file:
        may_run = re.search(rb"/JS|JavaScript|#|ObjStm|Encrypt", file.read())
    scripts = output("pdfinfo", "-js", path) if may_run else b""
    text = output("pdftotext", path, "-")
    page = output("pdfinfo", path)
    opens = None if page is None else b"\nPage size:" in page and b"\nPage size:       0 x 0 " not in page
    return path, pages, scripts, reached, None if text is None else words(text), opens, is_repaired


def words(text):
    # pdftotext leaves control characters in, and puts marks around right-to-left text.
    text = re.sub("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e]", "", text.decode("utf-8", "replace"))
    return collections.Counter(text.split())


def records(folder):
    with open(os.path.join(folder, "pipeline.yaml"), "w") as file:
        file.write(PIPELINE)
    done = subprocess.run(
        [os.path.join(BIN, "sluice"), "ingest", "--home", "home", "--format", "json", "in"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1):
        sys.exit(f"sluice ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
    found = {}
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if "source" in record:
            found[os.path.realpath(record["source"])] = record
    return found


class Row:
    """How many files agree, and which do not."""

    def __init__(self, name):
        self.name, self.same, self.other, self.repaired, self.silent = name, 0, [], 0, 0

    def add(self, path, agrees, detail="", is_repaired=False):
        """Two programs may repair a damaged file in two ways: then another answer is neither right nor wrong."""
        if agrees is None:
            self.silent += 1
        elif agrees:
            self.same += 1
        elif is_repaired:
            self.repaired += 1
        else:
            self.other.append((path, detail))


def compare(record, answers, rows, name, folder):
    _, pages, scripts, reached, there, opens, is_repaired = answers
    metadata = record.get("metadata", {})
    status = record.get("status")
    rows["ends"].add(name, status in ("completed", "rejected"), str(status))
    # Sluice also opens documents whose Count keeps poppler from their pages.
    rows["opens"].add(name, opens is not True or record.get("code") != "pdf-damaged", "pdfinfo opens it")
    if "pdf.pages" not in metadata:
        return
    mine = metadata["pdf.pages"]
    rows["pages"].add(name, None if pages is None else mine == pages, f"{mine}, qpdf {pages}", is_repaired)
    runs = metadata.get("pdf.javascript")
    # A line of its own stands before each script, also before one that is empty.
    prints = None if scripts is None else any(line and not line.endswith(b":") for line in scripts.splitlines())
    # pdfinfo looks at fewer places, qpdf at any.
    if prints and not runs:
        rows["script"].add(name, False, "pdfinfo prints a script")
    elif runs and reached is False:
        rows["script"].add(name, False, "qpdf reaches no script", is_repaired)
    else:
        rows["script"].add(name, None if prints is None or reached is None else True)
    # `text` leaves alone what libmagic does not take for a PDF.
    if there is None or status != "completed" or "text.pages" not in metadata:
        return rows["text"].add(name, None)
    taken = collections.Counter()
    if metadata.get("text.characters", 0) > 0:
        with open(os.path.join(folder, "home/store", record["url"]), "rb") as file:
            taken = words(file.read())
    total, found = sum(there.values()), sum((taken & there).values())
    rows["text"].add(name, found >= ENOUGH * total, f"{found} of {total} words")


def corpus_files():
    for part in ("pdf-valid", "pdf-broken", "other"):
        for name in sorted(os.listdir(os.path.join(CORPUS, part))):
            path = os.path.join(CORPUS, part, name)
            with open(path, "rb") as file:
                if b"%PDF-" in file.read(4096):
                    yield f"{part}/{name}", path


def main():
    folder = tempfile.mkdtemp(prefix="sluice-differ-pdf-")
    try:
        os.makedirs(os.path.join(folder, "in/mutations"))
        bases = []
        for name, path in corpus_files():
            os.makedirs(os.path.dirname(os.path.join(folder, "in", name)), exist_ok=True)
            shutil.copyfile(path, os.path.join(folder, "in", name))
            if name.startswith("pdf-valid/") and os.path.getsize(path) < 8_000:
                with open(path, "rb") as file:
                    bases.append(file.read())
        mutated(bases, MUTATIONS, os.path.join(folder, "in"))
        found = records(folder)
        rows = {
            group: {kind: Row(kind) for kind in ("ends", "opens", "pages", "script", "text")} for group in ("corpus", "mutations")
        }
        missing = 0
        inputs = [os.path.join(top, name) for top, _, names in os.walk(os.path.join(folder, "in")) for name in names]
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            for answers in pool.map(others, sorted(inputs), chunksize=20):
                record = found.get(os.path.realpath(answers[0]))
                name = os.path.relpath(answers[0], os.path.join(folder, "in"))
                if record is None:
                    missing += 1
                else:
                    compare(record, answers, rows["mutations" if name.startswith("mutations/") else "corpus"], name, folder)
        return report(rows, missing)
    finally:
        shutil.rmtree(folder)


def report(rows, missing):
    print(f"{'pdf, text':<12} {'compared with':<22} {'same':>7} {'other':>7} {'named':>7} {'repaired':>8} {'silent':>7}")
    peers = {"ends": "a verdict", "opens": "pdfinfo", "pages": "qpdf", "script": "pdfinfo, qpdf", "text": "pdftotext"}
    is_well = missing == 0
    unnamed = []
    for group, kinds in rows.items():
        for kind, row in kinds.items():
            named = [path for path, _ in row.other if group == "corpus" and path in EXCEPTIONS.get(kind, {})]
            others = [(path, detail) for path, detail in row.other if path not in named]
            total = row.same + len(row.other)
            print(
                f"{group:<12} {kind + ': ' + peers[kind]:<22} {row.same:>7} {len(others):>7} {len(named):>7}"
                f" {row.repaired:>8} {row.silent:>7}")
            share = (row.same + len(named)) / total if total else 1
            if kind == "ends" or group == "corpus" and kind != "text":
                is_well = is_well and not others
            else:
                is_well = is_well and share >= ENOUGH
            unnamed += [f"{group} {kind}: {path}: {detail}" for path, detail in others]
    for line in unnamed[:40]:
        print(line)
    if missing:
        print(f"{missing} files have no record")
    return 0 if is_well else 1


sys.exit(main())
