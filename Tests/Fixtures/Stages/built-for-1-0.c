/* A stage that was built for contract 1.0: it includes that header and nothing of today's, and uses most of what was there. */
#include "stage-1.0.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };

static const sluice_host *host;
static struct {
  char word[32], rule[32], names[64];
  int64_t max, rule_max, slow;
  double ratio;
  int32_t loud;
} given;

/* Those that the next flush is to turn down. A call lives until then. */
static sluice_call *late[MOST];
static int late_count;

/* The structs a host hands over may be longer than in 1.0, but not shorter; those in arrays are as long as they were. */
static int is_whole(const sluice_opening *opening) {
  if (opening->size < sizeof(sluice_opening) || opening->host->size < sizeof(sluice_host)) return 0;
  for (uint32_t i = 0; i < opening->value_count; i++)
    if (opening->values[i].size != sizeof(sluice_value)) return 0;
  return 1;
}

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  host = opening->host;
  if (!is_whole(opening) || stage->context != &given || opening->folder != -1) {
    host->explain(opening->call, "broken", "the host hands over less than it did in 1.0");
    return SLUICE_FAIL;
  }
  for (uint32_t i = 0; i < opening->value_count; i++) {
    const sluice_value *value = &opening->values[i];
    if (strcmp(value->name, "word") == 0) snprintf(given.word, sizeof given.word, "%s", value->text);
    if (strcmp(value->name, "max") == 0 && !value->key) given.max = value->integer;
    if (strcmp(value->name, "max") == 0 && value->key && strcmp(value->key, "*/*") != 0) {
      snprintf(given.rule, sizeof given.rule, "%s", value->key);
      given.rule_max = value->integer;
    }
    if (strcmp(value->name, "loud") == 0) given.loud = value->integer != 0;
    if (strcmp(value->name, "ratio") == 0) given.ratio = value->number;
    if (strcmp(value->name, "slow") == 0) given.slow = value->integer;
    if (strcmp(value->name, "names") == 0) {
      size_t length = strlen(given.names);
      snprintf(given.names + length, sizeof given.names - length, "%s%s", length ? "+" : "", value->text);
    }
  }
  if (strcmp(given.word, "none") == 0) {
    host->explain(opening->call, "wrong-word", "option 'word' is none");
    return SLUICE_FAIL;
  }
  host->log(opening->call, SLUICE_LOG_INFO, "opened");
  *instance = &given;
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  char start[256] = "", text[300];
  if (instance != &given || attachment->size < sizeof(sluice_attachment) || attachment->modified <= 0) {
    host->explain(call, "broken", "the host hands over less than it did in 1.0");
    return SLUICE_FAIL;
  }
  ssize_t count = pread(attachment->content, start, sizeof start - 1, 0);
  if (count < 0 || host->cancelled(call)) return SLUICE_RETRY;
  host->progress(call, 0.5);
  if (strncmp(start, "bad", 3) == 0) {
    snprintf(text, sizeof text, "%s begins with bad", attachment->file_name);
    host->explain(call, "wrong-word", text);
    return SLUICE_REJECT;
  }
  if (strncmp(start, "broken", 6) == 0) {
    host->explain(call, "broken", "it says so itself");
    return SLUICE_FAIL;
  }
  if (strncmp(start, "again", 5) == 0 && attachment->attempt == 1) {
    host->explain(call, "not-yet", "the first time does not count");
    host->retry_after(call, 10);
    return SLUICE_RETRY;
  }
  if (strncmp(start, "late", 4) == 0 && late_count < MOST) {
    late[late_count++] = call;
    return SLUICE_PASS;
  }
  int is_ruled = *given.rule && host->matches(given.rule, attachment->media_type);
  int64_t max = is_ruled ? given.rule_max : given.max;
  if (attachment->content_size > (uint64_t)max) {
    snprintf(text, sizeof text, "%s has more than %lld bytes", attachment->media_type, (long long)max);
    host->explain(call, "too-long", text);
    return SLUICE_REJECT;
  }
  const char *found = host->metadata(call, "mime.magic"), *place = host->expand(call, "{senderId}/old");
  host->annotate_text(call, "old.word", given.word);
  host->annotate_text(call, "old.found", found ? found : "nothing");
  host->annotate_text(call, "old.place", place ? place : "nowhere");
  host->annotate_text(call, "old.names", given.names);
  host->annotate_integer(call, "old.attempt", attachment->attempt);
  host->annotate_integer(call, "old.slow", given.slow);
  host->annotate_number(call, "old.ratio", given.ratio);
  host->annotate_boolean(call, "old.loud", given.loud);
  host->annotate_text(call, "not-listed", "the host drops it");
  host->set_media_type(call, "text/x-old");
  host->emit(call, "old.seen", "events", SLUICE_TO_SENDER);
  int32_t output = host->produce(call);
  int length = snprintf(text, sizeof text, "%s: %s", given.word, start);
  return write(output, text, (size_t)length) == length ? SLUICE_PASS : SLUICE_RETRY;
}

static sluice_verdict flush(void *instance, sluice_call *call) {
  (void)instance, (void)call;
  for (; late_count > 0; late_count--) {
    host->explain(late[late_count - 1], "late", "found out at the barrier");
    host->settle(late[late_count - 1], SLUICE_REJECT);
  }
  return SLUICE_PASS;
}

static void close_stage(void *instance) { (void)instance; }

#define OPTION(...) {.size = sizeof(sluice_option), __VA_ARGS__}
static const char *const words[] = {"good", "fine", "none", NULL};
static const sluice_option options[] = {
    OPTION(.type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "word", .choices = words, .required = 1, .help = "A word."),
    OPTION(.type = SLUICE_BYTES, .shapes = SLUICE_ONE | SLUICE_MAP, .name = "max", .fallback = "1KB", .minimum = 1,
           .maximum = 1 << 20, .help = "The most bytes."),
    OPTION(.type = SLUICE_BOOLEAN, .shapes = SLUICE_ONE, .name = "loud", .fallback = "false", .help = "A boolean."),
    OPTION(.type = SLUICE_NUMBER, .shapes = SLUICE_ONE, .name = "ratio", .fallback = "0.5", .help = "A number."),
    OPTION(.type = SLUICE_DURATION, .shapes = SLUICE_ONE, .name = "slow", .fallback = "2s", .help = "A duration."),
    OPTION(.type = SLUICE_TEXT, .shapes = SLUICE_LIST, .name = "names", .help = "Names."),
    OPTION(.type = SLUICE_CHANNEL_NAME, .shapes = SLUICE_ONE, .name = "channel", .fallback = "events", .help = "A channel."),
};
static const sluice_term keys[] = {
    {"old.word", "The option."}, {"old.*", "What else it saw."},
};
static const sluice_term codes[] = {
    {"wrong-word", "It begins with bad."}, {"too-long", "It has more bytes than `max`."}, {"late", "Found out late."},
    {"not-yet", "The first attempt."},     {"broken", "It is broken."},
};

#define COUNT(array) (sizeof array / sizeof *array)
static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_CONTENT, .flags = SLUICE_PRODUCES, .option_count = COUNT(options), .key_count = COUNT(keys),
    .code_count = COUNT(codes), .id = "built-for-1-0", .version = "1.0.0", .summary = "Was built for contract 1.0.",
    .options = options, .keys = keys, .codes = codes, .context = &given, .open = open_stage, .process = process,
    .flush = flush, .close = close_stage};

const sluice_stage *built_for_1_0_stage(uint32_t host_major);
const sluice_stage *built_for_1_0_stage(uint32_t host_major) { return host_major == 1 ? &stage : NULL; }
