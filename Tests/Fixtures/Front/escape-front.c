/* Tries to escape from the sandbox of the process that serves HTTP, in each way that a file names.
 *
 *     escape-front closed|open FOLDER ACT…
 *
 * FOLDER has a scene for each act, as the escaping stages read it. Each act has a process of its own, whose sandbox is closed as
 * sluice-httpd closes it; `open` leaves it open, to show that the act is real. A line for each: its name, what ended the process
 * or what the act says, and a sentence. */
#include "../Stages/escape-files.h"
#include "../Stages/escape-kernel.h"
#include "../Stages/escape-processes.h"
#include "../Stages/escape-sockets.h"
#include "escape-listener.h"

#include "worker.h"

enum { DESCRIPTORS = 12048, LONGEST = 1 << 20, MEMORY = 1 << 30 };

static const struct {
  const struct act *acts;
  size_t count;
} kinds[] = {
    {file_acts, sizeof file_acts / sizeof *file_acts},
    {process_acts, sizeof process_acts / sizeof *process_acts},
    {kernel_acts, sizeof kernel_acts / sizeof *kernel_acts},
    {socket_acts, sizeof socket_acts / sizeof *socket_acts},
    {listener_acts, sizeof listener_acts / sizeof *listener_acts},
};

static act_function find(const char *name) {
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
    for (size_t i = 0; i < kinds[kind].count; i++)
      if (strcmp(kinds[kind].acts[i].name, name) == 0) return kinds[kind].acts[i].function;
  return NULL;
}

/* Where a process leaves what its act says. */
static char *said;
static void explain(sluice_call *call, const char *code, const char *sentence) {
  (void)call;
  snprintf(said, 2048, "%s\t%s", code, sentence);
  for (char *at = said; *at; at++)
    if (*at == '\n') *at = ' ';
}

static void read_scene(struct scene *scene, const char *folder, const char *name) {
  snprintf(scene->act, sizeof scene->act, "%s", name);
  scene->content = open(path("%s/%s", folder, name).text, O_RDONLY);
  char text[2048] = {0}, *rest = text;
  if (scene->content < 0 || pread(scene->content, text, sizeof text - 1, 0) <= 0) _exit(3);
  for (char *line; (line = strtok_r(rest, "\n", &rest));) {
    char *value = strchr(line, ' ');
    if (!value) continue;
    *value++ = 0;
    if (strcmp(line, "world") == 0) snprintf(scene->world, sizeof scene->world, "%s", value);
    if (strcmp(line, "store") == 0) snprintf(scene->store, sizeof scene->store, "%s", value);
    if (strcmp(line, "abstract") == 0) snprintf(scene->abstract, sizeof scene->abstract, "%s", value);
    if (strcmp(line, "tcp") == 0) scene->tcp = atoi(value);
    if (strcmp(line, "udp") == 0) scene->udp = atoi(value);
    if (strcmp(line, "canary") == 0) scene->canary = atoi(value);
    if (strcmp(line, "signal") == 0) scene->signal = atoi(value);
    if (strcmp(line, "buffer") == 0) scene->buffer = (char *)(uintptr_t)strtoull(value, NULL, 10);
  }
}

static void try_act(const char *folder, const char *name, int is_open, sluice_status *page, pid_t parent) {
  sluice_host host = {.explain = explain};
  struct scene scene = {.host = &host, .parent = parent};
  act_function act = find(name);
  if (sluice_die_with(parent) != 0) _exit(3);
  int ends[2];
  if (sluice_socketpair(ends) != 0 || dup2(ends[1], CONTROL) != CONTROL) _exit(3);
  read_scene(&scene, folder, name);
  listener = listening();
  output = memfd_create("upload", 0);
  if (!act || listener < 0 || output < 0) _exit(3);
  sluice_watch(page);
  if (!is_open) {
    uint32_t needed = SLUICE_SANDBOX_NO_NEW_PRIVILEGES | SLUICE_SANDBOX_SYSCALLS | SLUICE_SANDBOX_LIMITS;
    if ((sluice_front_close(DESCRIPTORS, LONGEST, MEMORY, 0) & needed) != needed) _exit(4);
  }
  act(&scene);
  _exit(0);
}

int main(int count, char **words) {
  if (count < 3) return 2;
  said = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  sluice_status *page = mmap(NULL, SLUICE_STATUS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (said == MAP_FAILED || page == MAP_FAILED) return 2;
  for (int i = 3; i < count; i++) {
    memset(said, 0, 4096);
    memset(page, 0, SLUICE_STATUS_SIZE);
    pid_t parent = getpid(), child = fork();
    if (child == 0) try_act(words[2], words[i], strcmp(words[1], "open") == 0, page, parent);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    if (page->death == SLUICE_DEATH_SYSCALL)
      printf("%s\tforbidden-call\t%llu\n", words[i], (unsigned long long)page->detail);
    else if (WIFSIGNALED(status))
      printf("%s\t%s\t\n", words[i], WTERMSIG(status) == SIGSYS ? "forbidden-call" : "killed");
    else if (*said)
      printf("%s\t%s\n", words[i], said);
    else
      printf("%s\tunclear\tstatus %d\n", words[i], WEXITSTATUS(status));
    fflush(stdout);
  }
  return 0;
}
