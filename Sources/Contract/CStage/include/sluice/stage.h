/* The contract between Sluice and a stage.
 *
 * This header is all that a plugin and its host share. A plugin is a shared library that exports one
 * function, `<id>_stage` (a `-` in the id becomes `_`), which returns a description of the stage; looking
 * at a plugin starts nothing. The host then calls `open` once, `process` for each attachment, `flush` at
 * each durability barrier, and `close` at the end, in a worker process that is closed for the stage's capability.
 *
 * The file is called `libsluice-<id>.so` (or `<id>.so`, in a folder of plugins only) and lies in a folder that the
 * pipeline names under `plugins:`. To build one:  cc -std=c11 -shared -fPIC -I PREFIX/include x.c -o libsluice-x.so
 *
 * Who may call, written before each function pointer:
 *   [serial]      the host calls it, on one thread, never two at a time for the same instance
 *   [in-call]     the stage calls it, on the thread it was called on, before that call returns
 *
 * How long pointers live: what the host passes lives until the call returns, unless the comment says
 * otherwise. What the plugin's description points to lives as long as the process.
 *
 * Text is UTF-8 and ends with NUL. What a sender chose is hostile: ids, names, types. Structs open with their size;
 * they grow at the end only, and a reader ignores what lies past the size it knows. Those that stand in arrays
 * (`sluice_option`, `sluice_value`, `sluice_term`) never grow within a major. `layout.c` locks the offsets.
 *
 * A worker has one thread; instances in it take turns. In the sandbox a stage computes, allocates, and uses the
 * descriptors it holds (read, write, seek, truncate, sync, map); any other system call ends the worker, and the attachment
 * gets `forbidden-call`. So do memory (`out-of-memory`), time (`timed-out`), output (`output-limit`), a crash (`crashed`),
 * more than 1 MB on standard error for one attachment (`flooded`), and more than 64 threads (`too-many-threads`), which only
 * stages with SLUICE_NETWORK may start. Standard output leads nowhere.
 */
#ifndef SLUICE_STAGE_H
#define SLUICE_STAGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A host refuses a plugin of another major. A minor only adds to the end of structs. The preprocessor can compare
 * it: `#if SLUICE_ABI_MINOR < 1`. What the host has, `size` of `sluice_host` tells when the stage is opened. */
#define SLUICE_ABI_MAJOR ((uint32_t)1)
#define SLUICE_ABI_MINOR 1u

/* What a stage says about an attachment. */
typedef int32_t sluice_verdict;
#define SLUICE_PASS ((sluice_verdict)0)   /* go on */
#define SLUICE_REJECT ((sluice_verdict)1) /* policy says no; final */
#define SLUICE_RETRY ((sluice_verdict)2)  /* a passing fault; try again later */
#define SLUICE_FAIL ((sluice_verdict)3)   /* broken for this input; trying again is of no use */

/* What a stage may touch once it is open. The sandbox grants no more. */
typedef uint32_t sluice_capability;
#define SLUICE_CONTENT ((sluice_capability)0) /* nothing but the descriptors it is handed */
#define SLUICE_STORE ((sluice_capability)1)   /* may also write below the folder it is handed */
#define SLUICE_NETWORK ((sluice_capability)2) /* may also connect */

/* Flags of a stage. */
#define SLUICE_AT_END ((uint32_t)1)  /* runs once the outcome is known, for every outcome; gets no content */
#define SLUICE_CHANNEL ((uint32_t)2) /* delivers events; stands under `channels:`; not with SLUICE_STORE */
#define SLUICE_PRODUCES ((uint32_t)4) /* may replace the content, see `produce` */
#define SLUICE_SOURCE ((uint32_t)8) /* since 1.1: fetches content, see `start`; stands under `lanes:`; with SLUICE_NETWORK */
#define SLUICE_DERIVES ((uint32_t)16) /* since 1.1: may leave objects beside the content, see `sluice_derivation` */
#define SLUICE_EXPANDS ((uint32_t)32) /* since 1.1: may take contents out of the content, see `sluice_expansion` */

/* ---- Options: declared once; checked, completed and documented by the host. ---- */

typedef uint32_t sluice_option_type;
#define SLUICE_TEXT ((sluice_option_type)1)
#define SLUICE_INTEGER ((sluice_option_type)2)
#define SLUICE_NUMBER ((sluice_option_type)3)
#define SLUICE_BOOLEAN ((sluice_option_type)4)
#define SLUICE_BYTES ((sluice_option_type)5)      /* `10MB`; the stage gets bytes */
#define SLUICE_DURATION ((sluice_option_type)6)   /* `30s`; the stage gets milliseconds */
#define SLUICE_MEDIA_TYPE ((sluice_option_type)7) /* a pattern: a type, or one with `*` for its last part or for both */
#define SLUICE_TEMPLATE ((sluice_option_type)8)   /* a path template, see `expand` */
#define SLUICE_CHANNEL_NAME ((sluice_option_type)9) /* a name under `channels:` */
#define SLUICE_FILE ((sluice_option_type)10) /* since 1.1: a file that the stage writes, relative to the home; never one of the host's own */

/* In which shapes an option may be written; several may be allowed. */
#define SLUICE_ONE ((uint32_t)1)
#define SLUICE_LIST ((uint32_t)2)
#define SLUICE_MAP ((uint32_t)4) /* from media type patterns to values */

typedef struct sluice_option {
  uint32_t size;
  sluice_option_type type;
  uint32_t shapes;
  uint32_t required;          /* 1: a pipeline without it is refused */
  const char *name;           /* lower case, words joined by `-` */
  const char *fallback;       /* the default, written as in YAML; NULL: none */
  const char *help;           /* one sentence */
  const char *const *choices; /* the values allowed, ended by NULL; NULL: any */
  int64_t minimum, maximum;   /* for integers, bytes and durations; both 0: no bounds */
} sluice_option;

/* One value of one option, as given or by default. A list comes as several values in order. */
typedef struct sluice_value {
  uint32_t size;
  uint32_t reserved;
  const char *name;
  const char *key;  /* of a map's entry: the media type pattern; else NULL */
  const char *text; /* as written, or the canonical form */
  int64_t integer;  /* of an integer, boolean (0, 1), bytes, duration (milliseconds) */
  double number;    /* of a number */
} sluice_value;

/* ---- Documentation of what a stage says. A key that is not listed is dropped, a code becomes `undeclared`. ---- */

typedef struct sluice_term {
  const char *name;
  const char *help;
} sluice_term;

/* ---- What the host hands to a stage. ---- */

/* One call from the host; what the stage says through `sluice_host` belongs to it. */
typedef struct sluice_call sluice_call;

/* The outcome of an attachment, for stages that run at the end. */
#define SLUICE_UNDECIDED ((uint32_t)0)
#define SLUICE_COMPLETED ((uint32_t)1)
#define SLUICE_REJECTED ((uint32_t)2)
#define SLUICE_FAILED ((uint32_t)3)
#define SLUICE_QUARANTINED ((uint32_t)4)
#define SLUICE_CANCELLED ((uint32_t)5) /* since 1.1: a person took it back */

/* An event for one recipient, for channels. */
typedef struct sluice_event {
  uint32_t size;
  uint32_t reserved;
  const char *id; /* never changes, however often delivery is tried */
  const char *type;
  const char *recipient;
  const char *body; /* the whole event as one line of JSON, without a newline, its id first: the same bytes each time */
  uint64_t body_length;
} sluice_event;

/* For a stage with `flush`, it and its call live until that flush returns; for one with `turn`, until it is settled. */
typedef struct sluice_attachment {
  uint32_t size;
  uint32_t attempt; /* 1 for the first; more: an earlier one may have taken effect */
  const char *id;
  const char *conversation_id;
  const char *message_id;
  const char *sender_id;
  const char *file_name;     /* as the sender gave it: hostile */
  const char *declared_type; /* as the sender gave it; NULL: not given */
  const char *media_type;    /* as found by an earlier stage; NULL: not yet known */
  const char *sha256;        /* of the content, 64 hexadecimal digits; NULL: not yet known */
  const char *twin;          /* for `store` stages: a path below the folder with the same content, to be linked; or NULL */
  int32_t content;           /* a seekable descriptor, read only, at offset 0; -1: none */
  uint32_t outcome;
  uint64_t content_size;
  const char *reason_stage; /* of a rejection or failure, else NULL */
  const char *reason_code;
  const char *reason_message;
  const sluice_event *event; /* for channels, else NULL */
  int64_t modified;          /* of the content's file when it was opened, nanoseconds since 1970: its data */
  int64_t changed;           /* and its status; a stage that copies compares both when it is done */

  /* Since 1.1. For `store` stages: the name under which the object is left in `.incoming/`; NULL: the attachment's id. It is of
   * this attempt alone, so that nothing is left in the place of another's. */
  const char *staged_name;
} sluice_attachment;

/* Since 1.1. What a source is to fetch. It lives, with its texts, until the transfer is settled. `url`, `headers` and `body` are
 * secrets: they stand in no sentence, metadata or line of the log. */
typedef struct sluice_transfer {
  uint32_t size;
  uint32_t attempt; /* 1 for the first */
  const char *id;
  const char *method;               /* `GET`, `POST` */
  const char *url;                  /* not checked by the host */
  const char *const *headers;       /* `name: value`, ended by NULL: for the hosts below only */
  const char *const *trusted_hosts; /* ended by NULL: names; `*.name` for all below it */
  const char *body;                 /* NULL: none */
  uint64_t body_length;
  int32_t content; /* a file to read and write: the content goes there, from offset 0; the kernel holds the limit */
  uint32_t reserved;
  uint64_t limit; /* bytes of content that are allowed */

  /* How far earlier attempts came: the last `checkpoint`. Bytes from 0; what lies beyond them in the file does not count. */
  uint64_t bytes;
  const char *etag;     /* NULL: none */
  const char *modified; /* as the server wrote it; NULL: not given */

  /* What the request for it says of the content. */
  uint64_t expected_size;      /* UINT64_MAX: not known */
  const char *expected_sha256; /* 64 hexadecimal digits; NULL: not known. The host compares it. */
  const char *declared_type;   /* NULL: not given */

  uint64_t total; /* bytes of the whole, as the last `checkpoint` said; UINT64_MAX: not known */
} sluice_transfer;

/* Since 1.1. How far a transfer is. `bytes` are in the file and synced (fdatasync(2)). */
typedef struct sluice_checkpoint {
  uint32_t size;
  uint32_t reserved;
  uint64_t bytes;
  uint64_t total;       /* UINT64_MAX: not known */
  const char *etag;     /* with which it can be gone on; NULL: none */
  const char *modified; /* the same */
} sluice_checkpoint;

#define SLUICE_LOG_DEBUG ((uint32_t)0)
#define SLUICE_LOG_INFO ((uint32_t)1)
#define SLUICE_LOG_WARNING ((uint32_t)2)
#define SLUICE_LOG_ERROR ((uint32_t)3)

/* To whom an emitted event goes. */
#define SLUICE_TO_PARTICIPANTS ((uint32_t)1) /* every participant but the sender */
#define SLUICE_TO_SENDER ((uint32_t)2)
#define SLUICE_TO_EVERYONE ((uint32_t)3)

typedef struct sluice_host {
  uint32_t size;
  uint32_t reserved;

  /* [in-call] Says why: a code the stage lists, and a sentence for the user (up to 1,000 bytes). Applies
   * to the verdict the call returns. */
  void (*explain)(sluice_call *call, const char *code, const char *sentence);

  /* [in-call] Records metadata under a key the stage lists. Text is cut at 4,000 bytes; what goes beyond 24 KiB in all is
   * dropped, with a line in the log, and so is a number that is not finite. */
  void (*annotate_text)(sluice_call *call, const char *key, const char *value);
  void (*annotate_integer)(sluice_call *call, const char *key, int64_t value);
  void (*annotate_number)(sluice_call *call, const char *key, double value);
  void (*annotate_boolean)(sluice_call *call, const char *key, int32_t value);

  /* [in-call] Metadata of earlier stages as text; NULL: none under this key. */
  const char *(*metadata)(sluice_call *call, const char *key);

  /* [in-call] Sets the media type that `when`, `allow` and `rules` of later stages match. */
  void (*set_media_type)(sluice_call *call, const char *media_type);

  /* [in-call] For `store` stages: where the object is to lie below the folder, the attachment's `url`. The stage leaves it,
   * synced, in the folder as `.incoming/` (which it makes) and the attachment's `staged_name`; the host renames it to the path once
   * the ledger has the attachment, and takes away what it has not. Where nothing is left there, the path must hold it already. */
  void (*set_location)(sluice_call *call, const char *path);

  /* [in-call] 1 where the media type matches the pattern; patterns mean the same everywhere. NULL, unknown, matches
   * only what matches all. Case and parameters do not count. */
  int32_t (*matches)(const char *pattern, const char *media_type);

  /* [in-call] Fills in a path template for this attachment. Nothing in the result can leave the folder it is
   * used in: no empty, `.` or `..` parts, no bytes of a sender's name unescaped. NULL: it would be too long. */
  const char *(*expand)(sluice_call *call, const char *path_template);

  /* [in-call] A descriptor to write new content to, which replaces the content for later stages if the
   * verdict is pass. -1: the stage does not declare SLUICE_PRODUCES. */
  int32_t (*produce)(sluice_call *call);

  /* [in-call] Emits an event of this type on a channel, which is the value of an option of type SLUICE_CHANNEL_NAME. The
   * host writes its body and records it in the ledger with the outcome, once for each recipient. */
  void (*emit)(sluice_call *call, const char *type, const char *channel, uint32_t audience);

  /* [in-call] With a verdict of retry: not before so many milliseconds from now. */
  void (*retry_after)(sluice_call *call, int64_t milliseconds);

  /* [in-call] With a verdict of retry: the fault is the place's, not the attachment's (a full disk, an endpoint
   * that is gone). The lane pauses with this reason; the attempt is not counted. */
  void (*pause)(sluice_call *call);

  /* [in-call] During `flush` only: the verdict of one attachment processed since the last flush. Call
   * `explain` on it first. With `turn`: the verdict of an event, attachment or transfer, with which it ends; a second one is
   * dropped. A transfer's pass means that the whole content lies in the file, synced, and nothing beyond it. */
  void (*settle)(sluice_call *call, sluice_verdict verdict);

  /* [in-call] How far the work on this attachment is, from 0 to 1. */
  void (*progress)(sluice_call *call, double fraction);

  /* [in-call] 1 when the result is not wanted any more: the stage should return soon, with any verdict. A worker whose stage
   * goes on for two seconds more is ended. A stage with `turn` asks for each that is under way, and settles those; one is also
   * not wanted once it has taken longer than the stage's time limit. */
  int32_t (*cancelled)(sluice_call *call);

  /* [in-call] A line in the log. In `process` and for `settle`, the operator is shown a warning or an error with the
   * attachment's id: up to 16 for an attachment, 1,000 bytes each. All lines go to the worker's standard error: `stages run`
   * shows them, and an ingest if the worker ends badly. */
  void (*log)(sluice_call *call, uint32_t level, const char *line);

  /* During `open` only: a promise that what the stage says and records follows from nothing but the content, the options,
   * the media type so far, and what the sender declared: the type, and the extension of the file name. Then the host may
   * hand on what it said of equal content. `basis` names what else it rests on, such as the versions of libraries and of
   * data: what was said on another basis does not count. */
  void (*repeatable)(sluice_call *call, const char *basis);

  /* Since 1.1. A plugin that is to run on a host of 1.0 as well compares `size` with the offset of each before it calls. */

  /* During `open` only: a promise that all content of more than so many bytes is rejected with this code.
   * Then the host may reject it by its length, before it reads a byte. A stage with `when` is not held to it. */
  void (*reject_above)(sluice_call *call, uint64_t bytes, const char *code);

  /* [in-call] Functions that not every host has, by name: a table that opens with its size and lives as long as the process.
   * NULL: this host has none of that name. The names are those of the SLUICE_EXTENSION_… below. So the contract gains what
   * few stages use without growing for all; what many use becomes a function of a later minor. */
  const void *(*extension)(sluice_call *call, const char *name);

  /* [in-call] For sources: how far a transfer is. The host goes on from the last one, also where the worker has crashed. A source
   * tells one after at most 8 MiB or two seconds. */
  void (*checkpoint)(sluice_call *call, const sluice_checkpoint *checkpoint);

  /* [in-call] For sources: how many bytes are there, synced or not, for those who look on. At most four times a second. */
  void (*received)(sluice_call *call, uint64_t bytes);
} sluice_host;

/* A way to one Unix socket, since the sandbox lets a stage make none. */
#define SLUICE_EXTENSION_DOOR "door"
typedef struct sluice_door {
  uint32_t size;
  uint32_t reserved;

  /* [in-call] During `open` only, for stages with SLUICE_NETWORK. Returns a socket that keeps message boundaries. For each byte
   * written there the host connects to `path`, and answers with the descriptor (SCM_RIGHTS, not blocking) and eight bytes: an
   * int32_t of 0, or an errno and no descriptor, then the byte itself. The stage closes it in `close`. -1: see errno. */
  int32_t (*open)(sluice_call *call, const char *path);
} sluice_door;

/* Objects beside the content, such as a thumbnail or the text of a PDF. They are kept with an attachment that is completed,
 * under the same rights, and go with it; of any other outcome nothing is left. */
#define SLUICE_EXTENSION_DERIVATION "derivation"
typedef struct sluice_derivation {
  uint32_t size;
  uint32_t reserved;

  /* [in-call] In `process`, for stages with SLUICE_DERIVES. Begins an object and returns a descriptor: what is written to it,
   * until the next object is begun, the next content, or `process` returns, is the object. It only appends; the stage does not
   * close it. `name` is lower case, with words joined by `-`, of at most 64 bytes; a later object of the same name takes the
   * place of an earlier one. -1: this host keeps none of this attachment, or it is the 65th; the stage goes on without it. All
   * that one attachment's stages write is bounded by `output`. */
  int32_t (*begin)(sluice_call *call, const char *name, const char *media_type);
} sluice_derivation;

/* Contents inside the content, such as the files of an archive: each becomes an attachment of the same message, which goes
 * through the pipeline with this one as its parent. */
#define SLUICE_EXTENSION_EXPANSION "expansion"
typedef struct sluice_expansion {
  uint32_t size;
  uint32_t reserved;

  /* [in-call] As `begin` of `sluice_derivation`, for stages with SLUICE_EXPANDS. `file_name` and `declared_type` are what the
   * content says, and as hostile; the name is cut to 255 bytes, before its ending. NULL: not given. -1: this host takes none, as where the
   * pipeline's limits are reached: the stage goes on, or rejects the content. */
  int32_t (*begin)(sluice_call *call, const char *file_name, const char *declared_type);

  /* [in-call] What more is allowed, so that a stage need not unpack what would be refused: contents, and their bytes in all. */
  void (*room)(sluice_call *call, uint64_t *contents, uint64_t *bytes);
} sluice_expansion;

/* What `open` gets. */
typedef struct sluice_opening {
  uint32_t size;
  uint32_t value_count;
  const char *id;             /* the stage's id in this pipeline */
  const sluice_value *values; /* every option given or with a default */
  const sluice_host *host;    /* lives as long as the instance */
  sluice_call *call;          /* for `explain` and `log` */
  int32_t folder;             /* store: the store's folder, to keep; channels: the home, to open files in until open
                                 returns (those stay usable); or -1 */
  uint32_t reserved;
} sluice_opening;

typedef struct sluice_stage {
  /* These three stay where they are in every major. */
  uint32_t size;
  uint32_t abi_major;
  uint32_t abi_minor;

  sluice_capability capability;
  uint32_t flags;
  uint32_t option_count;
  uint32_t key_count;
  uint32_t code_count;
  const char *id; /* lower case, words joined by `-` */
  const char *version;
  const char *summary; /* one sentence */
  const sluice_option *options;
  const sluice_term *keys;  /* the metadata it may record; a name ending in `*` stands for all it begins */
  const sluice_term *codes; /* the codes it may give */
  const void *context;      /* the plugin's own */

  /* `open`, `process` and `close` are required, as are `id`, `version` and `summary`; a source has `start`, `turn`, `hold`
   * and `stop` in the place of `process`.
   *
   * [serial] Makes an instance. It may read files and load libraries. It starts no thread that outlives it: the sandbox, which
   * closes when all stages of the worker are open, would not hold it. It starts no process: fork(2) and execve(2) end the
   * worker from before the plugin is loaded. What it allocates is bounded by `memory`, and its time to 30 seconds.
   * Anything but SLUICE_PASS refuses the pipeline; explain why. */
  sluice_verdict (*open)(const struct sluice_stage *stage, const sluice_opening *opening, void **instance);

  /* [serial] One attachment. A verdict other than pass counts at once; one without `explain` gets `unexplained`. */
  sluice_verdict (*process)(void *instance, const sluice_attachment *attachment, sluice_call *call);

  /* [serial] The durability barrier, or NULL. Until it returns, a pass from `process` does not count. The host calls
   * it when nothing more waits, and after at most 64 attachments. Anything but SLUICE_PASS is the verdict of
   * every attachment since the last flush that was not settled. `call` is for explaining that. A channel or a stage of the line
   * with `turn` has it for older hosts: those of 1.0 do not know `turn`, the first of 1.1 know it of channels. */
  sluice_verdict (*flush)(void *instance, sluice_call *call);

  /* [serial] The end of the instance. Not called when the worker is killed. */
  void (*close)(void *instance);

  /* Since 1.1, for sources, which work on many transfers at once. None of the four waits for the network but `turn`.
   *
   * A channel may have `turn` and none of the others: then it works on many events at once. A pass of `process`, which does not
   * wait, says that an event is under way until it is settled: in `turn`, or in `process` of another event. In its own `process`
   * it is settled with a pass at most: any other verdict is returned. Its attachment and its call are valid until then. Events
   * end in any order, so that one whose receiver is slow holds up no other; `flush` is not called.
   *
   * So may a stage of the line with SLUICE_NETWORK, for attachments: up to 16 are under way in a worker, which has no other
   * stage. Each has the stage's time limit for itself; `memory` is for all of them together.
   *
   * [serial] Begins a transfer. It is under way until it is settled: here, or in `turn`, `hold` or `stop` of any transfer.
   * Transfers end in any order. */
  void (*start)(void *instance, const sluice_transfer *transfer, sluice_call *call);

  /* [serial] Works on all transfers, events or attachments. Returns when `milliseconds` are over, when one was settled, or when
   * `wake` can be read (which the source does not do): then the host has something to say. */
  void (*turn)(void *instance, int32_t wake, int64_t milliseconds);

  /* [serial] 1: stand still, that is read nothing more of this transfer's connection, which stays open as long as its server
   * likes. 0: go on. */
  void (*hold)(void *instance, sluice_call *call, int32_t is_held);

  /* [serial] The transfer is to end now: what has come is synced and told with `checkpoint`, and it is settled with any verdict. */
  void (*stop)(void *instance, sluice_call *call);
} sluice_stage;

/* The exported function. It is told the host's major and returns the description; the host does the refusing. */
typedef const sluice_stage *(*sluice_stage_function)(uint32_t host_abi_major);

#ifdef __cplusplus
}
#endif
#endif
