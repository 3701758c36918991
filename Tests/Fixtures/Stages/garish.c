/* A stage whose texts would all act on a terminal, or look like a line of the host's. */
#include <sluice/stage.h>

#include <string.h>

#define RED "\x1b[31mred\x1b[0m\nsluice: all is well\r"

static const sluice_host *host;

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  host = opening->host;
  *instance = &host;
  for (uint32_t i = 0; i < opening->value_count; i++)
    if (strcmp(opening->values[i].text, "refuse") == 0) {
      host->explain(opening->call, "garish", "it does not open, for it sees " RED);
      return SLUICE_FAIL;
    }
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  (void)attachment;
  host->explain(call, "garish", "it sees " RED);
  return SLUICE_REJECT;
}

static void close_stage(void *instance) { (void)instance; }

static const char *const choices[] = {"pass", "refuse", "blush " RED, 0};

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "mood", .required = 1,
     .choices = choices, .help = "Whether it sees " RED},
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "option " RED,
     .fallback = "default " RED, .help = "Nothing."},
};

static const sluice_term keys[] = {{"key " RED, "What is " RED}};

static const sluice_term codes[] = {{"garish", "It is " RED}, {"code " RED, "It is " RED}};

static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_CONTENT, .option_count = 2, .key_count = 1, .code_count = 2, .id = "garish",
    .version = "1.0 " RED, .summary = "Paints everything " RED, .options = options, .keys = keys, .codes = codes,
    .open = open_stage, .process = process, .close = close_stage};

const sluice_stage *garish_stage(uint32_t host_major);
const sluice_stage *garish_stage(uint32_t host_major) {
  (void)host_major;
  return &stage;
}
