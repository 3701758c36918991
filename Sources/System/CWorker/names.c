/* Which options a plugin looks for. A plugin in C compares the names of the values it is handed with the names it
 * knows, by strcmp(3) or one of its relatives. For a check those calls of the plugin come here: what it compares
 * such a name with is a name of an option that it reads.
 *
 * A comparison that the compiler writes out, as for names of two letters, is not seen. */
#define _GNU_SOURCE
#include "worker.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is watched: set before the plugin is called and only read then, on one thread. */
static const char *const *watched;
static size_t watched_count;
static void (*found)(const char *name, size_t length);

static void look(const char *one, const char *other, size_t limit) {
  for (size_t i = 0; i < watched_count; i++) {
    const char *sought = one == watched[i] ? other : other == watched[i] ? one : NULL;
    if (sought) found(sought, strnlen(sought, limit));
  }
}

#define LIMIT 256 /* of a name, in bytes */
#define WITHIN(count) ((count) < LIMIT ? (count) : LIMIT)

static int watched_strcmp(const char *a, const char *b) {
  look(a, b, LIMIT);
  return strcmp(a, b);
}
static int watched_strcasecmp(const char *a, const char *b) {
  look(a, b, LIMIT);
  return strcasecmp(a, b);
}
static int watched_strncmp(const char *a, const char *b, size_t count) {
  look(a, b, WITHIN(count));
  return strncmp(a, b, count);
}
static int watched_memcmp(const void *a, const void *b, size_t count) {
  look(a, b, WITHIN(count));
  return memcmp(a, b, count);
}

static const struct {
  const char *name;
  void *function;
} replacements[] = {
    {"strcmp", (void *)watched_strcmp}, {"strcasecmp", (void *)watched_strcasecmp},
    {"strncmp", (void *)watched_strncmp}, {"memcmp", (void *)watched_memcmp},
    {"bcmp", (void *)watched_memcmp}, /* what clang makes of a memcmp whose sign is not asked for */
};

/* The entries of the library's table of addresses are filled when it is loaded, and protected after that. */
static void replace(uintptr_t slot, void *function) {
  const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
  if (mprotect((void *)(slot & ~(size - 1)), size, PROT_READ | PROT_WRITE) == 0) *(void **)slot = function;
}

static void replace_all(const struct link_map *map, const ElfW(Rela) *entries, size_t bytes,
                        const ElfW(Sym) *symbols, const char *names) {
  for (size_t i = 0; i < bytes / sizeof *entries; i++) {
    const char *name = names + symbols[ELF64_R_SYM(entries[i].r_info)].st_name;
#if defined(__aarch64__)
    const int is_address = ELF64_R_TYPE(entries[i].r_info) == R_AARCH64_JUMP_SLOT ||
                           ELF64_R_TYPE(entries[i].r_info) == R_AARCH64_GLOB_DAT;
#else
    const int is_address = ELF64_R_TYPE(entries[i].r_info) == R_X86_64_JUMP_SLOT ||
                           ELF64_R_TYPE(entries[i].r_info) == R_X86_64_GLOB_DAT;
#endif
    if (!is_address) continue;
    for (size_t r = 0; r < sizeof replacements / sizeof *replacements; r++)
      if (strcmp(name, replacements[r].name) == 0)
        replace(map->l_addr + entries[i].r_offset, replacements[r].function);
  }
}

void sluice_watch_names(const char *file, const char *const *names, size_t count,
                        void (*function)(const char *name, size_t length)) {
  watched = names;
  watched_count = count;
  found = function;
  if (count == 0) return; /* what was replaced stays, and looks at nothing */
  void *library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  struct link_map *map = NULL;
  if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return;
  const ElfW(Sym) *symbols = NULL;
  const char *texts = NULL;
  const ElfW(Rela) *calls = NULL, *others = NULL;
  size_t call_bytes = 0, other_bytes = 0;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    switch (entry->d_tag) {
    case DT_SYMTAB: symbols = (const void *)entry->d_un.d_ptr; break;
    case DT_STRTAB: texts = (const void *)entry->d_un.d_ptr; break;
    case DT_JMPREL: calls = (const void *)entry->d_un.d_ptr; break;
    case DT_PLTRELSZ: call_bytes = entry->d_un.d_val; break;
    case DT_RELA: others = (const void *)entry->d_un.d_ptr; break;
    case DT_RELASZ: other_bytes = entry->d_un.d_val; break;
    default: break;
    }
  }
  if (!symbols || !texts) return;
  if (calls) replace_all(map, calls, call_bytes, symbols, texts);
  if (others) replace_all(map, others, other_bytes, symbols, texts);
}
