/* A stage that does everything a stage must not do, written from the contract's header alone.
 *
 * It acts on content that begins with the word `misbehave` and lets everything else pass. The option `act`
 * names the act, or else the word that follows in the content. */
#define _GNU_SOURCE
#include <sluice/stage.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONTROL 3 /* the worker's socket to its coordinator */

struct misbehave {
  const sluice_host *host;
  pid_t parent;
  char act[64];
};

/* The context of one act. */
struct scene {
  struct misbehave *self;
  const sluice_host *host;
  const sluice_attachment *attachment;
  sluice_call *call;
};

typedef sluice_verdict (*act_function)(struct scene *scene);

/* ---- Forged frames ---- */

struct frame {
  unsigned char bytes[256 << 10];
  size_t count;
};

static void put(struct frame *frame, const void *bytes, size_t count) {
  memcpy(frame->bytes + frame->count, bytes, count);
  frame->count += count;
}
static void put8(struct frame *frame, uint8_t value) { put(frame, &value, 1); }
static void put32(struct frame *frame, uint32_t value) { put(frame, &value, 4); }
static void put64(struct frame *frame, uint64_t value) { put(frame, &value, 8); }
static void put_text(struct frame *frame, const char *text, size_t count) {
  put32(frame, (uint32_t)count);
  put(frame, text, count);
  put8(frame, 0);
}

static void begin(struct frame *frame, uint64_t serial) {
  frame->count = 0;
  put8(frame, 18); /* a result */
  put64(frame, serial);
}

static void put_stage(struct frame *frame, uint8_t index, int32_t verdict) {
  put8(frame, index);
  put32(frame, (uint32_t)verdict);
  put32(frame, UINT32_MAX); /* no code */
  put32(frame, UINT32_MAX); /* no message */
  put64(frame, 1);
  put64(frame, UINT64_MAX);
  put8(frame, 0);
}

/* The rest of a result after its metadata. */
static void put_end(struct frame *frame, uint8_t produced) {
  put32(frame, UINT32_MAX); /* no media type */
  put32(frame, UINT32_MAX); /* no location */
  put32(frame, 0);          /* no emissions */
  put32(frame, 0);          /* no remarks */
  put8(frame, produced);
  put64(frame, UINT64_MAX); /* no list of pieces: its begin, its end */
  put64(frame, UINT64_MAX);
}

static void send_frame(const void *bytes, size_t count) {
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  sendmsg(CONTROL, &message, MSG_NOSIGNAL);
}

static struct frame frame; /* too large for a stack */

static void wait_for_ever(void) {
  for (;;) nanosleep(&(struct timespec){.tv_sec = 3600}, NULL);
}

/* ---- Ends of a process ---- */

static sluice_verdict segfault(struct scene *scene) {
  (void)scene;
  *(volatile int *)16 = 1;
  return SLUICE_PASS;
}
static sluice_verdict abort_act(struct scene *scene) {
  (void)scene;
  abort();
}
static sluice_verdict trap(struct scene *scene) {
  (void)scene;
  __builtin_trap();
}
static sluice_verdict divide(struct scene *scene) {
  raise(SIGFPE); /* as a division by zero, which some processors do not trap */
  (void)scene;
  return SLUICE_PASS;
}
static int deep(volatile char *above) {
  volatile char here[4096];
  here[0] = above[0];
  return here[0] ? 0 : deep(here) + here[0];
}
static sluice_verdict recurse(struct scene *scene) {
  (void)scene;
  volatile char zero = 0;
  return deep(&zero);
}
static sluice_verdict exit_act(struct scene *scene) {
  (void)scene;
  exit(0);
}
/* The host frees this after it has sent the result: the damage shows after the work is done. */
static sluice_verdict break_heap(struct scene *scene) {
  free((void *)scene->attachment);
  return SLUICE_PASS;
}
static sluice_verdict say_last_words(struct scene *scene) {
  (void)scene;
  fputs("first line\nthe \033[31mlast\033[0m words\n", stderr);
  abort();
}

/* ---- Time ---- */

static sluice_verdict spin(struct scene *scene) {
  (void)scene;
  for (volatile uint64_t i = 0;; i++) {}
}
static sluice_verdict sleep_act(struct scene *scene) {
  (void)scene;
  wait_for_ever();
  return SLUICE_PASS;
}

/* ---- System calls ---- */

/* Only once: if the sandbox is broken, do no further damage. */
static sluice_verdict fork_act(struct scene *scene) {
  (void)scene;
  pid_t child = fork();
  if (child == 0) _exit(0);
  return child > 0 ? SLUICE_PASS : SLUICE_FAIL;
}
static sluice_verdict exec_act(struct scene *scene) {
  (void)scene;
  execl("/bin/true", "true", (char *)NULL);
  return SLUICE_PASS;
}
static sluice_verdict open_file(struct scene *scene) {
  (void)scene;
  int file = open("/etc/passwd", O_RDONLY);
  return file >= 0 ? SLUICE_PASS : SLUICE_FAIL;
}
static sluice_verdict socket_act(struct scene *scene) {
  (void)scene;
  return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? SLUICE_PASS : SLUICE_FAIL;
}
static sluice_verdict connect_act(struct scene *scene) {
  (void)scene;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return connect(CONTROL, (struct sockaddr *)&address, sizeof address) == 0 ? SLUICE_PASS : SLUICE_FAIL;
}
static sluice_verdict kill_parent(struct scene *scene) {
  return kill(scene->self->parent, SIGKILL) == 0 ? SLUICE_PASS : SLUICE_FAIL;
}
static sluice_verdict ptrace_act(struct scene *scene) {
  return ptrace(PTRACE_ATTACH, scene->self->parent, NULL, NULL) == 0 ? SLUICE_PASS : SLUICE_FAIL;
}
static sluice_verdict executable_memory(struct scene *scene) {
  (void)scene;
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page != MAP_FAILED ? SLUICE_PASS : SLUICE_FAIL;
}
/* The filter's signal cannot be blocked. */
static sluice_verdict block_and_fork(struct scene *scene) {
  (void)scene;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  if (fork() == 0) _exit(0);
  return SLUICE_PASS;
}

/* ---- Budgets ---- */

static sluice_verdict allocate(struct scene *scene) {
  (void)scene;
  size_t count = (size_t)2 << 30;
  volatile char *memory = malloc(count); /* volatile, or the compiler leaves it all out */
  for (size_t i = 0; i < count; i += 4096) memory[i] = 1;
  return SLUICE_PASS;
}
static sluice_verdict allocate_slowly(struct scene *scene) {
  (void)scene;
  for (;;) {
    volatile char *memory = malloc(1 << 20);
    for (size_t i = 0; i < 1 << 20; i += 4096) memory[i] = 1;
  }
}
static sluice_verdict map(struct scene *scene) {
  size_t count = (size_t)2 << 30;
  char *memory = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    scene->host->explain(scene->call, "misbehaved", "2 GB were not to be had");
    return SLUICE_FAIL;
  }
  for (size_t i = 0; i < count; i += 4096) memory[i] = 1;
  return SLUICE_PASS;
}
static sluice_verdict write_act(struct scene *scene) {
  static char piece[1 << 20];
  int output = scene->host->produce(scene->call);
  for (int i = 0; i < 1024; i++)
    if (write(output, piece, sizeof piece) < 0) return SLUICE_FAIL;
  return SLUICE_PASS;
}
static sluice_verdict flood(struct scene *scene) {
  (void)scene;
  static char piece[4096];
  memset(piece, 'x', sizeof piece);
  for (;;)
    if (write(2, piece, sizeof piece) < 0) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}
static sluice_verdict log_for_ever(struct scene *scene) {
  for (;;) {
    scene->host->log(scene->call, SLUICE_LOG_ERROR, "again");
    scene->host->annotate_integer(scene->call, "not.declared", 1);
  }
}

/* ---- Lies on the socket ---- */

static sluice_verdict close_socket(struct scene *scene) {
  (void)scene;
  close(CONTROL);
  wait_for_ever();
  return SLUICE_PASS;
}
static sluice_verdict close_everything(struct scene *scene) {
  (void)scene;
  for (int fd = 0; fd < 512; fd++) close(fd);
  return SLUICE_PASS;
}
static sluice_verdict absurd_length(struct scene *scene) {
  (void)scene;
  begin(&frame, 1);
  put32(&frame, 1);
  put8(&frame, 0);
  put32(&frame, 0);
  put32(&frame, UINT32_MAX - 1); /* the length of the code */
  send_frame(frame.bytes, frame.count);
  return SLUICE_PASS;
}
static sluice_verdict absurd_count(struct scene *scene) {
  (void)scene;
  begin(&frame, 1);
  put32(&frame, 0);
  put32(&frame, UINT32_MAX); /* the number of metadata keys */
  send_frame(frame.bytes, frame.count);
  return SLUICE_PASS;
}
static sluice_verdict absurd_stage(struct scene *scene) {
  (void)scene;
  begin(&frame, 1);
  put32(&frame, 1);
  put_stage(&frame, 250, SLUICE_PASS);
  put32(&frame, 0);
  put_end(&frame, 0);
  send_frame(frame.bytes, frame.count);
  return SLUICE_PASS;
}
static sluice_verdict wrong_serial(struct scene *scene) {
  (void)scene;
  begin(&frame, UINT64_MAX);
  put32(&frame, 0);
  put32(&frame, 0);
  put_end(&frame, 0);
  send_frame(frame.bytes, frame.count);
  return SLUICE_PASS;
}
static sluice_verdict unknown_verdict_frame(struct scene *scene) {
  (void)scene;
  begin(&frame, 1);
  put32(&frame, 1);
  put_stage(&frame, 0, 4242);
  put32(&frame, 0);
  put_end(&frame, 0);
  send_frame(frame.bytes, frame.count);
  return SLUICE_PASS;
}
static sluice_verdict garbage(struct scene *scene) {
  (void)scene;
  for (size_t i = 0; i < 4096; i++) frame.bytes[i] = (unsigned char)(i * 131 + 7);
  send_frame(frame.bytes, 4096);
  return SLUICE_PASS;
}
static sluice_verdict empty_frame(struct scene *scene) {
  (void)scene;
  send_frame("", 0);
  wait_for_ever();
  return SLUICE_PASS;
}
static sluice_verdict oversized(struct scene *scene) {
  (void)scene;
  send_frame(frame.bytes, 100 << 10);
  return SLUICE_PASS;
}
static sluice_verdict forged_ready(struct scene *scene) {
  (void)scene;
  frame.count = 0;
  put8(&frame, 16);
  put32(&frame, UINT32_MAX);
  send_frame(frame.bytes, frame.count);
  return SLUICE_PASS;
}
/* If believed, this would be a fault of the whole pipeline. */
static sluice_verdict forged_refusal(struct scene *scene) {
  (void)scene;
  frame.count = 0;
  put8(&frame, 17);
  put32(&frame, UINT32_MAX);
  put_text(&frame, "give up", 7);
  send_frame(frame.bytes, frame.count);
  return SLUICE_PASS;
}
/* Descriptors sent along with invalid messages, so often that a coordinator that kept them would run out. */
static sluice_verdict forged_descriptors(struct scene *scene) {
  union {
    char room[CMSG_SPACE(4 * sizeof(int))];
    struct cmsghdr align;
  } control;
  char text[] = "take these";
  struct iovec part = {.iov_base = text, .iov_len = sizeof text};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  memset(&control, 0, sizeof control);
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(4 * sizeof(int));
  int content = scene->attachment->content;
  memcpy(CMSG_DATA(header), (int[]){content, content, CONTROL, CONTROL}, 4 * sizeof(int));
  for (int i = 0; i < 500; i++) sendmsg(CONTROL, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  return SLUICE_PASS;
}
/* Answers in the worker's place: new content, from no stage at all, repeatedly. */
static sluice_verdict forged_content(struct scene *scene) {
  (void)scene;
  uint64_t serial = 1;
  for (;;) {
    begin(&frame, serial);
    put32(&frame, 0);
    put32(&frame, 0);
    put_end(&frame, 1);
    send_frame(frame.bytes, frame.count);
    struct iovec part = {.iov_base = frame.bytes, .iov_len = sizeof frame.bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (recvmsg(CONTROL, &message, 0) <= 9) return SLUICE_PASS;
    memcpy(&serial, frame.bytes + 1, sizeof serial);
  }
}
/* A valid result in the worker's place, with texts that do harm where they are shown. */
static sluice_verdict forged_texts(struct scene *scene) {
  (void)scene;
  static const char hostile[] = "\033[2J\0\xFF\xC0\xAF\r\n\xE2\x80\xAE\"'--{}";
  begin(&frame, 1);
  put32(&frame, 2);
  put_stage(&frame, 0, SLUICE_PASS);
  put8(&frame, 1);
  put32(&frame, SLUICE_REJECT);
  put_text(&frame, hostile, sizeof hostile - 1);
  put_text(&frame, hostile, sizeof hostile - 1);
  put64(&frame, 1);
  put64(&frame, UINT64_MAX);
  put8(&frame, 0);
  put32(&frame, 2);
  put_text(&frame, hostile, sizeof hostile - 1);
  put8(&frame, 0);
  put_text(&frame, hostile, sizeof hostile - 1);
  put_text(&frame, "", 0);
  put8(&frame, 2);
  put64(&frame, 0x7FEFFFFFFFFFFFFF); /* the largest number there is */
  put_text(&frame, hostile, sizeof hostile - 1); /* the media type */
  put_text(&frame, "../../../etc/passwd", 19);   /* where it was stored */
  put32(&frame, 0);
  put8(&frame, 0);
  send_frame(frame.bytes, frame.count);
  wait_for_ever();
  return SLUICE_PASS;
}

/* A valid result for the serial number that the content names, with some bytes changed by a seed. */
static sluice_verdict fuzz(struct scene *scene) {
  char text[80] = {0};
  unsigned long serial = 0, seed = 0;
  pread(scene->attachment->content, text, sizeof text - 1, 0);
  sscanf(text, "misbehave fuzz %lu %lu", &serial, &seed);
  begin(&frame, serial);
  put32(&frame, 1);
  put_stage(&frame, 0, SLUICE_PASS);
  put32(&frame, 2);
  put_text(&frame, "misbehave.text", 14);
  put8(&frame, 0);
  put_text(&frame, "some text", 9);
  put_text(&frame, "misbehave.calls", 15);
  put8(&frame, 1);
  put64(&frame, 7);
  put_end(&frame, 0);
  uint64_t random = seed * 6364136223846793005u + 1442695040888963407u;
  for (int i = 0; i < 1 + (int)(seed % 4); i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    frame.bytes[9 + (random >> 33) % (frame.count - 9)] = (unsigned char)(random >> 20);
  }
  if (seed % 5 == 0) frame.count = 9 + (random >> 40) % (frame.count - 9);
  send_frame(frame.bytes, frame.count);
  wait_for_ever();
  return SLUICE_PASS;
}

/* ---- Unusual, but allowed ---- */

static sluice_verdict unknown_verdict(struct scene *scene) {
  (void)scene;
  return 4242;
}
static sluice_verdict huge_metadata(struct scene *scene) {
  static char value[10000];
  memset(value, 'v', sizeof value - 1);
  char key[400];
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 2000; i++) {
      snprintf(key, sizeof key, "misbehave.%04d", i);
      /* Small first: replacing a value by a larger one must count, too. */
      scene->host->annotate_text(scene->call, key, round == 0 ? "v" : value);
    }
  memset(key, 'k', sizeof key);
  memcpy(key, "misbehave.", 10);
  key[sizeof key - 1] = 0;
  scene->host->annotate_text(scene->call, key, "a long key");
  return SLUICE_PASS;
}
static sluice_verdict hostile_strings(struct scene *scene) {
  static const char hostile[] = "\033[2J\xFF\xC0\xAF\r\n\xE2\x80\xAE\"'\\--{}\x7F";
  scene->host->annotate_text(scene->call, "misbehave.text", hostile);
  scene->host->annotate_number(scene->call, "misbehave.infinite", 1.0 / 0.0);
  scene->host->annotate_text(scene->call, "misbehave.\xFF\n", hostile);
  scene->host->annotate_text(scene->call, NULL, NULL);
  scene->host->set_media_type(scene->call, hostile);
  scene->host->emit(scene->call, hostile, hostile, 77);
  scene->host->log(scene->call, 99, hostile);
  scene->host->explain(scene->call, hostile, hostile);
  return SLUICE_REJECT;
}
static sluice_verdict hostile_location(struct scene *scene) {
  scene->host->set_location(scene->call, "../../etc/passwd");
  return SLUICE_PASS;
}
static sluice_verdict hostile_type(struct scene *scene) {
  scene->host->set_media_type(scene->call, "\033[2J/../../\n");
  return SLUICE_PASS;
}
static sluice_verdict produce(struct scene *scene) {
  int output = scene->host->produce(scene->call);
  const char text[] = "well-behaved new content\n";
  return write(output, text, sizeof text - 1) == sizeof text - 1 ? SLUICE_PASS : SLUICE_FAIL;
}
/* New content that is still mapped for writing when it is passed on. */
static sluice_verdict produce_and_hold(struct scene *scene) {
  int output = scene->host->produce(scene->call);
  if (ftruncate(output, 4096) != 0) return SLUICE_FAIL;
  char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, output, 0);
  if (page == MAP_FAILED) return SLUICE_FAIL;
  memset(page, 'x', 4096);
  return SLUICE_PASS;
}
/* New content with another verdict than pass: the old content stays. */
static sluice_verdict produce_and_reject(struct scene *scene) {
  produce(scene);
  scene->host->explain(scene->call, "misbehaved", "it was for nothing");
  return SLUICE_REJECT;
}
static sluice_verdict retry(struct scene *scene) {
  scene->host->explain(scene->call, "misbehaved", "not today");
  return SLUICE_RETRY;
}
static sluice_verdict pass(struct scene *scene) {
  (void)scene;
  return SLUICE_PASS;
}
/* Slow at the first attempt, so that a test can change the file meanwhile. */
static sluice_verdict dawdle(struct scene *scene) {
  if (scene->attachment->attempt == 1) nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  return SLUICE_PASS;
}
/* Slower than the time that a coordinator has to end, at the first attempt. */
static sluice_verdict doze(struct scene *scene) {
  if (scene->attachment->attempt == 1) nanosleep(&(struct timespec){.tv_sec = 60}, NULL);
  return SLUICE_PASS;
}
/* Works until nobody wants the result. */
static sluice_verdict obey(struct scene *scene) {
  while (!scene->host->cancelled(scene->call)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  return SLUICE_PASS;
}
static sluice_verdict linger(struct scene *scene) {
  (void)scene;
  nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  return SLUICE_PASS;
}

static sluice_verdict rest(struct scene *scene) {
  (void)scene;
  nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
  return SLUICE_PASS;
}

static const struct {
  const char *name;
  act_function function;
} acts[] = {
    {"segfault", segfault}, {"abort", abort_act}, {"trap", trap}, {"divide", divide}, {"recurse", recurse},
    {"exit", exit_act}, {"break-heap", break_heap}, {"say-last-words", say_last_words}, {"spin", spin},
    {"sleep", sleep_act}, {"fork", fork_act}, {"exec", exec_act}, {"open-file", open_file}, {"socket", socket_act},
    {"connect", connect_act}, {"kill-parent", kill_parent}, {"ptrace", ptrace_act},
    {"executable-memory", executable_memory}, {"block-and-fork", block_and_fork}, {"allocate", allocate},
    {"allocate-slowly", allocate_slowly}, {"map", map}, {"write", write_act}, {"flood", flood},
    {"log-for-ever", log_for_ever}, {"close-socket", close_socket}, {"close-everything", close_everything},
    {"absurd-length", absurd_length}, {"absurd-count", absurd_count}, {"absurd-stage", absurd_stage},
    {"wrong-serial", wrong_serial}, {"unknown-verdict-frame", unknown_verdict_frame}, {"garbage", garbage},
    {"empty-frame", empty_frame}, {"oversized", oversized}, {"forged-ready", forged_ready},
    {"forged-refusal", forged_refusal}, {"forged-descriptors", forged_descriptors},
    {"forged-content", forged_content}, {"forged-texts", forged_texts}, {"unknown-verdict", unknown_verdict},
    {"huge-metadata", huge_metadata}, {"hostile-strings", hostile_strings}, {"hostile-type", hostile_type},
    {"hostile-location", hostile_location},
    {"produce", produce}, {"produce-and-hold", produce_and_hold}, {"produce-and-reject", produce_and_reject},
    {"retry", retry}, {"pass", pass}, {"dawdle", dawdle}, {"doze", doze},
    {"linger", linger}, {"obey", obey}, {"rest", rest}, {"fuzz", fuzz},
};

/* ---- The stage ---- */

static sluice_verdict misbehave_open(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  struct misbehave *self = calloc(1, sizeof *self);
  if (!self) return SLUICE_FAIL;
  self->host = opening->host;
  self->parent = getppid();
  for (uint32_t i = 0; i < opening->value_count; i++)
    if (strcmp(opening->values[i].name, "act") == 0)
      snprintf(self->act, sizeof self->act, "%s", opening->values[i].text);
  *instance = self;
  return SLUICE_PASS;
}

static sluice_verdict misbehave_process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  static int64_t calls; /* one process, one count */
  struct misbehave *self = instance;
  struct scene scene = {self, self->host, attachment, call};
  self->host->annotate_integer(call, "misbehave.calls", ++calls);
  char text[80] = {0}, named[64] = {0};
  ssize_t count = pread(attachment->content, text, sizeof text - 1, 0);
  if (count < 9 || memcmp(text, "misbehave", 9) != 0) return SLUICE_PASS;
  sscanf(text + 9, "%63s", named);
  const char *act = self->act[0] ? self->act : named;
  for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
    if (strcmp(acts[i].name, act) == 0) return acts[i].function(&scene);
  self->host->explain(call, "misbehaved", "there is no such act");
  return SLUICE_FAIL;
}

static void misbehave_close(void *instance) { free(instance); }

static const sluice_option options[] = {{
    .size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "act",
    .help = "What to do; else the content says.",
}};
static const sluice_term keys[] = {{"misbehave.*", "What it had to say."}};
static const sluice_term codes[] = {{"misbehaved", "It did what it was told to."}};
static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_CONTENT, .flags = SLUICE_PRODUCES, .option_count = 1, .key_count = 1, .code_count = 1,
    .id = "misbehave", .version = "1.0.0", .summary = "Does what a stage must not do.", .options = options,
    .keys = keys, .codes = codes, .open = misbehave_open, .process = misbehave_process, .close = misbehave_close,
};

const sluice_stage *misbehave_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &stage;
}
