#include "poppler_files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

/* Declared here and not taken from <GlobalParams.h>, which Debian leaves to a package of its own. It tells where poppler
 * is. */
class GlobalParamsIniter {
public:
  static bool setCustomDataDir(const std::string &folder);
};
/* The same for poppler-glib and cairo. */
extern "C" const char *poppler_get_version(void);
extern "C" int cairo_version(void);

static const sluice_poppler_file *known;
static size_t known_count;

static FILE *open_known(const char *path, const char *) {
  for (size_t i = 0; i < known_count; i++)
    if (strcmp(path, known[i].path) == 0)
      return fmemopen(const_cast<void *>(known[i].bytes), known[i].size, "r"); /* which does not write to it */
  errno = ENOENT;
  return nullptr;
}

/* For cairo, which asks before it opens the font that stands for none. */
static int access_known(const char *path, int) {
  for (size_t i = 0; i < known_count; i++)
    if (strcmp(path, known[i].path) == 0) return 0;
  errno = ENOENT;
  return -1;
}

/* FT_New_Memory_Face and FT_New_Face of FreeType: library, bytes and size or path, index, face. */
using face_of_memory = int(void *, const unsigned char *, long, long, void **);
static face_of_memory *make_face;

static int make_known_face(void *library, const char *path, long index, void **face) {
  for (size_t i = 0; i < known_count; i++)
    if (strcmp(path, known[i].path) == 0)
      return make_face(library, static_cast<const unsigned char *>(known[i].bytes), static_cast<long>(known[i].size),
                       index, face);
  return 1; /* FT_Err_Cannot_Open_Resource */
}

/* fprintf(3), as the compiler calls it where it checks the arguments. */
static int print_nothing(FILE *, int, const char *, ...) { return 0; }

/* Where a library that is loaded holds the address of a function it imports. */
struct place {
  const void *inside; /* the library */
  const char *name;
  void **slot;
  bool is_constant; /* its page is read-only once the library is loaded */
};

static size_t page_size(void) { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
static size_t page_of(const void *address) { return reinterpret_cast<size_t>(address) & ~(page_size() - 1); }

static const ElfW(Dyn) * dynamic(const dl_phdr_info *info) {
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      return reinterpret_cast<const ElfW(Dyn) *>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  return nullptr;
}

static bool contains(const dl_phdr_info *info, const void *address) {
  const ElfW(Addr) offset = reinterpret_cast<ElfW(Addr)>(address) - info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && offset >= part.p_vaddr && offset - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

static bool is_constant(const dl_phdr_info *info, const void *address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &part = info->dlpi_phdr[i];
    const size_t start = info->dlpi_addr + part.p_vaddr;
    const size_t page = page_of(address);
    if (part.p_type == PT_GNU_RELRO && page >= page_of(reinterpret_cast<void *>(start)) &&
        page + page_size() <= start + part.p_memsz)
      return true;
  }
  return false;
}

static int look(dl_phdr_info *info, size_t, void *wanted) {
  place *place = static_cast<struct place *>(wanted);
  if (!contains(info, place->inside)) return 0;
  const ElfW(Sym) *symbols = nullptr;
  const char *names = nullptr;
  const ElfW(Rela) *imports = nullptr;
  size_t size = 0;
  /* glibc has turned these into addresses. */
  for (const ElfW(Dyn) *entry = dynamic(info); entry && entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym) *>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char *>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_JMPREL) imports = reinterpret_cast<const ElfW(Rela) *>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_PLTRELSZ) size = entry->d_un.d_val;
  }
  if (!symbols || !names || !imports) return 1;
  for (size_t i = 0; i < size / sizeof *imports; i++) {
    const size_t symbol = sizeof(ElfW(Addr)) == 8 ? imports[i].r_info >> 32 : imports[i].r_info >> 8;
    if (strcmp(names + symbols[symbol].st_name, place->name) != 0) continue;
    place->slot = reinterpret_cast<void **>(info->dlpi_addr + imports[i].r_offset);
    place->is_constant = is_constant(info, place->slot);
    return 1;
  }
  return 1;
}

static bool find(place *place) {
  dl_iterate_phdr(look, place);
  return place->slot != nullptr;
}

static bool put(const place *place, void *function) {
  void *page = reinterpret_cast<void *>(page_of(place->slot));
  if (place->is_constant && mprotect(page, page_size(), PROT_READ | PROT_WRITE) != 0) return false;
  *place->slot = function;
  return !place->is_constant || mprotect(page, page_size(), PROT_READ) == 0;
}

extern "C" int sluice_poppler_files(const sluice_poppler_file *files, size_t count) {
  const void *poppler = reinterpret_cast<const void *>(&GlobalParamsIniter::setCustomDataDir);
  const void *glib = reinterpret_cast<const void *>(&poppler_get_version);
  const void *cairo = reinterpret_cast<const void *>(&cairo_version);
  place open = {poppler, "fopen", nullptr, false}, face = {poppler, "FT_New_Face", nullptr, false};
  place memory = {poppler, "FT_New_Memory_Face", nullptr, false}, print = {glib, "__fprintf_chk", nullptr, false};
  place ask = {cairo, "access", nullptr, false}, fallback = {cairo, "FT_New_Face", nullptr, false};
  if (!find(&ask) || !find(&fallback)) return 0;
  if (!find(&open) || !find(&face) || !find(&memory) || !find(&print)) return 0;
  known = files;
  known_count = count;
  make_face = reinterpret_cast<face_of_memory *>(*memory.slot);
  return put(&open, reinterpret_cast<void *>(&open_known)) && put(&face, reinterpret_cast<void *>(&make_known_face)) &&
         put(&ask, reinterpret_cast<void *>(&access_known)) && put(&fallback, reinterpret_cast<void *>(&make_known_face)) &&
         put(&print, reinterpret_cast<void *>(&print_nothing));
}
