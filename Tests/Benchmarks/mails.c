// The yardstick for a mailbox: what a pipeline of `mail` and `store` does to each mail of it, done as directly as C can with GMime
// alone, without ledger, isolation or plugins. The mail, its text and its attachments are hashed and become files, which are durable
// before the next ones are taken.
//
//     mails [-j PROCESSES] --store DIR --mailbox FILE        FILE: an mbox
//
// Prints one line of JSON. Whatever would make the figure a lie ends the program with status 1.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <gmime/gmime.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    batchSize = 64,  // files made durable together
    chunkSize = 16,  // mails a process takes from the counter at once
    maximumProcesses = 1024,
};

// Shared by all processes.
typedef struct {
    atomic_size_t next;
    atomic_uint_fast64_t mails, texts, attachments;
} Counters;

typedef struct {
    size_t start, end;
} Range;

typedef struct {
    int descriptor;
    char name[64];
} Pending;

typedef struct {
    Counters *counters;
    EVP_MD *sha256;
    int temporary, objects;
    Pending pending[batchSize];
    size_t pendingCount;
} Worker;

_Noreturn static void die(const char *what) {
    fprintf(stderr, "mails: %s: %s\n", what, strerror(errno));
    exit(1);
}

_Noreturn static void dieSaying(const char *what, const char *why) {
    fprintf(stderr, "mails: %s: %s\n", what, why);
    exit(1);
}

// Data first, then names, then the folder, each for the whole batch, as in raw.c.
static void flush(Worker *worker) {
    for (size_t i = 0; i < worker->pendingCount; i++) {
        if (fdatasync(worker->pending[i].descriptor) != 0) die("fdatasync");
        close(worker->pending[i].descriptor);
    }
    for (size_t i = 0; i < worker->pendingCount; i++) {
        const char *name = worker->pending[i].name;
        if (renameat(worker->temporary, name, worker->objects, name) != 0) die("rename");
    }
    if (worker->pendingCount > 0 && fsync(worker->objects) != 0) die("objects");
    worker->pendingCount = 0;
}

static void keep(Worker *worker, const void *bytes, size_t length, size_t mail, int part) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    if (EVP_Digest(bytes, length, hash, NULL, worker->sha256, NULL) != 1) dieSaying("openssl", "SHA-256 failed");
    Pending *pending = &worker->pending[worker->pendingCount++];
    int count = snprintf(pending->name, sizeof pending->name, "%08zu-%d-", mail, part);
    for (int i = 0; i < 16; i++) count += sprintf(pending->name + count, "%02x", hash[i]);
    int file = openat(worker->temporary, pending->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) die(pending->name);
    for (const char *rest = bytes; length > 0;) {
        ssize_t written = write(file, rest, length);
        if (written < 0) die(pending->name);
        rest += written;
        length -= (size_t)written;
    }
    pending->descriptor = file;
    if (worker->pendingCount == batchSize) flush(worker);
}

typedef struct {
    Worker *worker;
    size_t mail;
    int parts;
} Taking;

static void takePart(GMimeObject *parent, GMimeObject *object, gpointer data) {
    (void)parent;
    Taking *taking = data;
    if (!GMIME_IS_PART(object)) return;
    GMimePart *part = (GMimePart *)object;
    GMimeDataWrapper *content = g_mime_part_get_content(part);
    if (!content) return;
    GMimeStream *stream = g_mime_stream_mem_new();
    if (g_mime_data_wrapper_write_to_stream(content, stream) < 0) dieSaying("GMime", "a part cannot be decoded");
    GByteArray *bytes = g_mime_stream_mem_get_byte_array((GMimeStreamMem *)stream);
    keep(taking->worker, bytes->data, bytes->len, taking->mail, ++taking->parts);
    if (g_mime_part_get_filename(part)) taking->worker->counters->attachments++;
    else taking->worker->counters->texts++;
    g_object_unref(stream);
}

static void takeMail(Worker *worker, char *bytes, size_t length, size_t number) {
    keep(worker, bytes, length, number, 0);
    GMimeStream *stream = g_mime_stream_mem_new_with_buffer(bytes, length);
    GMimeParser *parser = g_mime_parser_new_with_stream(stream);
    GMimeMessage *message = g_mime_parser_construct_message(parser, NULL);
    if (!message) dieSaying("GMime", "a mail cannot be parsed");
    Taking taking = {worker, number, 0};
    g_mime_message_foreach(message, takePart, &taking);
    worker->counters->mails++;
    g_object_unref(message);
    g_object_unref(parser);
    g_object_unref(stream);
}

// Where the mails are, without the lines between them.
static Range *findMails(const char *text, size_t length, size_t *count) {
    Range *ranges = NULL;
    size_t room = 0, start = 0;
    *count = 0;
    while (start < length) {
        const char *line = memchr(text + start, '\n', length - start);
        if (!line) break;
        size_t begin = (size_t)(line - text) + 1;
        const char *next = memmem(text + begin, length - begin, "\n\nFrom ", 7);
        size_t end = next ? (size_t)(next - text) + 1 : length - 1;
        if (*count == room) {
            room = room ? 2 * room : 1024;
            ranges = realloc(ranges, room * sizeof *ranges);
            if (!ranges) die("memory");
        }
        ranges[(*count)++] = (Range){begin, end};
        start = end + 1;
    }
    return ranges;
}

static int openFolder(const char *parent, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", parent, name);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) die(path);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) die(path);
    return folder;
}

static void work(Counters *counters, const char *store, char *text, const Range *ranges, size_t count) {
    Worker worker = {.counters = counters, .temporary = openFolder(store, "temporary"), .objects = openFolder(store, "objects")};
    worker.sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!worker.sha256) dieSaying("openssl", "no SHA-256");
    g_mime_init();
    for (;;) {
        size_t first = atomic_fetch_add(&counters->next, chunkSize);
        if (first >= count) break;
        for (size_t i = first; i < first + chunkSize && i < count; i++)
            takeMail(&worker, text + ranges[i].start, ranges[i].end - ranges[i].start, i);
    }
    flush(&worker);
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"store", required_argument, NULL, 's'}, {"mailbox", required_argument, NULL, 'm'}, {0}};
    const char *store = NULL, *mailbox = NULL;
    long processes = sysconf(_SC_NPROCESSORS_ONLN);
    for (int option; (option = getopt_long(argc, argv, "j:", options, NULL)) != -1;) {
        if (option == 's') store = optarg;
        else if (option == 'm') mailbox = optarg;
        else if (option == 'j') processes = atol(optarg);
        else return 2;
    }
    if (!store || !mailbox || processes < 1 || processes > maximumProcesses) dieSaying("usage", "--store DIR --mailbox FILE");

    int file = open(mailbox, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    if (file < 0 || fstat(file, &facts) != 0) die(mailbox);
    size_t length = (size_t)facts.st_size, count;
    char *text = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (text == MAP_FAILED) die(mailbox);
    Range *ranges = findMails(text, length, &count);

    if (mkdir(store, 0777) != 0 && errno != EEXIST) die(store);
    close(openFolder(store, "temporary"));
    close(openFolder(store, "objects"));
    Counters *counters = mmap(NULL, sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counters == MAP_FAILED) die("mmap");
    for (long i = 0; i < processes; i++) {
        pid_t pid = fork();
        if (pid < 0) die("fork");
        if (pid == 0) {
            work(counters, store, text, ranges, count);
            _exit(0);
        }
    }
    for (long i = 0; i < processes; i++) {
        int status;
        if (wait(&status) < 0) die("wait");
        if (status != 0) dieSaying("a process", "it failed");
    }
    printf("{\"mails\":%ju,\"texts\":%ju,\"attachments\":%ju,\"bytes\":%zu}\n", (uintmax_t)counters->mails,
           (uintmax_t)counters->texts, (uintmax_t)counters->attachments, length);
    return 0;
}
