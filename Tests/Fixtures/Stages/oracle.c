/* A stage that reports what a file contained when the stage was opened, and promises the same for equal
 * content as long as the file does not change. The option `basis` names the file; without it, the stage
 * promises nothing. */
#include <sluice/stage.h>

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static const sluice_host *host;
static char words[256];

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  host = opening->host;
  *instance = words;
  if (opening->value_count == 0) return SLUICE_PASS;
  int file = open(opening->values[0].text, O_RDONLY | O_CLOEXEC);
  ssize_t count = file < 0 ? -1 : read(file, words, sizeof words - 1);
  if (file >= 0) close(file);
  if (count < 0) {
    host->explain(opening->call, "speechless", "the file of `basis` cannot be read");
    return SLUICE_FAIL;
  }
  words[count] = 0;
  if (host->size > offsetof(sluice_host, repeatable)) host->repeatable(opening->call, words);
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)attachment;
  host->annotate_text(call, "oracle.words", instance);
  return SLUICE_PASS;
}

static void close_stage(void *instance) { (void)instance; }

static const sluice_option options[] = {{
    .size = sizeof(sluice_option),
    .type = SLUICE_TEXT,
    .shapes = SLUICE_ONE,
    .name = "basis",
    .help = "A file with the words.",
}};
static const sluice_term keys[] = {{.name = "oracle.words", .help = "What the file said."}};
static const sluice_term codes[] = {{.name = "speechless", .help = "The file is not there."}};

static const sluice_stage stage = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_CONTENT,
    .option_count = 1,
    .key_count = 1,
    .code_count = 1,
    .id = "oracle",
    .version = "1.0.0",
    .summary = "Says what a file says.",
    .options = options,
    .keys = keys,
    .codes = codes,
    .open = open_stage,
    .process = process,
    .close = close_stage,
};

const sluice_stage *oracle_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &stage;
}
