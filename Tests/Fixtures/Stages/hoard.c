/* A stage that writes 100 MB of new content for each attachment. It keeps descriptors and maps of its input
 * and output, and writes to them after its answer. */
#define _GNU_SOURCE
#include <sluice/stage.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH = 100 << 20, PIECE = 1 << 20 };

static const sluice_host *host;
static int kept[400];
static int count;
static char piece[PIECE];

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  host = opening->host;
  *instance = kept;
  memset(piece, 'x', sizeof piece);
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  /* Content passed on before no longer belongs to this stage: writing to it again must have no effect. */
  for (int i = 0; i < count; i++)
    if (pwrite(kept[i], piece, sizeof piece, 0) > 0) break;
  int output = host->produce(call);
  for (int i = 0; i < LENGTH / PIECE; i++)
    if (write(output, piece, sizeof piece) != PIECE) return SLUICE_RETRY;
  for (int i = 0; i < 10 && count < 400; i++) kept[count++] = dup(output);
  mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, output, 0);
  dup(attachment->content);
  mmap(NULL, 4096, PROT_READ, MAP_SHARED, attachment->content, 0);
  return SLUICE_PASS;
}

static void close_stage(void *instance) { (void)instance; }

static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .flags = SLUICE_PRODUCES, .id = "hoard", .version = "1.0.0", .summary = "Keeps what it made.", .open = open_stage,
    .process = process, .close = close_stage};

const sluice_stage *hoard_stage(uint32_t host_major);
const sluice_stage *hoard_stage(uint32_t host_major) {
  (void)host_major;
  return &stage;
}
