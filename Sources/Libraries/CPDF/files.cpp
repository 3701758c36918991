#include "files.h"

#include <GlobalParams.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
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

FILE *open_known(const char *path, const char *) {
  const auto found = known().find(path);
  if (found != known().end()) /* fmemopen does not write to it. */
    return fmemopen(const_cast<void *>(found->second.bytes), found->second.size, "r");
  errno = ENOENT;
  return nullptr;
}

/* A mapping takes memory only for pages in use, and all processes share these. */
void map_file(const std::string &path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const size_t size = static_cast<size_t>(status.st_size);
    void *bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      known()[path] = {bytes, size};
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

size_t sluice_pdf_tables(void) { return table_bytes; }

bool sluice_pdf_confine(void) {
  sluice_import open = {reinterpret_cast<const void *>(&GlobalParamsIniter::setCustomDataDir), "fopen", nullptr, false};
  return sluice_import_find(&open) && sluice_import_replace(&open, reinterpret_cast<void *>(&open_known));
}

void sluice_pdf_map_tables(void) {
  map_folder(SLUICE_PDF_TABLES "/cMap", 1);
  map_folder(SLUICE_PDF_TABLES "/cidToUnicode", 0);
}
