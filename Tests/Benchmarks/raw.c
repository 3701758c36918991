// The yardstick for `make bench`: the work Sluice's default line does to each file (mime, size, pdf,
// store, notify), done as directly as C can, without ledger, isolation or plugins. What Sluice is
// slower by is the price of those three.
//
//     raw [-j PROCESSES] --store DIR --list FILE        FILE: one path per line
//
// Prints one line of JSON. `failed` counts files that would be rejected: they are not stored.
// Whatever would make the figure a lie (no magic database, a full disk) ends the program with status 1.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <magic.h>
#include <openssl/evp.h>
#include <poppler.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    maximumSize = 100 * 1024 * 1024,  // what `100MB` means in pipeline.yaml
    batchSize = 64,                   // files made durable together
    chunkSize = 16,                   // files a process takes from the counter at once
    maximumProcesses = 1024,
    eventSize = 256,                  // bytes of one line in events.jsonl, generously
};

// Shared by all processes, in one anonymous mapping; everything else is private to each.
typedef struct {
    atomic_size_t next;
    atomic_uint_fast64_t files, bytes, pages, pdfs, encrypted, failed;
} Counters;

typedef struct {
    char *text;
    char **paths;
    size_t count;
} List;

// A file that is copied but not yet durable.
typedef struct {
    int descriptor;
    size_t index;
} Pending;

// The state that a process keeps between files.
typedef struct {
    Counters *counters;
    magic_t magic;
    EVP_MD *sha256;           // fetched once: `EVP_sha256()` is looked up anew by every EVP_Digest
    PopplerDocument *anchor;  // see openAnchor
    char notAPassword[33];    // random
    int store, bench, events;
    Pending pending[batchSize];
    size_t pendingCount;
    char eventText[batchSize * eventSize];
    size_t eventLength;
} Worker;

_Noreturn static void die(const char *what) {
    fprintf(stderr, "raw: %s: %s\n", what, strerror(errno));
    exit(1);
}

_Noreturn static void dieSaying(const char *what, const char *why) {
    fprintf(stderr, "raw: %s: %s\n", what, why ? why : "unknown error");
    exit(1);
}

static void writeHex(char *text, const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    text[2 * count] = 0;
}

// MARK: - Start

static GLogWriterOutput dropLog(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer data) {
    (void)level, (void)fields, (void)count, (void)data;
    return G_LOG_WRITER_HANDLED;
}

static void dropMessage(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data) {
    (void)domain, (void)level, (void)message, (void)data;
}

// Poppler builds its global tables when the first document opens and frees them when the last one
// closes. One tiny document that stays open makes the tables last as long as the process.
static PopplerDocument *openAnchor(void) {
    static const char pdf[] =
        "%PDF-1.4\n"
        "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\n"
        "xref\n0 4\n"
        "0000000000 65535 f \n"
        "0000000009 00000 n \n"
        "0000000052 00000 n \n"
        "0000000101 00000 n \n"
        "trailer<</Size 4/Root 1 0 R>>\nstartxref\n160\n%%EOF\n";
    GError *error = NULL;
    GBytes *bytes = g_bytes_new_static(pdf, sizeof pdf - 1);
    PopplerDocument *document = poppler_document_new_from_bytes(bytes, NULL, &error);
    g_bytes_unref(bytes);
    if (!document) dieSaying("poppler", error->message);
    return document;
}

static int openFolder(int parent, const char *name) {
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) die(name);
    return folder;
}

static void makeFolder(int parent, const char *name) {
    if (mkdirat(parent, name, 0777) != 0 && errno != EEXIST) die(name);
}

static void syncFolder(int descriptor, const char *name) {
    if (fsync(descriptor) != 0) die(name);
}

// Created before the processes start, so that none of them has to check for it.
static void makeStore(const char *path) {
    makeFolder(AT_FDCWD, path);
    int store = openFolder(AT_FDCWD, path);
    makeFolder(store, "temporary");
    makeFolder(store, "documents");
    makeFolder(store, "documents/bench");
    int documents = openFolder(store, "documents");
    syncFolder(documents, "documents");
    syncFolder(store, path);
    close(documents);
    close(store);
}

static void startWorker(Worker *worker, Counters *counters, const char *storePath) {
    *worker = (Worker){.counters = counters};

    worker->magic = magic_open(MAGIC_MIME_TYPE);
    if (!worker->magic) die("magic_open");
    if (magic_load(worker->magic, NULL) != 0) dieSaying("magic_load", magic_error(worker->magic));

    worker->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!worker->sha256) dieSaying("openssl", "no SHA-256");

    g_log_set_writer_func(dropLog, NULL, NULL);
    g_log_set_default_handler(dropMessage, NULL);
    worker->anchor = openAnchor();
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != sizeof random) die("getrandom");
    writeHex(worker->notAPassword, random, sizeof random);

    worker->store = openFolder(AT_FDCWD, storePath);
    worker->bench = openFolder(worker->store, "documents/bench");
    worker->events =
        openat(worker->store, "events.jsonl", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (worker->events < 0) die("events.jsonl");
}

// MARK: - Store and notify

static void writeAll(int descriptor, const char *bytes, size_t length, const char *name) {
    while (length > 0) {
        ssize_t written = write(descriptor, bytes, length);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) die(name);
        bytes += written;
        length -= (size_t)written;
    }
}

typedef struct {
    char text[48];
} Name;

static Name temporaryName(size_t index) {
    Name name;
    snprintf(name.text, sizeof name.text, "temporary/%08zu", index);
    return name;
}

static Name folderName(size_t index) {
    Name name;
    snprintf(name.text, sizeof name.text, "%08zu", index);
    return name;
}

// Syncs data, then names, then folders, each for the whole batch: the file system then needs one commit for
// all of them instead of one per file and step.
static void flush(Worker *worker) {
    for (size_t i = 0; i < worker->pendingCount; i++) {
        Pending pending = worker->pending[i];
        if (fdatasync(pending.descriptor) != 0) die("fdatasync");
        close(pending.descriptor);
    }
    int folders[batchSize];
    for (size_t i = 0; i < worker->pendingCount; i++) {
        size_t index = worker->pending[i].index;
        Name temporary = temporaryName(index), folder = folderName(index);
        makeFolder(worker->bench, folder.text);
        folders[i] = openFolder(worker->bench, folder.text);
        if (renameat(worker->store, temporary.text, folders[i], "document.pdf") != 0) die("rename");
    }
    for (size_t i = 0; i < worker->pendingCount; i++) {
        syncFolder(folders[i], "folder");
        close(folders[i]);
    }
    if (worker->pendingCount > 0) syncFolder(worker->bench, "documents/bench");
    worker->pendingCount = 0;

    // An event is written only for durable files; O_APPEND keeps the processes' lines apart.
    writeAll(worker->events, worker->eventText, worker->eventLength, "events.jsonl");
    worker->eventLength = 0;
}

static void storeCopy(Worker *worker, size_t index, const char *content, size_t length) {
    Name name = temporaryName(index);
    int copy = openat(worker->store, name.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (copy < 0) die(name.text);
    writeAll(copy, content, length, name.text);
    worker->pending[worker->pendingCount++] = (Pending){copy, index};
}

static void notify(
    Worker *worker, size_t index, const char *type, const unsigned char hash[32], int pages, bool isEncrypted) {
    char hex[65];
    writeHex(hex, hash, 32);
    int length = snprintf(
        worker->eventText + worker->eventLength, eventSize,
        "{\"messageId\":\"%08zu\",\"mediaType\":\"%.100s\",\"sha256\":\"%s\",\"pages\":%d,"
        "\"encrypted\":%s}\n",
        index, type, hex, pages, isEncrypted ? "true" : "false");
    worker->eventLength += (size_t)length;
}

// MARK: - Inspect

// Whether a document that opens is encrypted all the same. poppler-glib does not say: one with restrictions is, and any other
// opens with a wrong password only if it is not. From a stream: `poppler_document_new_from_bytes` of poppler 22.12 crashes on a
// wrong password.
static bool isEncrypted(PopplerDocument *document, const void *content, size_t length, const char *wrong) {
    if (!memmem(content, length, "/Encrypt", 8)) return false;
    if (poppler_document_get_permissions(document) != POPPLER_PERMISSIONS_FULL) return true;

    GBytes *bytes = g_bytes_new_static(content, length);
    GInputStream *stream = g_memory_input_stream_new_from_bytes(bytes);
    GError *error = NULL;
    PopplerDocument *again = poppler_document_new_from_stream(stream, (goffset)length, wrong, NULL, &error);
    bool needsPassword = error && g_error_matches(error, POPPLER_ERROR, POPPLER_ERROR_ENCRYPTED);
    g_clear_error(&error);
    g_clear_object(&again);
    g_object_unref(stream);
    g_bytes_unref(bytes);
    return needsPassword;
}

// The page count, or 0 for a damaged document: poppler opens files without a single page, and files whose
// first page does not load. Asks poppler for everything that the pdf stage records.
static int inspectPDF(const void *content, size_t length, const char *wrong, bool *encrypted) {
    GBytes *bytes = g_bytes_new_static(content, length);
    PopplerDocument *document = poppler_document_new_from_bytes(bytes, NULL, NULL);
    g_bytes_unref(bytes);
    if (!document) return 0;

    int pages = poppler_document_get_n_pages(document);
    PopplerPage *first = pages > 0 ? poppler_document_get_page(document, 0) : NULL;
    if (first) {
        double width, height;
        poppler_page_get_size(first, &width, &height);
        // If the file is not compressed, form fields and scripts are found by their names, as in the stage.
        bool isCompressed = memmem(content, length, "/ObjStm", 7) != NULL;
        if (isCompressed) poppler_page_free_form_field_mapping(poppler_page_get_form_field_mapping(first));
        g_object_unref(first);

        g_free(poppler_document_get_title(document));
        g_free(poppler_document_get_author(document));
        g_free(poppler_document_get_subject(document));
        g_free(poppler_document_get_keywords(document));
        g_free(poppler_document_get_creator(document));
        g_free(poppler_document_get_producer(document));
        (void)poppler_document_get_creation_date(document);
        (void)poppler_document_get_modification_date(document);

        guint major, minor;
        poppler_document_get_pdf_version(document, &major, &minor);
        *encrypted = isEncrypted(document, content, length, wrong);
        (void)poppler_document_is_linearized(document);
        if (isCompressed) (void)poppler_document_has_javascript(document);
        (void)poppler_document_get_n_attachments(document);
    }
    g_object_unref(document);
    return first ? pages : 0;
}

// Processes a mapped file; false if it is not to be stored.
static bool processContent(Worker *worker, size_t index, const void *content, size_t length) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    if (EVP_Digest(content, length, hash, NULL, worker->sha256, NULL) != 1) dieSaying("openssl", "SHA-256 failed");

    const char *type = magic_buffer(worker->magic, content, length);
    if (!type || length > maximumSize) return false;

    int pages = 0;
    bool encrypted = false;
    if (strcmp(type, "application/pdf") == 0) {
        pages = inspectPDF(content, length, worker->notAPassword, &encrypted);
        if (pages == 0) return false;
        worker->counters->pdfs++;
        worker->counters->encrypted += encrypted;
        worker->counters->pages += (uint_fast64_t)pages;
    }
    storeCopy(worker, index, content, length);
    notify(worker, index, type, hash, pages, encrypted);
    return true;
}

static bool processFile(Worker *worker, size_t index, const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;

    struct stat status;
    bool done = false;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        size_t length = (size_t)status.st_size;
        // An empty file cannot be mapped, but counts as a file.
        void *content = length > 0 ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0) : (void *)"";
        if (content != MAP_FAILED) {
            done = processContent(worker, index, content, length);
            worker->counters->bytes += length;
            if (length > 0) munmap(content, length);
        }
    }
    close(file);
    return done;
}

_Noreturn static void work(Counters *counters, const List *list, const char *storePath) {
    static Worker worker;
    startWorker(&worker, counters, storePath);
    for (;;) {
        size_t start = atomic_fetch_add(&counters->next, chunkSize);
        if (start >= list->count) break;
        size_t end = list->count - start < chunkSize ? list->count : start + chunkSize;
        for (size_t index = start; index < end; index++) {
            if (!processFile(&worker, index, list->paths[index])) counters->failed++;
            counters->files++;
            if (worker.pendingCount == batchSize) flush(&worker);
        }
    }
    flush(&worker);
    _exit(0);  // the kernel frees faster than the libraries' exit handlers
}

// MARK: - Command line

static List readList(const char *path) {
    List list = {0};
    FILE *file = fopen(path, "re");
    if (!file) die(path);
    size_t capacity = 0;
    ssize_t length = getdelim(&list.text, &capacity, '\0', file);
    if (length < 0 && ferror(file)) die(path);
    fclose(file);
    if (length < 0) return list;  // an empty list

    size_t lines = 1;
    for (char *c = list.text; *c; c++) lines += *c == '\n';
    list.paths = calloc(lines, sizeof *list.paths);
    if (!list.paths) die("list");
    char *rest = list.text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (*line) list.paths[list.count++] = line;
    }
    return list;
}

_Noreturn static void usage(void) {
    fputs("usage: raw [-j PROCESSES] --store DIR --list FILE\n", stderr);
    exit(2);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"store", required_argument, NULL, 's'}, {"list", required_argument, NULL, 'l'}, {0}};
    const char *storePath = NULL, *listPath = NULL;
    long processes = sysconf(_SC_NPROCESSORS_ONLN);
    for (int option; (option = getopt_long(argc, argv, "j:", options, NULL)) != -1;) {
        switch (option) {
        case 'j': processes = strtol(optarg, NULL, 10); break;
        case 's': storePath = optarg; break;
        case 'l': listPath = optarg; break;
        default: usage();
        }
    }
    if (!storePath || !listPath || optind != argc || processes < 1 || processes > maximumProcesses) usage();

    List list = readList(listPath);
    Counters *counters =
        mmap(NULL, sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counters == MAP_FAILED) die("counters");
    makeStore(storePath);

    double start = now();
    for (long i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0) die("fork");
        if (child == 0) work(counters, &list, storePath);
    }
    bool allWell = true;
    for (int status; wait(&status) > 0;) {
        if (WIFSIGNALED(status)) fprintf(stderr, "raw: a process died: %s\n", strsignal(WTERMSIG(status)));
        if (status != 0) allWell = false;
    }
    double seconds = now() - start;

    if (!allWell) return 1;
    printf(
        "{\"files\":%" PRIuFAST64 ",\"bytes\":%" PRIuFAST64 ",\"pages\":%" PRIuFAST64 ",\"pdfs\":%" PRIuFAST64
        ",\"encrypted\":%" PRIuFAST64 ",\"failed\":%" PRIuFAST64 ",\"seconds\":%.6f}\n",
        counters->files, counters->bytes, counters->pages, counters->pdfs, counters->encrypted, counters->failed,
        seconds);
    return 0;
}
