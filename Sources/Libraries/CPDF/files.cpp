#include "files.h"

#include <GlobalParams.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <imports.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

namespace {

struct Content {
  const void *bytes;
  size_t size;
};

/* By path. Never freed: poppler may open a file until the process ends. */
std::unordered_map<std::string, Content> &known() {
  static auto files = new std::unordered_map<std::string, Content>;
  return *files;
}

size_t table_bytes;

using opener = FILE *(const char *, const char *);
/* That of another plugin in the process, which has this library inside and knows files of its own. */
opener *other;

FILE *open_known(const char *path, const char *mode) {
  const auto found = known().find(path);
  if (found != known().end()) /* fmemopen does not write to it. */
    return fmemopen(const_cast<void *>(found->second.bytes), found->second.size, "r");
  if (other) return other(path, mode);
  errno = ENOENT;
  return nullptr;
}

const void *library(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

/* A mapping takes memory only for the pages that are read, and all processes share them. */
void map_file(const std::string &path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const size_t size = static_cast<size_t>(status.st_size);
    void *bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      sluice_pdf_keep_file(path.c_str(), bytes, size);
      table_bytes += size;
    }
  }
  close(file);
}

void map_folder(const std::string &path, int depth) {
  DIR *folder = opendir(path.c_str());
  if (!folder) return;
  while (const dirent *entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    const std::string inner = path + "/" + entry->d_name;
    if (entry->d_type != DT_DIR) map_file(inner);
    else if (depth > 0) map_folder(inner, depth - 1);
  }
  closedir(folder);
}

} // namespace

void sluice_pdf_keep_file(const char *path, const void *bytes, size_t size) { known()[path] = {bytes, size}; }

size_t sluice_pdf_tables(void) { return table_bytes; }

bool sluice_pdf_confine(void) {
  const void *poppler = reinterpret_cast<const void *>(&GlobalParamsIniter::setCustomDataDir);
  sluice_import open = {poppler, "fopen", nullptr, false};
  if (!sluice_import_find(&open)) return false;
  /* Before the first call, the entry leads back into poppler, for the linker to look the function up. */
  const void *before = library(*open.slot);
  if (before != library(poppler) && before != library(reinterpret_cast<const void *>(&fopen)))
    other = reinterpret_cast<opener *>(*open.slot);
  return sluice_import_replace(&open, reinterpret_cast<void *>(&open_known));
}

void sluice_pdf_map_tables(void) {
  map_folder(SLUICE_PDF_TABLES "/cMap", 1);
  map_folder(SLUICE_PDF_TABLES "/cidToUnicode", 0);
}
